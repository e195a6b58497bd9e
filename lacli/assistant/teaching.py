"""Stores in the project's pool what a reply contributes: its delivered tokens, and what the draft sources learned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lacli.assistant.loaded import Loaded
    from lacli.assistant.prompt import Prompt
    from lacli.assistant.tally import Tally
    from lacli.events import Request
    from lacli.pool.update import TableRows


def teach(loaded: Loaded, request: Request, prompt: Prompt, tally: Tally) -> None:
    """Store what a reply said and what was learned meanwhile; nothing where no token was delivered."""
    pool = loaded.pool
    if pool is None or not pool.learns:
        return
    if not tally.ids:  # what was written and held back is not in the tally, so it cannot be searched for secrets
        _forget(loaded)
        return
    from lacli.drafts.lookup import ProjectSource
    from lacli.pool.update import PoolUpdate

    text = prompt.last_line + loaded.tokenizer.decode(tally.ids)
    project = loaded.source(ProjectSource)
    pool.learn(
        PoolUpdate(
            token_ids=tuple(tally.ids),
            text=text,
            prompt_text=prompt.text,
            credits=project.credits() if project is not None else {},
            table=_table(loaded, text, prompt.text, request.prediction),
            calibration={source.name: source.numbers() for source in loaded.sources.all()},
            totals=_totals(request, tally),
        )
    )


def _totals(request: Request, tally: Tally) -> dict[str, float]:
    counts = tally.counts
    if request.may_be_refused:
        counts = replace(counts, plain_steps=counts.steps, saved_ms=None)
    return counts.totals()


def _table(loaded: Loaded, *texts: str) -> TableRows | None:
    """What the successor table learned from a reply; if a secret is involved, that is forgotten instead."""
    from lacli.drafts.successor import SuccessorSource
    from lacli.pool.update import TableRows

    successors, pool = loaded.source(SuccessorSource), loaded.pool
    if successors is None or pool is None:
        return None
    if any(pool.refuse(text) for text in texts):
        _forget(loaded)
        return None
    return TableRows(*successors.changes())


def _forget(loaded: Loaded) -> None:
    """Undo what the sources learned from a reply, so that no later one stores it."""
    from lacli.drafts.lookup import SessionSource
    from lacli.drafts.successor import SuccessorSource

    successors, session = loaded.source(SuccessorSource), loaded.source(SessionSource)
    if successors is not None:
        successors.forget_changes()
    if session is not None:  # or rows it guesses later would teach the table what this reply said
        session.forget()
