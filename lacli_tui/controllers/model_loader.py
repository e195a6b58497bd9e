"""The model: shows the progress of one that is not ready yet until it is or is not waited for, and changes models,
going back to the one before where the new one cannot be had."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.widget import Widget

from lacli.chat.outcome import Outcome
from lacli.configuration.remotes import is_remote
from lacli.errors import LacliError
from lacli.events import Loading
from lacli_tui.background import in_thread
from lacli_tui.controllers.transcript_controller import TranscriptController
from lacli_tui.engine_session import EngineSession, Updates
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.model_progress import FETCH, PREPARE, ModelProgress

if TYPE_CHECKING:
    from lacli_tui.screens.models import Model

_SLOW_STAGES = ("fetch", "check", "unpack", "prepare", "wait")
"""Those that take long, and happen once."""


@dataclass(eq=False)
class ModelLoader:
    """Knows the progress being shown.

    `_missing` must be done before the model can be loaded: fetch, prepare or nothing; `_mount` shows a widget below the
    transcript.
    """

    _screen: Screen[Any]
    _engine: EngineSession
    _missing: str
    _replies: TranscriptController
    _notifications: Notifications
    _mount: Callable[[Widget], Awaitable[object]]
    _refresh: Callable[[], None]
    _progress: ModelProgress | None = field(init=False, default=None)
    _first_stage: str | None = field(init=False, default=None)
    """What must be done first for the model loaded next, where that is known."""

    @property
    def is_preparing(self) -> bool:
        """Whether the model is not ready yet, and is waited for."""
        return self._progress is not None

    @property
    def shown_loading(self) -> Loading | None:
        """What panel and status line show of the loading: how far it is stands in one place only."""
        loading = self._engine.loading
        return Loading(loading.stage) if loading is not None and self.is_preparing else loading

    async def start(self) -> None:
        """Show what must be done first, before a key can be pressed."""
        if self._missing:
            await self.show_progress(self._missing)

    async def show(self, updates: Updates) -> None:
        """Show how far it is; takes notices about it out of the updates, as they are shown there."""
        is_loading = self._engine.phase == "loading"
        loading = self._engine.loading if is_loading else None
        if self._progress is None and is_loading and self._first_stage is not None:
            await self.show_progress(self._first_stage)
        if self._progress is None and loading is not None and loading.stage in _SLOW_STAGES:
            await self.show_progress(FETCH if loading.stage in ("fetch", "check", "unpack") else PREPARE)
        if self._progress is not None:
            if updates.error is not None or not is_loading:
                await self._hide_progress()
                if updates.error is None:
                    self._engine.chat.model_loaded()
            else:
                for notice in updates.notices:
                    self._progress.note(notice.text)
                updates.notices.clear()
                if loading is not None:
                    self._progress.show(loading)
        elif updates.error is None and not is_loading and self._engine.phase != "dead":
            self._engine.chat.model_loaded()

    async def show_progress(self, first_stage: str) -> None:
        """Show the steps from this one on."""
        self._first_stage = None
        self._progress = ModelProgress(self._engine.chat.model, first_stage, self._engine.chat.model_before)
        await self._mount(self._progress)
        self._screen.refresh_bindings()

    async def _hide_progress(self) -> None:
        if self._progress is not None:
            gone, self._progress = self._progress, None
            await gone.remove()
            self._screen.refresh_bindings()

    async def stop_waiting(self) -> None:
        """Do not wait for the model."""
        if self._progress is None:
            return
        first_stage, is_here = self._progress.first, self._progress.is_here
        await self._hide_progress()
        if self._engine.is_replying:
            await self._replies.stop()
        if not await self.go_back():
            self._first_stage = None if is_here else first_stage
            self._engine.give_up()
            state = "here, but not loaded; F5 loads it" if is_here else "not here yet; F5 goes on where this stopped"
            self._notifications.show(f"the model is {state}, ctrl+t chooses another one")
        self._refresh()

    def restart(self) -> None:
        """Start the engine again; one that cannot finish a stopped reply is not waited for."""
        if self._engine.phase == "stopping" or not self._replies.is_busy():
            self._engine.restart()
            self._refresh()

    def choose(self, name: str = "") -> None:
        """Change to this model, or to one chosen from a list."""
        if not self._replies.is_busy():
            self._screen.run_worker(self._choose(name), group="picker", exclusive=True)

    async def _choose(self, name: str) -> None:
        try:
            if name:
                await self._change_to(name)
                return
            from lacli_tui.screens.models import ModelsScreen

            marked: str | None = ""
            while marked is not None:  # "no" to fetching one goes back to the list
                screen = ModelsScreen(self._engine.chat.model, self._known_models, marked)
                marked = await self._screen.app.push_screen_wait(screen)
                if marked and await self._change_to(marked):
                    return
        except LacliError as error:
            await self._notifications.report(error)

    def _known_models(self, tell: Callable[[list[Model]], None]) -> list[Model]:
        from lacli_tui.screens.models import known_models

        return known_models(tell, self._engine.remotes)

    async def _change_to(self, name: str) -> bool:
        """Change to this model; False if it must be fetched and the user does not want that. Raises LacliError."""
        from lacli_tui.screens.confirm import ConfirmScreen
        from lacli_tui.screens.models import model_of, remote_of, to_fetch

        remotes = self._engine.remotes
        model = await in_thread(lambda: remote_of(name, remotes) if is_remote(name) else model_of(name))
        question = to_fetch(model)
        if question and not await self._screen.app.push_screen_wait(ConfirmScreen(question, "fetch it")):
            return False
        if self._replies.is_busy():
            return True
        await self._hide_progress()
        self._first_stage = None if model.is_here else FETCH
        await self._show_change(self._engine.chat.change_model(name, model.name))
        return True

    async def go_back(self) -> bool:
        """Change back to the model in use before, as the new one cannot be had; False if there is none."""
        outcome = self._engine.chat.fall_back()
        if outcome is None:
            return False
        self._first_stage = None
        await self._show_change(outcome)
        return True

    async def _show_change(self, outcome: Outcome) -> None:
        self._engine.carry_out(outcome)
        await self._notifications.show_lines(outcome.lines, in_chat=True)
        self._refresh()
