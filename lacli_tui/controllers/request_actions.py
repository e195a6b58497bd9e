"""What shapes the next question: the system message, options of the reply, templates, the user's own editor; and the
screens that show all settings and what the project has taught."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from textual.app import SuspendNotSupported
from textual.screen import Screen

from lacli.chat import options, settings_summary
from lacli.chat.chat import ChatSession
from lacli.chat.settings_summary import Row
from lacli.chat.slash import as_typed
from lacli.errors import LacliError
from lacli_tui.controllers.outcome_presenter import OutcomePresenter
from lacli_tui.controllers.slow_work import SlowWork
from lacli_tui.notifications import Notifications
from lacli_tui.start import Start
from lacli_tui.widgets.prompt import Prompt


@dataclass(eq=False)
class RequestActions:
    """What they ask for is asked in dialogs, one at a time.

    `_perform` carries out the action with this id, which the settings may lead to.
    """

    _screen: Screen[Any]
    _chat: ChatSession
    _start: Start
    _prompt: Prompt
    _slow_work: SlowWork
    _outcomes: OutcomePresenter
    _notifications: Notifications
    _refresh: Callable[[], None]
    _copy: Callable[[str], None]
    _theme: Callable[[], str]
    _perform: Callable[[str], object]

    # The system message

    async def system(self, text: str = "") -> None:
        """Set the system message; without a text show it, or ask for it."""
        current = self._chat.conversation.system
        if text:
            await self._set_system(text)
        elif "\n" in current:
            self._notifications.show(current, hint="/system TEXT sets another one")
        else:
            self._open(self._ask_system(current))

    async def _ask_system(self, current: str) -> None:
        from lacli_tui.screens.line import LineScreen

        screen = LineScreen("System message: what the model is told first", "nothing yet", current)
        text = await self._screen.app.push_screen_wait(screen)
        if text is not None and text != current:
            await self._set_system(text)

    async def _set_system(self, text: str) -> None:
        await self._outcomes.show(self._chat.system(text))
        self._refresh()

    # Options of the reply

    async def set_option(self, rest: str = "") -> None:
        """Show or set an option of the replies to come: `[K V]`."""
        try:
            if not rest:
                self._open(self._choose_option())
                return
            await self._outcomes.show(self._chat.set_option(rest))
        except LacliError as error:
            await self._notifications.report(error)

    async def _choose_option(self) -> None:
        from lacli_tui.screens.choice import ChoiceScreen
        from lacli_tui.screens.line import LineScreen

        rows = [(flag, options.shown(self._chat.request, flag)) for flag in options.OPTIONS]
        flag = await self._screen.app.push_screen_wait(ChoiceScreen("Set an option", rows))
        if flag is None:
            return
        now = options.shown(self._chat.request, flag)
        screen = LineScreen(f"{flag}, now {now}", "none is the default again")
        value = await self._screen.app.push_screen_wait(screen)
        if value is not None:
            await self._outcomes.show(self._chat.set_option(f"{flag} {value}"))

    # The draft

    def template(self, rest: str = "") -> None:
        """Make a saved template the draft, filled in with the words behind its name: `[NAME …]`."""
        self._open(self._choose_template(rest))

    async def _choose_template(self, rest: str) -> None:
        from lacli.prompts import saved
        from lacli_tui.screens.choice import ChoiceScreen

        names = [] if rest else await self._slow_work.run(saved.names, "looking for templates")
        if not rest and not names:
            self._notifications.show("no template is saved yet; see `lacli templates`")
            return
        screen = ChoiceScreen("Fill in a template", [(each, "") for each in names])
        name = None if rest else await self._screen.app.push_screen_wait(screen)
        if rest or name is not None:
            await self._fill_template(rest or f"{name} {self._prompt.text}")

    async def _fill_template(self, typed: str) -> None:
        from lacli.prompts import saved
        from lacli_tui.screens.line import LineScreen

        found = await self._slow_work.run(lambda: saved.named(typed), "reading the template")
        given: dict[str, str] = {}
        for name in found.missing:
            screen = LineScreen(f"{name}, for the template {found.template.name}")
            value = await self._screen.app.push_screen_wait(screen)
            if value is None:
                return
            given[name] = value
        await self._outcomes.show(self._chat.template(found, given))
        self._refresh()

    async def edit(self) -> None:
        """Edit the draft in the user's editor, which has the terminal meanwhile; a reply goes on behind it."""
        text = self._prompt.text
        failed: Exception | None = None
        try:
            with self._screen.app.suspend():
                try:
                    text = as_typed(self._start.edited(text))
                except (LacliError, OSError) as error:  # raised out of here, it would leave the terminal to the editor
                    failed = error
        except SuspendNotSupported:
            self._notifications.notify("an editor needs the whole screen: start without --inline")
            return
        if failed is not None:
            await self._notifications.report(failed)
        self._prompt.put(text)
        self._prompt.focus()

    # All settings, and the pool

    def pool(self) -> None:
        """Show what this project has taught the drafts."""
        self._open(self._show_pool())

    async def _show_pool(self) -> None:
        from lacli_tui.screens.pool import PoolScreen

        await self._screen.app.push_screen_wait(PoolScreen(self._start.folder, self._chat.settings))

    def settings(self) -> None:
        """Show settings, paths and versions."""
        self._open(self._show_settings())

    async def _show_settings(self) -> None:
        from lacli_tui.screens.settings import SettingsScreen

        screen = SettingsScreen(self.settings_in_force(), self._copy, origins=self._start.origins)
        chosen = await self._screen.app.push_screen_wait(screen)
        if chosen is not None:
            self._perform(chosen)

    def settings_in_force(self) -> list[tuple[str, list[Row]]]:
        """What shapes the engine and the replies, under titles that say what changes it."""
        chat, start, theme = self._chat, self._start, self._theme()
        return [
            ("Replies: s, or /set, changes them for this run", settings_summary.replies(chat.request, start.request)),
            ("Model: ctrl+t, or /model, takes another one", [Row("model", chat.model, chat.model != start.model)]),
            ("Engine, from its start on", settings_summary.engine(chat.settings)),
            ("What is kept on this computer", settings_summary.kept(chat.settings, start.keep)),
            ("Here", [Row("theme", theme, theme != start.theme != ""), Row("project", str(start.folder))]),
        ]

    def _open(self, dialog: Coroutine[Any, Any, None]) -> None:
        """Do this in a worker, in the place of any other dialog; report its errors."""

        async def run() -> None:
            try:
                await dialog
            except LacliError as error:
                await self._notifications.report(error)

        self._screen.run_worker(run(), group="picker", exclusive=True)
