"""The end of the program: whatever asks for it, how often, and whatever hangs, the chat is kept and it ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from lacli.sessions.store import SessionStore, path
from tests.cli.conftest import Terminal

pytest.importorskip("pty")
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = f"""
import os, signal, sys, time
what = sys.argv[1]
sys.argv[0] = "lacli"
sys.path.insert(0, {str(ROOT)!r})
from lacli.assistant.scripted import ScriptedAssistant
from lacli_tui import bridge, engine_session, shutdown
from lacli_tui.screens.main import MainScreen

if what == "hears no hang-up":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
shutdown._UI_S = engine_session._STOP_S = 0.5
bridge._CANCEL_S = 0.1

class Engine(ScriptedAssistant):
    def open(self, report=None):
        if what == "loading":
            time.sleep(60)

    def reply(self, request, cancel=None):
        for number, event in enumerate(self.reply_events("one two three four five six")):
            yield event
            if number == 2:
                while what == "deaf" or not cancel():
                    time.sleep(0.01)
                time.sleep(0.3 if what == "slow" else 0)
                return

engine_session.EngineSession._new_engine = lambda self: Engine(())
begun, shown = MainScreen._begin, MainScreen._show_updates

async def begin(self):
    await begun(self)
    self.prompt.put("a question")
    self.prompt.action_send()
    if what == "loading":
        sys.__stderr__.write("NOW")
        sys.__stderr__.flush()

async def show(self, updates):
    await shown(self, updates)
    if updates.text:
        sys.__stderr__.write("NOW")
        sys.__stderr__.flush()
        if what == "a pipe":
            open("fifo").read()
        if what == "a thread":
            self.run_worker(lambda: open("fifo").read(), thread=True)
        if what == "jammed":
            self.set_interval(0.01, lambda: self.app._driver.write("x" * 10_000))

MainScreen._begin, MainScreen._show_updates = begin, show
from lacli.cli.main import main
sys.exit(main(["tui"]))
"""
QUIT = b"\x11"


def left(what: str, *wishes: int | bytes | None) -> tuple[Terminal, int]:
    """A program at this, asked so to end (None: its window is closed); and its exit code."""
    terminal = Terminal([sys.executable, "-c", PROGRAM, what])
    terminal.wait_for(b"NOW", 40)
    begun = time.monotonic()
    for wish in wishes:
        time.sleep(0.1)  # what it was at is under way
        if wish is None:
            os.close(terminal._fd)
        elif isinstance(wish, bytes):
            terminal.send(wish)
        else:
            os.kill(terminal._pid, wish)
    if None in wishes or what == "jammed":
        while (ended := terminal.poll()) is None:
            if time.monotonic() - begun > 20:
                terminal.kill()
                raise AssertionError("it went on")
            time.sleep(0.02)
        return terminal, ended
    return terminal, terminal.finish()


@pytest.mark.parametrize(
    ("what", "wishes", "code"),
    [
        ("writing", (QUIT,), 0),
        ("writing", (signal.SIGINT,), 130),
        ("slow", (signal.SIGTERM, signal.SIGTERM), 143),
        ("slow", (signal.SIGHUP, signal.SIGINT), 129),
        ("slow", (QUIT, signal.SIGTERM, signal.SIGHUP), 0),
        ("deaf", (signal.SIGTERM,), 143),
        ("slow", (None,), 129),
        ("hears no hang-up", (None,), 129),
        ("a pipe", (signal.SIGTERM,), 143),
        ("a pipe", (QUIT,), 1),
        ("a thread", (QUIT,), 1),
        ("jammed", (signal.SIGHUP,), 129),
    ],
)
@pytest.mark.default_cases(5)
def test_the_chat_is_kept_and_the_program_ends(
    what: str, wishes: tuple[int | bytes | None, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    terminal, ended = left(what, *wishes)
    assert ended == code, terminal.seen
    (summary,) = SessionStore(path()).list(everywhere=True)
    (turn,) = SessionStore(path()).session(summary.id).turns
    assert turn.answer.text.startswith("one two three")
    assert turn.interrupted
    assert b"Traceback" not in terminal.seen
    if None not in wishes and what != "jammed":
        assert terminal.seen.rindex(b"\x1b[?1049l") > terminal.seen.rindex(b"\x1b[?1049h")
        assert b"\x1b[?25h" in terminal.seen.rpartition(b"\x1b[?1049l")[2]


def test_a_model_that_is_being_loaded_holds_nothing_up() -> None:
    assert left("loading", signal.SIGTERM, QUIT)[1] == 143
    assert SessionStore(path()).list(everywhere=True) == []
