"""How the main screen looks, at each size and in each state: pictures that a person has looked at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.assistant.base import Cancel, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.errors import OutOfMemory, WorkerDied
from lacli.events import Event, Loading, Notice, Request
from lacli_tui.screens.diff import DiffScreen
from lacli_tui.widgets.decode_panel import DecodePanel
from tests.tui.conftest import Play, changes
from tests.tui.looks import FOLDER, difference, looks_as_before, told
from tests.tui.test_first_start import Fetching

QUESTION = "Count the words of a file, please"
PROJECT = {"project": "myproj", "model": "qwen2.5-coder-1.5b"}


class Stalls(ScriptedAssistant):
    """Writes a part of its reply, and no more until it is stopped."""

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        for count, event in enumerate(super().reply(request, cancel)):
            while count == 16 and not cancel():
                time.sleep(0.01)
            yield event


@pytest.mark.parametrize(("size", "theme"), [((80, 24), "dark"), ((120, 40), "light")])
async def test_before_the_first_question(pilot: Play, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    async with pilot(size=size, theme=theme, **PROJECT) as it:
        looks_as_before(it, f"cold-{size[0]}x{size[1]}", tmp_path)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_while_a_reply_is_written(pilot: Play, tmp_path: Path, size: tuple[int, int]) -> None:
    async with pilot(replier=Stalls([told()]), size=size, **PROJECT) as it:
        await it.type(QUESTION)
        await it.press("enter")
        await it.until(lambda: it.main.query_one(DecodePanel).tally.steps == 14)
        await it.pilot.pause()
        looks_as_before(it, f"writing-{size[0]}x{size[1]}", tmp_path)
        await it.press("escape")
        await it.idle()


@pytest.mark.parametrize(("size", "theme"), [((200, 60), "dark"), ((80, 24), "ansi")])
async def test_after_a_reply(pilot: Play, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    async with pilot(told(), size=size, theme=theme, **PROJECT) as it:
        await it.ask(QUESTION)
        looks_as_before(it, f"written-{size[0]}x{size[1]}", tmp_path)


async def test_who_guessed_each_token(pilot: Play, tmp_path: Path) -> None:
    async with pilot(told(), size=(120, 40), **PROJECT) as it:
        await it.ask(QUESTION)
        await it.press("ctrl+g")
        await it.until(lambda: "the model alone" in it.text())
        looks_as_before(it, "sources-120x40", tmp_path)


async def test_while_a_model_is_fetched(pilot: Play, tmp_path: Path) -> None:
    note = Notice("fetching Model 1B once: model 1.0, 986 MB, from the Python package index")
    assistant = Fetching(note, Loading("fetch", 312_000_000, 986_000_000))
    async with pilot(replier=assistant, size=(120, 40), **PROJECT) as it:
        await it.until(lambda: "32%" in it.text())
        looks_as_before(it, "fetching-120x40", tmp_path)


async def test_an_error(pilot: Play, tmp_path: Path) -> None:
    error = OutOfMemory("the reply does not fit into memory", "use a shorter prompt or a smaller model")
    async with pilot(error, size=(80, 24), **PROJECT) as it:
        await it.ask(QUESTION)
        looks_as_before(it, "error-80x24", tmp_path)


async def test_an_engine_that_died_without_colours(
    pilot: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dies(ScriptedAssistant):
        def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
            yield from list(super().reply(request, cancel))[:16]
            raise WorkerDied("the engine's process was killed (SIGKILL)", "the system may have run out of memory")

    monkeypatch.setenv("NO_COLOR", "1")
    async with pilot(replier=Dies([told()]), size=(100, 30), **PROJECT) as it:
        await it.ask(QUESTION)
        looks_as_before(it, "died-100x30", tmp_path)


async def test_a_picker(pilot: Play, tmp_path: Path) -> None:
    for name in ("main.py", "parser.py", "printer.py"):
        (tmp_path / "src").mkdir(exist_ok=True)
        (tmp_path / "src" / name).write_text("x\n")
    async with pilot(told(), size=(80, 24), **PROJECT) as it:
        await it.ask(QUESTION)
        await it.press("ctrl+f")
        await it.until(lambda: "1 of 3" in it.text())
        await it.press("p", "r", "down")
        await it.until(lambda: "2 of 2" in it.text())
        looks_as_before(it, "picker-80x24", tmp_path)


async def test_a_diff_of_which_a_hunk_is_left_out(pilot: Play, tmp_path: Path) -> None:
    lines = [f"    field{number}: int = {number}" for number in range(30)]
    old = "\n".join(["class Settings:", *lines, ""])
    new = old.replace("field2: int = 2\n", "field2: float = 2.0\n").replace("    field13: int = 13\n", "")
    async with pilot(size=(80, 24), **PROJECT) as it:
        it.app.push_screen(DiffScreen("code block 1 → settings.py", changes(old, new), ["a note on it"]))
        await it.until(lambda: "2 of 2 hunks" in it.text())
        await it.press("j", "space")
        await it.until(lambda: "1 of 2 hunks" in it.text())
        looks_as_before(it, "diff-80x24", tmp_path)


async def test_help(pilot: Play, tmp_path: Path) -> None:
    async with pilot(size=(80, 24), **PROJECT) as it:
        await it.press("f1")
        await it.until(lambda: "At the prompt" in it.text())
        await it.pilot.pause()
        looks_as_before(it, "help-80x24", tmp_path)


async def test_what_looks_otherwise_is_told_by_rows(pilot: Play, tmp_path: Path) -> None:
    kept, new = FOLDER / "cold-80x24.svg", tmp_path / "new.svg"
    async with pilot(size=(80, 24), **PROJECT) as it:
        await it.type("x")
        new.write_text(it.app.export_screenshot(), encoding="utf-8")
    seen = difference(kept, new).split("\n")
    assert seen[-1] == "+▌x"
    assert seen[-2].startswith("-▌Ask about your code")
    async with pilot(size=(80, 24), theme="light", **PROJECT) as it:
        new.write_text(it.app.export_screenshot(), encoding="utf-8")
    assert "the words are the same" in difference(kept, new)
