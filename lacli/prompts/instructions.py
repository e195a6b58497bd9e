"""How a model is told what a project says of itself: behind the user's own system text, fenced and named. Pure."""

from __future__ import annotations

from lacli.project.instructions import Instructions
from lacli.prompts.content import fenced

_FRAME = "The project says this about how to work in it. Where the user says otherwise, the user is right."


def framed(found: Instructions | None) -> str:
    """The system text for these instructions; empty without any.

    It names no path: what a prompt begins with stays the same in every folder of the project, and so does what is kept
    of having read it.
    """
    return f"{_FRAME}\n\n{fenced(found.text, 'AGENTS.md')}" if found is not None else ""


def joined(system: str, instructions: str) -> str:
    """The user's system text, then the project's instructions as `framed` has them."""
    return "\n\n".join(filter(None, (system, instructions)))
