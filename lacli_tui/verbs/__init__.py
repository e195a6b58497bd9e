"""What the main screen does at an action's wish, as mixins of its class: `sending` has all of them.

Each method is `action_<id>` of a line in `lacli_tui.actions`. `Verbs` is what they share: the screen's `talk` and its
widgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from lacli.errors import LacliError, PromptTooLong
from lacli_tui.widgets.moment import Moment
from lacli_tui.widgets.prompt import Prompt
from lacli_tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from lacli_tui.app import LacliApp, Start
    from lacli_tui.talk import Talk

_WRITTEN = "a reply is being written; escape stops it"
_TOO_LONG = "/drop n takes a file away, /set truncate middle leaves out a part of it; --ctx N at the start makes room"


class Verbs(Screen[None]):
    """What all of them need."""

    talk: Talk
    begun: Start

    @property
    def program(self) -> LacliApp:
        """The app, as ours."""
        from lacli_tui.app import LacliApp

        assert isinstance(self.app, LacliApp)
        return self.app

    @property
    def prompt(self) -> Prompt:
        """Where questions are typed."""
        return self.query_one(Prompt)

    @property
    def transcript(self) -> Transcript:
        """What was said."""
        return self.query_one(Transcript)

    @property
    def moment(self) -> Moment:
        """What is said above the prompt."""
        return self.query_one(Moment)

    async def tell(self, text: str, level: str = "note", hint: str = "") -> None:
        """A line about this moment, above the prompt."""
        self.moment.tell(text, level, hint)

    async def add(self, text: str, level: str = "note", hint: str = "") -> None:
        """A line that belongs to the conversation, in the transcript."""
        await self.transcript.tell(text, level, hint)

    async def blame(self, error: BaseException, stays: bool = False) -> None:
        """A failure: above the prompt, or where it is one of the conversation, in the transcript."""
        tell = self.add if stays else self.tell
        if isinstance(error, LacliError):
            by_flags = isinstance(error, PromptTooLong) and "--" in error.hint
            await tell(error.message, "error", _TOO_LONG if by_flags else error.hint)
        elif isinstance(error, OSError):
            await tell(f"{error.filename or 'a file'}: {error.strerror or error}", "error")
        else:
            await tell(f"{type(error).__name__}: {error}", "error", "a mistake of lacli's: please report it")

    def is_busy(self) -> bool:
        """Whether a reply is being written; says so."""
        if not self.talk.is_replying:
            return False
        stopping = self.talk.phase == "stopping"
        why = "the reply is being stopped; F5 does not wait for that" if stopping else _WRITTEN
        self.notify(why, markup=False)
        return True

    async def take_model(self, name: str) -> bool:
        """Go on with this model, if that is really wanted; whether it was. Raises LacliError."""
        raise NotImplementedError

    def show_chips(self) -> None:
        """The files that go with the next question."""
        raise NotImplementedError

    async def show_all(self) -> None:
        """The whole conversation anew."""
        raise NotImplementedError

    def changed(self, ended: bool = False) -> None:
        """Something that header, panel or footer show has changed."""
        raise NotImplementedError
