"""An assistant whose model runs in another program's server: the contract of `assistant.base` over HTTP.

Made only for a remote that the user named, for this command or as the default; otherwise nothing here is imported.
It connects on its first call. No prompt is read ahead, as that would send text before the user has asked anything.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from lacli.assistant.base import Cancel, Report, ignore, never
from lacli.config import Settings
from lacli.configuration.remotes import Remote, check_online
from lacli.errors import LacliError, UsageError
from lacli.events import Event, Failed, Finished, Notice, Preview, ReplyStats, Request
from lacli.remote import server as servers
from lacli.remote.calls import call_of, goes_on, texts_of
from lacli.remote.counters import Counters
from lacli.remote.exchange import Cancelled, Limits
from lacli.remote.failures import ends_all
from lacli.remote.guard import Guard
from lacli.remote.known import KnownModel
from lacli.remote.pool import ProjectPool
from lacli.remote.reply import Context, RemoteReply
from lacli.remote.server import Server
from lacli.remote.words import estimated

SIDE_BY_SIDE = 8
"""Requests of a batch in flight at a time."""

_NEAR = 4_096
"""Characters before the cursor that are searched for secrets when a completion is learned."""


class RemoteAssistant:
    """See `base.BatchReplier`. `find` gives the remote, when it is first needed: it may raise LacliError."""

    def __init__(self, settings: Settings, find: Callable[[], Remote], limits: Limits | None = None) -> None:
        self._settings = settings
        self._find = find
        self._limits = limits or Limits()
        self._context: Context | None = None
        self._pool: ProjectPool | None = None
        self._counters: Counters | None = None
        self._pool_notes: list[str] = []
        self._one_at_a_time = threading.Lock()
        """Pool and counters are for one thread, and the replies of a batch have one each."""

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`: asks the remote what it is."""
        for notice in self._opening():
            report(notice)

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`."""
        if request.beginning is not None:
            raise UsageError("a remote does not write several completions of one place", "leave out --alternatives")
        if request.max_tokens <= 0:
            yield Finished("", (), "length", ReplyStats(model=self._find().title, finish_reason="length"))
            return
        try:
            yield from self._opening(cancel)
            for event in RemoteReply(self._opened(), request, cancel).events():
                if isinstance(event, Finished):
                    event = self._ended(event, request, cancel)
                    yield from self._notices_of_pool()
                yield event
        except Cancelled:
            stats = ReplyStats(model=self._find().title, replies=0, finish_reason="cancelled")
            yield Finished("", (), "cancelled", stats)

    def replies(self, requests: Iterable[Request], cancel: Cancel = never) -> Iterator[tuple[int, Event | Failed]]:
        """See `BatchReplier.replies`: so many at a time, each in a thread of its own."""
        yield from ((0, notice) for notice in self._opening(cancel))
        answers: queue.SimpleQueue[tuple[int, Event | Failed | None]] = queue.SimpleQueue()
        left = threading.Event()

        def write(index: int, request: Request) -> None:
            try:
                for event in self.reply(request, lambda: left.is_set() or cancel()):
                    answers.put((index, event))
            except LacliError as error:
                if ends_all(error):
                    failed.append(error)
                else:
                    answers.put((index, Failed(error.message, error.hint, error.exit_code)))
            except Exception as error:  # a bug in this thread must not leave the reader waiting for ever
                failed.append(LacliError(f"{type(error).__name__}: {error}", "repeat with -vv"))
            answers.put((index, None))

        waiting, running, failed = enumerate(requests), 0, list[LacliError]()
        try:
            while True:
                while running < SIDE_BY_SIDE and not (failed or cancel()):
                    taken = next(waiting, None)
                    if taken is None:
                        break
                    threading.Thread(target=write, args=taken, name="remote reply", daemon=True).start()
                    running += 1
                if not running and failed:  # the replies that were under way have been delivered by now
                    raise failed[0]
                if not running:
                    return
                index, event = answers.get()
                if event is None:
                    running -= 1
                else:
                    yield index, event
        finally:
            left.set()

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`: nothing of the request is sent."""
        for notice in self._opening():
            report(notice)
        context = self._opened()
        server, known = context.server, context.known
        size = self._settings.context or server.context
        text, ids = _shown(server, known, request)
        notes = () if ids else ("its tokens are estimated, as the tokenizer is not known here",)
        # A reply that cannot be begun for the model is asked for as of one that thinks first.
        thinks = request.place is None and not goes_on(server)
        return Preview(ids, text, size, notes, thinks=thinks, estimated_n=0 if ids else max(1, estimated(text)))

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """See `Replier.warm`: does nothing."""

    def close(self) -> None:
        """See `Replier.close`: every connection has ended with its reply."""

    def _opened(self) -> Context:
        assert self._context is not None
        return self._context

    def _opening(self, cancel: Cancel = never) -> list[Notice]:
        """Get to know the remote, once; what is to be said of it."""
        if self._context is not None:
            return []
        remote = self._find()
        check_online(remote, self._settings.offline)
        notices = []
        if remote.key_env and remote.url.startswith("http:") and not remote.is_local:
            notices.append(Notice(f"the key in {remote.key_env} is sent to {remote.host} unencrypted", "warning"))
        server = servers.find(remote, self._limits, cancel)
        known = KnownModel(server)
        guard = Guard(self._settings.folder or Path())
        self._pool = pool = ProjectPool(self._settings, known, self._pool_notes.append)
        self._counters = Counters.of(server, cancel)

        def check(texts: Iterable[str]) -> None:
            if not self._settings.send_anyway:
                guard.check(remote.title, texts)

        def prediction(request: Request) -> str:
            with self._one_at_a_time:
                return _prediction(server, pool, request)

        self._context = Context(server, known, check, prediction, lambda: pool.size)
        return [*notices, Notice(f"{server.title}: what is asked is sent there")]

    def _notices_of_pool(self) -> Iterator[Notice]:
        """What the pool has to say, each once."""
        while self._pool_notes:
            note = self._pool_notes.pop(0)
            if note not in self._opened().seen_notices:
                self._opened().seen_notices.add(note)
                yield Notice(note)

    def _ended(self, finished: Finished, request: Request, cancel: Cancel) -> Finished:
        """The end of a reply, with what the server's own counters tell of it; the pool learns from it."""
        with self._one_at_a_time:
            if self._counters is not None and "steps" in finished.stats.untold and finished.reason != "cancelled":
                finished = replace(finished, stats=self._counters.added(finished.stats, cancel))
            if self._pool is not None:
                place = request.place
                line = "" if place is None else place.prefix.rpartition("\n")[2]
                self._pool.learn(finished, _text_of(request), line)
        return finished


def _shown(server: Server, known: KnownModel, request: Request) -> tuple[str, tuple[int, ...]]:
    """The prompt as text and, where they are known here, as ids: of messages by the template that the model has here,
    else their words."""
    tokenizer = known.tokenizer
    if request.place is not None or request.raw:
        call = call_of(server, known, request)
        prompt = call.body.get("prompt") or "\n".join(call.sent)
        if isinstance(prompt, str) or tokenizer is None:
            return str(prompt), ()
        return tokenizer.spelled(prompt), tuple(prompt)
    if tokenizer is None or known.template is None:
        return _text_of(request), ()
    from lacli.prompts import chat

    turns = [chat.Message(each.role, text) for each, text in zip(request.messages, texts_of(request), strict=False)]
    ids = chat.compose(turns, known.template, tokenizer).token_ids
    return tokenizer.spelled(ids), tuple(ids)


def _prediction(server: Server, pool: ProjectPool, request: Request) -> str:
    """What the reply will resemble: the text that it gives again; for our own server, earlier replies too, which it can
    find its guesses in."""
    expected = request.prediction or (request.rewrites if server.kind == "openai" else "")
    if server.kind != "lacli" or request.place is not None:
        return expected
    return "\n".join(filter(None, [pool.prediction(_text_of(request)), expected]))


def _text_of(request: Request) -> str:
    """What was asked, for the search for secrets in what comes of it; of a place the text before it."""
    return "\n".join(texts_of(request)) if request.place is None else request.place.prefix[-_NEAR:]
