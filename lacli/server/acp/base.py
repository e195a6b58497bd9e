"""What the commands of a conversation need of it, and how a prompt ends. Data and a contract."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lacli.assistant.base import Replier
from lacli.assistant.cancel import CancelToken
from lacli.chat.chat import ChatSession
from lacli.chat.outcome import Outcome
from lacli.events import Attachment, Event, Finished, Reason, ReplyStats, Request
from lacli.server.acp.editor import Editor
from lacli.server.acp.start import Start


@dataclass(frozen=True, slots=True)
class End:
    """How a prompt ended."""

    reason: Reason = "stop"
    stats: ReplyStats | None = None
    """Of its reply, if there was one."""

    @staticmethod
    def of(finished: Finished) -> End:
        """The end of a prompt that was answered by this reply."""
        return End(finished.reason, finished.stats)


class Conversation(Protocol):
    """See `conversation.AgentConversation`."""

    start: Start
    folder: Path
    editor: Editor
    chat: ChatSession
    edits: int

    def engine_until(self, cancel: CancelToken) -> Replier: ...

    def carry_out(self, outcome: Outcome, cancel: CancelToken) -> End: ...
    def read_file(self, path: str) -> Attachment: ...
    def finished(self, request: Request, cancel: CancelToken) -> Finished: ...
    def show_progress(self, event: Event) -> None: ...
