"""A Jupyter notebook as the text of its cells, and changed cells put back into its JSON.

The text is in percent format, as Jupytext and editors know it: a line `# %%` before each cell of code, before others
`# %% [markdown]` or `# %% [raw]`, and their lines are comments. Outputs, pictures and metadata are not in it. Back in
the file only the `source` of changed cells is written anew, in the form it has there (a list of lines or one string);
every other byte stays. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # documented for subclasses of the decoder

from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError

BOUNDARY = "# %%"
"""How the line before a cell begins."""
_MARK = re.compile(r"^# %%(?: \[\w+\])?$", re.MULTILINE)
_BLANKS = re.compile(r"[ \t\r\n]*")
_CHARACTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.", re.DOTALL)
_DECODER = json.JSONDecoder()

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, and where its source stands in the file's text."""

    kind: str
    """code, markdown or raw"""
    source: str
    span: _Span
    """Of the JSON value: a list or a string."""
    strings: tuple[_Span, ...]
    """Of the strings in it, quotes included."""
    listed: bool
    """Whether the value is a list of lines."""

    @property
    def mark(self) -> str:
        """The line before it."""
        return BOUNDARY if self.kind == "code" else f"{BOUNDARY} [{self.kind}]"

    @property
    def body(self) -> str:
        """What is shown of it."""
        return self.source if self.kind == "code" else "\n".join(map(_commented, self.source.split("\n")))

    def source_of(self, body: str) -> str:
        """The source that is shown as this."""
        return body if self.kind == "code" else "\n".join(map(_uncommented, body.split("\n")))

    def shown_at(self, offset: int) -> int:
        """Where in the body this place of the source is."""
        if self.kind == "code":
            return offset
        before = self.source[:offset].split("\n")
        lines = self.source.split("\n")[: len(before)]
        return offset + sum(len(_commented(line)) - len(line) for line in lines)


@dataclass(frozen=True, slots=True)
class Notebook:
    """The cells of a notebook."""

    file: TextFile
    cells: tuple[Cell, ...]
    language: str
    """Of its code, as its metadata name it; python where they do not."""

    @classmethod
    def of(cls, file: TextFile) -> Notebook:
        """The notebook in a file of which `is_notebook` holds."""
        document = json.loads(file.text)
        metadata = document.get("metadata")
        return cls(file, tuple(_cells(file.text)), _language(metadata if isinstance(metadata, dict) else {}))

    @property
    def text(self) -> str:
        """All cells, with \\n line ends."""
        return "".join(f"{cell.mark}\n{cell.body}\n" for cell in self.cells)

    def end(self) -> int:
        """Where in `text` the last cell of code ends; the last cell where none is."""
        if not self.cells:
            raise UsageError(f"{self.file.name} has no cells", "add one first")
        indices = range(len(self.cells))
        index = max((index for index in indices if self.cells[index].kind == "code"), default=len(self.cells) - 1)
        return self._begin(index) + len(self.cells[index].body)

    def at(self, offset: int) -> int:
        """Where in `text` a place of the file's own text is. Raises UsageError where no cell's source is there."""
        index = self._cell_at(offset)
        cell, text = self.cells[index], self.file.text
        before, at_end = "", False
        for start, end in cell.strings:
            if start >= offset:
                break
            before += _decoded(text[start + 1 : end - 1], offset - start - 1)
            at_end = offset >= end - 1 and "\n" not in text[end:offset]
        # the end of a line of the file is the end of the line of source on it
        return self._begin(index) + cell.shown_at(len(before) - (at_end and before.endswith("\n")))

    def changed(self, text: str) -> bytes:
        """The file with these cells instead. Raises UsageError where they are not as many, or not of the same kinds."""
        bodies = self._bodies(text)
        edits = [
            (cell, source)
            for cell, body in zip(self.cells, bodies, strict=True)
            if (source := cell.source_of(body)) != cell.source
        ]
        if not edits:
            return self.file.data
        whole, at = "", edits[0][0].span[0]
        first, last = at, edits[-1][0].span[1]
        for cell, source in edits:
            whole += self.file.text[at : cell.span[0]] + self._value(cell, source)
            at = cell.span[1]
        return self.file.replaced(first, last, whole)

    def replaced(self, start: int, end: int, new: str) -> bytes:
        """The file with a part of `text` replaced."""
        return self.changed(self.text[:start] + new + self.text[end:])

    def _begin(self, index: int) -> int:
        above = sum(len(cell.mark) + len(cell.body) + 2 for cell in self.cells[:index])
        return above + len(self.cells[index].mark) + 1

    def _cell_at(self, offset: int) -> int:
        """The cell whose source is at this place of the file; or on its line, where that is one cell's."""
        text = self.file.text
        spans = [cell.span for cell in self.cells]
        found = [index for index, (start, end) in enumerate(spans) if start <= offset <= end]
        found = found or [
            index
            for index, (start, end) in enumerate(spans)
            if text.rfind("\n", 0, start) < offset and "\n" not in text[end:offset]
        ]
        if len(found) != 1:
            raise UsageError(
                f"line {text.count(chr(10), 0, offset) + 1} of {self.file.name} is not in the source of a cell",
                "give a line of one, as the file itself counts them, or --marker with a text in it",
            )
        return found[0]

    def _bodies(self, text: str) -> list[str]:
        """The parts between the boundaries; lines of source that look like one are counted as what they are."""
        own: list[bool] = []
        for cell in self.cells:
            own += [True, *[False] * len(_MARK.findall(cell.body))]
        marks = list(_MARK.finditer(text))
        wanted = [cell.mark for cell in self.cells]
        if len(marks) == len(own):
            marks = [mark for mark, boundary in zip(marks, own, strict=True) if boundary]
        if [mark[0] for mark in marks] != wanted or text[: marks[0].start() if marks else None].strip():
            raise UsageError(
                f"the cells of {self.file.name} would be others than before",
                "cells are changed in place only: none is added, removed or made another kind",
            )
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        return [text[mark.end() + 1 : end].removesuffix("\n") for mark, end in zip(marks, ends, strict=True)]

    def _value(self, cell: Cell, source: str) -> str:
        """The JSON of a source, laid out as the cell's is; lines that stay are spelled as they were."""
        text = self.file.text
        spelled = {scanstring(text, start + 1)[0]: text[start:end] for start, end in cell.strings}
        escapes = text.isascii() and "\\u" in text

        def literal(line: str) -> str:
            return spelled.get(line) or json.dumps(line, ensure_ascii=escapes)

        if not cell.listed:
            return literal(source)
        lines = [literal(line) for line in re.findall(r"[^\n]*\n|[^\n]+", source)]
        first, between, last = self._layout(cell)
        return f"[{first}{f',{between}'.join(lines)}{last}]" if lines else "[]"

    def _layout(self, cell: Cell) -> tuple[str, str, str]:
        """The blanks of a list behind its bracket, between its lines and before its end."""
        text, (start, end), strings = self.file.text, cell.span, cell.strings
        if strings:
            first, last = text[start + 1 : strings[0][0]], text[strings[-1][1] : end - 1]
            return first, text[strings[0][1] : strings[1][0]].lstrip(",") if len(strings) > 1 else first, last
        line = text[text.rfind("\n", 0, start) + 1 : start]
        indent = line[: len(line) - len(line.lstrip())]
        laid_out = "\n" in text and line.strip().startswith('"source"')
        return (f"\n{indent} ", f"\n{indent} ", f"\n{indent}") if laid_out else ("", " ", "")


def is_notebook(path: str, data: bytes) -> bool:
    """Whether a file is a notebook that can be shown as its cells: version 4, in which all of them have until now."""
    if not path.lower().endswith(".ipynb"):
        return False
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        return False
    return all(isinstance(cell, dict) and _is_source(cell.get("source")) for cell in document["cells"])


def _is_source(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(line, str) for line in value))


def _language(metadata: dict[str, object]) -> str:
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        found = metadata.get(table)
        name = found.get(key) if isinstance(found, dict) else None
        if isinstance(name, str) and name:
            return name.lower()
    return "python"


def _cells(text: str) -> Iterator[Cell]:
    cells = _last(_members(text, _skip(text, 0)), "cells")
    assert cells is not None, "is_notebook holds"
    for start, _ in _elements(text, cells[0]):
        members = list(_members(text, start))
        span, kind = _last(members, "source"), _last(members, "cell_type")
        assert span is not None, "is_notebook holds"
        listed = text[span[0]] == "["
        strings = tuple(_elements(text, span[0])) if listed else (span,)
        source = "".join(scanstring(text, begin + 1)[0] for begin, _ in strings)
        name = json.loads(text[kind[0] : kind[1]]) if kind is not None else "code"
        yield Cell(name if isinstance(name, str) and name.isalnum() else "raw", source, span, strings, listed)


def _last(members: Sequence[tuple[str, _Span]] | Iterator[tuple[str, _Span]], name: str) -> _Span | None:
    """The member of this name that counts: JSON's last one."""
    return dict(members).get(name)


def _members(text: str, at: int) -> Iterator[tuple[str, _Span]]:
    """The members of the object that begins here, in JSON that is known to be well-formed."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, (start, end)
        at = _next(text, end)


def _elements(text: str, at: int) -> Iterator[_Span]:
    """The same of an array."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _next(text, end)


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    assert found is not None
    return found.end()


def _next(text: str, at: int) -> int:
    """Behind the comma, if one comes next."""
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _decoded(literal: str, count: int) -> str:
    """What the first so many characters of a string between its quotes stand for; a broken escape counts whole."""
    found, at = [], 0
    for character in _CHARACTER.finditer(literal):
        if at >= count:
            break
        found.append(character[0])
        at = character.end()
    return str(json.loads(f'"{"".join(found)}"', strict=False))


def _commented(line: str) -> str:
    return f"# {line}" if line else "#"


def _uncommented(line: str) -> str:
    return "" if line == "#" else line.removeprefix("# ")
