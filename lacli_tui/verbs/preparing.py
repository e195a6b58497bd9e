"""A model that is not here yet: how far it is, below the chat, until it is there or is not waited for; and the change
to another model, which goes back to the one that was where the other cannot be had.

A mixin of `screens.main`, which calls `show_preparing` with everything that comes.
"""

from __future__ import annotations

from lacli.events import Loading
from lacli_tui.background import done
from lacli_tui.talk import Took
from lacli_tui.verbs import Verbs
from lacli_tui.widgets.getting_ready import FETCH, PREPARE, GettingReady

_STAGES = ("fetch", "check", "unpack", "prepare", "wait")
"""Those that take long, and happen once."""


class Preparing(Verbs):
    """Of the main screen."""

    _preparing: GettingReady | None = None
    _left: str | None = None
    """What was to be done first for the model that is to be loaded next, where that is known."""
    _before: tuple[str | None, str] | None = None
    """The model that was in use before the one that is being loaded, as the settings and as people name it."""

    @property
    def is_preparing(self) -> bool:
        """Whether the model is not here yet, and is waited for."""
        return self._preparing is not None

    async def on_mount(self) -> None:
        """Say what must be done first before the first key may be pressed."""
        if self.begun.missing:
            await self._begin_preparing(self.begun.missing)

    async def show_preparing(self, took: Took) -> None:
        """Show how far it is; take what is news of it out of what is told in the chat."""
        is_loading = self.talk.phase == "loading"
        loading = self.talk.loading if is_loading else None
        if self._preparing is None and is_loading and self._left is not None:
            await self._begin_preparing(self._left)
        if self._preparing is None and loading is not None and loading.stage in _STAGES:
            await self._begin_preparing(FETCH if loading.stage in ("fetch", "check", "unpack") else PREPARE)
        if self._preparing is not None:
            if took.error is not None or not is_loading:
                await self._end_preparing()
                if took.error is None:
                    self._before = None
            else:
                for notice in took.notices:
                    self._preparing.note(notice.text)
                took.notices.clear()
                if loading is not None:
                    self._preparing.show(loading)
        elif took.error is None and not is_loading and self.talk.phase != "dead":
            self._before = None

    async def _begin_preparing(self, first: str) -> None:
        self._left = None
        back_to = self._before[1] if self._before is not None else ""
        self._preparing = GettingReady(self.talk.model, first, back_to)
        await self.query_one("#talk").mount(self._preparing, before="#new-text")
        self.refresh_bindings()

    async def _end_preparing(self) -> None:
        if self._preparing is not None:
            gone, self._preparing = self._preparing, None
            await gone.remove()
            self.refresh_bindings()

    def loading_told(self) -> Loading | None:
        """What panel and status line are told; how far it is stands in one place."""
        loading = self.talk.loading
        return Loading(loading.stage) if loading is not None and self.is_preparing else loading

    async def action_not_now(self) -> None:
        """Do not wait for the model."""
        if self._preparing is None:
            return
        first, is_here = self._preparing.first, self._preparing.is_here
        await self._end_preparing()
        if self.talk.is_replying:
            await self.give_up()
        if not await self.go_back():
            self._left = None if is_here else first
            self.talk.give_up()
            said = "here, but not loaded; F5 loads it" if is_here else "not here yet; F5 goes on where this stopped"
            await self.tell(f"the model is {said}, ctrl+t chooses another one")
        self.changed()

    async def take_model(self, name: str) -> bool:
        """Go on with this model; one that must be fetched only if that is really wanted, which is returned. Raises
        LacliError."""
        from lacli_tui.screens.confirm import ConfirmScreen
        from lacli_tui.screens.models import model_of, to_fetch

        model = await done(lambda: model_of(name))
        question = to_fetch(model)
        if question and not await self.app.push_screen_wait(ConfirmScreen(question, "fetch it")):
            return False
        if self.is_busy():
            return True
        if self.talk.phase != "dead" and not self.is_preparing:
            self._before = (self.talk.settings.model, self.talk.model)
        await self._end_preparing()
        self._left = None if model.is_here else FETCH
        self.talk.change_model(name, model.name)
        await self.add(f"going on with {model.name}, which reads the conversation anew")
        self.changed()
        return True

    async def go_back(self) -> bool:
        """Go on with the model that was in use, where the one that was chosen cannot be had; whether there is one."""
        if self._before is None:
            return False
        (name, alias), self._before = self._before, None
        self._left = None
        self.talk.change_model(name, alias)
        await self.add(f"going on with {alias}, the model that was")
        self.changed()
        return True

    async def give_up(self) -> None:
        """Nobody waits for the answer that was asked for."""
        raise NotImplementedError
