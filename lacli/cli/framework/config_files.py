"""The configuration files of this run: which apply here, and what was read from them. Knows no command's options."""

from __future__ import annotations

import os
from pathlib import Path

from lacli import paths
from lacli.configuration.keys import Schema
from lacli.configuration.layers import (
    PROJECT_FILE,
    ConfigSource,
    Configuration,
    files_of,
    layered,
    project_files,
    user_file,
)
from lacli.errors import ModelUnavailable


class ConfigFiles:
    """Looks for the user's file and the project's, and keeps what they say."""

    def __init__(self) -> None:
        self.applied = Configuration()
        """What the options of the command that runs were taken from."""
        self.pool_sizes: dict[str, float] = {}
        """The most megabytes of pools that a file sets, by the variables that win over it."""
        self.named: str | None = None
        """The file of --config."""
        self._folder: Path | None = None
        """Whose project it is; None is the current folder."""

    def look_in(self, folder: Path) -> None:
        """Look for the project's file in this folder and not in the current one: before any option is read."""
        self._folder = Path(os.path.realpath(os.path.expanduser(folder)))

    def go_to(self, folder: Path) -> None:
        """Make this the current folder; a file that was named stays where it is. Raises OSError."""
        named = self.named and os.path.abspath(os.path.expanduser(self.named))
        os.chdir(os.path.expanduser(folder))
        self.named = named

    def user_file(self) -> Path:
        """KeyPath the user's file is, or would be."""
        return Path(os.path.expanduser(self.named)) if self.named else paths.config_dir() / "config.toml"

    def read(self) -> list[ConfigSource]:
        """The files that apply here, the strongest first. Raises where one cannot be read.

        One that was named is the only one: so a project whose file is broken, or not to be trusted, can be worked in.
        """
        if self.named:
            return user_file(self.user_file(), named=True)
        found = project_files(self.project_folders())
        try:
            return found + user_file(self.user_file(), named=False)
        except ModelUnavailable:  # no home: then there is no file either
            return found

    def read_against(self, schema: Schema) -> Configuration:
        """All files against all keys, mistakes kept; for the commands that show and check them."""
        return layered(self.read(), schema)

    def paths(self) -> list[Path]:
        """The files that apply here, not read yet: for a report of what is wrong with each."""
        if self.named:
            return [self.user_file()]
        found: list[Path] = []
        for folder in self.project_folders():
            found = files_of(folder)
            if found:
                break
        user = self.user_file()
        return found + ([user] if os.path.lexists(user) else [])

    def project_folders(self) -> list[Path]:
        """The folders a project's file is looked for in, from this one up to the top of the checkout."""
        try:
            here = self._folder or Path.cwd()
        except OSError:  # the current folder has been deleted
            return []
        places = [here, *here.parents]
        if not any(os.path.lexists(folder / name) for folder in places for name in (PROJECT_FILE, "pyproject.toml")):
            return []
        from lacli.project.root import checkout, project_root

        top = checkout(here) or project_root(here)
        if top is None or top not in places:
            return []
        return places[: places.index(top) + 1]
