"""The application: what it starts with, which screens there are, how it ends. What is said and done is the screen's.

`run(Start(...))` is the whole interface to the outside. A screen of `lacli_tui/screens` is a `ModalScreen[Result]` that
takes plain data, and returns its result by `dismiss(result)`; whoever needs it waits: `await
app.push_screen_wait(ConfirmScreen("…"))` in a worker. None is the result of leaving it by escape.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from textual import work
from textual.binding import Binding
from textual.events import Key
from textual.filter import Monochrome, NoColor
from textual.message import Message
from textual.widgets import Input, TextArea

from lacli.assistant.base import Replier
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Request
from lacli.sessions.records import Session
from lacli_tui.actions import APP, action_of, bindings_of, checked_keymap
from lacli_tui.ascii_mode import draw_plainly, plain_key
from lacli_tui.background import done
from lacli_tui.crash_handler import Failing, told
from lacli_tui.glyphs import plain_terminal
from lacli_tui.notifications import Telling
from lacli_tui.screens.main import MainScreen
from lacli_tui.shutdown import Leaving
from lacli_tui.terminal import give_back, has_shell, put_right
from lacli_tui.themes import ANSI, THEMES, checked_theme, theme_for, variables
from lacli_tui.widgets.prompt import Prompt


@dataclass(frozen=True, slots=True)
class Start:
    """What the terminal UI begins with."""

    settings: Settings = field(default_factory=Settings)
    request: Request = field(default_factory=Request)
    """How replies are to be written; its messages do not count."""
    model: str = ""
    """The name of the model in `settings`, as people know it."""
    missing: str = ""
    """What must be done before that can be loaded: fetch, prepare, or nothing."""
    system: str = ""
    session: Session | None = None
    """The conversation to go on with."""
    replier: Replier | None = None
    """Writes the replies instead of an engine in a child process: for tests."""
    folder: Path = field(default_factory=Path)
    """The project's folder."""
    project: str = ""
    """The project's name."""
    keep: bool = True
    """Whether what is said is kept among the sessions."""
    theme: str = ""
    """A name that textual knows; empty: dark, or what NO_COLOR and the terminal ask for."""
    animation: bool = True
    mouse: bool = True
    inline: bool = False
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Ids of actions to their keys."""
    keep_theme: Callable[[str], str] | None = None
    """Makes a theme the one of later runs, and says so or why it is not."""
    checked: Callable[[str, str], Any] = lambda flag, value: value
    """The value of an option as its flag would take it; raises UsageError where it would not."""
    origins: Callable[[], Mapping[str, str]] = dict
    """Where the values of options come from, by their names without dashes; may take a moment. Raises LacliError."""
    edited: Callable[[str], str] = str
    """A text as the user leaves it in an editor that has the terminal. Raises LacliError."""
    now: Callable[[], float] = time.time


class LacliApp(Telling, Failing):
    """The terminal UI. Its result is the id of the session it was left in."""

    TITLE = "lacli"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = bindings_of(APP)
    leaving: Leaving | None = None
    """Sees to the end of the program; None in tests that have no terminal."""

    def __init__(self, start: Start) -> None:
        super().__init__(ansi_color=None)
        self.start = start
        self.main = MainScreen(start)
        for theme in THEMES:
            self.register_theme(theme)
        self.plain = plain_terminal()
        """Whether the terminal draws ASCII only."""
        draw_plainly(self.plain)
        few_colours = self.plain or self.no_color or self.console.color_system == "standard"
        wanted = theme_for(start.theme, few_colours)
        self.chosen_theme = wanted if wanted in self.available_themes else THEMES[0].name
        """Which is to be shown where there are colours."""
        self._show_theme(self.chosen_theme)
        if self.no_color:  # greys are colours, too
            self._filters = [NoColor() if isinstance(each, Monochrome) else each for each in self._filters]
        self._leave_keys = start.keymap.get("leave", action_of("leave").keys).split(",")
        if not start.animation:
            self.animation_level = "none"

    def on_mount(self) -> None:
        """Show the main screen; keys as the user wants them."""
        if self.leaving is not None:
            self.leaving.loop = asyncio.get_running_loop()
        self.set_keymap(self.start.keymap)
        self.push_screen(self.main)

    def on_ready(self) -> None:
        """What there is now stays: looking for garbage among it would hold up keys for a tenth of a second."""
        if self.is_headless:
            return
        gc.freeze()
        gc.set_threshold(5_000, 10, 1_000)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """What our looks name and textual's themes lack."""
        return variables(self.current_theme)

    def get_key_display(self, binding: Binding) -> str:
        """The name of a key, as footer and help show it."""
        name = super().get_key_display(binding)
        return plain_key(name) if self.plain else name

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Over another screen there are no commands, and no help."""
        return action not in ("palette", "help") or self.screen is self.main

    def perform(self, id_: str, rest: str = "") -> None:
        """Do the action of this id: what palette, help and slash commands call."""
        action = action_of(id_)
        node = self if action.where == APP else self.main
        method = getattr(node, f"action_{action.method}")
        if action.takes:
            node.call_later(method, rest)
        else:
            node.call_later(method)

    def action_leave(self) -> None:
        """Quit; what is kept and the engine are seen to meanwhile."""
        if self.leaving is not None:
            self.leaving.begin()
        self.leave()

    def _post_message(self, message: Message) -> Coroutine[Any, Any, bool]:
        """Textual calls this for each key, in the thread that reads them: of the one to quit is known before the UI,
        which may be held up, comes to it."""
        if isinstance(message, Key) and self.leaving is not None and message.key in self._leave_keys:
            self.leaving.pressed()
        return super()._post_message(message)

    def leave(self) -> None:
        """End the UI."""
        self.exit(self.main.session_id)

    def give_back(self) -> None:
        """The terminal, from any thread."""
        give_back(getattr(self._driver, "attrs_before", None))

    def action_suspend(self) -> None:
        """Go to the shell, until it brings this to the front again; the engine goes on meanwhile."""
        if self._driver is None or not self._driver.can_suspend or not has_shell():
            self.notify("there is no shell to go to here; ctrl+q leaves", markup=False)
        else:
            self.action_suspend_process()

    def action_help(self) -> None:
        """Show what every key does."""
        from lacli_tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.start.keymap))

    def action_palette(self) -> None:
        """Show all commands."""
        from lacli_tui.screens.palette import PaletteScreen, offered

        def chosen(id_: str | None) -> None:
            if id_ is not None:
                self.perform(id_)

        self.push_screen(PaletteScreen(offered(self), self.start.keymap), chosen)

    def action_theme(self, rest: str = "") -> None:
        """Have other colours: those that are named, else from a list."""
        from lacli_tui.screens.themes import ThemesScreen

        def chosen(name: str | None) -> None:
            if name is not None:
                self._take_theme(name)

        if rest:
            self._take_theme(rest)
        else:
            self.push_screen(ThemesScreen(self.chosen_theme, self.available_themes, self._show_theme), chosen)

    def _show_theme(self, name: str) -> None:
        """Without colours it is always the one that needs none."""
        self.theme = ANSI.name if self.no_color else name

    @work(group="theme", exclusive=True)
    async def _take_theme(self, name: str) -> None:
        """From now on; and in later runs, where that can be had."""
        keep = self.start.keep_theme
        try:
            self._show_theme(checked_theme(name))
            self.chosen_theme = name
            said = "for this run" if keep is None else await done(lambda: keep(name))
        except LacliError as error:
            self.notify("\n".join(filter(None, (error.message, error.hint))), severity="warning", markup=False)
            return
        without = "; no colours are shown: NO_COLOR is set" if self.no_color else ""
        self.notify(f"theme {name}: {said}{without}", markup=False)

    async def action_interrupt(self) -> None:
        """Copy what is selected; else stop the reply; else empty the draft; else say how to leave."""
        focused = self.focused
        selected = focused.selected_text if isinstance(focused, TextArea | Input) else ""
        selected = selected or self.screen.get_selected_text() or ""
        if selected:
            self.main.copy(selected)
        elif self.main.talk.is_replying:
            await self.main.action_stop()
        elif isinstance(focused, Prompt):
            focused.post_message(Prompt.Clear())  # behind the keys that came before
        else:
            self.notify("ctrl+q leaves", markup=False)


def run(start: Start) -> tuple[str, int]:
    """Run the terminal UI in this terminal until it is left; returns the id of the session, if there is one, and the
    exit code: 128 + n where signal n has ended it. Raises LacliError where the UI itself failed."""
    app = LacliApp(replace(start, keymap=checked_keymap(start.keymap)))
    app.leaving = Leaving(app.main.talk.close, app.leave, app.give_back)
    put_right(app.leaving.gone)
    with app.leaving.heard():
        app.run(mouse=start.mouse, inline=start.inline)
    if app.failure is not None:
        raise told(app.failure, app.main.session_id) from app.failure
    return app.main.session_id, app.leaving.code or 0
