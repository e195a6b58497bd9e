"""IPython's own lines in the cells of a notebook, as Python that parses: `%matplotlib inline`, `!pip install x`, `f?`.

While a notebook is edited each stands there as a statement that does nothing, with the line as its comment, so that
the tree of the other lines can be had and what is lost is seen. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lacli.edits.tree.syntax import is_sound

_LINE = re.compile(
    r"(?P<lead>[ \t]*)(?:(?P<name>[A-Za-z_][\w.]*(?:[ ]*,[ ]*[A-Za-z_][\w.]*)*)[ ]*=[ ]*(?=[!%]))?"
    r"(?:%{1,2}[A-Za-z]\w*.*|!.+|\?{1,2}[\w.%]+|[\w.%]+\?{1,2})\s*"
)
_WHOLE_CELL = re.compile(r"%%(?!(?:time|timeit|capture|prun|python3?|debug|memit|mprun)\b)\w+")
"""Begins a cell whose other lines are no Python."""
_BOUNDARY = "# %%"
_SHOWN = re.compile(r"(?P<lead>[ \t]*)(?:pass|[\w., ]+ = None)  # (?P<line>.*)")


@dataclass(slots=True)
class Magics:
    """A text with its magics masked, and the way back."""

    text: str
    _lines: dict[str, str] = field(default_factory=dict)
    """What each masked line stands for."""

    @classmethod
    def of(cls, text: str) -> Magics:
        """The text of a notebook's cells. Where masking does not make it parse, it stays as it is."""
        if is_sound(text, "python"):
            return cls(text)
        made = cls(text)
        made.text = made.masked(text)
        return made if is_sound(made.text, "python") else cls(text)

    def masked(self, text: str) -> str:
        """A text with every magic in it masked."""
        found: list[str] = []
        lead, in_cell, goes_on, at_top = "", False, False, True
        for line in text.split("\n"):
            magic = _LINE.fullmatch(line)
            if line.startswith(_BOUNDARY):
                in_cell, goes_on, at_top = False, False, True
                found.append(line)
                continue
            if at_top and line.strip():
                in_cell, at_top = bool(_WHOLE_CELL.match(line)), False
            if not line.strip() or not (in_cell or goes_on or magic):
                found.append(line)
                goes_on = False
                continue
            if magic is not None and not in_cell and not goes_on:
                lead, name = magic["lead"], magic["name"]
                made = f"{lead}{f'{name} = None' if name else 'pass'}  # {line[len(lead) :]}"
            else:  # its indentation is none of Python
                made = f"{lead * goes_on}pass  # {line}"
            goes_on = line.endswith("\\")
            if self._lines.setdefault(made, line) != line:
                return text
            found.append(made)
        return "\n".join(found)

    def unmasked(self, text: str) -> str:
        """The text with its magics, also those that came meanwhile."""
        return "\n".join(map(self._line, text.split("\n"))) if self._lines else text

    def _line(self, line: str) -> str:
        known = self._lines.get(line)
        if known is not None:
            return known
        shown = _SHOWN.fullmatch(line)
        return shown["lead"] + shown["line"] if shown is not None and _LINE.fullmatch(shown["line"]) else line
