"""Stop strings as the engine's StopRule, and the only way a reply's text is released while they are in force.

Works on bytes, one after another: the reply ends at the first byte that completes a stop, so where tokens or steps
begin cannot matter. UTF-8 never lets one character's bytes begin inside another, so byte and text matches agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from lacli.engine.step import Cut, Finish
from lacli.errors import UsageError
from lacli.text.stream import Spelling, TextStream


class Watcher(Protocol):
    """One reason to end a text, asked for every byte of it."""

    def feed(self, byte: int) -> int | None:
        """The next byte; when the reason is complete, how many bytes of the text so far do not belong to it."""
        ...

    @property
    def safe(self) -> int:
        """How many bytes of the text so far can never be cut away."""
        ...

    @property
    def begin(self) -> int:
        """How many bytes at the front of the text do not belong to it, as far as that is known."""
        ...

    @property
    def ending(self) -> str:
        """What the text lacks at its end, once that is known."""
        ...

    def end(self, early: bool) -> int | None:
        """The text ends here by itself, or `early` by its limit: where to cut after all, if the reason holds now."""
        ...


class StopString:
    """Ends the text before the first occurrence of a string (Knuth, Morris, Pratt)."""

    begin = 0
    ending = ""

    def __init__(self, stop: str) -> None:
        self._stop = stop.encode("utf-8", "surrogateescape")
        if not self._stop:
            raise UsageError("a stop string is empty", "give --stop at least one character")
        self._fail = _borders(self._stop)
        self._matched = 0
        self._seen = 0

    def feed(self, byte: int) -> int | None:
        """See `Watcher`."""
        self._seen += 1
        while self._matched and self._stop[self._matched] != byte:
            self._matched = self._fail[self._matched - 1]
        if self._stop[self._matched] == byte:
            self._matched += 1
        if self._matched < len(self._stop):
            return None
        self._matched = self._fail[-1]
        return self._seen - len(self._stop)

    @property
    def safe(self) -> int:
        """See `Watcher`."""
        return self._seen - self._matched

    def end(self, early: bool) -> int | None:
        """A stop that is not complete is ordinary text."""
        return None


def _borders(pattern: bytes) -> list[int]:
    """For each prefix of the pattern, the length of its longest proper border."""
    fail = [0] * len(pattern)
    for index in range(1, len(pattern)):
        length = fail[index - 1]
        while length and pattern[index] != pattern[length]:
            length = fail[length - 1]
        fail[index] = length + (pattern[index] == pattern[length])
    return fail


class StopStrings:
    """The stop rule of one reply together with its text: `cut` in the engine, `take` after every step.

    Kept are all tokens before the one that completes a stop, and that one too where the text before the stop reaches
    into it. A stop that spans tokens so leaves its first tokens in the context, in whichever steps they came;
    `delivered` says how many tokens the released text really needs.
    """

    def __init__(self, tokenizer: Spelling, stops: Sequence[str] = (), watchers: Iterable[Watcher] = ()) -> None:
        self._tokenizer = tokenizer
        self._watchers: list[Watcher] = [*map(StopString, dict.fromkeys(stops)), *watchers]
        self._stream = TextStream(tokenizer)
        self._held = bytearray()  # bytes of the text from `_released` on
        self._released = 0
        self._starts: list[int] = []  # where the bytes of each kept token begin
        self._length = 0
        self._end: int | None = None  # where the text was cut
        self._ended = False
        self.seen = 0
        """Tokens judged so far, the one that completed a stop among them and none behind it."""

    def cut(self, token_ids: Sequence[int]) -> Cut:
        """How much of this accepted run belongs to the reply; what is kept is consumed."""
        for index, token_id in enumerate(token_ids):
            start = self._length
            self.seen += 1
            end = self._consume(self._tokenizer.token_bytes(token_id))
            if end is None:
                self._starts.append(start)
                continue
            self._end = end
            reaches = end > start
            if reaches:
                self._starts.append(start)
            return Cut(index + reaches, Finish.STOP)
        return Cut(len(token_ids))

    def take(self) -> str:
        """Text that became certain since the last call."""
        if self._end is not None:
            text = self._stream.push_bytes(self._release(self._end))
            return text + self._stream.interrupt() + self._take_ending()
        return self._stream.push_bytes(self._release(min([self._length, *(w.safe for w in self._watchers)])))

    def finish(self, early: bool = False) -> str:
        """The reply is over (`early`: by its limit): text held back for a stop that did not come is released."""
        if self._end is None:
            ends = [end for watcher in self._watchers if (end := watcher.end(early)) is not None]
            if ends:
                self._end = min(ends)
                return self.take()
            text = self._stream.push_bytes(self._release(self._length))
            return text + self._stream.finish() + self._take_ending()
        return self.take()

    @property
    def delivered(self) -> int:
        """Tokens kept so far whose text is at least partly before the cut; all while nothing was cut."""
        if self._end is None:
            return len(self._starts)
        return sum(start < self._end for start in self._starts) if self._end > self._begin else 0

    @property
    def shown(self) -> int:
        """Tokens whose text has been released whole."""
        ends = [*self._starts[1:], self._length][: len(self._starts)]
        return sum(end <= self._released for end in ends)

    @property
    def fired(self) -> bool:
        """Whether a stop has cut the text."""
        return self._end is not None

    def _consume(self, data: bytes) -> int | None:
        """Show the bytes to every watcher; the cut, once one is satisfied."""
        for byte in data:
            self._held.append(byte)
            self._length += 1
            cuts = [end for watcher in self._watchers if (end := watcher.feed(byte)) is not None]
            if cuts:
                return min(cuts)
        return None

    def _release(self, until: int) -> bytes:
        count = until - self._released
        if count <= 0:
            return b""
        data = bytes(self._held[max(0, self._begin - self._released) : count])
        del self._held[:count]
        self._released = until
        return data

    def _take_ending(self) -> str:
        ending = "" if self._ended else "".join(watcher.ending for watcher in self._watchers)
        self._ended = True
        return ending

    @property
    def _begin(self) -> int:
        return max((watcher.begin for watcher in self._watchers), default=0)
