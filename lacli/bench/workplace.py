"""Where benches run lacli as a user would: a git repository and a LACLI_HOME of their own in a temporary folder.

The home shares only the cache and the configuration with the user's, so nothing else of theirs is read or changed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import lacli
from lacli import paths
from lacli.errors import LacliError
from lacli.project.root import git_output

_GIT_WAIT_S = 30.0


@contextlib.contextmanager
def workplace(name: str) -> Iterator[Path]:
    """A folder that goes with the block."""
    with tempfile.TemporaryDirectory(prefix=f"lacli-{name}-") as folder:
        yield Path(folder).resolve()


def new_home(home: Path, like: Path | None = None) -> Path:
    """A new LACLI_HOME with the user's models, and nothing learned but what `like` holds."""
    home.mkdir(mode=0o700)
    for kind, folder in (("cache", paths.cache_dir()), ("config", paths.config_dir())):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / kind).symlink_to(folder, target_is_directory=True)
    if like is not None and (like / "state").is_dir():
        shutil.copytree(like / "state", home / "state")
    return home


def environment(home: Path) -> dict[str, str]:
    """Of a child that imports this very package and sees that home; no other variable of lacli's."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LACLI_")}
    package = str(Path(lacli.__file__).resolve().parents[1])
    search = os.pathsep.join(part for part in (package, inherited.get("PYTHONPATH", "")) if part)
    return inherited | {"LACLI_HOME": str(home), "PYTHONPATH": search, "PYTHONIOENCODING": "utf-8"}


def new_repository(root: Path, files: Mapping[str, str]) -> Path:
    """These files, by their paths, in a git repository with one commit. Raises LacliError without git."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "--no-verify", "-m", root.name]):
        if git_output(root, words, _GIT_WAIT_S) is None:  # whatever GIT_DIR says, as lacli itself asks git
            raise LacliError("the suite's repository cannot be made", "this bench needs the git program")
    return root
