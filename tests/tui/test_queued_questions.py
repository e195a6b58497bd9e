"""Questions typed while a reply is written: they wait, and nothing of them is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.assistant.base import Cancel, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.errors import LacliError, WorkerDied
from lacli.events import Event, Request
from lacli.sessions.records import Session
from lacli.sessions.store import SessionStore, path
from tests.sessions.turns import turn
from tests.tui.conftest import Play, Playing


class Held(ScriptedAssistant):
    """Writes a few tokens of its first reply, then waits until it is let go, fails or is stopped."""

    def __init__(self, error: BaseException | None = None, at: int = 3) -> None:
        super().__init__(["one two three four five six", "second", "third", "fourth"])
        self.go = threading.Event()
        self._error = error
        self._at = at

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        first = not self.requests
        for count, event in enumerate(super().reply(request, cancel)):
            if first and count == self._at:
                while not self.go.wait(0.005) and not cancel():
                    pass
                if self._error is not None and not cancel():
                    raise self._error
            yield event


async def send(it: Playing, text: str) -> None:
    it.main.prompt.put(text)
    await it.press("enter")


async def begun(it: Playing, *more: str) -> None:
    """The first question is being answered, and these were sent."""
    await send(it, "first?")
    await it.until(lambda: it.assistant.requests and "one" in it.text())
    for text in more:
        await send(it, text)


def asked(it: Playing) -> list[str]:
    return [request.messages[-1].text for request in it.assistant.requests]


async def test_they_are_seen_above_the_prompt_and_asked_in_turn(pilot: Play) -> None:
    async with pilot(replier=Held()) as it:
        await begun(it, "second?", "third " + "and so on " * 9)
        assert "[next: second?]" in it.text()
        assert "[next: third and so on" in it.text()
        assert "…]" in it.text()
        assert asked(it) == ["first?"]
        assert it.main.prompt.text == ""
        it.assistant.go.set()  # type: ignore[attr-defined]
        await it.until(lambda: len(it.main.chat.conversation.turns) == 3)
        await it.idle()
        assert asked(it) == ["first?", "second?", "third " + "and so on " * 9]
        said = [turn.answer.text for turn in it.main.chat.conversation.turns]
        assert said == ["one two three four five six", "second", "third"]
        assert "[next:" not in it.text()


async def test_escape_stops_the_reply_and_puts_them_back_before_the_draft(pilot: Play) -> None:
    async with pilot(replier=Held()) as it:
        await begun(it, "second?", "third?")
        it.main.prompt.put("a draft")
        await it.press("escape")
        await it.idle()
        assert it.main.prompt.text == "second?\n\nthird?\n\na draft"
        assert it.main.chat.conversation.turns[0].interrupted
        assert asked(it) == ["first?"]
        assert "[next:" not in it.text()


@pytest.mark.parametrize("error", [LacliError("the context is full", "drop a file"), WorkerDied("it was killed", "")])
@pytest.mark.parametrize("written", [True, False])
@pytest.mark.default_cases(1)
async def test_a_reply_that_fails_puts_them_back_and_what_nothing_came_of(
    pilot: Play, error: LacliError, written: bool
) -> None:
    async with pilot(replier=Held(error, at=3 if written else 0)) as it:
        await send(it, "first?")
        await it.until(lambda: it.assistant.requests)
        await send(it, "second?")
        it.assistant.go.set()  # type: ignore[attr-defined]
        await it.until(lambda: it.main.prompt.text)
        await it.idle()
        assert it.main.prompt.text == ("second?" if written else "first?\n\nsecond?")
        assert len(it.main.chat.conversation.turns) == written
        assert error.message in it.text()


async def test_up_in_an_empty_prompt_takes_the_last_one_back(pilot: Play) -> None:
    async with pilot(replier=Held()) as it:
        await begun(it, "second?", "third?")
        await it.press("up")
        assert it.main.prompt.text == "third?"
        await it.press("up")  # there is a draft now: this is what was typed before
        assert it.main.prompt.text != ""
        assert "[next: second?]" in it.text()
        it.main.prompt.put("")
        await it.press("up")
        assert it.main.prompt.text == "second?"
        it.assistant.go.set()  # type: ignore[attr-defined]
        await it.idle()
        assert asked(it) == ["first?"]


async def test_each_has_its_own_files(pilot: Play) -> None:
    for name in ("a.py", "b.py", "c.py"):
        Path(name).write_text(name)
    async with pilot(replier=Held()) as it:
        await begun(it)
        await it.attach("a.py")
        await send(it, "second about @b.py?")
        await it.attach("c.py")
        assert "a.py" not in it.text().rpartition("[next:")[2]
        it.assistant.go.set()  # type: ignore[attr-defined]
        await it.until(lambda: len(it.main.chat.conversation.turns) == 2)
        await it.idle()
        first, second = (request.messages[-1].attachments for request in it.assistant.requests)
        assert first == ()
        assert [each.label for each in second] == ["a.py", "b.py"]
        assert [each.label for each in it.main.chat.conversation.pending] == ["c.py"]


async def test_their_files_come_back_with_them(pilot: Play) -> None:
    Path("a.py").write_text("a")
    async with pilot(replier=Held()) as it:
        await begun(it)
        await it.attach("a.py")
        await send(it, "second?")
        await it.press("escape")
        await it.idle()
        assert it.main.prompt.text == "second?"
        assert [each.label for each in it.main.chat.conversation.pending] == ["a.py"]


async def test_commands_that_only_show_go_on_working_and_others_say_why_not(pilot: Play) -> None:
    async with pilot(replier=Held(), checked=lambda flag, value: float(value)) as it:
        await begun(it, "/stats", "/set temperature 0.5", "second?", "/clear", "/nonsense")
        await it.until(lambda: "this chat" in it.text())
        assert it.main.chat.request.temperature == 0.5
        assert len(it.main.prompts.queue) == 1
        assert it.main.engine.is_replying
        assert "there is no command /nonsense" in it.text()
        it.assistant.go.set()  # type: ignore[attr-defined]
        await it.until(lambda: len(it.main.chat.conversation.turns) == 2)
        assert [request.temperature for request in it.assistant.requests] == [0.0, 0.5]


async def test_what_stands_in_place_of_another_question_does_not_wait(pilot: Play) -> None:
    async with pilot(replier=Held(at=1)) as it:
        it.assistant.go.set()  # type: ignore[attr-defined]
        await send(it, "first?")
        await it.idle()
        await it.press("shift+tab", "e")
        assert it.main.prompt.text == "first?"
        it.assistant.go.clear()  # type: ignore[attr-defined]
        it.assistant.requests.clear()
        it.app.perform("retry")
        await it.until(lambda: it.main.engine.is_replying)
        await it.press("enter")
        assert it.main.prompt.text == "first?"
        assert not it.main.prompts.queue
        await it.press("escape")


async def test_a_chat_that_is_read_while_a_question_is_sent_does_not_take_its_place(
    pilot: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = threading.Event()
    store = SessionStore(path())
    other = store.begin("chat", None, "scripted")
    store.append(other, turn("elsewhere?"))
    session = SessionStore.session

    def late(self: SessionStore, prefix: str) -> Session:
        assert read.wait(10)
        return session(self, prefix)

    monkeypatch.setattr(SessionStore, "session", late)
    async with pilot(replier=Held()) as it:
        it.app.perform("resume", other)
        await begun(it)
        read.set()
        await it.until(lambda: not [each for each in it.app.workers if each.group == "picker"])
        it.assistant.go.set()  # type: ignore[attr-defined]
        await it.idle()
        (kept,) = it.main.chat.conversation.turns
        assert kept.question.text == "first?"
