"""Continuing a saved conversation: which one, and with which model."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.cli.framework.instructions import project_instructions
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics
from lacli.errors import UsageError
from lacli.sessions.recorder import Recorder
from lacli.sessions.records import CONVERSATIONS

if TYPE_CHECKING:
    from lacli.chat.conversation import Conversation
    from lacli.sessions.records import Session


def going_on(last: bool, prefix: str | None) -> Session | None:
    """The saved conversation to continue: the last one of this project, or the one whose id begins with `prefix`."""
    if last and prefix is not None:
        raise UsageError("-c and --session exclude each other", "give one of them")
    if not last and prefix is None:
        return None
    from lacli.project.root import project_root
    from lacli.sessions.store import open_store

    store = open_store(diagnostics.notice)
    if prefix is not None:
        return store.session(prefix)
    found = store.latest(project_root(Path(".")), CONVERSATIONS)
    if found is None:
        diagnostics.note("no conversation is kept of this project yet; this is a new one")
    return found


def with_its_model(session: Session | None, common: Common) -> Common:
    """The options with the model of the conversation, unless the user chose one."""
    if session is None or common.model is not None:
        return common
    from lacli.models.registry.registry import load_registry

    registry = load_registry()
    name = session.model
    if name in registry.models and name != registry.default:
        return dataclasses.replace(common, model=name)
    if name not in registry.models:
        diagnostics.note(f"this conversation was held with {name or 'an unknown model'}; the default model goes on")
    return common


def conversation(session: Session | None, common: Common, session_recorder: Recorder, system: str) -> Conversation:
    """The conversation to continue, with the system message of this run, if any; `session_recorder` adds to it."""
    from lacli.chat.conversation import Conversation
    from lacli.prompts.instructions import framed

    instructions = framed(project_instructions(common))
    if session is None:
        return Conversation(system, instructions=instructions)
    from lacli.chat.chat import ChatSession

    session_recorder.resume(session)
    return Conversation.of(session, system, ChatSession.find_model(common.model), instructions)
