"""What is done with the next question before it is sent: slash or not, options, templates, the editor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.widgets import Input

from lacli.errors import LacliError, UsageError
from lacli.prompts import saved
from lacli_tui.screens.choice import ChoiceScreen
from lacli_tui.screens.diff import DiffScreen
from lacli_tui.screens.line import LineScreen
from tests.tui.conftest import Play, Playing

CODE = "Here:\n\n```python\nx = 1\n```\n\nand\n\n```sh\nls\n```\n"


def checked(flag: str, value: str) -> Any:
    if value == "hot":
        raise UsageError("temperature: 'hot' is not a number", "/set temperature none is the default again")
    return None if value == "none" else [value] if flag == "stop" else float(value)


async def send(it: Playing, text: str) -> None:
    it.main.prompt.put(text)
    await it.press("enter")
    await it.idle()


async def test_a_word_that_is_no_command_is_never_sent_and_a_blank_before_it_sends_it(pilot: Play) -> None:
    async with pilot("one", "two") as it:
        await send(it, "/explain this to me")
        assert "a blank before it sends it as a question" in it.text()
        assert it.main.prompt.text == "/explain this to me"
        await send(it, " /explain this to me")
        await send(it, " /retry")
        assert [turn.question.text for turn in it.main.chat.conversation.turns] == ["/explain this to me", "/retry"]
        await it.press("shift+tab", "e")
        assert it.main.prompt.text == " /retry"


async def test_a_number_takes_another_block_than_the_last(pilot: Play) -> None:
    async with pilot(CODE) as it:
        await it.ask("hi")
        Path("a.py").write_text("x = 0\n")
        await send(it, "/save 1 b.md")
        await it.until(lambda: Path("b.md").exists())
        assert Path("b.md").read_text() == "x = 1\n"
        await send(it, "/save 3 c.py")
        await it.until(lambda: "there is no code block 3: the answer has 2 code blocks" in it.text())
        assert "./3" in it.text()
        await send(it, "/apply 1 a.py")
        await it.until(lambda: isinstance(it.app.screen, DiffScreen))
        await it.press("y")
        await it.until(lambda: Path("a.py").read_text() == "x = 1\n")
        await send(it, "/save 1")
        await it.until(lambda: isinstance(it.app.screen, LineScreen))
        assert "Save code block 1 of 2 to" in it.text()


async def test_an_option_is_set_shown_and_refused_as_its_flag_would_be(pilot: Play) -> None:
    async with pilot("one", checked=checked) as it:
        await send(it, "/set temperature 0.7")
        await send(it, "/set stop END")
        assert "temperature is 0.7" in it.text()
        await send(it, "/set temperature hot")
        await send(it, "/set temprature 1")
        await send(it, "/set seed")
        text = it.text()
        for words in ("'hot' is not a number", "did you mean temperature?", "seed                none"):
            assert words in text
        await it.ask("hi")
        (request,) = it.assistant.requests
        assert (request.temperature, request.stops) == (0.7, ("END",))


async def test_an_option_is_chosen_from_a_list_and_its_value_typed(pilot: Play) -> None:
    async with pilot(checked=checked) as it:
        await send(it, "/set")
        await it.until(lambda: isinstance(it.app.screen, ChoiceScreen) and "max-tokens" in it.text())
        await it.press(*"temp", "enter")
        await it.until(lambda: isinstance(it.app.screen, LineScreen))
        assert "temperature, now 0.0" in it.text()
        it.app.screen.query_one(Input).value = "0.4"
        await it.press("enter")
        await it.until(lambda: it.main.chat.request.temperature == 0.4)


async def test_a_template_is_filled_in_and_put_at_the_prompt(pilot: Play) -> None:
    async with pilot() as it:
        await send(it, "/template")
        assert "no template is saved yet" in it.text()
        saved.save(saved.Saved("review", prompt="Review $input, please", system="Be strict"))
        await send(it, "/template reveiw")
        assert "did you mean review?" in it.text()
        await send(it, "/template review this file")
        assert it.main.prompt.text == "Review this file, please"
        assert it.main.chat.conversation.system == "Be strict"


async def test_what_a_template_needs_besides_is_asked_for(pilot: Play) -> None:
    saved.save(saved.Saved("port", prompt="$input in $lang, for $who", defaults={"who": "me"}))
    async with pilot() as it:
        await send(it, "/template port sort a list")
        await it.until(lambda: isinstance(it.app.screen, LineScreen))
        assert "lang, for the template port" in it.text()
        it.app.screen.query_one(Input).value = "Go, please"
        await it.press("enter")
        await it.until(lambda: it.main.prompt.text == "sort a list in Go, please, for me")
        await send(it, "/template port lang=C who=you sort a list")
        await it.until(lambda: it.main.prompt.text == "sort a list in C, for you")


async def test_the_system_message_is_shown_where_it_can_be_changed(pilot: Play) -> None:
    async with pilot(system="Be brief") as it:
        it.app.perform("system")
        await it.until(lambda: isinstance(it.app.screen, LineScreen) and "Be brief" in it.text())
        it.app.screen.query_one(Input).value = "Be strict"
        await it.press("enter")
        await it.until(lambda: it.main.chat.conversation.system == "Be strict")
        await send(it, "/system")
        await it.until(lambda: isinstance(it.app.screen, LineScreen) and "Be strict" in it.text())
        await it.press("escape")
        assert it.main.chat.conversation.system == "Be strict"


async def test_the_draft_is_what_a_template_from_the_palette_is_filled_with(pilot: Play) -> None:
    saved.save(saved.Saved("review", prompt="Review $input"))
    async with pilot() as it:
        it.main.prompt.put("a\nb")
        it.app.perform("template")
        await it.until(lambda: isinstance(it.app.screen, ChoiceScreen) and "review" in it.text())
        await it.press("enter")
        await it.until(lambda: it.main.prompt.text == "Review a\nb")


async def test_the_draft_goes_to_the_editor_and_comes_back(pilot: Play) -> None:
    lent = []

    def edited(text: str) -> str:
        lent.append(text)
        if len(lent) > 1:
            raise LacliError("the editor ended with code 1", "nothing was changed")
        return "/retry\nis it?"

    @contextmanager
    def suspend() -> Iterator[None]:
        yield
        lent.append("back")

    async with pilot(edited=edited) as it:
        it.app.suspend = suspend  # type: ignore[method-assign]
        it.main.prompt.put("a draft")
        it.app.perform("edit")
        await it.until(lambda: it.main.prompt.text == " /retry\nis it?")
        it.app.perform("edit")
        await it.until(lambda: "the editor ended with code 1" in it.text())
        assert it.main.prompt.text == " /retry\nis it?"
        assert lent == ["a draft", "back", " /retry\nis it?", "back"]


async def test_without_a_screen_to_lend_the_editor_is_refused(pilot: Play) -> None:
    async with pilot(edited=lambda text: "never") as it:
        it.main.prompt.put("a draft")
        it.app.perform("edit")
        await it.until(lambda: "the whole screen" in it.text())
        assert it.main.prompt.text == "a draft"
