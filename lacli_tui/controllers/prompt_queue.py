"""Questions sent while a reply is being written: they are asked one after the other when it ends well. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from lacli.events import Attachment


@dataclass(frozen=True, slots=True)
class QueuedQuestion:
    """A question that is ready to be asked."""

    text: str
    """As typed."""
    words: str
    """As sent."""
    named: tuple[Attachment, ...] = ()
    """The files its words name."""
    attached: tuple[Attachment, ...] = ()
    """The files attached to it while it waits."""


class PromptQueue:
    """First in, first out; the user can take the newest back."""

    def __init__(self) -> None:
        self._questions: deque[QueuedQuestion] = deque()

    def __len__(self) -> int:
        return len(self._questions)

    @property
    def texts(self) -> list[str]:
        """The questions as typed, the next one first."""
        return [each.text for each in self._questions]

    def add(self, question: QueuedQuestion, attached: tuple[Attachment, ...]) -> None:
        """Append a question with the files that were attached so far."""
        self._questions.append(replace(question, attached=attached))

    def next(self) -> QueuedQuestion:
        """Remove and return the oldest. Raises IndexError."""
        return self._questions.popleft()

    def last(self) -> QueuedQuestion | None:
        """Remove and return the newest, if there is one."""
        return self._questions.pop() if self._questions else None

    def clear(self) -> list[QueuedQuestion]:
        """Remove and return all."""
        questions = list(self._questions)
        self._questions.clear()
        return questions
