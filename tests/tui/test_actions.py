"""Every action of the one table is done by each of its keys, by the palette and by its slash command.

An action that is added to `lacli_tui.actions` fails here until `CASES` says what it is good for. Each way is tried in
the same program, one after the other: `before` makes the state in which it applies, `effect` holds once it was done.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen
from textual.widgets import Input

from lacli.assistant.base import Cancel, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.chat.settings_summary import Row
from lacli.events import Event, Request
from lacli.prompts import saved
from lacli_tui.actions import ACTIONS, Action
from lacli_tui.screens.choice import ChoiceScreen
from lacli_tui.screens.confirm import ConfirmScreen
from lacli_tui.screens.diff import DiffScreen
from lacli_tui.screens.files import FilesScreen
from lacli_tui.screens.help import HelpScreen
from lacli_tui.screens.line import LineScreen
from lacli_tui.screens.models import ModelsScreen
from lacli_tui.screens.palette import PaletteScreen
from lacli_tui.screens.pool import Learned, PoolScreen
from lacli_tui.screens.sessions import SessionsScreen
from lacli_tui.screens.settings import SettingsScreen
from lacli_tui.screens.themes import ThemesScreen
from lacli_tui.widgets.choices import Choices
from lacli_tui.widgets.lines import Lines
from lacli_tui.widgets.message import ChatMessage
from lacli_tui.widgets.pairs import Pair
from lacli_tui.widgets.prompt import Prompt
from lacli_tui.widgets.source_view import SourceView
from lacli_tui.widgets.suggestion_list import SuggestionList
from tests.slow import slow
from tests.tui.conftest import Play, Playing, changes

LINES = 26
ANSWER = "Here:\n\n```python\n" + "x = 1\n" * LINES + "```\n"
BLOCKS = "Here:\n\n" + "".join(f"```python\nblock {number}\n```\n\n" for number in range(1, 10)) + "That is all.\n"
TOGETHER = 8
"""Actions tried in one program."""
Step = Callable[[Playing], Awaitable[Any]]
Holds = Callable[[Playing], Any]


class Patient(ScriptedAssistant):
    """Answers with a long block of code, or to `nine` with nine; to `wait` it writes on until it is stopped."""

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        said = request.messages[-1].text
        self._scripts = iter([BLOCKS if said == "nine" else ANSWER])
        waits = said == "wait"
        for count, event in enumerate(super().reply(request, cancel)):
            while waits and count == 5 and not cancel():
                time.sleep(0.005)
            yield event


@dataclass
class Case:
    """What an action is good for."""

    effect: Holds
    before: tuple[Step, ...] = ()
    rest: str = ""
    """What follows the slash command."""


def typed(text: str) -> Step:
    async def step(it: Playing) -> None:
        it.main.prompt.put(text)
        await it.pilot.pause()

    return step


def asked(text: str) -> Step:
    async def step(it: Playing) -> None:
        it.main.prompt.put("")
        await it.ask(text)

    return step


def pressed(*keys: str) -> Step:
    return lambda it: it.press(*keys)


def screen(made: Callable[[], Screen[Any]]) -> Step:
    """Open this screen; what comes of it is `it.result`."""

    async def step(it: Playing) -> None:
        it.result = None  # type: ignore[attr-defined]
        opened = made()
        it.app.push_screen(opened, lambda result: setattr(it, "result", (result,)))
        await it.until(lambda: it.app.screen is opened and opened.query("#frame"))
        await it.pilot.pause()

    return step


async def one_turn(it: Playing) -> None:
    """One question with its answer, and nothing else."""
    said = it.main.chat.conversation.turns
    if len(said) != 1 or said[0].interrupted or said[0].question.text != "hi":
        await nothing_said(it)
        await it.ask("hi")


async def two_turns(it: Playing) -> None:
    if len(it.main.chat.conversation.turns) != 2:
        await one_turn(it)
        await it.ask("more")


def names() -> Screen[Any]:
    return PaletteScreen([action for action in ACTIONS if action.palette])


async def focus_message(it: Playing) -> None:
    """The last answer has the focus, and its first block is chosen."""
    await one_turn(it)
    await it.press("shift+tab")
    await it.until(lambda: isinstance(it.app.focused, ChatMessage))


async def focus_blocks(it: Playing) -> None:
    """The same of an answer with nine blocks."""
    if [turn.question.text for turn in it.main.chat.conversation.turns] != ["nine"]:
        await nothing_said(it)
        await asked("nine")(it)
    await it.press("shift+tab")


async def attach(it: Playing) -> None:
    Path("a.py").write_text("x\n")
    await it.attach("a.py")


async def on(it: Playing) -> None:
    """Far down in what was said."""
    await one_turn(it)
    await it.main.transcript.to_end()
    await it.pilot.pause()
    assert it.main.transcript.max_scroll_y > 0


async def marked_last(it: Playing) -> None:
    await screen(names)(it)
    it.app.screen.query_one(Choices).to_end(last=True)
    await it.pilot.pause()


def shows(kind: type[Screen[Any]]) -> Holds:
    return lambda it: isinstance(it.app.screen, kind)


def copied(text: str) -> Holds:
    return lambda it: it.app.clipboard == text


def came(result: Any) -> Holds:
    return lambda it: getattr(it, "result", None) == (result,)


def marked(index: Callable[[int], int]) -> Holds:
    """The line that is marked, of so many."""

    def holds(it: Playing) -> bool:
        choices = it.app.screen.query_one(Choices)
        return choices.current is choices.choices[index(len(choices.choices))]

    return holds


def moved(by: int) -> Holds:
    """The focus was on the second question, and is so many messages further down."""
    return lambda it: it.app.focused is it.main.transcript.messages[2 + by]


def turns(count: int) -> Holds:
    return lambda it: len(it.main.chat.conversation.turns) == count and it.main.is_idle


async def on_a_question(it: Playing) -> None:
    await two_turns(it)
    it.main.transcript.messages[2].focus()
    await it.pilot.pause()


async def waits(it: Playing) -> None:
    """In the middle of a reply."""
    await one_turn(it)
    await typed("wait")(it)
    await it.press("enter")
    await it.until(lambda: it.main.engine.phase == "decoding")


async def nothing_said(it: Playing) -> None:
    await it.main.chats.new()
    await it.pilot.pause()


async def waits_for_a_model(it: Playing) -> None:
    await it.main.loader.show_progress("fetch")


def chats() -> Screen[Any]:
    return SessionsScreen("", Path.cwd())


def pools() -> Screen[Any]:
    found = Learned(Path("p"), Path("elsewhere"), 5, used_s=1.0, is_gone=True)
    return PoolScreen(Path(), look=lambda folder: [found])


def diff() -> Screen[Any]:
    lines = [f"line {number}\n" for number in range(30)]
    new = [line.upper() if number in (3, 6, 20) else line for number, line in enumerate(lines)]
    return DiffScreen("Change?", changes("".join(lines), "".join(new)), edited=lambda text: text.replace("+", "+new "))


async def kept_chat(it: Playing) -> None:
    await nothing_said(it)
    await asked("to be kept")(it)
    await nothing_said(it)
    await screen(chats)(it)
    await it.until(lambda: "to be kept" in it.text())


async def pool_opened(it: Playing) -> None:
    await screen(pools)(it)
    await it.until(lambda: "elsewhere" in it.text())


async def no_sidebar(it: Playing) -> None:
    it.main.remove_class("-sidebar")
    await it.pilot.pause()


async def panel_shown(it: Playing) -> None:
    it.main.remove_class("-no-panel")
    await it.until(lambda: it.main.query_one("#decode").display)


def forget(it: Playing) -> Awaitable[None]:
    """What is asked from now on is what counts: the answer that is there is another than the next."""
    it.assistant.requests.clear()
    return it.pilot.pause()


def count_restarts(it: Playing) -> Awaitable[None]:
    it.app.restarted = []  # type: ignore[attr-defined]
    it.main.engine.restart = lambda: it.app.restarted.append(1)  # type: ignore[attr-defined, method-assign]
    return it.pilot.pause()


def stay(it: Playing) -> Awaitable[None]:
    """Shutdown is noted, and not done."""
    it.app.left = []  # type: ignore[attr-defined]
    it.app.exit = lambda *a, **k: it.app.left.append(1)  # type: ignore[attr-defined, method-assign]
    return it.pilot.pause()


def no_signal(it: Playing) -> Awaitable[None]:
    """Going to the shell is noted, and not done."""
    it.app.suspended = []  # type: ignore[attr-defined]
    it.app.action_suspend_process = lambda: it.app.suspended.append(1)  # type: ignore[attr-defined, method-assign]
    return it.pilot.pause()


async def begun(it: Playing) -> None:
    """Commands are offered for what is typed."""
    await it.pilot.press("/", "s")
    await it.until(lambda: it.main.query_one(SuggestionList).is_open)
    await it.pilot.pause()


def offered_at(at: int) -> Holds:
    """Which of the offers is marked, counted from the first or the last."""

    def holds(it: Playing) -> bool:
        offered = it.main.query_one(SuggestionList)
        return offered.is_open and offered.current is offered.choices[at]

    return holds


def an_editor(it: Playing) -> Awaitable[None]:
    """One that needs no terminal."""
    it.app.suspend = nullcontext  # type: ignore[assignment]
    return it.pilot.pause()


def a_template(it: Playing) -> Awaitable[None]:
    saved.save(saved.Saved("review", prompt="Review $input"), replace=True)
    return it.pilot.pause()


def asked_again(it: Playing) -> bool:
    return len(it.assistant.requests) == 1 and turns(1)(it)


CASES: dict[str, Case] = {
    # the prompt
    "send": Case(turns(1), (nothing_said, typed("hi"))),
    "newline": Case(lambda it: it.main.prompt.text == "a\n", (typed("a"),)),
    "attach": Case(shows(FilesScreen)),
    "detach": Case(lambda it: not it.main.chat.conversation.pending, (attach,)),
    "edit": Case(lambda it: it.main.prompt.text == "written", (an_editor,)),
    "template": Case(shows(ChoiceScreen), (a_template,)),
    "to-messages": Case(lambda it: isinstance(it.app.focused, ChatMessage), (one_turn,)),
    "undo-typing": Case(lambda it: it.main.prompt.text == "", (pressed("x"),)),
    # the list above it
    "offer-take": Case(lambda it: it.main.prompt.text.startswith("/system "), (begun,)),
    "offer-up": Case(offered_at(-1), (begun,)),
    "offer-down": Case(offered_at(1), (begun,)),
    "offer-hide": Case(lambda it: not it.main.query_one(SuggestionList).is_open, (begun,)),
    # replies
    "stop": Case(
        lambda it: it.main.is_idle and it.main.chat.conversation.turns[-1].interrupted,
        (waits,),
    ),
    "back": Case(lambda it: isinstance(it.app.focused, Prompt), (focus_message,)),
    "retry": Case(asked_again, (one_turn, forget)),
    "undo": Case(turns(0), (nothing_said, one_turn)),
    "clear": Case(turns(0), (one_turn,)),
    "system": Case(shows(LineScreen)),
    "set": Case(shows(ChoiceScreen)),
    "compact": Case(lambda it: it.main.is_idle and it.main.chat.purpose == "summary", (nothing_said, two_turns)),
    # the last answer
    "copy": Case(copied(ANSWER), (one_turn,)),
    "save": Case(shows(LineScreen), (one_turn,)),
    "apply": Case(shows(LineScreen), (one_turn,)),
    # a message that has the focus
    "message-copy": Case(copied(ANSWER), (focus_message,)),
    "message-block": Case(lambda it: False, (focus_blocks,)),
    "message-edit": Case(lambda it: it.main.prompt.text == "hi", (focus_message,)),
    "message-retry": Case(asked_again, (focus_message, forget)),
    "message-save": Case(shows(LineScreen), (focus_message,)),
    "message-apply": Case(shows(LineScreen), (focus_message,)),
    "message-sources": Case(lambda it: it.main.query(SourceView), (focus_message,)),
    "message-up": Case(moved(-1), (on_a_question,)),
    "message-down": Case(moved(1), (on_a_question,)),
    # the view
    "earlier": Case(lambda it: it.main.transcript.scroll_y < it.main.transcript.max_scroll_y, (on,)),
    "later": Case(lambda it: it.main.transcript.scroll_y > 0, (on, pressed("ctrl+home"))),
    "to-start": Case(lambda it: it.main.transcript.scroll_y == 0, (on,)),
    "to-end": Case(
        lambda it: it.main.transcript.follows and it.main.transcript.scroll_y > 0, (on, pressed("ctrl+home"))
    ),
    "panel": Case(lambda it: not it.main.query_one("#decode").display, (panel_shown,)),
    "sidebar": Case(lambda it: it.main.query("#sidebar") and it.main.query_one("#sidebar").display, (no_sidebar,)),
    "sources": Case(lambda it: it.main.query(SourceView), (nothing_said, one_turn)),
    # sessions, model, screens
    "new": Case(turns(0), (one_turn,)),
    "resume": Case(shows(SessionsScreen)),
    "models": Case(shows(ModelsScreen)),
    "pool": Case(shows(PoolScreen)),
    "settings": Case(shows(SettingsScreen)),
    "stats": Case(lambda it: "this chat" in it.text(), (nothing_said, one_turn)),
    "tokens": Case(lambda it: "tokens so far" in it.text(), (nothing_said,)),
    "restart": Case(lambda it: it.app.restarted, (count_restarts,)),  # type: ignore[attr-defined]
    # the program
    "not-now": Case(lambda it: not it.main.loader.is_preparing, (waits_for_a_model,)),
    "help": Case(shows(HelpScreen)),
    "palette": Case(shows(PaletteScreen)),
    "interrupt": Case(
        lambda it: it.main.is_idle and it.main.chat.conversation.turns[-1].interrupted,
        (waits,),
    ),
    "theme": Case(shows(ThemesScreen)),
    "suspend": Case(lambda it: it.app.suspended, (no_signal,)),  # type: ignore[attr-defined]
    "leave": Case(lambda it: it.app.left, (stay,)),  # type: ignore[attr-defined]
    # screens over the main one
    "close": Case(came(None), (screen(names),)),
    "choose": Case(came("attach"), (screen(names),)),
    "choice-up": Case(marked(lambda count: count - 2), (marked_last,)),
    "choice-down": Case(marked(lambda count: 1), (screen(names),)),
    "choice-page-up": Case(
        lambda it: not marked(lambda count: count - 1)(it) and not marked(lambda count: count - 2)(it), (marked_last,)
    ),
    "choice-page-down": Case(
        lambda it: not marked(lambda count: 0)(it) and not marked(lambda count: 1)(it), (screen(names),)
    ),
    "choice-first": Case(marked(lambda count: 0), (marked_last,)),
    "choice-last": Case(marked(lambda count: count - 1), (screen(names),)),
    "everywhere": Case(lambda it: "this project" in it.text(), (kept_chat,)),
    "all-kinds": Case(lambda it: "chats alone" in it.text(), (kept_chat,)),
    "session-delete": Case(shows(ConfirmScreen), (kept_chat,)),
    "pool-clear": Case(shows(ConfirmScreen), (pool_opened,)),
    "pool-prune": Case(shows(ConfirmScreen), (pool_opened,)),
    "pool-gone": Case(shows(ConfirmScreen), (pool_opened,)),
    "confirm-yes": Case(came(True), (screen(lambda: ConfirmScreen("Sure?")),)),
    "confirm-no": Case(came(False), (screen(lambda: ConfirmScreen("Sure?")),)),
    "confirm-other": Case(lambda it: it.app.screen._marked == 1, (screen(lambda: ConfirmScreen("Sure?")),)),  # type: ignore[attr-defined]
    "confirm-take": Case(came(False), (screen(lambda: ConfirmScreen("Sure?")),)),
    "help-names": Case(lambda it: "config set keymap.stop" in it.text(), (screen(HelpScreen),)),
    "settings-set": Case(came("set"), (screen(lambda: SettingsScreen(look=tuple)),)),
    "settings-copy": Case(
        lambda it: "a name" in it.app.clipboard,
        (screen(lambda: SettingsScreen([("Here", [Row("a name", "a value")])], look=lambda: [Pair("ok", "it is")])),),
    ),
    "line-take": Case(came("words"), (screen(lambda: LineScreen("A line", value="words")),)),
    "line-complete": Case(
        lambda it: it.app.screen.query_one(Input).value == "words",
        (screen(lambda: LineScreen("A line", value="wo", complete=lambda typed: ["words"])),),
    ),
    "diff-apply": Case(lambda it: getattr(it, "result", None) and b"LINE 20" in it.result[0], (screen(diff),)),  # type: ignore[attr-defined]
    "diff-refuse": Case(came(None), (screen(diff),)),
    "diff-other": Case(lambda it: it.app.screen._marked == 1, (screen(diff),)),  # type: ignore[attr-defined]
    "diff-take": Case(came(None), (screen(diff),)),
    "diff-toggle": Case(lambda it: "1 of 2 hunks" in it.text(), (screen(diff),)),
    "diff-next": Case(lambda it: "▌ [x] @@ -18" in it.text(), (screen(diff),)),
    "diff-before": Case(lambda it: "▌ [x] @@ -1," in it.text(), (screen(diff), pressed("j"))),
    "diff-all": Case(lambda it: "0 of 2 hunks" in it.text(), (screen(diff),)),
    "diff-split": Case(lambda it: "3 of 3 hunks" in it.text(), (screen(diff),)),
    "diff-edit": Case(lambda it: "[e]" in it.text(), (screen(diff),)),
    "diff-wrap": Case(lambda it: not it.app.screen.query_one(Lines).wraps, (screen(diff),)),
}


def ways(action: Action) -> list[tuple[str, str]]:
    """All that leads to an action."""
    keys = [("key", key) for key in action.keys.split(",") if key]
    palette = [("palette", action.title)] if action.palette else []
    return [*keys, *palette, *([("slash", f"/{action.slash}")] if action.slash else [])]


async def do(it: Playing, way: str, what: str) -> None:
    """Do it this way."""
    if way == "key":
        await it.press(what)
    elif way == "palette":
        await it.press("ctrl+p")
        await it.until(lambda: isinstance(it.app.screen, PaletteScreen) and it.app.screen.query("#search"))
        it.app.screen.query_one("#search", Input).value = what
        await it.until(lambda: (line := it.app.screen.query_one(Choices).current) and line.title == what)
        await it.press("enter")
    else:
        await typed(what)(it)
        await it.press("enter")


async def home(it: Playing) -> None:
    """Back at an empty prompt, whatever is open."""
    while it.app.screen is not it.main:
        it.app.pop_screen()
        await it.pilot.pause()
    await it.main.perform("back")
    it.main.prompt.put("")
    it.main.notice_bar.clear()
    it.app._clipboard = ""
    await it.idle()


async def tried(it: Playing, action: Action, by_key: bool) -> None:
    """Do it by each of its keys or in every other way; fails where one of them has no effect."""
    case = CASES[action.id]
    assert ways(action), f"nothing leads to {action.id}"
    for way, what in ways(action):
        if (way == "key") is not by_key:
            continue
        await home(it)
        for step in case.before:
            await step(it)
        effect = copied(f"block {what}") if action.id == "message-block" else case.effect
        assert not effect(it), f"{action.id} by {way} {what} is so before"
        await do(it, way, what)
        try:
            await it.until(partial(effect, it))
        except TimeoutError:
            raise AssertionError(f"{action.id} by {way} {what} did nothing:\n{it.text()}") from None
    await home(it)


@pytest.mark.parametrize("by_key", [True, slow(False)], ids=["key", "palette-and-slash"])
@pytest.mark.parametrize("first", range(0, len(ACTIONS), TOGETHER))
@pytest.mark.default_cases(4)
async def test_every_way_to_an_action_leads_to_it(
    pilot: Play, first: int, by_key: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lacli.shared.clipboard.by_tool", lambda text: "")
    monkeypatch.setattr("lacli.shared.health.checks", lambda model: iter(()))
    monkeypatch.setattr("lacli_tui.app.has_shell", lambda: True)
    monkeypatch.setattr("textual.drivers.headless_driver.HeadlessDriver.can_suspend", True)
    async with pilot(replier=Patient([]), size=(100, 30), model="scripted", edited=lambda text: f"{text}written") as it:
        for action in ACTIONS[first : first + TOGETHER]:
            await tried(it, action, by_key)


def test_nothing_is_tried_that_there_is_not() -> None:
    assert set(CASES) == {action.id for action in ACTIONS}
