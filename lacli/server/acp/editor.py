"""The editor at the other end, as the threads see it that work for it: every call is made in the loop and waited for.

An editor that has gone hears nothing more and allows nothing; no call fails because of that.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Coroutine, Sequence
from typing import Any, Literal, TypeVar

import acp
from acp import schema

from lacli.assistant.cancel import CancelToken
from lacli.chat.outcome import Line
from lacli.errors import LacliError
from lacli.events import ReplyStats

Answer = Literal["allowed", "refused", "cancelled"]
_ALLOW, _REJECT = "allow", "reject"
_Result = TypeVar("_Result")


class Editor:
    """What one conversation tells its editor, and asks it."""

    def __init__(
        self, client: acp.Client, session_id: str, able: schema.ClientCapabilities, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._able = able.fs or schema.FileSystemCapabilities()
        self._loop = loop
        self.closed = False
        """Whether it is not to be told anything any more."""

    @property
    def writes_files(self) -> bool:
        """Whether files can be written by way of the editor."""
        return bool(self._able.write_text_file)

    def say(self, text: str) -> None:
        """More of the answer."""
        if text:
            self._update(acp.update_agent_message_text(text))

    def think(self, text: str) -> None:
        """More of what is not the answer: thoughts, and what is to be known of it."""
        if text:
            self._update(acp.update_agent_thought_text(text))

    def note(self, text: str) -> None:
        """A line that is to be known of the answer."""
        self.think(f"{text}\n\n")

    def show(self, lines: Sequence[Line]) -> None:
        """Lines that are the answer to a command."""
        texts = [f"{each.text}; {each.hint}" if each.hint else each.text for each in lines]
        table = len(texts) > 1 and any(each.level == "plain" for each in lines)  # its columns are made with blanks
        self.say("```\n" + "\n".join(texts) + "\n```\n" if table else "\n\n".join(texts))

    def replay(self, question: str, answer: str) -> None:
        """A turn that was said before."""
        self._update(acp.update_user_message_text(question))
        self.say(answer)

    def report_usage(self, stats: ReplyStats) -> None:
        """How full the context is."""
        if stats.ctx_size:
            used = schema.UsageUpdate(
                session_update="usage_update", used=stats.ctx_used, size=stats.ctx_size, field_meta=numbers(stats)
            )
            self._update(used)

    def begin_edit(self, number: str, title: str, path: str) -> None:
        """An edit of a file is being worked out."""
        where = [schema.ToolCallLocation(path=path)]
        self._update(acp.start_tool_call(number, title, kind="edit", status="in_progress", locations=where))

    def end_edit(self, number: str, done: bool, why: str = "") -> None:
        """The edit was made, or not."""
        content = [acp.tool_content(acp.text_block(why))] if why else None
        self._update(acp.update_tool_call(number, status="completed" if done else "failed", content=content))

    def allows(
        self, number: str, path: str, old: str | None, new: str, remarks: Sequence[str], cancel: CancelToken
    ) -> Answer:
        """Show what is to become of a file, and ask whether it may, until there is an answer or a cancel."""
        content: list[Any] = [acp.tool_diff_content(path, new, old)]
        content += [acp.tool_content(acp.text_block(each)) for each in remarks]
        self._update(acp.update_tool_call(number, status="pending", content=content))
        options = [
            schema.PermissionOption(option_id=_ALLOW, name="Make the change", kind="allow_once"),
            schema.PermissionOption(option_id=_REJECT, name="Leave the file", kind="reject_once"),
        ]
        asked = schema.ToolCallUpdate(tool_call_id=number, content=content)
        answer = self._call(self._client.request_permission(self._session_id, asked, options), cancel)
        if answer is None or answer.outcome.outcome == "cancelled":
            return "cancelled"
        return "allowed" if answer.outcome.option_id == _ALLOW else "refused"

    def unsaved(self, path: str) -> str | None:
        """The file as the editor has it; None where it does not say."""
        if not self._able.read_text_file:
            return None
        try:
            answer = self._call(self._client.read_text_file(self._session_id, path))
        except acp.RequestError:  # it may not have the file, while the disk does
            return None
        return None if answer is None else answer.content

    def write(self, path: str, text: str) -> None:
        """Have the editor write a file. Raises LacliError."""
        try:
            self._call(self._client.write_text_file(self._session_id, path, text))
        except acp.RequestError as error:
            raise LacliError(f"the editor did not write {path}: {error}", "see what the editor says") from None
        if self.closed:
            raise LacliError(f"the editor has gone before it wrote {path}")

    def _update(self, update: Any) -> None:
        self._call(self._client.session_update(self._session_id, update))

    def _call(self, call: Coroutine[Any, Any, _Result], cancel: CancelToken | None = None) -> _Result | None:
        """What the editor answers; None once it has gone, or on a cancel."""
        if self.closed:
            call.close()
            return None
        answer = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            with contextlib.nullcontext() if cancel is None else cancel.subscribed(answer.cancel):
                return answer.result()
        except (ConnectionError, concurrent.futures.CancelledError):
            self.closed = cancel is None or not cancel()
            return None


def numbers(stats: ReplyStats) -> dict[str, Any]:
    """What guessing brought, under our names in the protocol's place for such things."""
    found = {
        "tokens_per_step": stats.tokens_per_step,
        "tokens": stats.predicted_n,
        "steps": stats.steps,
        "draft_tokens": stats.draft_n,
        "accepted_draft_tokens": stats.draft_n_accepted,
        "prompt_tokens": stats.prompt_n,
        "reused_prompt_tokens": stats.reused_n,
        "tokens_per_second": stats.predicted_per_second,
        "model": stats.model,
    }
    rounded = {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items()}
    return {f"lacli/{name}": value for name, value in rounded.items() if value not in (None, "")}
