"""Output of commands that only show something: of the chat, or of what there is to choose from. Changes nothing."""

from __future__ import annotations

import dataclasses
import time

from lacli.chat import options
from lacli.chat.chat import ChatSession
from lacli.chat.outcome import Line, Outcome, note, plain
from lacli.configuration.remotes import is_remote
from lacli.events import Message, Preview, Request
from lacli.shared.wording import age, attachment_label, counted, counts_table

_SESSIONS = 10


def sessions(chat: ChatSession) -> Outcome:
    """Earlier chats of the project. Reads the log."""
    from lacli.project.root import project_root
    from lacli.sessions.records import CONVERSATIONS
    from lacli.sessions.store import SessionStore, path

    found = SessionStore(path()).list(project_root(chat.folder), limit=_SESSIONS, kinds=CONVERSATIONS)
    lines = [
        f"{'*' if each.id == chat.recorder.id else ' '} {each.id[:8]}  {age(each.used, time.time()):>10}  "
        f"{counted(each.turns, 'turn', 'turns'):>8}  {each.kind:8}  {each.title}"
        for each in found
    ]
    last = "/sessions ID goes on with one" if found else "no conversation is kept of this project"
    return Outcome(lines=(*plain(*lines), Line(last)))


def models(chat: ChatSession) -> Outcome:
    """The models, and which of them are on this computer. Reads the disk."""
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry

    registry = load_registry()
    now = chat.find_model(chat.settings.model)
    widest = max(map(len, registry.models))
    lines = [
        f"{'*' if name == now else ' '} {name:{widest}}  {'here' if presence(spec).ready else 'not here'}"
        for name, spec in registry.models.items()
    ]
    if is_remote(now):
        lines.append(f"* {now:{widest}}  not on this computer")
    return Outcome(
        lines=(*plain(*lines), Line("/model NAME goes on with another; a folder or .gguf file will do, too"))
    )


def templates() -> Outcome:
    """The saved prompts. Reads the disk."""
    from lacli.prompts import saved

    names = saved.names()
    last = "/template NAME puts one at the prompt" if names else "no template is saved yet; see `lacli templates`"
    return Outcome(lines=(*plain(*(f"  {name}" for name in names)), Line(last)))


def attached_files(chat: ChatSession) -> Outcome:
    """The attached files by their numbers."""
    attachments = chat.conversation.attachments
    if not attachments:
        return note("no file is attached")
    sent = len(attachments) - len(chat.conversation.pending)
    lines = [
        f"{at:3}  {attachment_label(each)}, {'waits for the next question' if at > sent else 'went with a question'}"
        for at, each in enumerate(attachments, 1)
    ]
    return Outcome(lines=(*plain(*lines), Line("/drop n takes one away")))


def system_message(chat: ChatSession) -> Outcome:
    """The system message."""
    shown = plain(chat.conversation.system or "there is no system message; /system TEXT sets one")
    return Outcome(lines=shown if chat.instructions is None else (*shown, Line(chat.instructions.note)))


def reply_options(chat: ChatSession) -> Outcome:
    """The options of future replies."""
    lines = [options.line(chat.request, flag) for flag in options.OPTIONS]
    return Outcome(lines=(*plain(*lines), Line(options.USE)))


def numbers(chat: ChatSession) -> Outcome:
    """The statistics of the last reply and of the chat."""
    if not chat.counts.replies:
        return Outcome(lines=plain("no reply yet"))
    last = [("this reply", chat.stats)] if chat.stats is not None else []
    return Outcome(lines=plain(*counts_table([*last, ("this chat", chat.counts)])))


def size_request(chat: ChatSession) -> Request:
    """The request whose preview `size` needs."""
    messages = chat.conversation.ahead() or (Message("user", ""),)
    return dataclasses.replace(chat.request, messages=messages, drop_oldest=False, max_tokens=0)


def size(chat: ChatSession, preview: Preview) -> Outcome:
    """How much of the context is used."""
    conversation, reserve = chat.conversation, chat.request.max_tokens
    taken = preview.size
    left = max(0, preview.ctx_size - taken - reserve)
    parts = [counted(len(conversation.turns) - conversation.left_out, "turn", "turns")]
    if conversation.attachments:
        parts.append(counted(len(conversation.attachments), "file", "files"))
    about = "about " if preview.estimated_n else ""
    lines = [f"{about}{taken:,} tokens so far ({', '.join(parts)})"]
    if preview.ctx_size:
        lines.append(f"{reserve:,} kept free for the reply, {left:,} left for the question, of {preview.ctx_size:,}")
    if conversation.left_out:
        lines.append(f"{counted(conversation.left_out, 'oldest turn is', 'oldest turns are')} not sent any more")
    return Outcome(lines=plain(*lines))
