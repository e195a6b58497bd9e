"""The choice a person is given before the first model is fetched: the small demonstration, or a real coding model.

Asked once, at a terminal, where no model is on this computer and none was chosen; everybody else gets the default one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from lacli.cli.framework.options import Common
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.tty import is_terminal
from lacli.config import told_offline
from lacli.configuration.remotes import is_remote
from lacli.errors import LacliError

if TYPE_CHECKING:
    from lacli.models.registry.registry import Registry

CODER = "qwen2.5-coder-1.5b"
"""The smallest model that edits well enough to be recommended."""
_MEMORY = 2_000_000_000
"""What the coder takes with prompts of an ordinary length."""
_DISK = 2_500_000_000
"""Its file, and what is prepared of it."""


def choose_model(common: Common) -> Common:
    """The options with the model the user chose, if there was a choice.

    Raises KeyboardInterrupt where the answer is Ctrl-C or Ctrl-D.
    """
    if common.model is not None or common.quiet or common.offline or told_offline() or common.max_tokens == 0:
        return common
    if not (diagnostics.stdin_is_terminal() and is_terminal(sys.stderr)):
        return common
    from lacli.models.registry.registry import load_registry

    registry = load_registry()
    if not _is_open(registry):
        return common
    name = _ask(registry)
    try:
        _keep(name)
    except (LacliError, OSError) as error:  # the answer is good for this run all the same
        diagnostics.warning(f"the choice could not be kept: {error}")
    return replace(common, model=name)


def better_than(name: str | None) -> str:
    """The model to recommend where one of this name did not manage: none where it is not the demonstration model."""
    if is_remote(name):
        return ""
    from lacli.models.registry.registry import load_registry, shipped_file

    registry = load_registry()
    demonstration = load_registry([shipped_file()]).default
    spec = registry.resolve(name)
    is_demonstration = spec.path is None and spec.alias == demonstration
    return CODER if is_demonstration and CODER in registry.models else ""


def _is_open(registry: Registry) -> bool:
    """Whether no model is on this computer and the user's registry does not change the default."""
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry, shipped_file
    from lacli.paths import models_dir

    if CODER not in registry.models or any(models_dir().glob("[!.]*-f*")):  # folders of prepared models
        return False
    if any(presence(spec).ready for spec in registry.models.values()):
        return False
    return registry.default == load_registry([shipped_file()]).default != CODER


def _ask(registry: Registry) -> str:
    """Ask which model to fetch; returns its alias."""
    import psutil

    from lacli.models.fetch.disk import free_space, megabytes
    from lacli.paths import models_dir

    small, coder = registry.models[registry.default], registry.models[CODER]
    disk = free_space(models_dir())
    memory = psutil.virtual_memory().available
    fits = disk > _DISK and memory > _MEMORY
    best = "2" if fits else "1"
    why = "" if fits else ", as there is too little room for 2"
    rows = (
        (small, "a small demonstration, quick and not clever"),
        (coder, f"a real coding model, needs about {_MEMORY // 10**9} GB of memory"),
    )
    width = max(len(spec.alias) for spec, _ in rows)
    for line in (
        "lacli: no model is on this computer yet; one is fetched now, once:",
        *(
            f"  {number}  {spec.alias:<{width}}  {megabytes(spec.sources[0].download):>6}  {text}"
            for number, (spec, text) in enumerate(rows, 1)
        ),
        f"  free here: {megabytes(disk)} of disk, {megabytes(memory)} of memory. Recommended: {best}{why}.",
    ):
        diagnostics.plain_line(line)
    while True:
        sys.stderr.write(f"1 or 2? [{best}] ")
        sys.stderr.flush()
        typed = sys.stdin.readline()
        if not typed:  # Ctrl-D
            sys.stderr.write("\n")
            raise KeyboardInterrupt
        names = {"": best, "1": "1", "2": "2", small.alias: "1", coder.alias: "2"}
        answer = names.get(typed.strip())
        if answer is not None:
            return small.alias if answer == "1" else coder.alias


def _keep(name: str) -> None:
    """As `lacli models default NAME` does."""
    from lacli.cli.framework.effective import set_value

    diagnostics.note(set_value(Run.current.config_files.user_file(), "model", name, project=False))
