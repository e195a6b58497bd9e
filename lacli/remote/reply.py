"""One reply of a remote, from the request to its last event.

A request is retried only before its first token: text that a reader has seen is never replaced. Whatever ends the reply
early closes the connection, which tells the server to stop.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from lacli.assistant.base import Cancel
from lacli.errors import LacliError, PromptTooLong
from lacli.events import Event, Finished, Message, Notice, Piece, Reason, ReplyStats, Request
from lacli.remote import failures, server
from lacli.remote.calls import Call, call_of, goes_on, texts_of
from lacli.remote.exchange import Broken, Cancelled, Exchange, Head
from lacli.remote.figures import SOURCE, Told
from lacli.remote.known import KnownModel
from lacli.remote.server import Server
from lacli.remote.stream import Done, Garbled, objects
from lacli.remote.words import Words
from lacli.text.stops import StopString, StopStrings, Watcher
from lacli.text.thoughts import AfterThought, Split, Thoughts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LENGTH = ("length", "max_tokens", "limit")
_GIVEN_UP = ("abort", "error", "content_filter")
"""Finish reasons of a reply that its server did not complete."""


@dataclass
class Context:
    """What all replies of one assistant have in common."""

    server: Server
    known: KnownModel
    check: Callable[[Iterable[str]], None]
    """Raises UsageError for texts that must not be sent."""
    prediction: Callable[[Request], str]
    """A text that guesses may be read off there."""
    pool_size: Callable[[], int]
    left_out: set[str] = field(default_factory=set)
    """Optional members that this server refuses."""
    seen_notices: set[str] = field(default_factory=set)


class RemoteReply:
    """See the module."""

    def __init__(self, context: Context, request: Request, cancel: Cancel) -> None:
        self._context = context
        self._cancel = cancel
        self._server = context.server
        self._request = request if goes_on(context.server) else replace(request, begun="")
        self._told = Told()
        self._text: list[str] = []
        self._thought: list[str] = []
        self._ended = ""
        """Why the server says that it ended."""
        self._started = time.perf_counter()
        self._first_at = self._last_at = self._object_at = 0.0
        self._has_begun = False
        """Whether any text has arrived, even if it is still held back."""
        self._sent: dict[str, Any] = {}
        """The body of the last try."""
        self._new_notes: list[str] = []
        """Notes for the user that were not yielded yet."""
        self._dropped = 0
        self._cancelled = False

    def events(self) -> Iterator[Event]:
        """All events of the reply. Raises LacliError where it fails; what came before was yielded by then."""
        self._begin(self._made())
        try:
            with contextlib.closing(self._chunks()) as chunks:
                for chunk in chunks:
                    yield from self._notices(self._new_notes)
                    yield from self._take(chunk)
                    if self._rule.fired:
                        break
            if self._ended in _GIVEN_UP and not self._rule.fired:
                raise failures.broken_off(self._server.remote, f"it gives {self._ended!r} as the reason")
        except Cancelled:
            self._cancelled = True
        except LacliError:
            yield from self._last(early=True)
            raise
        yield from self._last(early=self._cancelled or self._ended in _LENGTH)
        yield from self._notices(self._new_notes)
        yield self._finished()

    def _made(self) -> Call:
        """The request as it is sent. Raises UsageError for what must not be."""
        request = self._request
        prediction = self._context.prediction(request)
        # First, as a server may be asked to render them.
        self._context.check([*texts_of(request), prediction, *request.stops])
        call = call_of(self._server, self._context.known, request, prediction, self._cancel)
        self._context.check(call.sent)
        return call

    def _begin(self, call: Call) -> None:
        """Make this the current call, with no text received yet."""
        self._call = call
        self._new_notes += call.notes
        found: list[Watcher] = [*map(StopString, dict.fromkeys(self._request.stops)), *call.watchers]
        watchers = [AfterThought(each, False) for each in found] if call.thoughts else found
        self._words = Words()
        self._rule = StopStrings(self._words, watchers=watchers)
        self._thoughts = Thoughts(False if call.thoughts else None)

    def _take(self, chunk: dict[str, Any]) -> Iterator[Piece]:
        """Read one object of the answer; yields the text that can be shown now."""
        self._told.read(chunk)
        text, thought, ended = self._call.read(chunk)
        self._ended = self._ended or ended
        self._has_begun |= bool(text or thought)
        new = Split(thought=thought)
        if text:
            self._rule.cut(self._words.encode(text))
            new += self._thoughts.push(self._rule.take())
        yield from self._piece(new)

    def _last(self, early: bool) -> Iterator[Piece]:
        """The text that was held back."""
        yield from self._piece(self._thoughts.push(self._rule.finish(early)) + self._thoughts.finish())

    def _piece(self, new: Split) -> Iterator[Piece]:
        if new.answer or new.thought:
            self._last_at = time.perf_counter()
            self._first_at = self._first_at or self._last_at
            self._text.append(new.answer)
            self._thought.append(new.thought)
            yield Piece(new.answer, (), self._stats(), (), new.thought)

    def _chunks(self) -> Generator[dict[str, Any], None, None]:
        """The objects of the answer, from the first try that gives any."""
        limits, tries = self._server.limits, 0
        while True:
            tries += 1
            try:
                with self._asked() as exchange:
                    head = exchange.head(limits.first_s)
                    if head.status == 200:
                        yield from self._objects(exchange, head)
                        return
                    body = exchange.whole(failures.MOST_BYTES)
            except Broken as broken:
                if not self._may_try_again(broken, tries):
                    raise self._failure(broken) from None
                self._pause(limits.pause_s * 2 ** (tries - 1))
                continue
            except Garbled as garbled:
                raise failures.broken_off(self._server.remote, str(garbled)) from None
            again = self._changed(head, body)
            if again is not None:
                self._begin(again)
                tries -= 1
            else:
                self._pause(self._wait(head, body, tries))

    def _asked(self) -> contextlib.AbstractContextManager[Exchange]:
        call = self._call
        left_out = {name for name in call.optional if name in call.body and name in self._context.left_out}
        self._sent = {name: value for name, value in call.body.items() if name not in left_out}
        if "max_tokens" in left_out:  # OpenAI's newer models know the budget by another name
            self._sent["max_completion_tokens"] = call.body["max_tokens"]
        return server.exchange(self._server.remote, self._server.limits, call.url, self._sent, self._cancel)

    def _objects(self, exchange: Exchange, head: Head) -> Iterator[dict[str, Any]]:
        """Until the server says that it is done. Raises Broken where it ends without."""
        self._object_at = time.monotonic()
        for found in objects(exchange.parts(self._patience), head.headers.get("content-type", "")):
            self._object_at = time.monotonic()
            if isinstance(found, Done):
                return
            said = failures.message_of_object(found)
            if said:
                raise failures.of_message(self._server.remote, said)
            yield found
        if not self._ended:
            raise Broken("the connection ended", begun=True)

    def _patience(self) -> float:
        """By when something must have come."""
        limits = self._server.limits
        return self._object_at + (limits.idle_s if self._has_begun else limits.first_s)

    def _may_try_again(self, broken: Broken, tries: int) -> bool:
        """Whether to retry a request that got no answer: nothing of it was shown, and the failure is one that a retry
        may cure, unlike a refused connection."""
        cause = broken.cause
        lost = isinstance(cause, ConnectionError) or not isinstance(cause, OSError)
        lost &= not isinstance(cause, ConnectionRefusedError)
        return lost and not self._has_begun and tries < self._server.limits.tries

    def _failure(self, broken: Broken) -> LacliError:
        if broken.begun or self._has_begun:
            return failures.broken_off(self._server.remote, broken.cause)
        return failures.unreachable(self._server.remote, broken)

    def _wait(self, head: Head, body: bytes, tries: int) -> float:
        """How long to wait before the next try. Raises what the server refused, where there is none."""
        limits = self._server.limits
        asked = failures.retry_after(head)
        seconds = limits.pause_s * 2 ** (tries - 1) if asked is None else asked
        if head.status not in failures.BUSY or tries >= limits.tries or seconds > limits.patience_s:
            raise failures.refused(self._server.remote, head, body, self._server.model)
        return seconds

    def _changed(self, head: Head, body: bytes) -> Call | None:
        """The call without the member that this server refuses, or without the oldest turns; None if neither helps."""
        if head.status not in (400, 404, 413, 422, 501):
            return None
        call, said = self._call, failures.message_of(body)
        refusal = failures.refused(self._server.remote, head, body, self._server.model)
        if isinstance(refusal, PromptTooLong):
            return self._shorter()
        for name in call.optional:
            if name in said and name in self._sent:  # another reply may have found out since this one was sent
                self._context.left_out.add(name)
                return call
        return call.otherwise() if call.otherwise is not None else None

    def _shorter(self) -> Call | None:
        """The call without the older half of the turns before the last question, if the request allows that."""
        messages = self._request.messages
        first = 1 if messages and messages[0].role == "system" else 0
        if not self._request.drop_oldest or len(messages) - first < 2:
            return None
        kept = _half(messages[first:])
        self._dropped += len(messages) - first - len(kept)
        self._request = replace(self._request, messages=(*messages[:first], *kept))
        call = self._made()
        self._new_notes.append(f"the oldest {self._dropped} messages no longer fit into the context and were left out")
        return call

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._cancel():
                raise Cancelled
            time.sleep(min(0.05, seconds))

    def _notices(self, notes: list[str]) -> Iterator[Notice]:
        """Each once in the assistant's life."""
        while notes:
            note = notes.pop(0)
            if note not in self._context.seen_notices:
                self._context.seen_notices.add(note)
                yield Notice(note)

    def _finished(self) -> Finished:
        reason: Reason = "cancelled" if self._cancelled else "length" if self._ended in _LENGTH else "stop"
        if self._rule.fired:
            reason = "stop"
        text, thought = "".join(self._text), "".join(self._thought).strip()
        return Finished(text, (), reason, self._stats(reason), self._dropped, thought=thought)

    def _stats(self, reason: Literal[Reason, ""] = "") -> ReplyStats:
        told, steps = self._told, self._told.steps
        predicted, drafted = told.predicted_n or 0, told.draft_n or 0
        accepted = max(0, min(told.accepted_n or 0, drafted, predicted - 1))
        by_source = {SOURCE: drafted} if drafted else {}
        untold = {"predicted_n": told.predicted_n, "steps": steps, "draft_n": told.draft_n, "prompt_n": told.prompt_n}
        begun = bool(self._first_at)
        return ReplyStats(
            model=self._server.remote.title,
            replies=int(begun),
            predicted_n=predicted,
            steps=steps or 0,
            plain_steps=max(0, predicted - 1) if steps is not None else 0,
            untold_n=predicted - 1 if steps is None and begun else 0,  # -1, the first, where no tokens are told
            draft_n=drafted,
            draft_n_accepted=accepted,
            drafted_by_source=by_source,
            accepted_by_source={SOURCE: accepted} if accepted else {},
            rows=(steps or 0) + (drafted if steps else 0),
            prompt_n=(told.prompt_n or 0) - min(told.reused_n or 0, told.prompt_n or 0),
            reused_n=told.reused_n or 0,
            prompt_ms=told.prompt_ms or 0.0,
            predicted_ms=1000 * (self._last_at - self._first_at),
            ttft_ms=1000 * (self._first_at - self._started) if begun else 0.0,
            pool_size=self._context.pool_size(),
            ctx_used=(told.prompt_n or 0) + predicted,
            ctx_size=self._server.context,
            untold=tuple(name for name, value in untold.items() if value is None),
            finish_reason=reason,
        )


def _half(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The newer half of a conversation, which begins with a question."""
    kept = list(messages[(len(messages) + 1) // 2 :])
    while len(kept) > 1 and kept[0].role != "user":
        del kept[0]
    return tuple(kept)
