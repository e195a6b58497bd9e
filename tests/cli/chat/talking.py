"""A conversation loop whose assistant plays scripts: lines in, streams out, no terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lacli.assistant.base import Replier
from lacli.assistant.scripted import ScriptedAssistant
from lacli.chat.chat import ChatSession
from lacli.cli.chat.loop import ChatLoop
from lacli.cli.chat.option_values import checked
from lacli.cli.framework.options import Common
from lacli.cli.framework.record import recorder
from lacli.config import Settings


def loop_with(make: Callable[[Settings], Replier], common: Common | None = None) -> ChatLoop:
    """A new chat with what is made for its engine."""
    common = common or Common()
    kept = recorder(common, "chat")
    chat = ChatSession(common.settings(), common.request(), kept, system=common.system or "", check=checked)
    return ChatLoop(common, make, chat)


def loop_of(scripts: Sequence[Any], common: Common | None = None) -> tuple[ChatLoop, list[ScriptedAssistant]]:
    """The loop, and its assistants: another for each change of model; all play from the same scripts."""
    left = iter(scripts)
    made: list[ScriptedAssistant] = []

    def make(settings: Settings) -> ScriptedAssistant:
        made.append(ScriptedAssistant(left))
        return made[-1]

    return loop_with(make, common), made


def asked(assistant: ScriptedAssistant, number: int = -1) -> list[str]:
    """The texts of the messages of a request."""
    return [message.text for message in assistant.requests[number].messages]
