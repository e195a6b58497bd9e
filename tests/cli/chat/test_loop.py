"""The prompt and the loop around it, with keys from a pipe: what is sent, what is kept, and how a conversation ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input

from lacli.assistant.scripted import ScriptedAssistant
from lacli.chat.commands import Command
from lacli.chat.outcome import Outcome
from lacli.cli.chat.completer import ChatCompleter
from lacli.cli.chat.loop import ChatLoop
from lacli.cli.chat.reader import Reader
from lacli.cli.terminal import live
from lacli.errors import ModelUnavailable, PromptTooLong
from lacli.events import Finished, Loading, Piece, ReplyStats
from tests.cli.chat.talking import asked, loop_of, loop_with

CTRL_C, CTRL_D, CTRL_J, ENTER = "\x03", "\x04", "\n", "\r"


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe:
        yield pipe


def run(loop: ChatLoop, keys: PipeInput, *typed: str) -> tuple[int, InMemoryHistory]:
    """The exit code, and what the arrow keys find. The first part is typed ahead, each other one at the next prompt."""
    history = InMemoryHistory()
    first, *others = typed
    keys.send_text(first)
    later, drawn = iter(["", *others]), loop._drawn

    def typing() -> None:
        drawn()
        keys.send_text(next(later, ""))

    loop._drawn = typing  # type: ignore[method-assign]
    return loop.run(Reader(history, ChatCompleter(), False, keys)), history


def test_questions_are_answered_until_ctrl_d(keys: PipeInput) -> None:
    loop, made = loop_of(["one", "two"])
    code, history = run(loop, keys, f"a?{ENTER}b?{ENTER}{CTRL_D}")
    assert code == 0
    assert asked(made[0]) == ["a?", "one", "b?"]
    assert history.get_strings() == ["a?", "b?"]
    ahead = [len(request.messages) for request in made[0].warmed]
    assert ahead in ([3], [3, 5])  # what was said, and an empty question; after the last answer if there was time


def test_a_question_that_fills_the_screen_is_not_put_below_the_error_that_it_would_hide(
    keys: PipeInput, capfd: pytest.CaptureFixture[str]
) -> None:
    loop, made = loop_of([PromptTooLong("too long", "shorten it"), "one"])
    question = CTRL_J.join(["line"] * 50)
    code, history = run(loop, keys, f"{question}{ENTER}", f"short?{ENTER}", CTRL_D)
    assert code == 0
    assert asked(made[0]) == ["short?"]
    assert history.get_strings() == [question, "short?"]
    assert "the up arrow brings it back" in capfd.readouterr().err


def test_ctrl_j_makes_a_line_and_so_does_enter_between_quotes(keys: PipeInput) -> None:
    loop, made = loop_of(["one", "two"])
    run(loop, keys, f'a{CTRL_J}b{ENTER}"""{ENTER}/help{ENTER}c{ENTER}"""{ENTER}{CTRL_D}')
    assert asked(made[0], 0) == ["a\nb"]
    assert asked(made[0], 1)[-1] == "/help\nc"


def test_a_paste_of_many_lines_is_one_draft_that_enter_sends_once(keys: PipeInput) -> None:
    lines = [f"line {number}\twith\x1b[31m a control sequence" for number in range(500)]
    loop, made = loop_of(["one"])
    run(loop, keys, f"\x1b[200~{chr(13).join(lines)}\x1b[201~ and so on{ENTER}{CTRL_D}")
    assert len(made[0].requests) == 1
    assert asked(made[0]) == ["\n".join(lines) + " and so on"]


def test_a_question_that_came_to_nothing_is_back_at_the_prompt(keys: PipeInput) -> None:
    nothing = [Finished("", (), "cancelled", ReplyStats(finish_reason="cancelled"))]
    loop, made = loop_of([nothing, PromptTooLong("too long", "shorten it"), "one"])
    run(loop, keys, f"a?{ENTER}", ENTER, f" please{ENTER}", CTRL_D)
    assert [request.messages[-1].text for request in made[0].requests] == ["a?", "a?", "a? please"]
    assert len(loop.chat.conversation.turns) == 1


def test_what_was_typed_ahead_is_not_put_behind_a_question_that_came_back(keys: PipeInput) -> None:
    loop, made = loop_of([PromptTooLong("too long", "shorten it"), "one"])
    _, history = run(loop, keys, f"a?{ENTER}b?{ENTER}{CTRL_D}")
    assert [request.messages[-1].text for request in made[0].requests] == ["a?", "b?"]
    assert history.get_strings() == ["a?", "b?"]


def test_ctrl_c_forgets_what_was_typed_but_for_the_arrow_keys_and_twice_leaves(keys: PipeInput) -> None:
    loop, made = loop_of([])
    code, history = run(loop, keys, f"half{CTRL_C}{CTRL_C}{CTRL_C}")
    assert code == 130
    assert history.get_strings() == ["half"]
    assert made[0].requests == []


def test_a_reply_that_was_stopped_and_ctrl_c_at_once_leave(keys: PipeInput) -> None:
    half = [Piece("ha", ("",), ReplyStats()), Finished("ha", (1,), "cancelled", ReplyStats(finish_reason="cancelled"))]
    loop, _ = loop_of([half])
    code, _ = run(loop, keys, f"a?{ENTER}", CTRL_C)
    assert code == 130
    assert loop.chat.conversation.turns[0].interrupted


def test_ctrl_c_behind_enter_has_nothing_asked_and_what_was_typed_behind_it_stays(keys: PipeInput) -> None:
    loop, (assistant,) = loop_of(["hello"])
    code, _ = run(loop, keys, f"a?{ENTER}{CTRL_C}/stats{ENTER}", CTRL_D)
    assert code == 0
    assert assistant.requests == []


class Slow(ScriptedAssistant):
    """Loads when it is told to."""

    def __init__(self, scripts: list[Any], failure: BaseException | None = None) -> None:
        super().__init__(scripts)
        self.may_load = threading.Event()
        self._failure = failure

    def open(self, report: Any = lambda event: None) -> None:
        report(Loading("load"))
        assert self.may_load.wait(10)
        if self._failure is not None:
            raise self._failure


def slow_loop(assistant: Slow) -> ChatLoop:
    return loop_with(lambda settings: assistant)


def test_ctrl_c_while_the_model_loads_gives_the_question_back_and_loading_goes_on(
    keys: PipeInput, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assistant = Slow(["one"])
    loop = slow_loop(assistant)
    load, waits = live.load, iter([True])

    def interrupted(*arguments: Any) -> None:
        if next(waits, False):
            raise KeyboardInterrupt
        assistant.may_load.set()
        load(*arguments)

    monkeypatch.setattr(live, "load", interrupted)
    code, _ = run(loop, keys, f"a?{ENTER}", ENTER, CTRL_D)
    assert code == 0
    assert asked(assistant) == ["a?"]
    assert "the model goes on loading" in capfd.readouterr().err


@pytest.mark.parametrize("failure", [ModelUnavailable("no such model", "take another"), MemoryError()])
def test_a_loading_that_fails_ends_the_conversation_and_what_was_typed_is_not_lost(
    keys: PipeInput, failure: BaseException
) -> None:
    assistant = Slow([], failure)
    loop = slow_loop(assistant)
    history = InMemoryHistory()
    threading.Timer(0.2, assistant.may_load.set).start()  # when the prompt has long taken the keys
    keys.send_text("half a ques")
    with pytest.raises(type(failure)) as caught:
        loop.run(Reader(history, None, False, keys))
    assert caught.value is failure
    assert history.get_strings() == ["half a ques"]


def test_one_that_fails_while_a_question_waits_ends_it_too(keys: PipeInput) -> None:
    assistant = Slow([], ModelUnavailable("no such model", "take another"))
    loop = slow_loop(assistant)
    history = InMemoryHistory()
    threading.Timer(0.3, assistant.may_load.set).start()
    keys.send_text(f"a?{ENTER}")
    with pytest.raises(ModelUnavailable):
        loop.run(Reader(history, None, False, keys))
    assert history.get_strings() == ["a?"]


def test_one_that_fails_while_a_command_runs_ends_it_at_the_next_prompt(
    keys: PipeInput, monkeypatch: pytest.MonkeyPatch
) -> None:
    assistant = Slow([], ModelUnavailable("no such model", "take another"))
    loop = slow_loop(assistant)

    def failing_meanwhile(loop: ChatLoop, command: Command, rest: str) -> Outcome:
        assistant.may_load.set()
        with pytest.raises(ModelUnavailable):
            loop.assistant.open()
        return Outcome()

    monkeypatch.setattr("lacli.cli.chat.commands.run", failing_meanwhile)
    keys.send_text(f"/stats{ENTER}")
    with pytest.raises(ModelUnavailable):
        loop.run(Reader(InMemoryHistory(), None, False, keys))


class TestCompletion:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "project" / "src").mkdir(parents=True)
        for name in ("alpha one.py", "alphabet.py", ".hidden", "src/beta.py"):
            (tmp_path / "project" / name).touch()
        monkeypatch.chdir(tmp_path / "project")

    @pytest.mark.parametrize(
        ("typed", "completed"),
        [
            ("/he\t", "/help"),
            ("/file al\t", "/file alpha"),
            ("/file alphab\t", "/file alphabet.py"),
            ("/save src/b\t", "/save src/beta.py"),
            ("/apply .h\t", "/apply .hidden"),
            ("/apply 2 .h\t", "/apply 2 .hidden"),
            (" /he\t", " /he"),
            ("see @alpha\\ \t", "see @alpha\\ one.py"),
            ("see (@src/b\t", "see (@src/beta.py"),
            ("mail me@alphab\t", "mail me@alphab"),
            ("/set temp\t", "/set temperature"),
            ("/model smollm2\t", "/model smollm2-135m"),
            ("/pool x\t", "/pool x"),
            ("/nosuch al\t", "/nosuch al"),
        ],
    )
    def test_completes(self, typed: str, completed: str) -> None:
        from prompt_toolkit.completion import CompleteEvent
        from prompt_toolkit.document import Document

        text = typed.removesuffix("\t")
        found = list(ChatCompleter().get_completions(Document(text), CompleteEvent()))
        ends = {text[: len(text) + each.start_position] + each.text for each in found}
        assert (completed in ends or any(end.startswith(completed) for end in ends)) if ends else completed == text
        if completed.endswith((".py", ".hidden", "help", "temperature", "135m")):
            assert len(ends) == 1

    def test_names_of_sessions_and_templates_are_offered(self) -> None:
        from prompt_toolkit.completion import CompleteEvent
        from prompt_toolkit.document import Document

        from lacli.prompts import saved

        saved.save(saved.Saved("review", prompt="Review $input"))
        loop, _ = loop_of(["one"])
        loop.handle("a question")

        def offered(text: str) -> list[str]:
            return [each.text for each in ChatCompleter().get_completions(Document(text), CompleteEvent())]

        assert offered("/template re") == ["review"]
        assert offered("/sessions ") == [loop.chat.recorder.id[:8]]


class TestClipboard:
    def test_a_tool_and_the_terminal_are_given_the_text(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from lacli.shared import clipboard

        tool, screen = tmp_path / "bin" / "xclip", tmp_path / "screen"
        tool.parent.mkdir()
        tool.write_text(f"#!/bin/sh\ncat > {tmp_path}/taken\n")
        tool.chmod(0o755)
        screen.touch()
        monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
        monkeypatch.setenv("DISPLAY", ":0")
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        monkeypatch.setattr(clipboard, "_SCREEN", str(screen))
        assert clipboard.copied("é") == ["xclip", "the terminal"]
        assert (tmp_path / "taken").read_text() == "é"
        assert screen.read_bytes() == b"\x1b]52;c;w6k=\x07"

    def test_a_tool_that_fails_and_a_text_too_long_for_a_terminal_are_not_claimed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from lacli.shared import clipboard

        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(clipboard, "_SCREEN", str(tmp_path / "no" / "screen"))
        assert clipboard.copied("x") == []
        monkeypatch.setattr(clipboard, "_SCREEN", "/dev/null")
        assert clipboard.copied("x" * 60_000) == []
