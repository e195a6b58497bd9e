"""One loaded model that replies: wires model, drafts, pool and text, and turns engine steps into events.

`scripted.ScriptedAssistant` is its double. What a reply accepted is in the pool
on disk before `Finished` is yielded, and also when the reader closes the iterator half way.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lacli.assistant.base import Cancel, Report, check_model, ignore, never
from lacli.assistant.batch import Inbox, places_of, plain_controller, replies, side_by_side
from lacli.assistant.failures import translated_errors
from lacli.assistant.reply import Reply, dropped_notice
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Failed, Finished, Preview, ReplyStats, Request

if TYPE_CHECKING:
    from lacli.assistant.ahead import Ahead
    from lacli.assistant.loaded import Loaded, LoadedModel
    from lacli.models.spec import ModelSpec
    from lacli.text.tokenizer import Tokenizer

_ANY_WORDS = ("Q", "7")
"""Two questions whose first tokens differ: what both prompts begin with, every next one will."""

_MOST_PROJECTS = 4
"""Open at a time, for one process that serves many."""


class Assistant:
    """A model, its cache, and the pool of the project it is asked for. For one thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._model: LoadedModel | None = None
        self._projects: dict[Settings, Loaded] = {}
        """The projects that are open, the one used last at the end."""
        self._seen_notices: set[str] = set()
        self._inbox = Inbox()
        """Replies to be generated concurrently."""
        self._ahead: Ahead | None = None
        """What to prefill while idle."""
        self._ahead_n = 0
        """Tokens prefilled so since the last reply."""

    @property
    def loaded(self) -> Loaded | None:
        """The model with the project of the settings; None as long as they are not loaded."""
        return self._projects.get(self._settings)

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`."""
        self._load(report)

    def enter(self, settings: Settings) -> None:
        """See `ProjectReplier.enter`."""
        check_model(self._settings, settings)
        self._settings = settings
        self._seen_notices = set()  # whoever asks now has read none of them
        here = self.loaded
        if here is not None and here.stopped_keeping:  # perhaps the disk has room again
            self._projects.pop(settings).close()

    def close(self) -> None:
        """See `Replier.close`."""
        for loaded in self._projects.values():
            loaded.close()
        self._projects.clear()
        self._ahead = None
        self._model = None

    def _load(self, report: Report = ignore) -> Loaded:
        """The model with the project of the settings; what is not loaded or not open yet is."""
        settings = self._settings
        loaded = self._projects.pop(settings, None)
        if loaded is None:
            loaded = self._opened(settings, report)
        self._projects[settings] = loaded
        return loaded

    def _opened(self, settings: Settings, report: Report) -> Loaded:
        from lacli.assistant.loading import load_model
        from lacli.assistant.project import located, open_project

        settings = located(settings)
        if self._model is None:
            self._spec()
            self._model = load_model(settings, report)
        while len(self._projects) >= _MOST_PROJECTS:  # a reply under way in one only hears of no more changed files
            self._projects.pop(next(iter(self._projects))).close()
        return open_project(self._model, settings, report)

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`."""
        if request.max_tokens <= 0 and self._model is None:
            yield self._nothing()
            return
        early: list[Event] = []
        loaded = self._load(early.append)
        yield from early
        self._ahead = None
        ahead_n, self._ahead_n = self._ahead_n, 0
        reply = Reply(loaded, request, self._seen_notices, ahead_n=ahead_n)
        yield from reply.events(cancel)
        self._ahead = reply.ahead()

    def replies(self, requests: Iterable[Request], cancel: Cancel = never) -> Iterator[tuple[int, Event | Failed]]:
        """See `BatchReplier.replies`."""
        early: list[Event] = []
        loaded = self._load(early.append)
        yield from ((0, event) for event in early)
        self._ahead = None
        yield from replies(loaded, requests, self._seen_notices, cancel)

    @property
    def places(self) -> int:
        """See `ServedReplier.places`."""
        return 1 if self._model is None else places_of(self._model)

    def add(self, key: int, request: Request, cancel: Cancel = never) -> None:
        """See `ServedReplier.add`. The model must be loaded."""
        self._ahead = None
        ahead_n, self._ahead_n = self._ahead_n, 0
        self._inbox.add(key, self._load(), request, self._seen_notices, self._settings, ahead_n, cancel)

    def together(self) -> Iterator[tuple[int, Event | LacliError]]:
        """See `ServedReplier.together`."""
        model = self._model
        if model is None:  # then nothing was added
            return
        try:
            yield from side_by_side(self._inbox, model.cached, plain_controller(model), self.places, ended=self._ended)
        finally:
            self._inbox.clear()

    def _ended(self, reply: Reply) -> None:
        """Keep what can be read ahead behind the completion that ended last."""
        ahead = reply.ahead()
        if ahead is not None:
            self._ahead = ahead

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`."""
        from lacli.assistant.loading import describe
        from lacli.assistant.project import located
        from lacli.assistant.prompt import build_prompt
        from lacli.assistant.reading import expected_reading

        if self._model is not None:
            model = self._model
            prepared, tokenizer, size = model.prepared, model.tokenizer, model.cached.runner.context_size
        else:
            prepared, tokenizer, size = describe(self._settings, report)
        reading = None
        if request.place is not None and request.place.read_ms:
            here = self.loaded
            reading = expected_reading(located(self._settings), prepared, size) if here is None else here.reading()
        prompt = build_prompt(request, prepared, tokenizer, size, reading)
        notes = (*prompt.notes, *((dropped_notice(prompt.dropped),) if prompt.dropped else ()))
        unseen = tokenizer.unseen(prompt.text)
        shown = prompt.window
        return Preview(
            token_ids=prompt.token_ids,
            text=tokenizer.spelled(prompt.token_ids),
            ctx_size=size,
            notes=notes,
            unseen=unseen,
            thinks=prompt.thinks,
            shown_n=0 if shown is None else shown.tokens,
            window_n=0 if shown is None else shown.whole,
            reused_n=0 if shown is None else shown.free,
            has_bos=_has_own_bos(request, prompt.token_ids, tokenizer),
        )

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """See `Replier.warm`."""
        loaded = self._load()
        self._ahead = None  # who asks knows better what comes next
        beginning = _beginning(request, loaded)
        with translated_errors():
            if beginning and loaded.cached.reusable(beginning) < len(beginning) - 1:
                _read(loaded, beginning, cancel)

    def read_ahead(self, cancel: Cancel) -> None:
        """See `ServedReplier.read_ahead`."""
        ahead = self._ahead
        if ahead is None:
            return
        before = ahead.tokens
        try:
            with translated_errors():
                ahead.read(cancel)
        except LacliError:  # no memory for it, say
            self._ahead = None
        self._ahead_n += ahead.tokens - before

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


def _has_own_bos(request: Request, token_ids: Sequence[int], tokenizer: Tokenizer) -> bool:
    """Whether a prompt begins with the mark that opens every text though the request does not."""
    typed = request.raw_ids[:1] == token_ids[:1] or request.raw.startswith(tokenizer.specials.get("bos_token", "\0"))
    return tokenizer.bos_id is not None and token_ids[:1] == (tokenizer.bos_id,) and not typed


def _read(loaded: Loaded, beginning: Sequence[int], cancel: Cancel) -> None:
    """Make the KV cache hold these ids, as far as they can be had on disk from there."""
    if loaded.kept is not None:
        loaded.kept.restore(loaded.cached, beginning)
    held, started = loaded.cached.reusable(beginning), time.perf_counter()
    loaded.cached.start(beginning, lambda done: not cancel())
    loaded.pace.learn(loaded.cached.length - held, 1e3 * (time.perf_counter() - started))


def _beginning(request: Request, loaded: Loaded) -> Sequence[int]:
    """The ids that the request begins with whatever the words of its last message, a question, turn out to be; all of
    them where that is not open: in a request of no tokens, or to something else than messages."""
    from lacli.assistant.prompt import build_prompt
    from lacli.engine.sequence import common

    if request.max_tokens == 0 or not request.messages:
        context_size = loaded.cached.runner.context_size
        return build_prompt(request, loaded.prepared, loaded.tokenizer, context_size).token_ids
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
