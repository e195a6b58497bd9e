"""`lacli pool export` and `import`: a pool as one file, for another computer. Registered by `pool`.

The file holds token ids, which say what the model wrote to whoever has the tokenizer: written 0600, checked for secrets
when it comes in.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.pool.common import ProjectOption, kept_caps, project_of, root_of
from lacli.errors import LacliError, UsageError
from lacli.shared.wording import counted, size

if TYPE_CHECKING:
    from lacli.pool.inventory import PoolInfo
    from lacli.text.tokenizer import Tokenizer

EXPORT_EXAMPLES = (
    "For example: lacli pool export site.pool  |  lacli pool export - | ssh box lacli pool import -  |  "
    "lacli pool export --force site.pool"
)
IMPORT_EXAMPLES = "For example: lacli pool import site.pool  |  lacli pool import site.pool --project ~/src/site --json"

TokenizerOption = Annotated[
    str | None,
    typer.Option("--tokenizer", metavar="PREFIX", help="Which pool, where there are several: as `info` shows it."),
]


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; - is stdout, if that is not a terminal.")],
    tokenizer: TokenizerOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    project: ProjectOption = None,
) -> None:
    """Write all this project's pool holds to one file.

    It can be turned back into what the model wrote: keep it as private as your code.
    """
    from lacli.cli.terminal import diagnostics, output
    from lacli.pool import transfer

    root, described = project_of(project)
    pool = one_of(root, described.pools, tokenizer)
    if str(file) == "-":
        if output.to_terminal():
            raise UsageError("a pool is not text for a terminal", "give a file, or pipe it somewhere")
        with tempfile.TemporaryDirectory() as folder:  # 0700
            beside = Path(folder) / "pool"
            transfer.export(pool.path, beside)
            output.data(beside.read_bytes())
        return
    if os.path.lexists(file) and not force:
        raise UsageError(f"{file} exists", "choose another name, or add --force")
    if file.exists() and not file.is_file():  # a device would be replaced, not written to
        raise UsageError(f"{file} is not a regular file", "give the name of a file, or - for stdout")
    written = transfer.export(pool.path, file)
    diagnostics.note(f"wrote {pool.tokens:,} tokens to {file} ({size(written)})")


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `lacli pool export` wrote; - is stdin.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add what an exported file holds to this project's pool.

    Replies that seem to hold a secret are left out, where the tokenizer they were made with is on this computer.
    """
    if str(file) != "-":
        _import(file, project, as_json)
        return
    from lacli.cli.terminal import diagnostics

    if diagnostics.stdin_is_terminal():
        raise UsageError("a pool cannot be typed", "give a file, or pipe one into stdin")
    with tempfile.TemporaryDirectory() as folder:  # 0700
        beside = Path(folder) / "stdin"
        beside.write_bytes(_stdin())
        try:
            _import(beside, project, as_json)
        except LacliError as error:
            error.message = error.message.replace(str(beside), "stdin")
            raise


def _import(file: Path, project: Path | None, as_json: bool) -> None:
    from lacli import paths
    from lacli.cli.terminal import diagnostics, output
    from lacli.pool import transfer
    from lacli.pool.store import open_pool
    from lacli.project.root import pool_key

    root, most = root_of(project), kept_caps()
    header = transfer.header_of(file)
    check, known = _check(root, header.tokenizer)
    key = pool_key(root, header.tokenizer)
    pool = open_pool(key, paths.pools_dir(), "learn", header.vocab_size, header.model, most)
    done = transfer.import_(pool, file, check)
    for notice in pool.notices:
        diagnostics.warning(notice)
    if not known:
        diagnostics.warning(
            "the tokenizer it was made with is not on this computer, so nothing was checked for secrets; "
            "`lacli pool clear` takes it back"
        )
    if as_json:
        output.document(
            {
                "replies": done.replies,
                "refused": done.refused,
                "crowded_out": done.crowded_out,
                "entries": done.entries,
                "new_replies": done.new_replies,
                "new_entries": done.new_entries,
                "checked": known,
                "tokens": pool.size,
                "path": str(pool.path),
            }
        )
        return
    parts = [counted(done.new_replies, "new reply", "new replies")] if done.new_replies else []
    if done.new_entries:
        parts.append(f"{counted(done.new_entries, 'new entry', 'new entries')} of the successor table")
    parts = parts or ["nothing new"]
    parts += [f"{done.refused:,} left out, as they seem to hold a secret"] if done.refused else []
    parts += [f"{done.crowded_out:,} left out for want of room"] if done.crowded_out else []
    output.line(f"took in {', '.join(parts)}; the pool has {pool.size:,} tokens now")


def one_of(root: Path, pools: Sequence[PoolInfo], prefix: str | None) -> PoolInfo:
    """The pool that --tokenizer means."""
    found = [pool for pool in pools if pool.tokenizer.startswith(prefix or "")]
    if not pools:
        raise LacliError(f"nothing was learned in {root} yet", "`lacli pool list` shows where something was")
    names = ", ".join(pool.tokenizer[:16] or pool.path.parent.name for pool in pools)
    if not found:
        raise UsageError(f"no pool here has a tokenizer {prefix}", f"choose one of {names}")
    if len(found) > 1:
        raise UsageError(f"there are {len(found)} pools here", f"add --tokenizer with the beginning of one of {names}")
    return found[0]


def _check(root: Path, fingerprint: str) -> tuple[Callable[[Sequence[int]], bool] | None, bool]:
    """What says whether a reply may be stored, and whether there is one."""
    from lacli.project.values import project_refuser

    tokenizer = tokenizer_of(fingerprint)
    if tokenizer is None:
        return None, False
    refuse = project_refuser(root)
    return lambda token_ids: refuse(tokenizer.decode(token_ids)) is None, True


def tokenizer_of(fingerprint: str) -> Tokenizer | None:
    """The tokenizer of this fingerprint, of whichever prepared model has it."""
    from lacli import paths
    from lacli.text.tokenizer import Tokenizer

    for path in sorted(paths.models_dir().glob("[!.]*/tokenizer.json")):
        try:
            tokenizer = Tokenizer.load(path.parent)
        except LacliError:
            continue
        if tokenizer.fingerprint == fingerprint:
            return tokenizer
    return None


def _stdin() -> bytes:
    import sys

    from lacli.pool.transfer import MOST_BYTES

    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError("stdin is far too large for a pool", "pipe in what `lacli pool export` wrote")
    return data
