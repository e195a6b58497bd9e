from __future__ import annotations

from typing import Any

import pytest

from lacli.events import Attachment
from lacli_tui.controllers.prompt_controller import PromptController
from lacli_tui.controllers.prompt_queue import QueuedQuestion

A, B = Attachment("a.py", "a"), Attachment("b.py", "b")


@pytest.fixture
def prompts(engine: Any, prompt: Any, chips: Any, notifications: Any) -> PromptController:
    return PromptController(engine.chat, prompt, chips, notifications)


def question(text: str) -> QueuedQuestion:
    return QueuedQuestion(text, text)


def asked(engine: Any, *texts: str) -> None:
    for text in texts:
        engine.chat.ask(text)
        engine.answer()


def test_a_queued_question_takes_the_attached_files_with_it(
    prompts: PromptController, engine: Any, prompt: Any, chips: Any
) -> None:
    engine.chat.conversation.attach(A)
    prompts.enqueue(question("later"))
    assert engine.chat.conversation.pending == []
    assert chips.waiting == ("later",)
    assert prompt.has_queued_questions
    prompts.take_last_back()
    assert prompt.text == "later"
    assert engine.chat.conversation.pending == [A]
    assert not prompt.has_queued_questions


def test_all_come_back_before_the_draft_with_what_was_sent_last(prompts: PromptController, prompt: Any) -> None:
    prompts.last_sent = "failed"
    prompts.enqueue(question("one"))
    prompts.enqueue(question("two"))
    prompt.text = "a draft"
    prompts.put_back()
    assert prompt.text == "failed\n\none\n\ntwo\n\na draft"
    prompts.put_back()
    assert prompt.text == "failed\n\none\n\ntwo\n\na draft"


def test_what_was_sent_last_alone_does_not_push_a_draft_away(prompts: PromptController, prompt: Any) -> None:
    prompts.last_sent = "failed"
    prompt.text = "a draft"
    prompts.put_back()
    assert prompt.text == "a draft"


def test_editing_a_question_and_leaving_that(prompts: PromptController, engine: Any, prompt: Any, chips: Any) -> None:
    asked(engine, "one", "two")
    prompts.edit(0)
    assert (prompts.editing, prompt.text) == (0, "one")
    assert chips.labelled == "question 1 again; escape leaves it as it is"
    assert prompts.stop_editing()
    assert (prompts.editing, prompt.text, chips.labelled) == (None, "", "")
    assert not prompts.stop_editing()


def test_a_question_that_looks_like_a_command_stays_a_question(
    prompts: PromptController, engine: Any, prompt: Any
) -> None:
    asked(engine, "/undo it")
    prompts.edit(0)
    assert prompt.text == " /undo it"


def test_files_are_detached_from_the_end_or_by_number(
    prompts: PromptController, engine: Any, chips: Any, notifications: Any
) -> None:
    for file in (A, B, A):
        engine.chat.conversation.attach(file)
    prompts.detach("1")
    assert notifications.shown == ["a.py is not shown any more"]
    assert chips.files == (B,)
    prompts.detach("7")
    assert notifications.shown[-1] == "there is no attached file 7"
    assert "b.py" in notifications.hints[-1]
    prompts.detach()
    assert chips.files == ()
    prompts.detach()


def test_a_file_that_is_attached_already_is_not_attached_twice(prompts: PromptController, engine: Any) -> None:
    engine.chat.conversation.attach(B)
    prompts.reattach((A, B))
    assert engine.chat.conversation.pending == [A, B]
