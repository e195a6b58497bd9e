"""What people pipe in and name: every kind of content and of file name, by every way into every command.

Whatever comes, it reaches the model whole, or one line says why not: no traceback, no hang, a documented exit code.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import Program, Result, Scripted
from tests.slow import slow

CODES = (0, 1, 2, 3, 4, 5, 6)
NEEDLE = "needle"
"""Stands in every content, so that it can be found in what the model is asked."""
LONG = b"x = 1  # a line like any other in a long file\n"

CONTENTS = {
    "nothing": b"",
    "blanks": b" \n\t\n  \n",
    "nul": b"x = 'needle\0'\n",
    "crlf": b"# needle\r\nx = 1\r\n",
    "lone-cr": b"# needle\rx = 1\r",
    "bom": b"\xef\xbb\xbf# needle\nx = 1\n",
    "bom-alone": b"\xef\xbb\xbf",
    "utf-16": "# needle\nx = 1\n".encode("utf-16"),
    "latin-1": b"# needle caf\xe9\n",
    "no-utf-8": b"# needle \xff\xfe\xc3\x28\xed\xa0\x80\n",
    "escapes": b"# needle \x1b[2J\x1b]0;title\x07\n",
    "no-final-newline": b"# needle\nx = 1",
    "ten-megabytes": b"# needle\n" + LONG * (10_000_000 // len(LONG)),
    "one-long-line": b"# needle " + b"x" * 10_000_000,
    "emoji": "# needle 👩‍💻 漢字 e\u0301\n".encode(),
}
TRIES = 3
"""How often an edit asks at most; every other command asks once."""
EMPTY = ("nothing", "blanks", "bom-alone")
NAMES = (
    "with blanks.py",
    "co:lon.py",
    "emoji 👩‍💻.py",
    "-dash.py",
    "--help",
    "new\nline.py",
    "quo'te\".py",
    os.fsdecode(b"no-utf-8-\xff.py"),
    "\x1b[31mred.py",
    "a" * 200 + ".py",
)


@dataclass(frozen=True)
class Route:
    """A way for content into a command."""

    name: str
    arguments: Callable[[str], Sequence[str]]
    """For the path of a file with the content; of a route by stdin it is not used."""
    stdin: bool = False
    asks: bool = True
    """Whether the content goes to the model."""
    script: str = "```\nhello\n```"


ROUTES = (
    Route("ask -f", lambda path: ["ask", "hi", "-f", path]),
    Route("ask @", lambda path: ["ask", "--", f"hi @'{path}'" if " " in path else f"hi @{path}"]),
    Route("chat -f", lambda path: ["chat", "-f", path, "hi"]),
    Route("complete", lambda path: ["complete", "--", path]),
    Route("complete --diff", lambda path: ["complete", "--diff", "--", path]),
    Route("complete --context", lambda path: ["complete", "--context", path, "other.py"], asks=False),
    Route("edit", lambda path: ["edit", "--force", "--", path, "hi"]),
    Route("edit -f", lambda path: ["edit", "--force", "-f", path, "other.py", "hi"]),
    Route("ask --batch", lambda path: ["ask", "--batch", path], asks=False),
    Route("config validate", lambda path: ["config", "validate", "--", path], asks=False),
    Route("--config", lambda path: ["--config", path, "ask", "hi"], asks=False),
    Route("pool import", lambda path: ["pool", "import", "--", path], asks=False),
    Route("models show", lambda path: ["models", "show", f"./{path}"], asks=False),
    Route("ask -o", lambda path: ["ask", "-o", path, "hi"], asks=False),
    Route("ask <", lambda path: ["ask", "hi"], stdin=True),
    Route("ask - <", lambda path: ["ask", "-"], stdin=True),
    Route("ask --batch - <", lambda path: ["ask", "--batch", "-"], stdin=True, asks=False),
    Route("chat <", lambda path: ["chat"], stdin=True),
    Route("complete - <", lambda path: ["complete", "-"], stdin=True),
    Route("edit - <", lambda path: ["edit", "-", "hi"], stdin=True),
    Route("edit FILE <", lambda path: ["edit", "--force", "other.py"], stdin=True),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.chdir(site)
    (site / "other.py").write_text("y = 2\n")
    return site


def put(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:  # names that this file system does not take
        if error.errno in (errno.EILSEQ, errno.EINVAL):
            pytest.skip(f"{path.name!r} cannot be a name here")
        raise


def check(result: Result) -> None:
    """A documented end, and at most a few lines, each of ours; of what a forced edit loses, a line each."""
    assert result.code in CODES
    lines = result.err.splitlines()
    assert sum(not line.startswith("lacli: warning: ") for line in lines) <= 3, lines
    for line in lines:
        assert line.startswith("lacli: "), lines
        assert "internal error" not in line, line
        assert "Traceback" not in line, line
        assert len(line) < 1000, line[:200]
    if result.code:
        assert any(line.startswith("lacli: error: ") for line in lines), (result.code, lines)
        assert result.out == "" or "configuration; see above" in lines[-1]


def asked(scripted: Scripted) -> str:
    requests = [request for assistant in scripted.assistants for request in assistant.requests]
    return "".join(
        each
        for request in requests
        for each in (
            *(message.text for message in request.messages),
            *(attachment.text for message in request.messages for attachment in message.attachments),
            *((request.place.prefix, request.place.suffix) if request.place else ()),
        )
    )


@pytest.mark.parametrize("content", [slow(each) if each == "ten-megabytes" else each for each in CONTENTS])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
@pytest.mark.default_cases(1)
def test_any_content_by_any_way(route: Route, content: str, folder: Path, scripted: Scripted) -> None:
    data = CONTENTS[content]
    (folder / "a.py").write_bytes(data)
    stdin = data if route.stdin else b""
    if len(stdin) > 1 << 15:
        pytest.skip("more than a pipe holds: below, as a process")
    result = scripted.run(route.arguments("a.py"), [route.script] * TRIES, stdin)
    check(result)
    if route.asks and not result.code and content not in EMPTY:
        shown = asked(scripted)
        assert NEEDLE in shown or (len(data) > 1 << 20 and "complete" in route.name), "far from the cursor"
        assert "\r" not in shown or content == "lone-cr"
    if content == "nul" and route.asks and not route.stdin:
        assert result.code == 2, "a binary file is named as one"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("route", [route for route in ROUTES if not route.stdin], ids=lambda route: route.name)
def test_any_name_by_any_way(route: Route, name: str, folder: Path, scripted: Scripted) -> None:
    put(folder / name, b"needle = 1\n")
    result = scripted.run(route.arguments(name), [route.script] * TRIES)
    check(result)
    if route.asks:
        assert result.code == 0, result.err
        unsayable = route.name == "ask @" and any(each in name for each in ("\n", "\udcff"))
        assert NEEDLE in asked(scripted) or unsayable
    assert "\x1b" not in result.err
    if route.name == "ask -o":
        assert (result.code, (folder / name).read_text()) == (0, route.script + "\n")


@pytest.mark.parametrize("content", [each for each in CONTENTS if len(CONTENTS[each]) < 100])
def test_any_content_of_files_of_our_own(content: str, folder: Path, scripted: Scripted, sandbox: Path) -> None:
    """A template, the user's configuration and registry, the project's configuration."""
    data = CONTENTS[content]
    places = {
        sandbox / "config" / "templates" / "mine.toml": (
            ["templates"],
            ["templates", "show", "mine"],
            ["ask", "-t", "mine", "hi"],
        ),
        sandbox / "config" / "config.toml": (["ask", "hi"], ["config", "show"], ["config", "validate"]),
        sandbox / "config" / "models.toml": (["ask", "hi"], ["models"]),
        folder / "lacli.toml": (["ask", "hi"], ["config", "set", "--local", "top-p", "0.5"]),
        folder / "pyproject.toml": (["ask", "hi"],),
    }
    for path, commands in places.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        for command in commands:
            result = scripted.run(command, ["hello"])
            check(result)
        path.unlink()


@pytest.mark.parametrize("content", ["nothing", "blanks", "latin-1", "escapes", "emoji", "no-utf-8", "crlf"])
def test_any_words_are_words(content: str, folder: Path, scripted: Scripted) -> None:
    """Arguments that are text: prompts, instructions, what is searched for, templates that are saved."""
    words = os.fsdecode(CONTENTS[content])
    scripted.run(["ask", "--", words], ["hello"])
    for command in (
        ["ask", "--", words],
        ["chat", "--", words],
        ["edit", "--force", "other.py", "--", words],
        ["sessions", "search", "--", words],
        ["templates", "save", "-y", "mine", "--", words],
        ["config", "set", "system", "--", words],
        ["ask", "-s", words, "hi"],
        ["ask", "--stop", words, "hi"],
        ["complete", "other.py", "--marker", words],
        ["ask", "-t", words, "hi"],
        ["ask", "--session", words, "hi"],
        ["models", "show", "--", words],
    ):
        result = scripted.run(command, ["```\nhello\n```"] * TRIES)
        if not (command[0] == "ask" and "-t" not in command and result.code == 0):
            check(result)


BY_STDIN = {
    "ask": "lacli ask hi",
    "chat": "lacli chat",
    "complete": "lacli complete -",
    "edit": "lacli edit - hi",
    "edit's instruction": "lacli edit other.py",
    "batch": "lacli ask --batch -",
}


@pytest.fixture
def shell(folder: Path, program: Program) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Runs a line in the folder; a script for each prompt of a batch."""

    def run(line: str) -> subprocess.CompletedProcess[bytes]:
        return program.shell(f"cd {shlex.quote(str(folder))}; {line}", SCRIPTS=json.dumps(["```\nhello\n```"] * 9))

    return run


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
class TestAsAProcess:
    @pytest.mark.parametrize("command", BY_STDIN)
    @pytest.mark.default_cases(1)
    def test_ten_megabytes_are_read_or_refused(self, command: str, folder: Path, shell: Callable[..., object]) -> None:
        (folder / "big").write_bytes(CONTENTS["ten-megabytes"])
        self.check(shell(f"cat big | {BY_STDIN[command]}"))

    @pytest.mark.parametrize("command", BY_STDIN)
    @pytest.mark.default_cases(2)
    def test_no_stdin_at_all(self, command: str, shell: Callable[..., object]) -> None:
        """The null device, and a descriptor that is closed: one shell for both."""
        line = BY_STDIN[command]
        self.check(shell(f"{line} </dev/null; echo ${{?}} >codes; {line} <&-; echo $? >>codes; exit 0"), lines=6)

    @pytest.mark.slow
    def test_a_reader_that_went_away_ends_every_command(self, folder: Path, program: Program) -> None:
        commands = (
            "ask hi --no-stdin",
            "chat hi --no-stdin",
            "complete other.py",
            "edit other.py hi --no-stdin",
            "ask --dry-run hi --no-stdin",
            "models",
            "config show",
        )
        for command in commands:
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run(
                program.command(*command.split()),
                stdout=writer,
                stderr=subprocess.PIPE,
                timeout=30,
                check=False,
                env=os.environ | {"SCRIPTS": '["```\\ny = 3\\n```"]'},
            )
            os.close(writer)
            assert (done.returncode, done.stderr) == (141, b""), command

    @pytest.mark.slow
    def test_a_silent_stdin_that_is_inherited_is_named_and_can_be_left_out(
        self, folder: Path, program: Program
    ) -> None:
        for command in (["ask", "hi"], ["chat", "hi"], ["edit", "other.py", "hi"], ["complete", "other.py"]):
            reader, writer = os.pipe()
            try:
                done = subprocess.run(
                    program.command(*command, "--no-stdin"), stdin=reader, capture_output=True, timeout=30, check=False
                )
            finally:
                os.close(reader)
                os.close(writer)
            assert done.returncode in (0, 1), done.stderr

    def check(self, done: object, lines: int = 3) -> None:
        assert isinstance(done, subprocess.CompletedProcess)
        err = done.stderr.decode().splitlines()
        assert len(err) <= lines
        assert all(line.startswith("lacli: ") and "internal error" not in line for line in err), err
        assert done.returncode in CODES
