"""Every byte that each command writes, through pipes and on a terminal, is what `expected/` holds.

`expected/COMMAND/CASE.stdout.*` and `.stderr.txt` came through pipes, `.terminal.txt` is both streams on a terminal
of 80 columns, `.left.*` a file that the command wrote. A stream without a byte has no file. Escape is shown as ␛, other
control characters as their pictures too. `pytest tests/golden --update-golden` writes the files as the program is now:
read the difference before it is committed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.cli.main import main
from tests.golden.cases import CASES, Case
from tests.golden.world import World, world

EXPECTED = Path(__file__).parent / "expected"
PICTURES = {**{code: 0x2400 + code for code in range(32) if code not in (9, 10)}, 0x7F: 0x2421}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals and the paths of POSIX")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world(monkeypatch) as made:
        yield made


def readable(data: bytes) -> bytes:
    return data.decode().translate(PICTURES).encode()


def path_of(case: Case, stream: str) -> Path:
    ending = case.kind or "txt" if stream == "stdout" else case.leaves.rpartition(".")[2] if stream == "left" else "txt"
    return EXPECTED / f"{case.name}.{stream}.{ending}"


def streams_of(case: Case) -> tuple[str, ...]:
    return ("stdout", "stderr", "terminal", *(("left",) if case.leaves else ()))


def check(case: Case, stream: str, data: bytes, update: bool) -> None:
    path, data = path_of(case, stream), readable(data)
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data) if data else path.unlink(missing_ok=True)
    else:
        assert data.decode() == (path.read_bytes() if path.exists() else b"").decode(), f"{path} differs"


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_byte_is_as_expected(case: Case, terminal: bool, here: World, request: pytest.FixtureRequest) -> None:
    for setup in case.setups:
        setup(here)
    update = request.config.getoption("--update-golden", False)
    found = here.run(case.arguments, case.scripts, case.opening, case.stdin, terminal)
    for stream, data in found.streams.items():
        check(case, stream, here.normal(data), update)
    if case.leaves:
        check(case, "left", (here.site / case.leaves).read_bytes(), update)
    assert found.code == case.code


def test_no_file_is_left_of_a_case_that_is_gone(request: pytest.FixtureRequest) -> None:
    wanted = {path_of(case, stream) for case in CASES for stream in streams_of(case)}
    stale = {path for path in EXPECTED.rglob("*") if path.is_file()} - wanted
    if request.config.getoption("--update-golden", False):
        for path in stale:
            path.unlink()
    else:
        assert not stale
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_command_has_a_case(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["spec"]) == 0
    ran = [list(case.arguments) for case in CASES]

    known = [command["name"].split() for command in json.loads(capfd.readouterr().out)["commands"]]
    missing = {" ".join(words) for words in known if not any(each[: len(words)] == words for each in ran)}
    assert missing <= {"spec", "tui", "acp", "lsp"}, "spec is compared with the code, the others tested, elsewhere"


def test_an_escape_sequence_reaches_a_pipe_only_where_the_case_says_that_the_content_has_one() -> None:
    for case in CASES:
        paths = {stream: path_of(case, stream) for stream in ("stdout", "stderr")}
        found = {name for name, path in paths.items() if path.exists() and "␛" in path.read_text(encoding="utf-8")}
        assert found == ({"stdout"} if case.has_escapes else set()), case.name


def test_what_is_written_ends_its_last_line_but_for_a_completion() -> None:
    for case in CASES:
        for stream in ("stdout", "stderr", "terminal"):
            path = path_of(case, stream)
            bare = stream == "stdout" and (case.name.startswith("complete/") or "--dry-run" in case.arguments)
            if path.exists() and not bare:
                assert path.read_bytes().endswith(b"\n"), path
