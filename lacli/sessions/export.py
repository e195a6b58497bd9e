"""A session as a document: Markdown for people, JSON for programs. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lacli.sessions.records import Session, Turn
from lacli.text.fences import longer_than_any
from lacli.text.quoting import Quoting


def format_time(at: float) -> str:
    """A local time, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def markdown(session: Session) -> str:
    """A whole session with its attachments, fenced so that its code blocks stay code blocks."""
    return "\n\n".join(_parts(session)) + "\n"


def file_name() -> str:
    """The default name of a saved chat."""
    return f"chat-{time.strftime('%Y-%m-%d-%H%M%S')}.md"


def is_chat_file(path: Path) -> bool:
    """Whether a file of this name takes the whole chat rather than the code of its last answer."""
    return path.suffix.lower() in (".md", ".markdown", ".txt")


def as_markdown(system: str, turns: Sequence[Turn]) -> str:
    """A chat for people, with files as they were shown to the model."""
    from lacli.prompts.content import composed

    parts = [f"## System\n\n{system}\n"] if system else []
    for turn in turns:
        parts.append(f"## You\n\n{composed(turn.question.text, turn.question.attachments)}\n")
        mark = " (interrupted)" if turn.interrupted else ""
        parts.append(f"## Assistant{mark}\n\n{quoted_answer(turn)}\n")
    return "\n".join(parts)


def _parts(session: Session) -> Iterator[str]:
    yield f"# {session.title or session.id}"
    where = f" in `{session.project}`" if session.project else ""
    yield f"{session.kind}{where}, {session.model}, {format_time(session.started)}, session {session.id}"
    if session.system:
        yield f"## System\n\n{session.system}"
    for number, turn in enumerate(session.turns, 1):
        yield f"## {number}. Question, {format_time(turn.at)}"
        for attachment in turn.question.attachments:
            yield f"`{attachment.label}`:\n\n{_fenced(attachment.text)}"
        if turn.question.text:
            yield turn.question.text.rstrip("\n")
        yield f"## {number}. Answer{completeness(turn)}"
        if turn.answer.text or turn.thought:
            yield quoted_answer(turn)


def quoted_answer(turn: Turn) -> str:
    """An answer with what the model thought before it as a quotation."""
    return Quoting().push(turn.answer.text.rstrip(), turn.thought)


def completeness(turn: Turn) -> str:
    """A remark on an answer that is incomplete; empty if it is complete."""
    if turn.interrupted:
        return " (interrupted)"
    return "" if turn.reason == "stop" else f" (cut: {turn.reason})"


def _fenced(text: str) -> str:
    fence = longer_than_any(text)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


def record(session: Session) -> dict[str, Any]:
    """A session as a JSON object."""
    return {
        "id": session.id,
        "kind": session.kind,
        "project": str(session.project) if session.project else None,
        "model": session.model,
        "system": session.system,
        "title": session.title,
        "begun": round(session.started, 3),
        "turns": [_turn(turn) for turn in session.turns],
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "at": round(turn.at, 3),
        "question": turn.question.text,
        "attachments": [{"label": each.label, "text": each.text} for each in turn.question.attachments],
        **({"thought": turn.thought} if turn.thought else {}),
        "answer": turn.answer.text,
        "token_ids": list(turn.answer.token_ids),
        "finish_reason": turn.reason,
        "counts": turn.counts.totals(),
    }
