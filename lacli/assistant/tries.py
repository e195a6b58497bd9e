"""What a completion tries, one text after another, until one lets the file parse. Each costs no prompt, but its tokens.

`tries` is all of it, top to bottom: it asks for a try and is sent what came of it, so that whoever drives it writes the
text, for one reply or for many at once.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacli.assistant.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lacli.completion.fit import Fit

MOST_TOKENS = 64
"""Of every try but the first."""
_OTHERS = 4
"""Texts with another first token that are tried where the file would not parse."""
_LINES_PAST = 12
"""Lines that a text may go on behind where its rules ended it."""


@dataclass(frozen=True, slots=True)
class Try:
    """A text to write."""

    other: bool = False
    """Whether it begins with the likeliest token that none before it began with."""
    past: int = 0
    """Lines after which it ends at the latest, and it may go on where the rules ended the first; 0: as they say."""


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a try."""

    text: str
    ruled: bool = False
    """Whether a rule ended it, not the model or a limit."""
    shown: str = ""
    """The part of it that has been shown already, and so is a part of what is chosen."""


Search = Generator[Try, Came, str]
"""Returns the text that is chosen."""


def tries(fit: Fit | None, complete: bool, once: bool = False) -> Search:
    """Find a text that lets the file parse.

    complete: the place lacks nothing, as far as one can see there. once: the first text that is not blank is the only
    one; it is delivered, mended or cut where that takes no further decoding, or dropped.
    """
    first = yield Try()
    text = first.text
    if not text.strip() and complete:
        return text  # where nothing need be missing, a model that ends at once says that nothing is
    if fit is None or not fit.judges:
        return text if text.strip() else (yield Try(other=True)).text
    if text.strip() and (fit.sound(text) or fit.is_broken):
        return text
    near = yield from _near(fit, first, once)
    if near is not None:
        return near
    if complete and fit.sound(""):
        return ""
    return (yield from _others(fit, text, once))


def _near(fit: Fit, first: Came, once: bool) -> Generator[Try, Came, str | None]:
    """A longer text than the rules left, or one that is nearly the same."""
    text = first.text
    if first.shown:
        near = fit.nearest(text)
        return near if near is not None and near.startswith(first.shown) else first.shown
    if first.ruled and not (once and text.strip()):
        past = yield Try(past=text.count("\n") + _LINES_PAST)
        longer = fit.longer(text, past.text)
        if longer is not None:
            return longer
    return fit.nearest(text)


def _others(fit: Fit, text: str, once: bool) -> Search:
    """A text that begins in another way; else the first that says something, as much of it as lets the file parse."""
    for _ in range(_OTHERS):
        if once and text.strip():
            break
        other = (yield Try(other=True)).text
        if other.strip():
            near = other if fit.sound(other) else fit.nearest(other)
            if near is not None:
                return near
            text = text if text.strip() else other
    part = fit.part(text)
    if part is None and fit.sound(""):
        return ""  # the file is whole as it is: better nothing than what breaks it
    return text if part is None else part


class Tried:
    """The tries of one reply while they are written: what may be shown of them, and what is left out of the next."""

    def __init__(self, fit: Fit | None, complete: bool, once: bool = False) -> None:
        self._fit = fit if fit is not None and fit.judges else None
        self._search = tries(fit, complete, once)
        self.now = next(self._search)
        """What is being written."""
        self.chosen: str | None = None
        """The text that is delivered, once that is known."""
        self.without: frozenset[int] = frozenset()
        """The first tokens so far."""
        self._shown = ""
        self._written: list[tuple[str, Tally]] = []

    @property
    def is_first(self) -> bool:
        """Whether nothing has been written to its end yet."""
        return not self._written

    @property
    def nothing_shown(self) -> bool:
        """Whether all of it is held back."""
        return self._fit is not None and not self._shown

    def came(self, text: str, tally: Tally, first: Sequence[int], ruled: bool) -> bool:
        """A text is written, which began with this token: whether there is another try."""
        self._written.append((text, tally))
        if not self.now.past:
            self.without |= frozenset(first)
        try:
            self.now = self._search.send(Came(text, ruled, self._shown))
        except StopIteration as end:
            self.chosen = str(end.value)
        return self.chosen is None

    def release(self, text: str, over: bool) -> str:
        """What is to be shown of this text that was not: while it comes, only lines that let the file parse."""
        if not over and self._fit is not None:
            lines = text[: text.rfind("\n") + 1]
            fits = self.is_first and len(lines) > len(self._shown) and lines.strip() and self._fit.sound(lines)
            text = lines if fits else self._shown
        new, self._shown = text[len(self._shown) :], text
        return new

    def given_up(self, now: Tally) -> int:
        """Tokens of all texts but this one."""
        return sum(tally.written for _, tally in self._written if tally is not now)

    def delivered(self, text: str, spelled: Callable[[Sequence[int]], str]) -> Tally:
        """The tally of the chosen text: of the one written that it is most like, cut to the tokens that it needs."""
        if not text:
            return Tally()
        _, tally = max(self._written, key=lambda each: _common(each[0], text))
        count = len(tally.ids)
        while count and (not text.strip() or text.strip() in spelled(tally.ids[: count - 1])):
            count -= 1
        tally.cut(count)
        return tally


def _common(left: str, right: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))
