"""An assistant that is stopped once its reply holds what was wanted: what models explain behind it is read by nobody.

A copied file takes few steps, an explanation of it takes as many again. Called by `edit`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from lacli.events import Event, Finished, Piece, Request
from lacli.scripted import Cancel, Replier, never

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*\n", re.MULTILINE)


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
        """See `Replier.reply`. The text is looked at up to each line that may end a block, once it is complete."""
        text, seen, done = "", 0, [False]
        for event in self._assistant.reply(request, lambda: done[0] or cancel()):
            if isinstance(event, Piece) and not done[0]:
                text += event.text
                ends = [found.end() for found in _FENCE.finditer(text, seen)]
                done[0] = any(self._whole(text[:end]) for end in ends)
                seen = text.rfind("\n") + 1
            elif isinstance(event, Finished) and done[0] and event.reason == "cancelled":
                event = replace(event, reason="stop", stats=replace(event.stats, finish_reason="stop"))
            yield event
