"""Assistants on the real default model, and what holds of any reply; for the tests of what they write and keep."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lacli.assistant.assistant import Assistant
from lacli.config import Settings
from lacli.events import Event, Finished, Message, Piece, Request

if TYPE_CHECKING:
    from lacli.engine.cost import CostCurve

Make = Callable[..., Assistant]


@pytest.fixture(scope="module")
def loaded(prepared_default: Any) -> Any:
    """Model and tokenizer, loaded once; rows are free, so that drafts are always verified, and few, as they do cost."""
    from lacli.assistant.loaded import Loaded
    from lacli.drafts.base import Sources
    from lacli.engine.controller import Controller, Limits
    from lacli.engine.cost import CostCurve
    from lacli.engine.sequence import CachedSequence
    from lacli.models.runners.load import load_runner
    from lacli.text.tokenizer import Tokenizer

    return Loaded(
        prepared=prepared_default,
        tokenizer=Tokenizer.load(prepared_default.folder),
        # One thread: the tests share the machine, and a forward whose threads wait for a core takes ten times as long.
        cached=CachedSequence(load_runner(prepared_default, "int8", threads=1, context=512)),
        controller=Controller(CostCurve.flat(), Limits()),
        sources=Sources(),
        pool=None,
        quant="int8",
        device="cpu",
        import_ms=0.0,
        load_ms=0.0,
    )


@pytest.fixture
def make(loaded: Any, tmp_path: Path, sandbox: Path) -> Make:
    """An assistant in a project of its own; a second one opens the pool that the first has written."""
    from lacli.assistant import ngram_table
    from lacli.assistant.kept_prompts import open_kept
    from lacli.assistant.loaded import LoadedModel
    from lacli.assistant.project import _limits, _open_pool, _sources
    from lacli.drafts.base import Sources
    from lacli.engine.controller import Controller
    from lacli.engine.cost import CostCurve
    from lacli.engine.sequence import CachedSequence

    def made(
        lookahead: bool = True, project: Path = tmp_path, curve: CostCurve | None = None, **settings: Any
    ) -> Assistant:
        chosen = Settings(folder=project, lookahead=lookahead, **settings)
        opened = _open_pool(
            chosen, project, loaded.tokenizer, loaded.cached.runner.vocab_size, "test", lambda event: None
        )
        assistant = Assistant(chosen)
        cached = CachedSequence(loaded.cached.runner.sibling()) if chosen.keep_prompts else loaded.cached
        costs = curve or CostCurve.flat()
        assistant._model = LoadedModel(loaded.prepared, loaded.tokenizer, cached, costs, None, "cpu", 0.0, 0.0)
        assistant._projects[chosen] = dataclasses.replace(
            loaded,
            pool=opened,
            cached=cached,
            kept=open_kept(chosen, opened, cached, loaded.prepared),
            sources=_sources(opened, None, ngram_table.find(loaded.tokenizer)) if lookahead else Sources(),
            controller=Controller(costs, dataclasses.replace(_limits(chosen), max_rows=24)),
        )
        return assistant

    return made


def ask(text: str, **options: Any) -> Request:
    return Request(messages=(Message("user", text),), **{"max_tokens": 16, **options})


def reply(assistant: Assistant, request: Request, cancel: Callable[[], bool] = lambda: False) -> Finished:
    return checked(list(assistant.reply(request, cancel)))


def checked(events: Sequence[Event]) -> Finished:
    """The last event, after everything that must hold of any reply was asserted."""
    finished = events[-1]
    assert isinstance(finished, Finished)
    pieces = [event for event in events if isinstance(event, Piece)]
    assert "".join(piece.text for piece in pieces) == finished.text
    assert "\ufffd" not in finished.text
    assert all(len(piece.lengths) == len(piece.sources) for piece in pieces)
    assert sum(sum(piece.lengths) for piece in pieces) >= len(finished.text)
    stats = finished.stats
    assert stats.predicted_n == len(finished.token_ids)
    assert stats.draft_n_accepted == sum(stats.accepted_by_source.values()) <= stats.draft_n
    assert stats.draft_n_accepted <= max(0, stats.predicted_n - 1)
    assert stats.draft_n == sum(stats.drafted_by_source.values()) <= stats.rows_bought
    for source, accepted in stats.accepted_by_source.items():
        assert 0 < accepted <= stats.drafted_by_source[source]
    assert stats.draft_ms <= stats.step_ms
    assert stats.finish_reason == finished.reason
    if stats.steps and stats.predicted_n:
        assert stats.tokens_per_step == (stats.predicted_n - 1) / stats.steps
    else:
        assert stats.tokens_per_step is None
    for before, after in itertools.pairwise(pieces[:-1]):
        assert before.stats.predicted_n <= after.stats.predicted_n
    return finished


QUESTION = "Write a python function that adds two numbers"
EMOJI = "Repeat exactly: 👩‍💻 naïve 漢字 🇪🇺 ok"


VARIED = (
    ask(QUESTION, max_tokens=24),
    ask("Say hi", max_tokens=1),
    ask(EMOJI, max_tokens=20),
    ask("Count: one, two,", max_tokens=30, temperature=1.2, seed=3),
    ask("Nothing", max_tokens=0),
    ask(QUESTION, max_tokens=12, temperature=0.9, top_p=0.8, seed=4),
    ask("Name a colour. " * 20, max_tokens=9, stops=("e",)),
)
"""Requests that differ in length, sampling and how they end."""
