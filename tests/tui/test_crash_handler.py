"""A mistake in the UI itself: one line behind the restored terminal, and the chat is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lacli.errors import UsageError
from lacli.sessions.store import SessionStore, path
from lacli_tui.crash_handler import crash_error
from tests.cli.conftest import Terminal

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = f"""
import sys
sys.argv[0] = "lacli"
sys.path.insert(0, {str(ROOT)!r})
from lacli.assistant.scripted import ScriptedAssistant
from lacli_tui import engine_session
from lacli_tui.screens.main import MainScreen
from lacli_tui.widgets.status_line import StatusLine

engine_session.EngineSession._new_engine = lambda self: ScriptedAssistant(["an answer"])
begun, finished = MainScreen._begin, MainScreen._settle

def broken(self, *rest, **more):
    raise ValueError("no [/x] here")

async def work(self):
    broken(self)

async def begin(self):
    await begun(self)
    self.prompt.put("a question")
    self.prompt.action_send()

async def finish(self, updates):
    await finished(self, updates)
    if updates.finished is None:
        return
    if sys.argv[1] == "a handler":
        self.call_later(broken, self)
    elif sys.argv[1] == "drawing":
        StatusLine.render_line = broken
        self.add_class("-no-panel")  # there is a line only where there is no panel
        self.query_one(StatusLine).refresh()
    else:
        self.run_worker(work(self))

MainScreen._begin, MainScreen._settle = begin, finish
from lacli.cli.main import main
sys.exit(main(["tui"]))
"""


@pytest.mark.parametrize("where", ["a handler", "drawing", "a worker"])
@pytest.mark.default_cases(1)
def test_whatever_fails_in_the_ui_is_one_line_and_the_chat_is_kept(where: str) -> None:
    terminal = Terminal([sys.executable, "-c", PROGRAM, where])
    terminal.wait_for(b"\x1b[?1049l", 40)
    terminal.wait_for(b"this conversation\r\n")
    assert terminal.echoes()
    assert terminal.finish() == 1
    left = terminal.seen.split(b"\x1b[?1049l")[1].decode()
    said = " ".join(left[left.index("lacli:") :].split())
    (session,) = SessionStore(path()).list(everywhere=True)
    assert said == (
        "lacli: error: the terminal UI failed: ValueError: no [/x] here; "
        f"`lacli tui --session {session.id[:8]}` goes on with this conversation"
    )
    assert session.turns == 1
    assert b"Traceback" not in terminal.seen
    assert "\n" not in left[: left.index("lacli:")]


def test_an_error_of_ours_keeps_its_own_words() -> None:
    assert str(crash_error(UsageError("no such thing", "try that"), "ab" * 8)) == "no such thing"
    assert crash_error(UsageError("no such thing"), "ab" * 8).hint.startswith("`lacli tui --session abababab`")
    assert "-vv" in crash_error(ValueError("x"), "").hint
