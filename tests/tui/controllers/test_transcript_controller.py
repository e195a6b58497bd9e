from __future__ import annotations

from typing import Any

import pytest

from lacli.chat.outcome import Outcome
from lacli.events import Attachment
from lacli_tui.controllers.outcome_presenter import OutcomePresenter
from lacli_tui.controllers.prompt_controller import PromptController
from lacli_tui.controllers.prompt_queue import QueuedQuestion
from lacli_tui.controllers.question_sender import QuestionSender
from lacli_tui.controllers.transcript_controller import TranscriptController
from lacli_tui.engine_session import Updates


class Answer:
    """An answer's widget."""

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.text = ""
        self.footnote = ""
        self.trace = self

    def add(self, steps: Any) -> None:
        pass

    async def think(self, text: str) -> None:
        pass

    async def append(self, text: str) -> None:
        self.text += text

    async def finish(self, text: str, footnote: str, thought: str) -> None:
        self.text, self.footnote = text, footnote


class Transcript:
    """What it was told to show."""

    follows = True

    def __init__(self) -> None:
        self.did: list[Any] = []
        self.answers: list[Answer] = []

    def query(self, widget: Any) -> Any:
        return self

    async def remove(self) -> None:
        pass

    async def show(self, turns: Any, *first: Any) -> None:
        self.did.append(("show", len(turns)))

    async def take_back(self, turn: int) -> None:
        self.did.append(("take back", turn))

    async def add_question(self, text: str, files: Any, turn: int) -> Answer:
        self.did.append(("question", text, turn))
        return await self.add_answer(turn)

    async def add_answer(self, turn: int) -> Answer:
        self.answers.append(Answer(turn))
        return self.answers[-1]

    async def replace_answer(self, turn: int) -> Answer:
        self.did.append(("again", turn))
        return await self.add_answer(turn)


class Panel:
    def __init__(self) -> None:
        self.did: list[str] = []

    def start_reply(self, is_summary: bool) -> None:
        self.did.append("summary" if is_summary else "reply")

    def restart_charts(self) -> None:
        self.did.append("charts")

    def add_steps(self, steps: Any) -> None:
        pass


class NewText:
    def set_class(self, on: bool, name: str) -> None:
        pass


class Files:
    is_reading = False

    def read_question(self, text: str, send: Any) -> None:
        self.read = text


class Parts:
    """A transcript controller and what it works with."""

    def __init__(self, screen: Any, engine: Any, prompt: Any, chips: Any, notifications: Any) -> None:
        self.engine, self.prompt, self.notifications = engine, prompt, notifications
        self.transcript, self.panel = Transcript(), Panel()
        self.refreshed: list[bool] = []
        self.performed: list[tuple[str, str]] = []
        self.prompts = PromptController(engine.chat, prompt, chips, notifications)
        given: tuple[Any, ...] = (self.transcript, NewText(), prompt, self.prompts, self.panel, notifications)
        self.replies = TranscriptController(screen, engine, *given, lambda: None, self.refreshed.append)
        self.outcomes = OutcomePresenter(engine, prompt, self.replies, self.panel, notifications)  # type: ignore[arg-type]
        self.sender = QuestionSender(
            engine,
            prompt,
            self.prompts,
            self.replies,
            Files(),  # type: ignore[arg-type]
            notifications,
            lambda id_, rest: self.performed.append((id_, rest)),
        )

    async def ends(self, text: str = "an answer", reason: str = "stop", error: BaseException | None = None) -> None:
        updates: Updates = self.engine.answer(text, reason)
        updates.error = error
        await self.replies.finish(updates)
        await self.sender.settle(updates)


@pytest.fixture
def parts(screen: Any, engine: Any, prompt: Any, chips: Any, notifications: Any) -> Parts:
    return Parts(screen, engine, prompt, chips, notifications)


async def test_a_question_is_shown_asked_and_answered(parts: Parts) -> None:
    await parts.sender.submit("one?")
    assert parts.transcript.did == [("question", "one?", 0)]
    assert parts.engine.sent[0].messages[-1].text == "one?"
    assert parts.panel.did == ["reply"]
    await parts.ends("yes")
    assert parts.transcript.answers[0].text == "yes"
    assert "3 tok" in parts.transcript.answers[0].footnote
    assert parts.prompts.last_sent == ""


async def test_questions_sent_meanwhile_are_asked_in_turn(parts: Parts) -> None:
    for text in ("one?", "two?", "three?"):
        await parts.sender.submit(text)
    assert parts.prompts.queue.texts == ["two?", "three?"]
    await parts.ends()
    await parts.ends()
    assert [each.messages[-1].text for each in parts.engine.sent] == ["one?", "two?", "three?"]


async def test_files_attached_after_a_queued_question_go_with_the_next_one(parts: Parts) -> None:
    await parts.sender.submit("one?")
    await parts.sender.submit("two?")
    parts.engine.chat.conversation.attach(Attachment("a.py", "a"))
    await parts.ends()
    assert parts.engine.sent[-1].messages[-1].attachments == ()
    assert [each.label for each in parts.engine.chat.conversation.pending] == ["a.py"]


@pytest.mark.parametrize(("reason", "error"), [("cancelled", None), ("stop", ValueError("no"))])
async def test_a_reply_that_does_not_end_well_puts_queued_questions_back(
    parts: Parts, reason: str, error: BaseException | None
) -> None:
    await parts.sender.submit("one?")
    await parts.sender.submit("two?")
    await parts.ends("half", reason, error)
    assert parts.prompt.text == "two?"
    assert len(parts.engine.sent) == 1


async def test_a_question_nothing_came_of_is_back_at_the_prompt(parts: Parts) -> None:
    await parts.sender.submit("one?")
    await parts.ends("", "cancelled")
    assert parts.transcript.did[-1] == ("take back", 0)
    assert parts.prompt.text == "one?"


async def test_a_slash_command_is_performed_and_a_wrong_one_is_back_at_the_prompt(parts: Parts) -> None:
    await parts.sender.submit("/set temperature 1")
    assert parts.performed == [("set", "temperature 1")]
    await parts.sender.submit("/nothing")
    assert parts.prompt.text == "/nothing"
    assert "there is no command /nothing" in parts.notifications.shown[-1]


async def test_an_edited_question_replaces_its_turn(parts: Parts) -> None:
    await parts.sender.submit("one?")
    await parts.ends()
    parts.prompts.edit(0)
    await parts.sender.submit("another?")
    assert ("take back", 0) in parts.transcript.did
    await parts.ends()
    assert [turn.question.text for turn in parts.engine.chat.conversation.turns] == ["another?"]
    assert parts.prompts.editing is None


async def test_asking_again_replaces_the_last_answer_or_goes_back_to_a_turn(parts: Parts) -> None:
    await parts.replies.retry()
    assert parts.notifications.shown == ["there is no question to ask again"]
    for text in ("one?", "two?"):
        await parts.sender.submit(text)
        await parts.ends()
    await parts.replies.ask_again(1)
    assert parts.transcript.did[-1] == ("again", 1)
    await parts.ends()
    await parts.replies.ask_again(0)
    assert parts.transcript.did[-2:] == [("take back", 0), ("question", "one?", 0)]


async def test_nothing_else_is_asked_while_a_reply_is_written(parts: Parts) -> None:
    await parts.sender.submit("one?")
    await parts.replies.retry()
    await parts.replies.summarise()
    assert len(parts.engine.sent) == 1
    assert parts.notifications.shown == ["a reply is being written; escape stops it"] * 2


async def test_a_summary_is_announced_and_then_takes_the_place_of_the_turns(parts: Parts) -> None:
    for text in ("one?", "two?", "three?"):
        await parts.sender.submit(text)
        await parts.ends()
    await parts.replies.summarise()
    assert "are being summed up" in parts.notifications.shown[-1]
    assert parts.panel.did[-1] == "summary"
    await parts.ends("all of it")
    assert not any("are being summed up" in text for text in parts.notifications.shown)
    assert "replaced by the summary" in parts.notifications.in_chat[-1]
    assert parts.transcript.did[-1][0] == "show"


async def test_an_outcome_is_shown_with_all_that_belongs_to_it(parts: Parts) -> None:
    await parts.sender.submit("one?")
    await parts.ends()
    await parts.outcomes.show(parts.engine.chat.undo())
    assert parts.transcript.did[-1] == ("show", 0)
    assert parts.notifications.shown == ["taken back: one?"]
    assert parts.panel.did[-1] == "charts"
    assert parts.refreshed[-1] is True
    await parts.outcomes.show(Outcome(draft="words"))
    assert parts.prompt.text == "words"


async def test_a_turn_in_the_middle_is_edited_only_while_nothing_is_written(parts: Parts) -> None:
    await parts.sender.submit("one?")
    await parts.ends()
    parts.prompts.edit(0)
    await parts.replies.ask(QueuedQuestion("aside", "aside"))
    await parts.sender.submit("another?")
    assert parts.prompt.text == "another?"
    assert not parts.prompts.queue
