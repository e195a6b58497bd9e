"""A chat without a front end: what each wish comes to, what is said of it, and what is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from lacli.chat import listings, writing
from lacli.chat.chat import ChatSession
from lacli.chat.outcome import Line, Outcome, fault
from lacli.config import Settings
from lacli.errors import LacliError, PromptTooLong, UsageError
from lacli.events import Attachment, Finished, Message, Piece, Preview, ReplyStats, Request
from lacli.prompts import saved
from lacli.sessions.records import Session, Turn

CODE = "Here:\n\n```python\nx = 1\n```\n"


class Recorded:
    """A recorder that remembers what it was told."""

    def __init__(self) -> None:
        self.id = "0123456789"
        self.told: list[tuple[str, ...]] = []

    def keep(self, turn: Turn, model: str, replaces: bool = False) -> None:
        self.told.append(("replace" if replaces else "keep", turn.question.text, turn.answer.text, model))

    def undo(self) -> None:
        self.told.append(("undo",))

    def describe(self, system: str) -> None:
        self.told.append(("describe", system))

    def leave(self, turns: Sequence[Turn] = (), model: str = "") -> None:
        self.told.append(("leave", *(turn.question.text for turn in turns)))

    def follow(self, change: str, turns: Sequence[Turn], before: int, model: str) -> None:
        self.told.append(("follow", change))

    def resume(self, session: Session) -> None:
        self.id = session.id
        self.told.append(("resume", session.id))

    def new(self) -> None:
        self.told.append(("new",))


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kept() -> Recorded:
    return Recorded()


@pytest.fixture
def chat(kept: Recorded) -> ChatSession:
    return ChatSession(Settings(model="one"), Request(max_tokens=9), kept, model="one", system="Be brief")


def finished(text: str = "yes", reason: str = "stop", dropped: int = 0) -> Finished:
    stats = ReplyStats(predicted_n=3, steps=1, finish_reason=reason)
    return Finished(text, (1, 2, 3) if text else (), reason, stats, dropped=dropped)  # type: ignore[arg-type]


def said(chat: ChatSession, *questions: str, answer: str = "yes") -> None:
    for question in questions:
        chat.ask(question)
        chat.answered(finished(answer))


def asked(outcome: Outcome) -> list[str]:
    assert outcome.send is not None
    return [message.text for message in outcome.send.messages]


class TestReplies:
    def test_a_question_is_sent_with_all_before_it_and_its_answer_kept(self, chat: ChatSession, kept: Recorded) -> None:
        said(chat, "a?")
        outcome = chat.ask("b?")
        assert asked(outcome) == ["Be brief", "a?", "yes", "b?"]
        assert outcome.send is not None
        assert outcome.send.drop_oldest
        assert chat.is_answering
        turn = chat.answered(finished("no")).turn
        assert turn is not None
        assert turn.answer.text == "no"
        assert not chat.is_answering
        assert kept.told[-1] == ("keep", "b?", "no", "one")

    def test_what_comes_to_nothing_never_happened(self, chat: ChatSession, kept: Recorded) -> None:
        chat.attach(dataclasses.replace(chat.read_question("x"), files=(Attachment("a.py", "x"),)))
        for ends in (chat.failed, lambda: chat.answered(finished("", "cancelled"))):
            chat.ask("a?")
            assert not chat.conversation.pending
            assert ends().turn is None
            assert [each.label for each in chat.conversation.pending] == ["a.py"]
        assert chat.conversation.turns == ()
        assert kept.told == []

    def test_one_that_breaks_off_is_kept_as_far_as_it_was_seen(self, chat: ChatSession) -> None:
        chat.ask("a?")
        assert chat.unfinished is None
        for text in ("ye", "s"):
            chat.wrote(Piece(text, ("",), ReplyStats(predicted_n=2)))
        assert chat.unfinished is not None
        assert chat.unfinished.answer.text == "yes"
        assert chat.counts.predicted_n == 2
        ended, outcome = chat.broken_off()
        assert (ended.text, ended.reason) == ("yes", "cancelled")
        assert outcome.turn is not None
        assert outcome.turn.interrupted

    def test_retry_replaces_the_answer_and_says_where_it_will_be_the_same(
        self, chat: ChatSession, kept: Recorded
    ) -> None:
        assert chat.retry().text == "there is no question to ask again"
        said(chat, "a?")
        outcome = chat.retry()
        assert asked(outcome) == ["Be brief", "a?"]
        assert outcome.text.startswith("the same answer is to be expected, as temperature is 0; /set temperature 0.7")
        chat.answered(finished("no"))
        assert kept.told[-1] == ("replace", "a?", "no", "one")
        chat.system("Be long")
        assert chat.retry().lines == ()

    def test_a_question_asked_anew_takes_its_place(self, chat: ChatSession, kept: Recorded) -> None:
        said(chat, "a?", "b?", "c?")
        assert asked(chat.resend(2, "d?"))[-1] == "d?"
        assert kept.told[-1] == ("undo",)
        chat.answered(finished())
        assert asked(chat.resend(0, "e?")) == ["Be brief", "e?"]
        assert kept.told[-1] == ("leave",)

    def test_numbers_are_those_of_the_last_reply_of_the_chat(self, chat: ChatSession) -> None:
        assert listings.numbers(chat).text == "no reply yet"
        said(chat, "a?")
        chat.ask("b?")
        chat.answered(dataclasses.replace(finished(), stats=ReplyStats(predicted_n=7, steps=2)))
        first, second = chat.conversation.turns
        assert chat.stats == second.counts != first.counts
        assert "this reply" in listings.numbers(chat).text
        chat.undo()
        assert chat.stats == first.counts
        chat.resume(Session("5" * 12, "chat", None, "one", "", "", (first,)))
        assert chat.stats is None
        assert "this reply" not in listings.numbers(chat).text
        assert "this chat" in listings.numbers(chat).text


class TestSummaries:
    def test_it_takes_the_place_of_older_turns(self, chat: ChatSession, kept: Recorded) -> None:
        said(chat, "a?")
        assert chat.compact().text == "there are no older turns to sum up"
        said(chat, "b?", "c?")
        assert chat.compact().send is not None
        assert chat.unfinished is None
        outcome = chat.answered(finished("We said yes."))
        assert outcome.changed
        assert outcome.text == "2 older turns are replaced by the summary; /undo brings back what was there"
        assert [turn.answer.text for turn in chat.conversation.turns] == ["We said yes.", "yes"]
        assert kept.told[-1] == ("leave", "What have we said so far?", "c?")
        assert chat.undo().text == "3 turns are back, the summary is gone"

    def test_what_no_longer_fitted_is_said_not_to_be_in_it(self, chat: ChatSession) -> None:
        said(chat, "a?", "b?")
        chat.compact()
        outcome = chat.answered(finished("We said yes.", dropped=2))
        assert "what no longer fitted into the context is not in it" in outcome.text

    @pytest.mark.parametrize(
        ("ended", "words", "level"),
        [
            (finished("We", "cancelled"), "the conversation is as it was", "note"),
            (finished(" "), "the conversation is as it was", "note"),
            (finished("We", "length"), "the conversation is as it was: max-tokens was reached (9)", "warning"),
        ],
    )
    def test_half_a_summary_changes_nothing(self, chat: ChatSession, ended: Finished, words: str, level: str) -> None:
        said(chat, "a?", "b?")
        chat.compact()
        outcome = chat.answered(ended)
        assert [(line.text, line.level) for line in outcome.lines] == [(words, level)]
        assert len(chat.conversation.turns) == 2
        chat.compact()
        assert chat.failed().text == "the conversation is as it was"


class TestConversations:
    def test_undo_says_what_is_back(self, chat: ChatSession, kept: Recorded) -> None:
        assert chat.undo() == Outcome(lines=(Line("there is nothing to take back"),))
        said(chat, "what is\n it?")
        assert chat.undo().text == "taken back: what is it?"
        assert kept.told[-1] == ("follow", "question")
        said(chat, "a?")
        chat.retry()
        chat.answered(finished("no"))
        assert chat.undo().text == "the answer before is back"
        assert chat.clear().text == "the conversation is forgotten; /undo brings it back"
        outcome = chat.undo()
        assert outcome.text == "1 turn is back"
        assert outcome.changed

    def test_a_saved_one_goes_on_with_the_system_message_of_now(self, chat: ChatSession, kept: Recorded) -> None:
        said(chat, "a?", answer="yes")
        session = Session("abcdefghij", "chat", None, "two", "Be kind", "a?", chat.conversation.turns)
        outcome = chat.resume(session)
        assert outcome.changed
        assert outcome.lines == (
            Line("going on with session abcdefgh, 1 turn"), Line("> a?", "words"), Line("yes", "answer"),
        )  # fmt: skip
        assert asked(chat.ask("b?"))[0] == "Be brief"
        assert chat.conversation.turns[0].answer.token_ids == ()  # another model wrote them

    @pytest.mark.parametrize("turn", [1, 2])
    def test_a_turn_that_is_not_there_has_nothing_to_copy(self, chat: ChatSession, turn: int) -> None:
        said(chat, "a?")
        with pytest.raises(UsageError, match="there is no answer yet"):
            writing.part(chat, turn=turn)

    def test_a_new_one_begins_as_the_first(self, chat: ChatSession, kept: Recorded) -> None:
        chat.system("Be kind")
        said(chat, "a?")
        assert chat.new().changed
        assert asked(chat.ask("b?")) == ["Be brief", "b?"]
        assert kept.told[-2:] == [("new",), ("describe", "Be brief")]

    def test_the_system_message_is_set_shown_and_taken_away(self, chat: ChatSession, kept: Recorded) -> None:
        assert listings.system_message(chat).lines == (Line("Be brief", "plain"),)
        assert "is set" in chat.system("Be kind").text
        assert kept.told[-1] == ("describe", "Be kind")
        assert "is gone" in chat.system("none").text
        assert "there is no system message" in listings.system_message(chat).text

    def test_a_template_stands_at_the_prompt_and_is_no_command(self, chat: ChatSession) -> None:
        saved.save(saved.Saved("review", prompt="/save $what", system="Be strict"))
        with pytest.raises(UsageError, match="needs the parameter what"):
            chat.template(saved.named("review"))
        outcome = chat.template(saved.named("review"), {"what": "it"})
        assert outcome.draft == " /save it"
        assert chat.conversation.system == "Be strict"


class TestFiles:
    def test_one_goes_with_the_next_question_and_is_dropped_by_its_number(
        self, chat: ChatSession, project: Path
    ) -> None:
        (project / "a.py").write_text("x = 1\n")
        assert listings.attached_files(chat).text == "no file is attached"
        assert chat.attach(chat.read_file("a.py")).text == "a.py (1 line, ~2 tok) goes with the next question"
        assert "waits for the next question" in listings.attached_files(chat).text
        said(chat, "a?")
        assert "went with a question" in listings.attached_files(chat).text
        with pytest.raises(UsageError, match="there is no attached file 2"):
            chat.drop("2")
        assert chat.drop("1").text == "a.py is not shown any more"
        assert chat.drop("1").text == "no file is attached"
        with pytest.raises(UsageError, match="needs a path"):
            chat.read_file("")

    def test_one_that_waits_already_is_sent_once_however_it_is_named(self, chat: ChatSession, project: Path) -> None:
        (project / "a.py").write_text("x = 1\n")
        chat.attach(chat.read_file("a.py"))
        chat.attach(chat.read_file(str(project / "a.py")))
        read = chat.read_question("see @./a.py")
        outcome = chat.ask(read.words, read.files)
        assert outcome.send is not None
        assert [each.label for each in outcome.send.messages[-1].attachments] == ["a.py"]

    def test_a_blank_before_a_command_is_not_part_of_a_question_unless_it_is_a_block(self, chat: ChatSession) -> None:
        assert chat.read_question(" /save it").words == "/save it"
        assert chat.read_question(" /save it", verbatim=True).words == " /save it"


class TestTheModel:
    def test_one_that_cannot_be_had_is_left_for_the_one_that_served_last(self, chat: ChatSession) -> None:
        said(chat, "a?")
        chat.model_loaded()
        outcome = chat.change_model("two.gguf", "two")
        assert chat.conversation.turns[0].answer.token_ids == ()
        assert outcome.restart
        assert outcome.text == "going on with two, which reads the conversation anew"
        assert (chat.settings.model, chat.model, chat.model_before) == ("two.gguf", "two", "one")
        chat.change_model("three", "three")  # two never served
        back = chat.fall_back()
        assert back is not None
        assert back.restart
        assert back.text == "going on with one, the model before"
        assert (chat.settings.model, chat.model) == ("one", "one")
        assert chat.fall_back() is None

    def test_one_that_could_not_be_had_is_not_gone_back_to(self, chat: ChatSession) -> None:
        assert chat.fall_back() is None
        chat.change_model("two", "two")
        assert chat.model_before == ""
        chat.model_loaded()
        chat.change_model("three", "three")
        assert chat.model_before == "two"
        chat.model_loaded()
        assert chat.fall_back() is None

    def test_its_name_is_looked_up_once_it_is_wanted(self, kept: Recorded) -> None:
        chat = ChatSession(Settings(model="nosuch"), Request(), kept)
        with pytest.raises(LacliError, match="nosuch"):
            chat.model  # noqa: B018
        assert ChatSession(Settings(), Request(), kept).model == ChatSession.find_model(None)

    def test_options_are_checked_by_whoever_knows_them(self, kept: Recorded) -> None:
        chat = ChatSession(Settings(), Request(), kept, check=lambda flag, value: float(value) / 2)
        assert chat.set_option("temperature 1").text == "temperature is 0.5"
        assert chat.request.temperature == 0.5
        assert chat.set_option("top_p").lines[0].level == "plain"
        assert len(listings.reply_options(chat).lines) == 9
        with pytest.raises(UsageError, match="there is no option temprature"):
            chat.set_option("temprature 1")

    def test_the_size_of_the_prompt_is_told(self, chat: ChatSession) -> None:
        said(chat, "a?")
        assert listings.size_request(chat).max_tokens == 0
        lines = listings.size(chat, Preview((1,) * 20, "", 100)).lines
        assert [line.text for line in lines] == [
            "20 tokens so far (1 turn)",
            "9 kept free for the reply, 71 left for the question, of 100",
        ]

    def test_nothing_is_read_ahead_while_a_reply_is_written_or_none_is_wanted(self, chat: ChatSession) -> None:
        ahead = chat.ahead()
        assert ahead is not None
        assert [message.role for message in ahead.messages] == ["system", "user"]
        chat.ask("a?")
        assert chat.ahead() is None
        chat.failed()
        assert chat.ahead() == ahead
        chat.request = dataclasses.replace(chat.request, max_tokens=0)
        assert chat.ahead() is None


class TestTakingOut:
    def test_a_part_is_copied_as_far_as_it_is_written(self, chat: ChatSession) -> None:
        with pytest.raises(UsageError, match="there is no answer yet"):
            writing.part(chat)
        said(chat, "a?", answer=CODE)
        assert writing.part(chat).copied("to x") == f"{len(CODE)} characters copied to x"
        assert writing.part(chat, "1").copied("to x") == "code block 1: 5 characters copied to x"
        chat.ask("b?")
        chat.wrote(Piece(CODE + "```\nhalf", ("",), ReplyStats()))
        assert writing.part(chat).what == "the answer so far"
        assert writing.part(chat, "1").what == "code block 1 so far"
        assert writing.part(chat, "1", turn=0).what == "code block 1"
        with pytest.raises(UsageError, match="no code block 2"):
            writing.part(chat, "2")

    def test_a_chat_or_a_block_is_saved_by_what_the_file_is_called(self, chat: ChatSession, project: Path) -> None:
        with pytest.raises(UsageError, match="nothing to save yet"):
            writing.plan_save(chat, "x.md")
        said(chat, "a?", answer=CODE)
        assert writing.where_to_save(chat).text == "save the chat to"
        assert writing.where_to_save(chat, "1").text == "save code block 1 to"
        planned = writing.plan_save(chat, "x.md")
        assert planned.question == ""
        assert planned.write() == "the chat is in x.md"
        assert writing.plan_save(chat, "x.md").question == "x.md exists; overwrite it with the chat?"
        assert writing.plan_save(chat, "y.md", code=True).write() == "code block 1 is in y.md"
        assert (project / "y.md").read_text() == "x = 1\n"
        chat.ask("b?")
        chat.wrote(Piece("no", ("",), ReplyStats()))
        assert writing.plan_save(chat, "z.md").part.what == "the chat before this question"

    def test_a_change_is_planned_shown_and_made(self, chat: ChatSession, project: Path) -> None:
        said(chat, "a?", answer=CODE)
        with pytest.raises(UsageError, match="no file is attached"):
            writing.plan_change(chat)
        made = writing.plan_change(chat, "new.py")
        assert made.title == "code block 1 → new.py (a new file)"
        assert made.question == "code block 1: make new.py?"
        assert made.write(None) == "nothing was written"
        assert made.write(made.change.data) == "new.py was made"
        assert writing.plan_change(chat, "new.py").nothing == "new.py has just this text already"
        (project / "old.py").write_text("x = 2\n")
        planned = writing.plan_change(chat, "old.py")
        assert "+x = 1" in planned.change.diff
        assert planned.question == "code block 1: change old.py?"
        assert planned.write(planned.file.data) == planned.write(None) == "nothing was changed"
        assert planned.write(planned.change.data) == "old.py was changed"
        assert (project / "old.py").read_text() == "x = 1\n"

    def test_the_file_that_an_answer_names_is_likely(self, chat: ChatSession) -> None:
        said(chat, "a?", answer=CODE.replace("python", "python src/a.py"))
        assert writing.where_to_apply(chat) == writing.PathQuestion(
            "apply code block 1 to", "src/a.py", "/apply PATH names one"
        )


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UsageError("no", "do"), Line("no", "error", "do")),
        (PromptTooLong("no", "--ctx"), Line("no", "error", fault(PromptTooLong("", "--")).hint)),
        (PromptTooLong("no", "do"), Line("no", "error", "do")),
        (FileNotFoundError(2, "gone", "a"), Line("a: gone", "error", "check its path and permissions")),
        (KeyError("x"), Line("KeyError: 'x'", "error", "a mistake of lacli's: please report it")),
    ],
)
def test_failures_are_told_in_words(error: Exception, line: Line) -> None:
    assert fault(error) == line
    assert "/set truncate middle" in fault(PromptTooLong("", "--")).hint


def test_a_message_is_all_an_engine_gets(chat: ChatSession) -> None:
    outcome = chat.ask("a?")
    assert outcome.send == dataclasses.replace(
        chat.request, messages=(Message("system", "Be brief"), Message("user", "a?")), drop_oldest=True
    )
