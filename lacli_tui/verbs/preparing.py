"""The first start: how far the model is on its way, over everything else, until it is there or is not waited for.

A mixin of `screens.main`, which calls `show_preparing` with everything that comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacli.errors import LacliError
from lacli_tui.verbs import Verbs

if TYPE_CHECKING:
    from lacli_tui.screens.prepare import PrepareScreen

_STAGES = ("fetch", "check", "prepare", "wait")
"""Those that take long, and happen once."""


class Preparing(Verbs):
    """Of the main screen."""

    _preparing: PrepareScreen | None = None

    async def show_preparing(self, error: BaseException | None) -> None:
        """Show how far it is; the end of it, or how it failed."""
        talk = self.talk
        loading = talk.loading if talk.phase == "loading" else None
        if self._preparing is None:
            if loading is None or loading.stage not in _STAGES:
                return
            from lacli_tui.screens.prepare import PrepareScreen

            self._preparing = PrepareScreen(talk.model)
            self.app.push_screen(self._preparing, self._prepared)
        if error is not None:
            hint = error.hint if isinstance(error, LacliError) else ""
            self._preparing.fail(f"{error}\n{hint}".rstrip())
        elif loading is not None:
            self._preparing.show(loading)
        elif self._preparing.is_current:
            self._preparing.dismiss(True)

    async def _prepared(self, there: bool | None) -> None:
        """It is there, or the user will not wait for it."""
        self._preparing = None
        if not there and self.talk.phase == "loading":
            if self.talk.is_replying:
                await self.give_up()
            self.talk.give_up()
            await self.tell("the model is not here yet; F5 goes on where this stopped, ctrl+t chooses another one")
            self.changed()

    async def give_up(self) -> None:
        """Nobody waits for the answer that was asked for."""
        raise NotImplementedError
