"""One loaded model that replies: wires model, drafts, pool and text, and turns engine steps into events.

`scripted.ScriptedAssistant` is its double. What a reply accepted is in the pool
on disk before `Finished` is yielded, and also when the reader closes the iterator half way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lacli.assistant.base import Cancel, Report, ignore, never
from lacli.assistant.reply import Reply, dropped_notice, translated_errors
from lacli.config import Settings
from lacli.events import Event, Failed, Finished, Preview, ReplyStats, Request

if TYPE_CHECKING:
    from lacli.assistant.loading import Loaded
    from lacli.models.spec import ModelSpec

_ANY_WORDS = ("Q", "7")
"""Two questions whose first tokens differ: what both prompts begin with, every next one will."""


class Assistant:
    """A model, its cache and its project's pool. For one thread and one call at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: Loaded | None = None
        self._seen_notices: set[str] = set()

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`."""
        if self._loaded is None:
            self._spec()
            from lacli.assistant.loading import load

            self._loaded = load(self._settings, report)

    def close(self) -> None:
        """See `Replier.close`."""
        if self._loaded is not None:
            self._loaded.close()
        self._loaded = None

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`."""
        if request.max_tokens <= 0 and self._loaded is None:
            yield self._nothing()
            return
        early: list[Event] = []
        self.open(early.append)
        yield from early
        assert self._loaded is not None
        yield from Reply(self._loaded, request, self._seen_notices).events(cancel)

    def replies(self, requests: Iterable[Request], cancel: Cancel = never) -> Iterator[tuple[int, Event | Failed]]:
        """See `BatchReplier.replies`."""
        from lacli.assistant.batch import replies

        early: list[Event] = []
        self.open(early.append)
        yield from ((0, event) for event in early)
        assert self._loaded is not None
        yield from replies(self._loaded, requests, self._seen_notices, cancel)

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`."""
        from lacli.assistant.loading import describe
        from lacli.assistant.prompt import build_prompt

        if self._loaded is not None:
            loaded = self._loaded
            prepared, tokenizer, size = loaded.prepared, loaded.tokenizer, loaded.cached.runner.context_size
        else:
            prepared, tokenizer, size = describe(self._settings, report)
        prompt = build_prompt(request, prepared, tokenizer, size)
        notes = (*prompt.notes, *((dropped_notice(prompt.dropped),) if prompt.dropped else ()))
        unseen = tokenizer.unseen(prompt.text)
        return Preview(prompt.token_ids, tokenizer.spelled(prompt.token_ids), size, notes, unseen, prompt.thinks)

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """See `Replier.warm`."""
        self.open()
        assert self._loaded is not None
        loaded = self._loaded
        beginning = _beginning(request, loaded)
        with translated_errors():
            if beginning and loaded.cached.reusable(beginning) < len(beginning) - 1:
                loaded.cached.start(beginning, lambda done: not cancel())

    def _nothing(self) -> Finished:
        """The reply of no tokens, which needs no model, only one that exists."""
        return Finished("", (), "length", ReplyStats(model=self._spec().alias, finish_reason="length"))

    def _spec(self) -> ModelSpec:
        """The model's entry; a folder that holds none is found out here, before torch is imported."""
        from lacli.models.registry.registry import load_registry

        spec = load_registry().resolve(self._settings.model)
        if spec.path is not None and spec.kind == "hf":
            from lacli.models.hf.prepare import look_into

            look_into(spec.path)
        return spec


def _beginning(request: Request, loaded: Loaded) -> Sequence[int]:
    """The ids that the request begins with whatever the words of its last message, a question, turn out to be."""
    from lacli.assistant.prompt import build_prompt
    from lacli.engine.sequence import common

    *before, question = request.messages
    one, other = (
        build_prompt(
            replace(request, messages=(*before, replace(question, text=words))),
            loaded.prepared,
            loaded.tokenizer,
            loaded.cached.runner.context_size,
        ).token_ids
        for words in _ANY_WORDS
    )
    return one[: common(one, other)]
