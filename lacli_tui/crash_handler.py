"""How the program ends when something in it raises what nobody caught: by `Failed`, behind the restored terminal.

Textual would write a screenful with our code in it. `app` is built on `Failing`; the session is kept either way.
"""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.worker import WorkerFailed

from lacli.errors import LacliError


class Failing(App[str]):
    """An app that keeps quiet about what it died of; `failure` is that."""

    @property
    def failure(self) -> Exception | None:
        """What was raised first, and not caught."""
        found = self._exception
        return found.error if isinstance(found, WorkerFailed) and isinstance(found.error, Exception) else found

    def panic(self, *renderables: Any) -> None:
        """Leave, and write nothing of this."""
        self._close_messages_no_wait()

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()


def told(failure: Exception, session: str) -> LacliError:
    """The failure as one line; a session that is being kept can be gone on with."""
    hint = f"`lacli tui --session {session[:8]}` goes on with this conversation" if session else "repeat with -vv"
    if isinstance(failure, LacliError):
        return LacliError(failure.message, failure.hint or hint)
    return LacliError(f"the terminal UI failed: {type(failure).__name__}: {failure}", hint)
