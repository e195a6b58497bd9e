"""Turns to keep, for the tests of this folder and of the commands that list them."""

from __future__ import annotations

from lacli.events import Attachment, Counts, Message
from lacli.sessions.records import Turn


def turn(
    question: str = "what is it?",
    answer: str = "a test",
    at: float = 1_000_000.0,
    reason: str = "stop",
    attachments: tuple[Attachment, ...] = (),
    token_ids: tuple[int, ...] = (1, 2, 70_000),
    counts: Counts | None = None,
) -> Turn:
    """A turn as a command keeps it."""
    asked = Message("user", question, attachments=attachments)
    counts = counts or Counts(replies=1, predicted_n=3, steps=1, plain_steps=2)
    return Turn(asked, Message("assistant", answer, token_ids), reason, counts, at)
