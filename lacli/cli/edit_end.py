"""An assistant that is stopped once its reply holds what was wanted: what models explain behind it is read by nobody.

A copied file takes few steps, an explanation of it takes as many again. Called by `edit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from lacli.events import Event, Finished, Piece, Request
from lacli.scripted import Cancel, Replier, never


class Until:
    """Replies of `assistant` that end early, with the reason "stop", once `whole` says so of the text so far."""

    def __init__(self, assistant: Replier, whole: Callable[[str], bool]) -> None:
        self.open = assistant.open
        self.preview = assistant.preview
        self.warm = assistant.warm
        self.close = assistant.close
        self._assistant = assistant
        self._whole = whole

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`. The text is looked at whenever a line that may end a block is complete."""
        text, done = "", [False]
        for event in self._assistant.reply(request, lambda: done[0] or cancel()):
            if isinstance(event, Piece) and not done[0]:
                before, text = len(text), text + event.text
                ends = any(mark in text[max(0, before - 4) :] for mark in ("```\n", "~~~\n"))
                done[0] = ends and self._whole(text)
            elif isinstance(event, Finished) and done[0] and event.reason == "cancelled":
                event = replace(event, reason="stop", stats=replace(event.stats, finish_reason="stop"))
            yield event
