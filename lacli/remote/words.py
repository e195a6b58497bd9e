"""A stand-in for the tokenizer of a model that is not known here: its tokens are words, blanks and single characters.

They are about as long as tokens of real vocabularies, so that windows and estimates come out right, and a text survives
a round trip through them. Ids are valid only within the object that made them; requests carry text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r" ?[^\W\d_]{1,8}|\d{1,3}|\n+|[^\S\n]{1,16}|.", re.DOTALL)
_BREAK = "\N{ZERO WIDTH SPACE}"


def estimated(text: str) -> int:
    """About how many tokens a text has."""
    return sum(1 for _ in _WORD.finditer(text))


class Words:
    """What completions need of a `lacli.text.tokenizer.Tokenizer`; `markers` are single tokens of it."""

    bos_id: int | None = None
    eos_id: int | None = None
    adds_bos = False

    def __init__(self, markers: Iterable[str] = ()) -> None:
        self._texts = list(dict.fromkeys(markers))
        self._markers = {marker: index for index, marker in enumerate(self._texts)}
        self._ids: dict[str, int] = {}

    def id_of(self, marker: str) -> int | None:
        """The id of a marker."""
        return self._markers.get(marker)

    def encode(self, text: str, control: bool = False) -> list[int]:
        """The words of a text. A marker in it is broken up by a character that is not seen, as a server that is given
        text would take it for the marker."""
        for marker in self._markers if not control else ():
            if marker in text:
                text = text.replace(marker, marker[:1] + _BREAK + marker[1:])
        return [self._id(found[0]) for found in _WORD.finditer(text)]

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of these ids without markers."""
        return "".join(self._texts[each] for each in token_ids if each >= len(self._markers))

    def spelled(self, token_ids: Iterable[int]) -> str:
        """The text of these ids with markers."""
        return "".join(self._texts[each] for each in token_ids)

    def token_bytes(self, token_id: int) -> bytes:
        """What an id adds to a text."""
        return self.decode([token_id]).encode("utf-8", "replace")

    def unshowable(self, text: str) -> int:
        """Nothing is known that cannot be shown."""
        return 0

    def _id(self, word: str) -> int:
        found = self._ids.get(word)
        if found is None:
            found = self._ids[word] = len(self._texts)
            self._texts.append(word)
        return found
