"""How a project's instructions are told, and where in a conversation."""

from __future__ import annotations

from lacli.chat.conversation import Conversation
from lacli.project.instructions import Instructions
from lacli.prompts.instructions import framed, joined
from lacli.sessions.records import Session

ONE = Instructions("../AGENTS.md", "Use tabs.\n```\nand this", 10)


def test_nothing_in_them_can_end_what_they_stand_in() -> None:
    text = framed(ONE)
    assert "````AGENTS.md\n" + ONE.text + "\n````" in text
    assert ".." not in text.partition("````")[2]


def test_they_stand_behind_the_user_s_own_words() -> None:
    assert joined("", "") == ""
    assert joined("Be brief.", "") == "Be brief."
    assert joined("Be brief.", framed(ONE)).startswith("Be brief.\n\nThe project says")
    assert framed(None) == ""


def test_a_conversation_tells_them_first_and_keeps_them_nowhere() -> None:
    talk = Conversation("Be brief.", instructions="PROJECT")
    system, question = talk.ask("hi")
    assert (system.role, system.text, question.text) == ("system", "Be brief.\n\nPROJECT", "hi")
    assert talk.system == "Be brief."
    talk.failed()
    talk.system = ""
    assert talk.ask("hi")[0].text == "PROJECT"
    session = Session("id", "chat", None, "m", "Be brief.", "")
    assert Conversation.of(session, instructions="NOW").ask("hi")[0].text == "Be brief.\n\nNOW"
