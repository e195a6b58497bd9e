"""Questions that were sent while a reply is written: they wait, and are asked one after the other when it ends well.

Where it does not, or is stopped, they are back at the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lacli.events import Attachment
from lacli_tui.talk import Took
from lacli_tui.verbs import Verbs


@dataclass(frozen=True, slots=True)
class Ready:
    """A question that can be asked."""

    text: str
    """As it was typed."""
    words: str
    """As it is sent."""
    named: tuple[Attachment, ...] = ()
    """The files that its words name."""
    attached: tuple[Attachment, ...] = ()
    """Those that were attached to it while it waits."""


class Waiting(Verbs):
    """Of the main screen, which calls `settle` with everything that came."""

    _waits: list[Ready]
    _asked = ""
    """What was sent last, to be put back where nothing comes of it."""
    _stopped = False
    """Whether the reply was told to stop: what waits behind it is not asked, however it ends."""

    async def ask(self, ready: Ready, instead: int | None = None) -> None:
        """Ask it, in the place of the question of a turn where one is given."""
        raise NotImplementedError

    def wait(self, ready: Ready) -> None:
        """Ask it later. The files that are attached now are its own."""
        conversation = self.talk.conversation
        attached, conversation.pending = tuple(conversation.pending), []
        self._waits.append(Ready(ready.text, ready.words, ready.named, attached))
        self.show_chips()

    async def settle(self, took: Took) -> None:
        """A reply may have ended: ask the next question, or put all that wait back at the prompt."""
        if not self._waits or self.talk.is_replying:
            return
        finished = took.finished
        if self._stopped or took.error is not None or finished is None or finished.reason == "cancelled":
            self.put_back()
            return
        ready = self._waits.pop(0)
        conversation = self.talk.conversation
        later, conversation.pending = conversation.pending, list(ready.attached)
        await self.ask(ready)
        conversation.pending[:0] = later
        self.show_chips()

    def take_back(self) -> None:
        """The question that waits last is the draft again."""
        if self._waits:
            last = self._waits.pop()
            self._return(last.attached)
            self.prompt.put(last.text)
            self.show_chips()

    def put_back(self) -> None:
        """All that wait are at the prompt again, before the draft; with them what was asked, if nothing came of it."""
        waits, self._waits = self._waits, []
        asked, self._asked = self._asked, ""
        texts = [each.text for each in waits]
        if asked and (texts or not self.prompt.text):
            texts.insert(0, asked)
        if texts:
            self._return([file for each in waits for file in each.attached])
            self.prompt.put("\n\n".join(filter(str.strip, (*texts, self.prompt.text))))
        self.show_chips()

    def _return(self, files: Sequence[Attachment]) -> None:
        """These go with the next question, before those that are attached already."""
        pending = self.talk.conversation.pending
        pending[:0] = [file for file in files if file not in pending]
