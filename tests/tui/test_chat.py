"""Questions and answers: sent, written, stopped, asked again, taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from lacli.assistant.reply import dropped_notice
from lacli.assistant.scripted import ScriptedAssistant
from lacli.errors import LacliError, WorkerDied
from lacli.events import Finished, Notice, Prefill, ReplyStats
from lacli_tui.widgets.fence import Fence
from lacli_tui.widgets.prompt import Prompt
from tests.tui.conftest import Play

CODE = "Here it is:\n\n```python\ndef f():\n\treturn 1\n```\n\nand\n\n```sh\nls\n```\nBye."


async def test_an_answer_is_shown_with_its_code_blocks_numbered(pilot: Play) -> None:
    async with pilot(CODE, size=(80, 40)) as it:
        await it.ask("hi there")
        text = it.text()
        for expected in ("hi there", "Here it is:", "[1] python", "def f():", "[2] sh", "Bye."):
            assert expected in text
        assert "```" not in text


async def test_a_thought_stands_above_its_answer_and_is_no_part_of_it(pilot: Play) -> None:
    thoughtful = ScriptedAssistant(()).reply_events("Yes:\n\n```py\nx = 1\n```\n", "Or no?\n\n```py\nx = 2\n```\n")
    async with pilot(thoughtful, "second", size=(80, 40)) as it:
        await it.ask("is it so?")
        for _ in range(2):
            text = it.text()
            assert text.index("Or no?") < text.index("x = 2") < text.index("Yes:") < text.index("[1] py")
            await it.ask("really?") if "second" not in text else None
        answer = it.main.transcript.messages[1]
        assert answer.source == "Yes:\n\n```py\nx = 1\n```\n"
        assert list(answer.blocks) == [1]
        turn = it.main.chat.conversation.turns[0]
        assert (turn.answer.text, turn.thought) == (answer.source, "Or no?\n\n```py\nx = 2\n```\n")
        assert "Or no?" not in str(it.assistant.requests[1].messages)


async def test_square_brackets_are_never_markup(pilot: Play) -> None:
    reply = "# [/x]\n\nwhy [/INST] and x[/dim] or [bold and [b + 3\n\n| a[/x] |\n|---|\n| [red]b |\n"
    async with pilot(reply, LacliError("no [/file] there", "try [b]"), size=(100, 50)) as it:
        await it.ask("why [/INST] and x[/dim] or [bold and [b + 3")
        await it.ask("again [/x]")
        text = it.text()
        for shown in ("[/x]", "x[/dim] or [bold and [b + 3", "a[/x]", "[red]b", "no [/file] there", "try [b]"):
            assert shown in text


async def test_a_reply_is_stopped_with_its_text_kept(pilot: Play) -> None:
    class Slow(ScriptedAssistant):
        def reply(self, request, cancel=lambda: False):  # type: ignore[no-untyped-def]
            import time

            for event in super().reply(request, cancel):
                time.sleep(0.02)
                yield event

    async with pilot(replier=Slow(["word " * 300, "second"])) as it:
        await it.type("go")
        await it.press("enter")
        await it.until(lambda: "word word" in it.text())
        await it.press("escape")
        await it.idle()
        turn = it.main.chat.conversation.turns[0]
        assert turn.interrupted
        assert turn.answer.text.startswith("word word")
        assert "interrupted" in it.text()
        it.app.perform("retry")
        await it.until(lambda: "second" in it.text())
        await it.idle()
        assert [each.answer.text for each in it.main.chat.conversation.turns] == ["second"]


async def test_a_failure_puts_the_question_back_at_the_prompt(pilot: Play) -> None:
    async with pilot(LacliError("the context is full", "drop a file")) as it:
        await it.ask("my question")
        assert it.main.query_one(Prompt).text == "my question"
        assert "the context is full" in it.text()
        assert "drop a file" in it.text()


async def test_a_dead_engine_leaves_what_was_written(pilot: Play) -> None:
    class Dies(ScriptedAssistant):
        def reply(self, request, cancel=lambda: False):  # type: ignore[no-untyped-def]
            if not self.requests:
                yield from list(super().reply(request, cancel))[:5]
                raise WorkerDied("the engine's process was killed (SIGKILL)", "memory?")
            yield from super().reply(request, cancel)

    async with pilot(replier=Dies(["one two three four five six seven eight", "alive"])) as it:
        await it.ask("hi")
        text = it.text()
        assert "killed (SIGKILL)" in text
        assert "one two three" in text
        assert it.main.engine.phase == "dead"
        assert it.main.chat.conversation.turns[0].interrupted
        await it.ask("again")
        assert "alive" in it.text()
        assert it.main.engine.phase == "idle"


async def test_a_question_of_before_is_edited_and_sent_again(pilot: Play) -> None:
    async with pilot("one", "two", "three", "new", size=(80, 40)) as it:
        for question in ("first", "second", "third"):
            await it.ask(question)
        await it.press("shift+tab", "up", "up", "up")
        await it.press("e")
        assert it.main.query_one(Prompt).text == "second"
        await it.ask(" better")
        turns = it.main.chat.conversation.turns
        assert [(each.question.text, each.answer.text) for each in turns] == [
            ("first", "one"),
            ("second better", "new"),
        ]
        assert "three" not in it.text()
        it.app.perform("undo")
        it.app.perform("undo")
        await it.until(lambda: len(it.main.chat.conversation.turns) == 3)
        assert "three" in it.text()


async def test_notices_are_shown_and_left_out_turns_said(pilot: Play) -> None:
    stats = ReplyStats(predicted_n=1)
    notices = (Notice("guessing is off", "warning"), Notice(dropped_notice(2)))
    script = [*notices, Prefill(1, 1, 0), Finished("ok", (1,), "stop", stats, dropped=2)]
    async with pilot("one", script) as it:
        await it.ask("a")
        await it.ask("b")
        assert "guessing is off" in it.text()
        assert it.text().count("2 messages no longer fit") == 1


async def test_slash_commands_are_obeyed_and_mistyped_ones_never_sent(pilot: Play) -> None:
    async with pilot("one") as it:
        await it.ask("hi")
        await it.ask("/clera")
        assert "did you mean /clear?" in it.text()
        it.main.query_one(Prompt).put("")
        await it.ask("/clear")
        await it.until(lambda: not it.main.chat.conversation.turns)
        assert len(it.assistant.requests) == 1


async def test_a_number_longer_than_python_reads_is_a_wrong_one(pilot: Play) -> None:
    async with pilot(CODE) as it:
        await it.ask("hi")
        Path("a.py").write_text("x = 1\n")
        await it.attach("a.py")
        for typed, told in (("/copy", "there is no code block 999"), ("/drop", "there is no attached file 999")):
            it.main.query_one(Prompt).put(f"{typed} {'9' * 5000}")
            await it.press("enter")
            await it.until(lambda told=told: any(told in str(each.render()) for each in it.main.query("*")))


async def test_what_is_selected_of_code_is_the_text_itself(pilot: Play) -> None:
    code = "\tif x:\n\t\treturn '漢字' + " + "y" * 90 + "\n"
    async with pilot(f"```python\n{code}```\n", size=(60, 30)) as it:
        await it.ask("hi")
        fence = it.main.query_one(Fence)
        it.main.selections = {fence: SELECT_ALL}
        await it.pilot.pause()
        assert fence.get_selection(SELECT_ALL) == (code.rstrip("\n"), "\n")
        assert "return '漢字'" in it.text()
        part = Selection(Offset(7, 0), Offset(14, 1))
        assert fence.get_selection(part) == ("x:\n\t\treturn", "\n")
        await it.press("ctrl+c")
        await it.until(lambda: it.app.clipboard == code.rstrip("\n"))


@pytest.mark.parametrize("again", [True, False])
async def test_an_engine_that_cannot_be_understood_is_not_started_again(pilot: Play, again: bool) -> None:
    error = WorkerDied("it is of another version", "leave it and start it again", again=again)
    async with pilot(error) as it:
        await it.ask("a")
        assert "it is of another version" in it.text()
        assert ("F5" in it.text().replace("f5", "F5")) == again


async def test_the_same_answer_is_expected_only_where_the_same_is_sent_again(pilot: Play) -> None:
    async with pilot("one", "two", "three") as it:
        await it.ask("a")
        await it.ask("/system Be terse.")
        await it.ask("/retry")
        assert "the same answer is to be expected" not in "".join(it.main.notice_bar.texts)
        await it.ask("/retry")
        assert "the same answer is to be expected" in it.main.notice_bar.texts[0]


async def test_a_summary_says_what_it_stands_for_and_what_there_is_none_of(pilot: Play) -> None:
    cut = ScriptedAssistant(()).reply_events("the sum")
    cut[-1] = Finished("the sum", (1,), "length", ReplyStats(predicted_n=1))
    async with pilot("one", "two", "three", cut, "the sum of all") as it:
        for question in "abc":
            await it.ask(question)
        it.app.perform("compact")
        await it.until(lambda: len(it.assistant.requests) == 4)
        await it.idle()
        assert "the conversation is as it was" in it.text()
        assert len(it.main.chat.conversation.turns) == 3
        it.app.perform("compact")
        await it.until(lambda: len(it.main.chat.conversation.turns) == 2)
        await it.idle()
        assert "2 older turns are replaced by the summary" in it.text()
        assert "In the place of older turns" in it.text()
        assert "What have we said" not in it.text()
        assert it.main.chat.stats is None
