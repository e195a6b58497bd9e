"""What a model is sent of a conversation, after each thing that can happen to it."""

from __future__ import annotations

import pytest

from lacli.chat.conversation import Conversation
from lacli.events import Attachment, Counts, Finished, Message, ReplyStats
from lacli.models.hf.chat_template import ChatTemplate
from lacli.prompts import chat
from lacli.sessions.records import Session, Turn
from tests.vocabularies import byte_level, made

ALTERNATING = (
    "{% for m in messages %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)


def reply(text: str, reason: str = "stop", dropped: int = 0) -> Finished:
    ids = tuple(text.encode())
    return Finished(text, ids, reason, ReplyStats(predicted_n=len(ids), finish_reason=reason), dropped)


def talked(*pairs: tuple[str, str], system: str = "") -> Conversation:
    conversation = Conversation(system)
    for question, answer in pairs:
        conversation.ask(question)
        conversation.answered(reply(answer))
    return conversation


def texts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


class TestAsking:
    def test_sends_the_system_message_what_was_said_with_its_ids_and_the_question(self) -> None:
        conversation = talked(("a?", "one"), system="Be brief")
        messages = conversation.ask("b?")
        assert [(m.role, m.text) for m in messages] == [
            ("system", "Be brief"),
            ("user", "a?"),
            ("assistant", "one"),
            ("user", "b?"),
        ]
        assert messages[2].token_ids == tuple(b"one")

    def test_what_waits_goes_once_and_not_twice_where_the_words_name_it_too(self) -> None:
        conversation = talked()
        file = Attachment("a.py", "x = 1")
        conversation.pending.append(file)
        assert conversation.ask("why?", [file])[-1].attachments == (file,)
        conversation.answered(reply("so"))
        assert conversation.pending == []
        assert conversation.ask("and?")[-1].attachments == ()

    def test_ahead_of_a_question_all_but_its_words_is_known(self) -> None:
        conversation = talked(("a?", "one"))
        conversation.pending.append(Attachment("a.py", "x = 1"))
        ahead = conversation.ahead()
        assert texts(ahead) == ["a?", "one", ""]
        assert ahead == (*conversation.ask("")[:-1], Message("user", "", attachments=(Attachment("a.py", "x = 1"),)))
        assert Conversation().ahead() == ()

    def test_a_file_named_again_keeps_its_place_and_is_what_it_is_now(self) -> None:
        conversation = Conversation()
        for label in ("a.py", "b.py", "a.py"):
            conversation.attach(Attachment(label, "old"))
        assert [each.label for each in conversation.pending] == ["a.py", "b.py"]
        asked = conversation.ask("why?", [Attachment("a.py", "new"), Attachment("c.py", "new")])[-1].attachments
        assert [(each.label, each.text) for each in asked] == [("a.py", "new"), ("b.py", "old"), ("c.py", "new")]


class TestAReplyOfNothing:
    @pytest.mark.parametrize("reason", ["cancelled", "stop"])
    def test_never_happened_and_what_was_attached_waits_for_the_next_question(self, reason: str) -> None:
        conversation = talked(("a?", "one"))
        conversation.attach(Attachment("a.py", "x"))
        conversation.ask("b?")
        assert conversation.answered(reply("", reason)) is None
        assert conversation.pending == [Attachment("a.py", "x")]
        assert texts(conversation.ask("c?")) == ["a?", "one", "c?"]

    def test_what_its_own_words_named_goes_with_them(self) -> None:
        conversation = Conversation()
        conversation.attach(Attachment("a.py", "old"))
        conversation.ask("explain a.py and mid.py", [Attachment("a.py", "new"), Attachment("mid.py", "x")])
        conversation.answered(reply("", "cancelled"))
        assert conversation.ask("something else?")[-1].attachments == (Attachment("a.py", "old"),)

    def test_an_interrupted_one_of_some_words_is_kept_and_marked(self) -> None:
        conversation = talked()
        conversation.ask("a?")
        turn = conversation.answered(reply("half", "cancelled"))
        assert turn is not None
        assert turn.interrupted
        assert texts(conversation.ask("b?")) == ["a?", "half", "b?"]


class TestRetry:
    def test_the_new_answer_takes_the_place_of_the_last_one(self) -> None:
        conversation = talked(("a?", "one"), ("b?", "two"))
        conversation.retry()
        conversation.answered(reply("three"))
        turns = [(turn.question.text, turn.answer.text) for turn in conversation.turns]
        assert turns == [("a?", "one"), ("b?", "three")]


class TestUndo:
    def test_takes_back_turn_by_turn_also_those_of_a_session_opened_again(self) -> None:
        first = talked(("a?", "one"), ("b?", "two"))
        conversation = Conversation.of(Session("id", "chat", None, "m", "", "a?", first.turns))
        conversation.ask("c?")
        conversation.answered(reply("three"))
        assert [conversation.undo() for _ in range(4)] == ["question", "question", "question", ""]
        assert texts(conversation.ask("d?")) == ["d?"]

    def test_brings_back_what_clear_forgot_and_the_answer_that_retry_replaced(self) -> None:
        conversation = talked(("a?", "one"))
        assert texts(conversation.retry()) == ["a?"]
        conversation.answered(reply("another"))
        conversation.clear()
        assert conversation.ahead() == ()
        assert conversation.undo() == "clear"
        assert conversation.undo() == "retry"
        assert texts(conversation.ask("b?")) == ["a?", "one", "b?"]

    def test_a_retry_that_came_to_nothing_leaves_the_answer_before(self) -> None:
        conversation = talked(("a?", "one"))
        conversation.retry()
        conversation.answered(reply("", "cancelled"))
        assert conversation.pending == []
        assert texts(conversation.ask("b?")) == ["a?", "one", "b?"]
        assert Conversation().retry() == ()


class TestDropping:
    def test_turns_that_no_longer_fit_are_kept_and_never_sent_again(self) -> None:
        conversation = talked(("a?", "one"), ("b?", "two"), system="S")
        conversation.ask("c?")
        conversation.answered(reply("three", dropped=2))
        assert texts(conversation.ask("d?")) == ["S", "b?", "two", "c?", "three", "d?"]
        assert [turn.question.text for turn in conversation.turns] == ["a?", "b?", "c?"]
        assert conversation.left_out == 1
        conversation.failed()
        conversation.undo()
        assert texts(conversation.ask("e?")) == ["S", "b?", "two", "e?"]

    def test_going_back_before_what_was_left_out_sends_it_again(self) -> None:
        conversation = talked(("a?", "one"), ("b?", "two"))
        conversation.ask("c?")
        conversation.answered(reply("three", dropped=4))
        conversation.undo()
        assert texts(conversation.ask("d?")) == ["a?", "one", "b?", "two", "d?"]

    def test_a_question_that_failed_gives_its_files_back_beside_those_attached_meanwhile(self) -> None:
        conversation = talked()
        conversation.pending.append(Attachment("x", "1"))
        conversation.ask("a?")
        conversation.pending.append(Attachment("y", "2"))
        conversation.failed()
        assert [each.label for each in conversation.pending] == ["x", "y"]

    def test_a_file_is_taken_from_the_question_it_went_with(self) -> None:
        conversation = talked()
        conversation.ask("a?", [Attachment("x", "1"), Attachment("y", "2")])
        conversation.answered(reply("one"))
        conversation.pending.append(Attachment("z", "3"))
        assert conversation.drop(2).label == "y"
        assert [each.label for each in conversation.attachments] == ["x", "z"]
        assert conversation.drop(2).label == "z"
        with pytest.raises(IndexError):
            conversation.drop(2)
        assert conversation.undo() == "drop"
        assert [each.label for each in conversation.attachments] == ["x", "y"]


class TestCompact:
    def test_a_summary_stands_for_all_but_the_last_turn_until_it_is_undone(self) -> None:
        conversation = talked(("a?", "one"), ("b?", "two"), ("c?", "three"))
        asked = conversation.summary_request()
        assert texts(asked)[:-1] == ["a?", "one", "b?", "two", "c?", "three"]
        assert conversation.compact(reply("all of it")) == 2
        assert texts(conversation.ask("d?"))[1:] == ["all of it", "c?", "three", "d?"]
        conversation.failed()
        assert conversation.undo() == "compact"
        assert texts(conversation.ask("d?")) == ["a?", "one", "b?", "two", "c?", "three", "d?"]


def test_another_model_gets_the_words_without_the_ids_of_the_one_before() -> None:
    conversation = talked(("a?", "one"), ("b?", "two"))
    conversation.clear()
    conversation.forget_ids()
    conversation.undo()
    assert [message.token_ids for message in conversation.ask("c?")] == [()] * 5
    assert conversation.turns[0].answer.text == "one"


def test_counts_are_of_all_turns() -> None:
    assert talked(("a?", "one"), ("b?", "seven")).counts.predicted_n == 8


class TestTemplatesThatWantRolesToAlternate:
    """Case T4: none of what can happen to a conversation breaks them for good."""

    def shown(self, conversation: Conversation) -> str:
        tokenizer = made(byte_level())
        messages = [chat.Message(each.role, each.text, each.token_ids) for each in conversation.ask("last?")]
        conversation.failed()
        return tokenizer.decode(chat.compose(messages, ChatTemplate(ALTERNATING, "strict"), tokenizer).token_ids)

    def test_a_turn_stopped_before_its_first_token(self) -> None:
        conversation = talked(("a?", "one"))
        conversation.ask("b?")
        conversation.answered(reply("", "cancelled"))
        assert self.shown(conversation) == self.shown(talked(("a?", "one")))

    def test_retry_undo_and_dropped_turns(self) -> None:
        conversation = talked(("a?", "one"), ("b?", "two"))
        conversation.retry()
        conversation.answered(reply("", "cancelled"))
        assert "two" in self.shown(conversation)
        conversation.ask("c?")
        conversation.answered(reply("three", dropped=2))
        assert "one" not in self.shown(conversation)
        conversation.undo()
        assert "two" in self.shown(conversation)

    def test_a_saved_session_that_ends_in_a_question(self) -> None:
        turns = (*talked(("a?", "one")).turns, Turn(Message("user", "b?"), Message("assistant", ""), "", Counts(), 0.0))
        shown = self.shown(Conversation.of(Session("id", "chat", None, "m", "", "", turns)))
        assert "b?" in shown
        assert "last?" in shown


def test_whether_the_same_question_would_be_sent_with_the_same_words_before_it_is_known() -> None:
    conversation = talked(("a?", "one"), ("b?", "two"))
    assert not conversation.changed
    conversation.system = "Be terse."
    assert conversation.changed
    conversation.retry()
    conversation.answered(reply("so"))
    assert not conversation.changed
    conversation.system = "Be terse."
    assert not conversation.changed
    conversation.forget_ids()
    assert conversation.changed
