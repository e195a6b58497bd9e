"""The prompt of a completion: fill-in-the-middle where the model knows it, else the text before the cursor alone.

Raw text, never the chat template: instruction-tuned models answer in Markdown through it. Called by `lacli.context`.
"""

from __future__ import annotations

from dataclasses import dataclass

from lacli.errors import UsageError
from lacli.models.registry import FimMarkers
from lacli.prompts.chat import with_bos
from lacli.text.stops import Watcher
from lacli.text.tokenizer import Tokenizer

_NO_FIM = "this model knows no fill-in-the-middle: it continues the text before the cursor"
_SUFFIX_SHARE = 4
"""Where not everything fits, one token in so many is spent on the text after the cursor."""
_CHARACTERS_A_TOKEN = 12
"""Far above what vocabularies reach on code: text further than this from the cursor is not even tokenised."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model is given to complete a place in a file, and when it is done."""

    token_ids: tuple[int, ...]
    stop_ids: tuple[int, ...]
    """Tokens that end the completion besides the model's own end of text."""
    watchers: tuple[Watcher, ...]
    """For `StopStrings`: without fill-in-the-middle, ends before the text after the cursor is repeated."""
    notes: tuple[str, ...]
    """Lines the user should see."""


def completion(
    prefix: str, suffix: str, markers: FimMarkers | None, tokenizer: Tokenizer, room: int | None = None
) -> Completion:
    """Complete between `prefix` and `suffix` with a prompt of at most `room` tokens, those nearest to the cursor."""
    if markers is None:
        return _continuation(prefix, suffix, tokenizer, room)
    marks = {text: _one_id(text, tokenizer) for text in (markers.prefix, markers.suffix, markers.middle)}
    stops = {index for text in markers.stop if (index := tokenizer.id_of(text)) is not None}
    # an empty suffix is outside what models were trained on
    before, after, notes = _nearest(prefix, suffix or "\n", tokenizer, None if room is None else room - 4)
    if markers.order == "psm":
        parts = [marks[markers.prefix], *before, marks[markers.suffix], *after, marks[markers.middle]]
    else:
        parts = [marks[markers.suffix], *after, marks[markers.prefix], *before]
    token_ids = tuple(with_bos(parts, tokenizer))
    return Completion(token_ids, tuple(sorted(stops | set(marks.values()))), (), notes)


def _continuation(prefix: str, suffix: str, tokenizer: Tokenizer, room: int | None) -> Completion:
    before, _, notes = _nearest(prefix, "", tokenizer, None if room is None else room - 1)
    token_ids = with_bos(before, tokenizer)
    if not token_ids:  # an empty file: a model needs some token to begin after
        start = tokenizer.bos_id if tokenizer.bos_id is not None else tokenizer.eos_id
        token_ids = [start or 0]
    watcher = suffix_watcher(prefix, suffix)
    return Completion(
        tuple(token_ids),
        (),
        () if watcher is None else (watcher,),
        ((_NO_FIM,) if suffix.strip() else ()) + notes,
    )


def _one_id(marker: str, tokenizer: Tokenizer) -> int:
    token_id = tokenizer.id_of(marker)
    if token_id is None:
        raise UsageError(
            f"the fill-in-the-middle marker {marker!r} is not one token of this model",
            "correct the model's [fim] table in models.toml, or remove it",
        )
    return token_id


def _nearest(
    prefix: str, suffix: str, tokenizer: Tokenizer, room: int | None
) -> tuple[list[int], list[int], tuple[str, ...]]:
    """The ids of both texts, cut at their far ends to `room` tokens together, and a note if they were cut."""
    if room is None:
        return tokenizer.encode(prefix), tokenizer.encode(suffix), ()
    room = max(room, 2)
    reach = room * _CHARACTERS_A_TOKEN
    before, after = tokenizer.encode(prefix[-reach:]), tokenizer.encode(suffix[:reach])
    cut = len(prefix) > reach or len(suffix) > reach or len(before) + len(after) > room
    after = after[: max(room // _SUFFIX_SHARE, room - len(before))]
    before = before[max(0, len(before) - (room - len(after))) :]
    note = f"only the {len(before) + len(after):,} tokens nearest to the cursor fit into the context"
    return before, after, (note,) if cut else ()


def suffix_watcher(prefix: str, suffix: str) -> SuffixWatcher | None:
    """Watches for a repetition of what stands behind the cursor; None where only blanks do."""
    line = prefix.rpartition("\n")[2]
    rest, newline, below = suffix.partition("\n")
    remainder = ""
    if rest.strip():
        if not line.strip():  # the indentation is before the cursor, so a repetition of the line keeps its own
            return SuffixWatcher(line, line + rest, 0, "")
        remainder, suffix = rest, newline + below
    body = suffix.lstrip()
    if not body:
        return None
    lead = suffix[: len(suffix) - len(body)]
    target = lead.rpartition("\n")[2] + body.partition("\n")[0]
    return SuffixWatcher(line, target, lead.count("\n"), remainder)


class SuffixWatcher:
    """Ends a completion where it writes the next full line of the file, indentation included.

    Cut away with that line are as many line ends before it as the file has there, and what follows the cursor on
    its own line when the completion repeated that, too.
    """

    def __init__(self, line: str, target: str, breaks: int, remainder: str) -> None:
        """`line` stands before the cursor, `target` is the line watched for, `breaks` line ends before it."""
        self._target = target.rstrip().encode()
        self._breaks = breaks
        self._remainder = remainder.encode()
        self._line = bytearray(line.encode("utf-8", "replace"))
        self._indent = 0 if breaks else len(self._line)
        self._open = bool(line.strip())  # a line the user began is not the model's repetition
        self._above = b""  # the last line with text
        self._ends: list[int] = []  # where the line ends since that line stand
        self._seen = 0

    def feed(self, byte: int) -> int | None:
        """See `lacli.text.stops.Watcher`."""
        self._seen += 1
        if byte != 0x0A:
            self._line.append(byte)
            return None
        if self._matches():
            return self._cut()
        if self._line.strip():
            self._above = bytes(self._line)
            self._ends.clear()
        self._ends.append(self._seen - 1)
        self._line.clear()
        self._open = False
        return None

    @property
    def safe(self) -> int:
        """See `lacli.text.stops.Watcher`."""
        begun = self._target.startswith(self._line) or self._matches() or not self._line.strip()
        if begun and not self._open:
            return max(0, self._begin() - len(self._remainder))
        return max(0, self._seen - len(self._remainder))

    def end(self) -> int | None:
        """See `lacli.text.stops.Watcher`."""
        return self._cut() if self._matches() else None

    def _matches(self) -> bool:
        return not self._open and self._line.rstrip() == self._target

    def _begin(self) -> int:
        """Where the present line begins with the line ends that the file repeats."""
        if not self._ends:
            return 0
        if not self._breaks:
            return min(self._seen, self._ends[-1] + 1 + self._indent)
        return self._ends[-min(self._breaks, len(self._ends))]

    def _cut(self) -> int:
        begin = self._begin()
        size = len(self._remainder)
        repeats = size and begin == (self._ends or [0])[0] and self._above.endswith(self._remainder)
        return begin - size if repeats and begin >= size else begin
