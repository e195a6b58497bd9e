"""How much of a file and its neighbours a completion is shown: cut by lines, characters and tokens, near the cursor.

Pure. Text far from the cursor is not even tokenised: a line of a megabyte costs what an ordinary one does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lacli.events import Attachment, Place

REACH = 1 << 16
"""Characters on either side of the cursor that a completion can depend on; of a larger file no more is asked about."""
MOST_BEFORE, MOST_AFTER, MOST_CONTEXT = 1_024, 512, 1_024
"""Tokens: a first word must not wait long for what stands far away, on a CPU at that.

Before the cursor `lacli.bench.infill.prompts` found no difference between 1,536, 1,024 and 640 of them (likeness 0.308,
0.301, 0.305 at 47 places with at least 900, SmolLM2 135M), but 0.267 with 384.
"""
READ_MS = 1_500
"""What reading may take where a user says nothing: about what a person waits for a completion."""
_CHARACTERS_A_TOKEN = 6
"""Above what vocabularies reach on code."""
SUFFIX_SHARE = 4
"""Where not everything fits, one token in so many is spent on the text after the cursor."""

Encode = Callable[[str], Sequence[int]]


def shown(place: Place, hidden: str = "", most_before: int = MOST_BEFORE) -> tuple[str, str]:
    """The lines around the cursor, `hidden` blanks before it left out, and no more characters than may be of use."""
    before = place.prefix.removesuffix(hidden) if hidden else place.prefix
    before = before[-most_before * _CHARACTERS_A_TOKEN :]
    after = place.suffix[: MOST_AFTER * _CHARACTERS_A_TOKEN]
    return "\n".join(before.split("\n")[-place.lines_before - 1 :]), "\n".join(
        after.split("\n")[: place.lines_after + 1]
    )


def begins_file(before: str, place: Place, hidden: str = "") -> bool:
    """Whether this text, the end of what stands before the cursor, begins with the file's first line."""
    return len(place.prefix) < REACH and len(before) + len(hidden) >= len(place.prefix)


def last_part(text: str, most: int, encode: Encode) -> str:
    """The end of a text, of about `most` tokens, from the beginning of a line on where it has lines."""
    count = len(encode(text))
    if count <= most:
        return text
    part = text[-len(text) * most // count :]
    return part.partition("\n")[2] or part


def heading(piece: Attachment) -> str:
    """What stands above another file, in a comment."""
    return f"Path: {piece.label}"


def as_comments(place: Place, comment: str) -> str:
    """Pieces of other files as text before the file's own, for models that know no other form of them."""
    text = "".join(f"{comment} {heading(piece)}\n{piece.text.rstrip()}\n\n" for piece in place.context)
    return text if len(text) <= MOST_CONTEXT * _CHARACTERS_A_TOKEN else ""


def nearest(
    before: str, after: str, encode_before: Encode, encode_after: Encode, room: int | None
) -> tuple[list[int], list[int], tuple[str, ...]]:
    """The ids of both texts, cut at their far ends to what is of use and to `room` tokens, and a note if `room` did."""
    room = MOST_BEFORE + MOST_AFTER if room is None else max(room, 2)
    reach = room * _CHARACTERS_A_TOKEN * 2
    ids_before = list(encode_before(before[-reach:]))[-MOST_BEFORE:]
    ids_after = list(encode_after(after[:reach]))[:MOST_AFTER] if after else []
    count = len(ids_before) + len(ids_after)
    if count <= room:
        return ids_before, ids_after, ()
    ids_after = ids_after[: max(room // SUFFIX_SHARE, room - len(ids_before))]
    ids_before = ids_before[max(0, len(ids_before) - (room - len(ids_after))) :]
    note = f"only the {len(ids_before) + len(ids_after):,} tokens nearest to the cursor fit into the context"
    return ids_before, ids_after, (note,)
