"""The application: its screens, themes and actions, and how it ends. What is said in the chat is the main screen's.

`run(Start(...))` is all that the outside needs. A screen of `lacli_tui/screens` is a `ModalScreen[Result]` that takes
plain data and returns its result by `dismiss(result)`; whoever needs it waits for it in a worker: `await
app.push_screen_wait(ConfirmScreen("…"))`. None is the result of leaving it with escape.
"""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual import work
from textual.binding import Binding
from textual.events import Event, Key
from textual.widgets import Input, TextArea

from lacli.errors import LacliError
from lacli_tui.actions import ACTIONS, APP, Action, action_of, bindings_of, checked_keymap
from lacli_tui.ascii_mode import ascii_key, use_ascii_scrollbars
from lacli_tui.background import in_thread
from lacli_tui.crash_handler import crash_error
from lacli_tui.glyphs import is_ascii_terminal
from lacli_tui.screens.dialog import Dialog
from lacli_tui.screens.main import MainScreen
from lacli_tui.shutdown import Shutdown
from lacli_tui.start import Start
from lacli_tui.terminal import has_shell, install_fixes, restore
from lacli_tui.textual_private import QuietApp
from lacli_tui.themes import ANSI, THEMES, checked_theme, theme_for, variables
from lacli_tui.widgets.prompt import Prompt

_LEVELS = {"warning": "warning", "error": "error"}


class LacliApp(QuietApp):
    """The terminal UI. Its result is the id of the session it was left in."""

    TITLE = "lacli"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = bindings_of(APP)
    shutdown: Shutdown | None = None
    """Ends the program; None in tests without a terminal."""

    def __init__(self, start: Start) -> None:
        super().__init__(ansi_color=None)
        self.start = start
        for theme in THEMES:
            self.register_theme(theme)
        self.ascii_only = is_ascii_terminal()
        use_ascii_scrollbars(self.ascii_only)
        few_colours = self.ascii_only or self.no_color or self.console.color_system == "standard"
        wanted = theme_for(start.theme, few_colours)
        self.chosen_theme = wanted if wanted in self.available_themes else THEMES[0].name
        """The theme to show where there are colours."""
        self.main = MainScreen(start, self.perform, lambda: self.chosen_theme)
        self._show_theme(self.chosen_theme)
        if self.no_color:
            self.remove_greys()
        self._leave_keys = start.keymap.get("leave", action_of("leave").keys).split(",")
        if not start.animation:
            self.animation_level = "none"

    def on_mount(self) -> None:
        """Show the main screen, with the user's keys."""
        if self.shutdown is not None:
            self.shutdown.loop = asyncio.get_running_loop()
        self.set_keymap(self.start.keymap)
        self.push_screen(self.main)

    def on_ready(self) -> None:
        """Exempt what exists now from garbage collection: each pass would delay keys by a tenth of a second."""
        if self.is_headless:
            return
        gc.freeze()
        gc.set_threshold(5_000, 10, 1_000)

    # Looks

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The variables our styles use and Textual's themes lack."""
        return variables(self.current_theme)

    def get_key_display(self, binding: Binding) -> str:
        """The name of a key, as footer and help show it."""
        name = super().get_key_display(binding)
        return ascii_key(name) if self.ascii_only else name

    def _show_theme(self, name: str) -> None:
        """Without colours it is always the one that needs none."""
        self.theme = ANSI.name if self.no_color else name

    # Notifications

    def notify(self, message: str, *, severity: Any = "information", **others: Any) -> None:
        """Show this where the user looks, in place of Textual's pop-ups: above the prompt, or in the open dialog."""
        if isinstance(self.screen, Dialog):
            self.screen.show_notice(message)
        elif self.screen is self.main:
            self.main.notifications.show(message, _LEVELS.get(severity, "note"))
        else:
            super().notify(message, severity=severity, **others)

    async def on_event(self, event: Event) -> None:
        """A key clears what was shown before it."""
        if isinstance(event, Key) and self.main.is_current:
            self.main.notice_bar.key_pressed()
        await super().on_event(event)

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Over another screen there are no commands, and no help."""
        return action not in ("palette", "help") or self.screen is self.main

    def available_actions(self) -> list[Action]:
        """The actions that the palette offers now."""

        def is_available(action: Action) -> bool:
            if action.where == APP:
                return bool(self.check_action(action.method, ()))
            return self.main.is_available(action.id)

        return [action for action in ACTIONS if action.palette and is_available(action)]

    def perform(self, id_: str, rest: str = "") -> None:
        """Carry out an action of the app or the main screen, soon: for palette, help and slash commands."""
        action = action_of(id_)
        if action.where != APP:
            self.main.call_later(self.main.perform, id_, rest)
        elif action.takes:
            self.call_later(getattr(self, f"action_{action.method}"), rest)
        else:
            self.call_later(getattr(self, f"action_{action.method}"))

    def action_leave(self) -> None:
        """Quit; meanwhile the chat is saved and the engine ended."""
        if self.shutdown is not None:
            self.shutdown.begin()
        self.leave()

    def key_read(self, key: str) -> None:
        """The key to quit is noticed even while the event loop is stuck."""
        if self.shutdown is not None and key in self._leave_keys:
            self.shutdown.key_pressed()

    def leave(self) -> None:
        """End the UI."""
        self.exit(self.main.session_id)

    def restore_terminal(self) -> None:
        """Give the terminal back as it was. From any thread."""
        restore(self.terminal_attributes)

    def action_suspend(self) -> None:
        """Go to the shell until it brings this to the front again; the engine goes on meanwhile."""
        if not self.can_suspend or not has_shell():
            self.notify("there is no shell to go to here; ctrl+q leaves", markup=False)
        else:
            self.action_suspend_process()

    def action_help(self) -> None:
        """Show what every key does."""
        from lacli_tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.start.keymap))

    def action_palette(self) -> None:
        """Show all commands."""
        from lacli_tui.screens.palette import PaletteScreen

        def chosen(id_: str | None) -> None:
            if id_ is not None:
                self.perform(id_)

        self.push_screen(PaletteScreen(self.available_actions(), self.start.keymap), chosen)

    def action_theme(self, name: str = "") -> None:
        """Change the theme: to the one named, else to one chosen from a list."""
        from lacli_tui.screens.themes import ThemesScreen

        def chosen(name: str | None) -> None:
            if name is not None:
                self._change_theme(name)

        if name:
            self._change_theme(name)
        else:
            self.push_screen(ThemesScreen(self.chosen_theme, self.available_themes, self._show_theme), chosen)

    @work(group="theme", exclusive=True)
    async def _change_theme(self, name: str) -> None:
        """Change the theme now, and of later runs where that is possible."""
        keep = self.start.keep_theme
        try:
            self._show_theme(checked_theme(name))
            self.chosen_theme = name
            kept = "for this run" if keep is None else await in_thread(lambda: keep(name))
        except LacliError as error:
            self.notify("\n".join(filter(None, (error.message, error.hint))), severity="warning", markup=False)
            return
        without = "; no colours are shown: NO_COLOR is set" if self.no_color else ""
        self.notify(f"theme {name}: {kept}{without}", markup=False)

    async def action_interrupt(self) -> None:
        """Copy what is selected; else stop the reply; else clear the draft; else say how to leave."""
        focused = self.focused
        selected = focused.selected_text if isinstance(focused, TextArea | Input) else ""
        selected = selected or self.screen.get_selected_text() or ""
        if selected:
            self.main.answers.copy_text(selected)
        elif self.main.engine.is_replying:
            await self.main.perform("stop")
        elif isinstance(focused, Prompt):
            focused.post_message(Prompt.Clear())  # behind the keys that came before
        else:
            self.notify("ctrl+q leaves", markup=False)


def run(start: Start) -> tuple[str, int]:
    """Run the terminal UI in this terminal until it is left; returns the id of the session, if there is one, and the
    exit code: 128 + n where signal n has ended it. Raises LacliError where the UI itself failed."""
    app = LacliApp(replace(start, keymap=checked_keymap(start.keymap)))
    app.shutdown = Shutdown(app.main.engine.close, app.leave, app.restore_terminal)
    install_fixes(app.shutdown.terminal_gone)
    with app.shutdown.on_signals():
        app.run(mouse=start.mouse, inline=start.inline)
    if app.failure is not None:
        raise crash_error(app.failure, app.main.session_id) from app.failure
    return app.main.session_id, app.shutdown.code or 0
