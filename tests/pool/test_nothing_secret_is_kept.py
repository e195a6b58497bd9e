"""The model prints hundreds of keys, in every command and on every way a reply can end: no file of lacli's has them.

Commands, assistant, engine, sources, tokenizer and pool are the real ones; only the model's answers are told.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacli.pool.store import Pool, open_pool
from lacli.project.root import pool_key, project_root
from lacli.text.tokenizer import Tokenizer
from tests.cli.conftest import ROOT, Terminal
from tests.pool.secret_corpus import Key, keys, places
from tests.slow import slow

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and terminals")
PIECE = 12
HARMLESS = "def add(a, b):\n    return a + b\n"


class Server:
    """`tests.pool.secret_program`, imported once, that forks for every run. One run at a time."""

    def __init__(self) -> None:
        ours, its = socket.socketpair()
        command = [sys.executable, "-m", "tests.pool.secret_program", str(its.fileno())]
        with its:
            self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[its.fileno()])
        self._line = ours
        self._answers = ours.makefile()
        self._child = 0

    def start(self, asked: dict[str, Any], *files: int) -> int:
        """Run it with these as stdin, stdout and stderr; returns its process id. What a failed test left is ended."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self.code()
        socket.send_fds(self._line, [json.dumps(asked).encode()], files)
        self._child = int(self._answers.readline())
        return self._child

    def code(self) -> int:
        """Wait for its end."""
        code, self._child = int(self._answers.readline()), 0
        return code

    def close(self) -> None:
        if self._child:
            os.kill(self._child, signal.SIGKILL)
        self._answers.close()
        self._line.close()
        self._process.wait(30)


class Talk(Terminal):
    """The program on a pseudo-terminal."""

    def __init__(self, place: Place, says: Sequence[str], *arguments: str, **more: str) -> None:
        import pty
        import termios

        self._server = place.server
        self._fd, inner = pty.openpty()
        termios.tcsetwinsize(inner, (30, 400))
        self._pid = place.start(says, arguments, (inner, inner, inner), TERM="xterm", **more)
        os.close(inner)
        self.seen = b""
        self._waited = 0

    def wait(self) -> int:
        return self._server.code()


@dataclass
class Place:
    """A project, the folders lacli may write to, and a lacli whose model says what it is told."""

    top: Path
    tokenizer_folder: Path
    server: Server

    @property
    def project(self) -> Path:
        return self.top / "project"

    def start(self, says: Sequence[str], arguments: Sequence[str], files: Sequence[int], **more: str) -> int:
        """One process; its id."""
        told = self.top.parent / "says.json"  # outside of what is looked through
        told.write_text(json.dumps(says), encoding="utf-8")
        environment = os.environ | {"SAYS": str(told), "TELLER_TOKENIZER": str(self.tokenizer_folder)} | more
        asked = {"environment": environment, "folder": str(self.project), "arguments": arguments}
        return self.server.start(asked, *files)

    def run(self, says: Sequence[str], *commands: Sequence[str], **more: str) -> str:
        """What the commands wrote to stdout, run in one process."""
        out, err = self.top.parent / "out", self.top.parent / "err"
        with open(os.devnull) as nothing, out.open("wb") as to_out, err.open("wb") as to_err:
            files = (nothing.fileno(), to_out.fileno(), to_err.fileno())
            self.start(says, (), files, COMMANDS=json.dumps(commands), **more)
            assert self.server.code() == 0, err.read_text(encoding="utf-8")[-2000:]
        return out.read_text(encoding="utf-8")

    def pool(self) -> Pool:
        tokenizer = Tokenizer.load(self.tokenizer_folder)
        root = project_root(self.project)
        assert root is not None
        pools = Path(os.environ["LACLI_HOME"]) / "state" / "pools"
        return open_pool(pool_key(root, tokenizer.fingerprint), pools, "read", 49_152)

    def texts(self) -> Iterator[tuple[str, str]]:
        """All that was written: files as they are, replies as text, and what the successor table can spell.

        But for the log: it is the user's own transcript, to go on with and to search; `--no-log` is below.
        """
        for file in sorted(self.top.rglob("*")):
            apart = "cache" in file.relative_to(self.top).parts or file.name.startswith("sessions.db")
            if file.is_file() and not apart:
                yield str(file), file.read_bytes().decode("utf-8", errors="replace")
        tokenizer = Tokenizer.load(self.tokenizer_folder)
        pool = self.pool()
        for token_ids in pool.segments():
            yield "a reply in the pool", tokenizer.decode(np.asarray(token_ids).tolist())
        yield from (("the successor table", text) for text in _chains(pool, tokenizer))


def _chains(pool: Pool, tokenizer: Tokenizer, depth: int = 14, wide: int = 2) -> Iterator[str]:
    """From every entry the likeliest continuations, and at each step the second best, too."""
    rows = pool.table()
    if rows is None:
        return
    known = {(int(a), int(b)): [int(each) for each in f] for (a, b), f in zip(rows.keys, rows.followers, strict=True)}
    none = 0xFFFFFFFF
    for before, own in known:
        for first in known[before, own]:
            for turn in (depth, 0, 1, 2, 4, 8) if first != none else ():
                chain = [own, first] if before == none else [before, own, first]
                for place in range(depth):
                    following = known.get((chain[-2], chain[-1])) or known.get((none, chain[-1])) or [none]
                    take = following[wide - 1 if place == turn and len(following) >= wide else 0]
                    if take == none:
                        break
                    chain.append(take)
                yield tokenizer.decode(chain)


def found(place: Place, secrets: Sequence[str]) -> list[tuple[str, str]]:
    """Every place where a secret, or twelve characters in a row of one, was kept."""
    pieces = {secret[at : at + PIECE] for secret in secrets for at in range(max(1, len(secret) - PIECE + 1))}
    leaks = []
    for where, text in dict.fromkeys(place.texts()):
        held = {text[at : at + PIECE] for at in range(max(0, len(text) - PIECE + 1))} & pieces
        leaks += [(where, piece) for piece in held]
    return leaks


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def place(
    tmp_path: Path, sandbox: Path, server: Server, prepared_default: object, monkeypatch: pytest.MonkeyPatch
) -> Place:
    top = tmp_path / "all"
    for name in ("project", "home", "tmp", "lacli"):
        (top / name).mkdir(parents=True)
    (top / "lacli" / "cache").symlink_to(Path(prepared_default.folder).parents[1])  # type: ignore[attr-defined]
    monkeypatch.setenv("LACLI_HOME", str(top / "lacli"))
    monkeypatch.setenv("HOME", str(top / "home"))
    monkeypatch.setenv("TMPDIR", str(top / "tmp"))
    subprocess.run(["git", "init", "-q", str(top / "project")], check=True)
    return Place(top, Path(prepared_default.folder), server)  # type: ignore[attr-defined]


def _chosen(count: int) -> list[Key]:
    made = keys(seed=3)
    return random.Random(3).sample(made, count)


def _told(key: Key, number: int, chatty: bool = True) -> str:
    """A reply with the key in it, each time in another of the places where it can stand.

    Not chatty: without the words to the user that an edit refuses to write into a file.
    """
    names = ("line", "code", "prose", "backticks", *(("fence",) if chatty else ()))
    standing = [text for name, text in places(key) if name in names]
    return standing[number % len(standing)]


@pytest.mark.parametrize(("count", "alone_count"), [(60, 9), slow(205, 36)])
def test_no_key_that_was_printed_is_in_any_file(place: Place, count: int, alone_count: int) -> None:
    """One key a reply, each in another place, in turn by every command that replies, with its options."""
    chosen = _chosen(count)
    says, commands, asked = [], [], []
    (place.project / "a.md").write_text("Notes\n\n", encoding="utf-8")
    kinds = (
        ["ask", "-n", "400", "write it"],
        ["chat", "-n", "400", "--json", "go on"],
        ["complete", "-n", "400", "--scope", "file", "a.md"],
        ["ask", "-n", "400", "--stats", "-vv", "again"],
        ["complete", "-n", "400", "--scope", "file", "--diff", "a.md"],
        ["ask", "-n", "400", "--json", "and now"],
        ["edit", "-n", "400", "--force", "a.md", "add it"],
        ["edit", "-n", "400", "--force", "--full", "a.md", "add it"],
        ["complete", "-n", "400", "--scope", "file", "--json", "a.md"],
    )
    alone, together = chosen[:alone_count], chosen[alone_count:]  # a command takes its time
    for number, key in enumerate(alone):
        kind = kinds[number % len(kinds)]
        edits = kind[0] == "edit"
        told = _told(key, number, chatty=not edits)
        says.append(f"````markdown\nNotes\n\n{told}\n````\n" if edits else told)
        commands.append(kind)
    for number, key in enumerate(together):
        says.append(_told(key, number))
        asked.append(json.dumps({"prompt": f"write part {number}", "max_tokens": 400}) + "\n")
    (place.project / "prompts.jsonl").write_text("".join(asked), encoding="utf-8")
    commands.append(["ask", "--batch", "prompts.jsonl"])
    out = place.run([*says, HARMLESS], *commands, ["ask", "-n", "60", "something harmless"])
    shown = out.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
    assert [key.kind for key in chosen if key.secret not in shown] == []
    assert place.pool().size > 0, "the harmless reply is kept"
    assert found(place, [key.secret for key in chosen]) == []
    exported = place.top / "tmp" / "exported"
    place.run([], ["pool", "export", str(exported)])
    assert exported.stat().st_size > 0
    assert found(place, [key.secret for key in chosen]) == []


ONE = keys(seed=4)


def _key(kind: str) -> Key:
    return next(key for key in ONE if key.kind == kind)


def test_without_the_filter_replies_and_chains_give_keys_away(place: Place) -> None:
    """The search itself would notice."""
    key = _key("github classic")
    place.run([f"{key.text} then\n" * 3], ["ask", "-n", "160", "write it"], FILTER_OFF="1")
    kinds = {where for where, _ in found(place, [key.secret])}
    assert {"a reply in the pool", "the successor table"} <= kinds


def test_a_key_only_in_the_prompt_leaves_nothing(place: Place) -> None:
    keys_asked = [
        _key(kind) for kind in ("github classic", "dotenv", "base 62", "postgres", "small letters and digits")
    ]
    place.run([HARMLESS] * len(keys_asked), *(["ask", "-n", "60", f"why {key.text} fails"] for key in keys_asked))
    assert place.pool().size > 0
    assert place.pool().table() is None
    assert found(place, [key.secret for key in keys_asked]) == []


@pytest.mark.slow
def test_the_budget_cuts_through_a_key(place: Place) -> None:
    chosen = [
        _key(kind) for kind in ("openai", "aws secret", "hexadecimal", "gitlab personal", "base 64", "json web token")
    ]
    says = [key.text for key in chosen for _ in range(4)]
    budgets = ("18", "22", "26", "31") * len(chosen)
    out = place.run(says, *(["ask", "-n", budget, "go on"] for budget in budgets))
    assert all(key.secret[:PIECE] in out for key in chosen)
    assert found(place, [key.secret for key in chosen]) == []


@pytest.mark.slow
def test_ctrl_c_half_way_through_a_key(place: Place) -> None:
    key = _key("small letters")
    reader, writer = os.pipe()
    says, command = [f"It is {key.text} and more."], ["ask", "-n", "90", "--no-lookahead", "write it"]
    with open(os.devnull, "r+") as nothing:
        child = place.start(says, command, (nothing.fileno(), writer, nothing.fileno()), PAUSE="0.05")
    os.close(writer)
    seen = b""
    with open(reader, "rb", buffering=0) as out:
        while key.secret[:16].encode() not in seen:
            read = out.read(8)
            assert read, seen
            seen += read
        os.kill(child, signal.SIGINT)
        seen += out.read()
    assert place.server.code() == 130
    assert key.text.encode() not in seen
    assert found(place, [key.secret]) == []


def test_values_of_env_and_ignored_files_are_not_kept(place: Place) -> None:
    """Words that nobody takes for a secret by their looks."""
    (place.project / ".env").write_text("DB_NAME_PASSWORD=correcthorsebattery\n", encoding="utf-8")
    (place.project / ".gitignore").write_text("local.toml\n.env\n", encoding="utf-8")
    (place.project / "local.toml").write_text('token = "tuesday-evening-swim"\n', encoding="utf-8")
    values = ["correcthorsebattery", "tuesday-evening-swim"]
    says = [f"print('{value}')\n" for value in values]
    out = place.run([*says, HARMLESS], *([["ask", "-n", "60", "write it"]] * 3))
    assert all(value in out for value in values)
    assert place.pool().size > 0
    (place.project / ".env").unlink()
    (place.project / "local.toml").unlink()
    assert found(place, values) == []


@pytest.mark.slow
def test_without_the_log_there_is_no_transcript(place: Place) -> None:
    key = _key("github classic")
    place.run(
        [f"TOKEN = '{key.secret}'\n", HARMLESS], *([["ask", "-n", "90", "--no-log", f"is {key.secret} good?"]] * 2)
    )
    assert list(place.top.rglob("sessions.db*")) == []
    place.run([HARMLESS], ["ask", "-n", "90", f"is {key.secret} good?"])
    assert any(key.secret.encode() in file.read_bytes() for file in place.top.rglob("sessions.db*"))


def test_a_key_in_a_repetition_loop(place: Place) -> None:
    key = _key("small letters and digits")
    out = place.run([f"value = {key.text}\n" * 30], ["ask", "-n", "300", "write it"])
    assert out.count(key.secret) > 3
    assert found(place, [key.secret]) == []


def _talk(place: Place, says: Sequence[str], *typed: str) -> bytes:
    """A chat on a terminal, which reads ahead while nobody types; every line but a command is answered."""
    terminal = Talk(place, says, "chat", "-n", "90")
    for line in typed:
        terminal.wait_for(b"\x1b[?2004h", timeout=60)
        terminal.send(line.encode() + b"\r")
        terminal.wait_for(b"forgotten" if line == "/clear" else b"tok in", timeout=60)
    terminal.wait_for(b"\x1b[?2004h", timeout=60)
    terminal.send(b"\x04")
    assert terminal.finish(timeout=30) == 0
    return terminal.seen


@pytest.mark.slow
def test_a_key_said_or_asked_in_an_earlier_turn(place: Place) -> None:
    said, asked = _key("openai project"), _key("small letters and digits")
    says = [f"Use {said.text} here.", HARMLESS, HARMLESS, HARMLESS]
    seen = _talk(place, says, "write it", f"and {asked.text}", "/clear", "write it", "write it again")
    assert said.secret[:40].encode() in seen
    assert place.pool().size > 0
    assert found(place, [said.secret, asked.secret]) == []


@pytest.mark.slow
def test_half_a_key_in_one_reply_and_half_in_the_next(place: Place) -> None:
    """Four conversations of one process."""
    chosen = [_key(kind) for kind in ("openai", "hexadecimal", "small letters and digits", "base 64")]
    says: list[str] = []
    for key in chosen:
        half = len(key.text) // 2
        says += [f"It is {key.text[:half]}", key.text[half:]]
    _talk(place, says, *(["write it", "go on", "/clear"] * len(chosen)))
    assert found(place, [key.secret for key in chosen]) == []


@pytest.mark.slow
def test_ctrl_c_half_way_through_the_keys_of_a_chat(place: Place) -> None:
    chosen = [_key(kind) for kind in ("openai", "hexadecimal")]
    says = [f"It is {key.text} and more." for key in chosen]
    terminal = Talk(place, says, "chat", "-n", "90", "-q", "--no-lookahead", PAUSE="0.05")
    for key in chosen:
        terminal.wait_for(b"\x1b[?2004h", timeout=60)
        terminal.send(b"write it\r")
        terminal.wait_for(key.secret[:16].encode(), timeout=60)
        terminal.signal_foreground(signal.SIGINT)
    terminal.wait_for(b"\x1b[?2004h", timeout=60)
    terminal.send(b"\x04")
    assert terminal.finish(timeout=30) == 0
    assert all(key.text.encode() not in terminal.seen for key in chosen)
    assert found(place, [key.secret for key in chosen]) == []
