"""What an edit makes of a file: bytes, a diff, and what speaks against them. Data.

Nothing is written here and nothing printed; `TextFile.write` puts `EditResult.data` in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lacli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a result should not be taken, or must not."""

    text: str
    final: bool
    """Whether nobody may overrule it: there is nothing to take."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """What a reply makes of a file."""

    data: bytes
    """The whole file; the old bytes where there is a final problem."""
    diff: bytes
    """For `patch -p0`; empty where nothing changes."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    """Lines for the user."""
    taken: str = field(default="", compare=False)
    """What of the reply it is made of."""
    gone: tuple[str, ...] = ()
    """Names that the file defines no more, which other files may use."""

    def remarks(self, path: object) -> list[str]:
        """What is said in a chat to whoever decides whether this file becomes the result. Raises UsageError where there
        is nothing to take."""
        final = next((problem.text for problem in self.problems if problem.final), "")
        if final:
            raise UsageError(f"{path} is left as it is: {final}", "ask for the whole file in one code block")
        return [*self.notes, *(problem.text for problem in self.problems)]
