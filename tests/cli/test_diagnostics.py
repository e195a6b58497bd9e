"""One line and one exit code for everything that can end the program."""

from __future__ import annotations

import errno
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lacli import errors
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.diagnostics import guard

ROOT = Path(__file__).resolve().parents[2]


Read = Callable[[], str]


@pytest.fixture
def stderr(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Read:
    """What was written to stderr since the last call."""
    monkeypatch.setattr(Run, "current", Run())
    return lambda: capsys.readouterr().err


def failing(failure: BaseException) -> int:
    def run() -> int:
        raise failure

    return guard(run)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (errors.LacliError("m", "h"), 1),
        (errors.UsageError("m", "h"), 2),
        (errors.ModelUnavailable("m", "h"), 3),
        (errors.OutOfMemory("m", "h"), 4),
        (errors.PromptTooLong("m", "h"), 5),
        (errors.TimedOut("m", "h"), 6),
    ],
)
def test_each_error_of_the_tree_is_one_line_with_its_remedy_and_its_code(
    failure: errors.LacliError, code: int, stderr: Read
) -> None:
    assert failing(failure) == code
    assert stderr() == "lacli: error: m; h\n"


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (MemoryError(), 4, "out of memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 4, "out of memory"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), 4, "out of memory"),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 4, "/x"),
        (PermissionError(errno.EACCES, "Permission denied", "/y"), 1, "Permission denied: /y"),
        (RuntimeError("two\nlines"), 1, "internal error: RuntimeError: two lines"),
    ],
)
def test_foreign_failures_are_one_line_without_a_traceback(
    failure: Exception, code: int, words: str, stderr: Read
) -> None:
    assert failing(failure) == code
    line = stderr()
    assert words in line
    assert line.count("\n") == 1


def test_a_traceback_is_printed_with_two_v_only(stderr: Read) -> None:
    Run.current.verbosity = 2
    failing(ValueError("x"))
    assert "Traceback" in stderr()


def test_an_interrupt_is_one_word_and_closed_stdout_is_quiet(stderr: Read) -> None:
    assert failing(KeyboardInterrupt()) == 130
    assert stderr() == "lacli: stopped\n"
    assert failing(output.StdoutClosed()) == 141
    assert failing(BrokenPipeError(errno.EPIPE, "Broken pipe")) == 141
    assert stderr() == ""


@pytest.mark.parametrize("closed", [False, True])
def test_a_missing_or_closed_stderr_changes_no_exit_code(monkeypatch: pytest.MonkeyPatch, closed: bool) -> None:
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream if closed else None)
    assert failing(errors.UsageError("m", "h")) == 2


def test_a_line_the_locale_cannot_say_is_escaped_and_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii", errors="strict"))
    diagnostics.note("漢")
    assert raw.getvalue() == b"lacli: \\u6f22\n"


def test_quiet_drops_notes_and_keeps_errors(stderr: Read) -> None:
    Run.current.quiet = True
    diagnostics.note("n")
    diagnostics.warning("w")
    diagnostics.error("e")
    assert stderr() == "lacli: error: e\n"


def test_control_sequences_in_names_do_not_reach_the_terminal(stderr: Read) -> None:
    diagnostics.error("no file a\x1b[2Jb\nc")
    assert stderr() == "lacli: error: no file ab c\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_descriptors_closed_at_start_are_never_given_to_a_file(closed: str, tmp_path: Path) -> None:
    program = (
        "import sys; from lacli.cli.terminal import diagnostics as d; d.secure_descriptors();"
        f"f = open({str(tmp_path / 'pool')!r}, 'w'); n = f.fileno(); f.close();"
        "d.error('text for stderr'); sys.exit(0 if n > 2 else 1)"
    )
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -c "{program}" {closed}'],
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / "pool").read_bytes() == b""
