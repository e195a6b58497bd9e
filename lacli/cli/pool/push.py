"""`lacli pool push`: the replies of a pool as text for a remote's own drafts. Registered by `pool`.

What would leave the computer is shown first, and a yes is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lacli.cli.framework.flags import YesOption
from lacli.cli.pool.common import ProjectOption, project_of
from lacli.cli.pool.share import TokenizerOption, one_of, tokenizer_of
from lacli.errors import LacliError, UsageError
from lacli.shared.wording import counted, size

if TYPE_CHECKING:
    from lacli.pool.inventory import PoolInfo

EXAMPLES = "For example: lacli pool push remote:gpu --dry-run | less  |  lacli pool push remote:gpu"
_MOST_SHOWN = 5
_WIDTH = 60


def push(
    remote: Annotated[str, typer.Argument(metavar="remote:NAME", help="A remote that runs SGLang with n-gram drafts.")],
    tokenizer: TokenizerOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print all that would be sent; send nothing.")] = False,
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Send what this project's pool holds to a remote, as text that it drafts from.

    Replies that seem to hold a secret stay here. What was sent before of this project is replaced.
    """
    from lacli.cli.framework import remotes
    from lacli.cli.terminal import diagnostics, output
    from lacli.cli.terminal.confirm import confirm
    from lacli.config import told_offline
    from lacli.configuration.remotes import check_online, is_remote, named
    from lacli.project.root import project_id

    if not is_remote(remote):
        raise UsageError(f"{remote!r} is no remote", "name one of your configuration: remote:NAME")
    to = named(remote, remotes.known())
    root, described = project_of(project)
    texts, refused = _texts(root, one_of(root, described.pools, tokenizer))
    if refused:
        diagnostics.note(f"{counted(refused, 'reply', 'replies')} left out, as they seem to hold a secret")
    if not texts:
        raise LacliError("the pool holds no reply to send", "`lacli pool info` shows what it holds")
    if dry_run:
        output.text("\n\n".join(text.rstrip("\n") for text in texts))
        output.end_text("\n")
        return
    amount = f"{counted(len(texts), 'reply', 'replies')}, {size(sum(len(text.encode()) for text in texts))} of text"
    diagnostics.plain_line(f"{amount}, of {root} would be sent to {to.title} at {to.host}:")
    for text in texts[:_MOST_SHOWN]:
        diagnostics.plain_line(f"  {' '.join(text.split())[:_WIDTH]}")
    if len(texts) > _MOST_SHOWN:
        diagnostics.plain_line(f"  … and {len(texts) - _MOST_SHOWN:,} more; --dry-run prints all")
    check_online(to, told_offline("LACLI_OFFLINE"))
    if not confirm("send them?", yes):
        diagnostics.note("nothing was sent")
        return
    from lacli.remote.corpora import push as send
    from lacli.remote.exchange import Limits
    from lacli.remote.server import find

    tokens = send(find(to, Limits()), f"lacli-{project_id(root)[:16]}", texts)
    diagnostics.note(f"{to.title} drafts from {tokens:,} tokens of this project now")


def _texts(root: Path, info: PoolInfo) -> tuple[list[str], int]:
    """The replies of a pool that may be sent, and how many seem to hold a secret."""
    from lacli import paths
    from lacli.pool.store import open_pool
    from lacli.project.root import pool_key
    from lacli.project.values import project_refuser

    tokenizer = tokenizer_of(info.tokenizer)
    if tokenizer is None:
        raise LacliError(
            "the tokenizer that this pool was made with is not on this computer",
            f"fetch its model: `lacli models pull {info.model or 'NAME'}`",
        )
    pool = open_pool(pool_key(root, info.tokenizer), paths.pools_dir(), "read", info.vocab_size, info.model)
    refuse = project_refuser(root)
    decoded = [tokenizer.decode([int(each) for each in segment]) for segment in pool.segments()]
    texts = [text for text in decoded if text.strip()]
    kept = [text for text in texts if refuse(text) is None]
    return kept, len(texts) - len(kept)
