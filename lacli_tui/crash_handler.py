"""What the user sees of an exception nobody caught: one line of error behind the restored terminal.

Textual would print a screenful of our code. The session is kept either way.
"""

from __future__ import annotations

from lacli.errors import LacliError


def crash_error(failure: Exception, session: str) -> LacliError:
    """The failure as an error of ours; its hint says how to resume the session that was kept, if any."""
    hint = f"`lacli tui --session {session[:8]}` goes on with this conversation" if session else "repeat with -vv"
    if isinstance(failure, LacliError):
        return LacliError(failure.message, failure.hint or hint)
    return LacliError(f"the terminal UI failed: {type(failure).__name__}: {failure}", hint)
