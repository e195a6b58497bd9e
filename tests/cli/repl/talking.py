"""A conversation loop whose assistant plays scripts: lines in, streams out, no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lacli.assistant.scripted import ScriptedAssistant
from lacli.chat.conversation import Conversation
from lacli.cli.chat.loop import Repl
from lacli.cli.framework.options import Common
from lacli.cli.framework.record import recorder


def repl_of(scripts: Sequence[Any], common: Common | None = None) -> tuple[Repl, list[ScriptedAssistant]]:
    """The loop, and its assistants: another for each change of model; all play from the same scripts."""
    common = common or Common()
    left = iter(scripts)
    made: list[ScriptedAssistant] = []

    def make(common: Common) -> ScriptedAssistant:
        made.append(ScriptedAssistant(left))
        return made[-1]

    return Repl(common, make, Conversation(common.system or ""), recorder(common, "chat")), made


def asked(assistant: ScriptedAssistant, number: int = -1) -> list[str]:
    """The texts of the messages of a request."""
    return [message.text for message in assistant.requests[number].messages]
