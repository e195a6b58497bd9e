"""`lacli pool build`: index a project's files now instead of in the background of the next runs. Registered by `pool`.

The one command of `lacli pool` that needs a model's tokenizer; torch is not imported for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.pool.common import ProjectOption, kept_caps, root_of
from lacli.errors import LacliError, ModelUnavailable
from lacli.shared.wording import counted, size

if TYPE_CHECKING:
    from lacli.text.tokenizer import Tokenizer

EXAMPLES = (
    "For example: lacli pool build  |  lacli pool build src docs/guide.md  |  lacli pool build -m ./my-model --json"
)


def build(
    where: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Read these too, even where git does not track them."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("-m", "--model", metavar="MODEL", envvar="LACLI_MODEL", help="As in `lacli ask`.")
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Index the project's files now, for drafts to be read from.

    What git ignores, what .lacliignore names, and files that hold secrets are left out; only hashes go to the disk.
    """
    from lacli.cli.terminal import diagnostics, output
    from lacli.project.build import build as run

    root_of(project)
    kept_caps()
    tokenizer = _tokenizer(model)

    def progress(done: int, total: int) -> None:
        if diagnostics.can_show_progress():
            diagnostics.show_status(f"reading files… {done}/{total}")

    try:
        report = run(project if project is not None else Path("."), where or [], tokenizer, progress)
    finally:
        diagnostics.erase_status()
    skipped = ", ".join(f"{count:,} {reason}" for reason, count in report.skipped.items())
    if as_json:
        output.document(
            {
                "files": report.files,
                "tokens": report.tokens,
                "skipped": dict(report.skipped),
                "seconds": round(report.seconds, 3),
                "bytes": report.disk_bytes,
                "path": str(report.path),
            }
        )
        return
    output.line(
        f"{counted(report.files, 'file', 'files')} of {report.tokens:,} tokens "
        f"in {report.seconds:.1f} s, index {size(report.disk_bytes)}" + (f"; left out: {skipped}" if skipped else "")
    )


def _tokenizer(model: str | None) -> Tokenizer:
    """The tokenizer of a model that is on this computer."""
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry
    from lacli.text.tokenizer import Tokenizer

    spec = load_registry().resolve(model)
    for folder in presence(spec).prepared:
        try:
            return Tokenizer.load(folder)
        except LacliError:
            continue
    raise ModelUnavailable(
        f"{spec.alias} is not prepared on this computer", f"first: lacli models pull {model or spec.alias}"
    )
