"""A rewritten text put into the file it came from, so that every line the rewriting kept keeps its very bytes.

What a model gave back of a line may be less than the line: characters that its vocabulary lacks, bytes that are no
text. Such a line counts as kept where what the model could see of it was kept; in a changed one what the model could
not see stays beside what it stood beside. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import SequenceMatcher

from lacli.edits.tree.hunks import Hunk, hunks
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError

_MOST_LETTERS = 20_000
"""Longer changed pieces are taken as the model wrote them: comparing letter by letter takes the square of it."""


def visible(text: str, unseen: Collection[str]) -> str:
    """The text as a model sees it whose vocabulary lacks these characters."""
    return text.translate(dict.fromkeys(map(ord, unseen))) if unseen else text


def spliced(file: TextFile, text: str, unseen: Collection[str] = ()) -> bytes:
    """The file with `text` as its whole text; a new line ends as the one it replaces, or as its neighbours.

    `unseen` are characters the writer of `text` neither saw nor could write. Raises UsageError for a character that the
    file's encoding lacks.
    """
    old = [_line(file, index) for index in range(file.line_count)]
    new = text.split("\n")
    last_has_end = not new[-1]
    if last_has_end:
        new.pop()
    made: list[tuple[bytes, str]] = []
    at = 0
    for hunk in hunks([visible(line, unseen) for line in old], new):
        made += _kept(file, at, hunk.start)
        made += _changed(file, old, new, hunk, unseen)
        at = hunk.end
    made += _kept(file, at, file.line_count)
    data = file.data[: file.byte_starts[0]] + b"".join(_ended(file, made, last_has_end))
    if visible(file.reads(data), unseen) != visible(text, unseen):
        raise UsageError(f"{file.name} cannot hold this text in {file.encoding}", "convert it to UTF-8 first")
    return data


def _line(file: TextFile, index: int) -> str:
    text = file.text[file.starts[index] : file.starts[index + 1]]
    return text.removesuffix("\n")


def _kept(file: TextFile, start: int, end: int) -> list[tuple[bytes, str]]:
    """The bytes of these lines without the end of the last: the first line alone, as its neighbour may be a new one."""
    return [
        (
            file.data[file.byte_starts[first] : file.byte_starts[last] - len(file.encode(file.ends[last - 1]))],
            end_of_run,
        )
        for first, last in ((start, min(start + 1, end)), (start + 1, end))
        if first < last
        for end_of_run in [file.ends[last - 1]]
    ]


def _changed(
    file: TextFile, old: list[str], new: list[str], hunk: Hunk, unseen: Collection[str]
) -> list[tuple[bytes, str]]:
    """The new lines of a hunk, with the ends they get."""
    lines = new[hunk.new_start : hunk.new_end]
    ends = []
    for index in range(len(lines)):
        replaced = min(hunk.start + index, hunk.end - 1)
        ends.append(file.end_near(replaced if hunk.end > hunk.start else max(0, hunk.start - 1)))
    contents = [file.encode(line) for line in lines]
    before = old[hunk.start : hunk.end]
    kept = any(set(line) & set(unseen) for line in before) or (
        file.odd and any(file.raw(hunk.start + index) != line for index, line in enumerate(before))
    )
    if kept and lines and sum(map(len, before)) + sum(map(len, lines)) <= _MOST_LETTERS:
        contents = _recovered(file, before, hunk, lines, unseen)
    return list(zip(contents, ends, strict=True))


def _recovered(file: TextFile, before: list[str], hunk: Hunk, lines: list[str], unseen: Collection[str]) -> list[bytes]:
    """The new lines with what the model could not see of the old ones, where what stood beside it was kept."""
    shown: list[str] = []
    hidden: list[str] = []
    """Of each shown letter, what stands in the file for it and the unseen ones before it."""
    pending = ""
    for index, line in enumerate(before):
        for letter, raw in zip(line, file.raw(hunk.start + index), strict=True):
            if letter in unseen:
                pending += raw
            else:
                shown.append(letter)
                hidden.append(pending + raw)
                pending = ""
        shown.append("\n")
        hidden.append(pending + "\n")
        pending = ""
    new = [*"\n".join(lines), "\n"]
    for start, new_start, size in SequenceMatcher(None, shown, new, autojunk=False).get_matching_blocks():
        new[new_start : new_start + size] = hidden[start : start + size]
    return [file.encode(line) for line in "".join(new).split("\n")[:-1]]


def _ended(file: TextFile, made: list[tuple[bytes, str]], last_has_end: bool) -> list[bytes]:
    """Each line with its end: none at the last where the text has none there, never \\r and \\n of two lines as one."""
    usual = next((end for _, end in made if end), "\n")
    parts: list[bytes] = []
    above = ""
    for index, (content, own) in enumerate(made):
        end = own or usual
        if not content and above == "\r" and end == "\n":
            end = "\r"
        if index == len(made) - 1 and not last_has_end:
            end = ""
        parts.append(content + file.encode(end))
        above = end
    return parts
