"""The program as a process: pipes that break, descriptors that are closed, signals, and a locale that knows nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.conftest import Program
from tests.slow import slow

READING = "lacli: reading stdin… (--no-stdin or </dev/null to skip)\n"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def started(program: Program, stdin: bool = False, **environment: str) -> Any:
    """`lacli ask hi`, running; pipes without buffers, so that what is not read yet is left to `communicate`."""
    return subprocess.Popen(
        program.command("ask", "hi", *([] if stdin else ["--no-stdin"])),
        bufsize=0,
        stdin=subprocess.PIPE if stdin else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
    )


def test_a_reader_that_goes_away_ends_the_program_quietly_with_141(program: Program) -> None:
    scripts = json.dumps(["word " * 2000])
    done = program.shell("lacli ask hi --no-stdin | head -c 5; echo ${PIPESTATUS[0]}", SCRIPTS=scripts)
    assert done.stdout.decode() == "word 141\n"
    assert done.stderr == b""


@pytest.mark.parametrize(
    "arguments",
    [
        "models show ./x",
        "ask -f x.py hi",
        "ask -o out hi",
        "pool info",
        "pool clear",
        'edit "$OLD/a.py" "rename x to y"',
    ],
)
@pytest.mark.default_cases(2)
def test_a_current_folder_that_is_gone_is_one_line(program: Program, arguments: str) -> None:
    """Case N19."""
    (program.folder / "a.py").write_text("x = 1\n", encoding="utf-8")
    gone = program.folder / "gone"
    gone.mkdir()
    done = program.shell(f'cd "{gone}"; rmdir "{gone}"; lacli {arguments} < /dev/null', OLD=str(program.folder))
    assert done.stderr.decode().splitlines()[-1] == (
        "lacli: error: the current folder no longer exists; change to another folder"
    )
    assert done.returncode == 2


@pytest.mark.slow
def test_doctor_looks_at_torch_from_a_folder_that_is_there(program: Program) -> None:
    """Case N19: PyTorch ends the process where the current folder is gone."""
    gone = program.folder / "gone"
    gone.mkdir()
    done = program.shell(f'cd "{gone}"; rmdir "{gone}"; lacli doctor < /dev/null', timeout=60)
    assert b"ok    torch" in done.stdout


def test_help_into_a_closed_pipe_is_141_too(program: Program) -> None:
    done = program.shell("lacli --help | true; echo ${PIPESTATUS[0]}")
    assert done.stdout.decode().strip() in ("141", "0")  # 0 where the help was faster than true
    assert done.stderr == b""


@pytest.mark.parametrize("asked", ["--help", "--version", "", "pool info --help"])
def test_help_and_version_that_nobody_reads_are_141(program: Program, asked: str) -> None:
    done = program.shell(f"lacli {asked} >&-")
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("closed", "code", "out"),
    [("<&-", 0, "hello world\n"), ("2>&-", 0, "hello world\n"), (">&-", 141, ""), (">&- 2>&-", 141, "")],
)
@pytest.mark.default_cases(1)
def test_closed_descriptors(program: Program, closed: str, code: int, out: str) -> None:
    done = program.shell(f"lacli ask hi {closed}")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (code, out, b"")


def test_without_stdin_and_stderr_complete_works(program: Program) -> None:
    (program.folder / "a.py").write_text("x = ", encoding="utf-8")
    done = program.shell(f"cd '{program.folder}'; lacli complete a.py <&- 2>&-")
    assert (done.returncode, done.stdout) == (0, b"hello world")


def test_text_is_utf8_in_a_locale_that_is_not(program: Program) -> None:
    scripts = json.dumps(["naïve 漢字 👩‍💻"])
    done = program.shell(
        "lacli ask --no-stdin 'é'", SCRIPTS=scripts, LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="latin-1"
    )
    assert done.stdout.decode("utf-8") == "naïve 漢字 👩‍💻\n"
    assert done.stderr == b""


def test_control_characters_pass_through_a_pipe_unchanged(program: Program) -> None:
    done = program.shell("lacli ask hi --no-stdin", SCRIPTS=json.dumps(["a\x1b[31mb\r\n\tc"]))
    assert done.stdout == b"a\x1b[31mb\r\n\tc\n"


def test_interrupt_keeps_what_was_written_and_exits_130(program: Program) -> None:
    running = subprocess.Popen(
        program.command("ask", "hi", "--no-stdin", "--stats"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=os.environ | {"SCRIPTS": json.dumps(["word " * 200]), "PAUSE": "0.05"},
    )
    assert running.stdout is not None
    first = running.stdout.read(5)
    running.send_signal(signal.SIGINT)
    rest, err = running.communicate(timeout=10)
    text = (first + rest).decode()
    assert running.returncode == 130
    assert text.startswith("word")
    assert text.endswith("\n")
    assert len(text) < 500
    assert json.loads(err)["predicted_n"] == text.count("word")


def test_a_second_interrupt_leaves_at_once(program: Program) -> None:
    running = started(program, STUCK="1")
    assert running.stderr.readline() == b"ready\n"
    running.send_signal(signal.SIGINT)
    assert running.stderr.readline() == b"asked\n"
    running.send_signal(signal.SIGINT)
    assert (running.communicate(timeout=30), running.returncode) == ((b"", b"lacli: stopped\n"), 130)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_terminate_closes_the_reply_and_then_ends_the_program_by_it(program: Program, name: str) -> None:
    number = signal.Signals[name]
    running = subprocess.Popen(
        program.command("ask", "hi", "--no-stdin"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=os.environ | {"SCRIPTS": json.dumps(["word " * 200]), "PAUSE": "0.05", "SAY_CLOSED": "1"},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a test run under nohup would ignore it
    )
    assert running.stdout is not None
    running.stdout.read(5)
    running.send_signal(number)
    _, err = running.communicate(timeout=10)
    assert (running.returncode, err) == (-number, b"closed\nlacli: stopped; this is the text so far\n")
    kept = subprocess.run(program.command("sessions", "list"), capture_output=True, timeout=30, check=True)
    assert b"[interrupted] hi" in kept.stdout


def test_an_interrupt_swallowed_while_loading_ends_the_program_all_the_same(program: Program) -> None:
    running = started(program, SWALLOWS="1")
    assert running.stderr.readline() == b"ready\n"
    running.send_signal(signal.SIGINT)
    assert (running.communicate(timeout=30), running.returncode) == ((b"", b"lacli: stopped\n"), 130)


@pytest.mark.parametrize("number", [signal.SIGINT, None])
@pytest.mark.default_cases(1)
def test_within_an_import_an_interrupt_and_the_end_of_the_time_need_nobody_who_listens(
    program: Program, number: int | None
) -> None:
    (program.folder / "swallows.py").write_text(
        "import sys, time\nprint('ready', file=sys.stderr, flush=True)\n"
        "class Callback:\n    def __del__(self):\n        time.sleep(20)\n"
        "Callback()\ntime.sleep(20)\n"
    )
    running = started(program, IMPORTS="1", **({} if number else {"LACLI_TIMEOUT": "2"}))
    assert running.stderr.readline() == b"ready\n"
    if number:
        running.send_signal(number)
    out, err = running.communicate(timeout=15)
    assert (out, err.count(b"\n"), running.returncode) == (b"", 1, 130 if number else 6)


@pytest.mark.slow
def test_a_silent_stdin_is_named_after_a_while(program: Program) -> None:
    running = started(program, stdin=True)
    assert running.stderr.readline().decode() == READING
    assert (running.communicate(timeout=30), running.returncode) == ((b"hello world\n", b""), 0)


def test_a_slow_stdin_is_read_without_a_word(program: Program) -> None:
    done = program.shell("(printf 'first '; sleep 0.4; printf second) | lacli ask --json")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_interrupt_while_waiting_for_stdin_is_one_word(program: Program) -> None:
    running = started(program, stdin=True)
    assert running.stderr.readline().decode() == READING
    running.send_signal(signal.SIGINT)
    assert (running.communicate(timeout=30), running.returncode) == ((b"", b"lacli: stopped\n"), 130)


@pytest.mark.parametrize("unbuffered", ["", slow("1")])
@pytest.mark.parametrize("asked", [["ask", "hi", "--no-stdin"], ["ask", "--help"], ["spec"]])
@pytest.mark.default_cases(1)
def test_a_stdout_that_does_not_block_gets_every_byte(program: Program, asked: list[str], unbuffered: str) -> None:
    environment = os.environ | {"SCRIPTS": json.dumps(["word " * 20_000])}
    whole = subprocess.run(program.command(*asked), capture_output=True, env=environment, check=True).stdout
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with subprocess.Popen(
        program.command(*asked), stdout=writer, stderr=writer, env=environment | {"PYTHONUNBUFFERED": unbuffered}
    ) as process:
        os.close(writer)
        with open(reader, "rb") as stream:
            assert stream.read() == whole
    assert process.returncode == 0
    assert len(whole) > 4096


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("asked", ["spec", "ask hi", "--help", "ask --help", "--version"])
@pytest.mark.default_cases(2)
def test_a_full_stdout_is_one_line_and_exit_code_1(program: Program, asked: str) -> None:
    for unbuffered in ("", "1"):
        done = program.shell(f"lacli {asked} >/dev/full", PYTHONUNBUFFERED=unbuffered)
        assert done.returncode == 1
        assert done.stderr.decode().startswith("lacli: error: cannot write to stdout: No space left on device; ")
        assert done.stderr.count(b"\n") == 1
        assert program.shell("lacli nix 2>/dev/full", PYTHONUNBUFFERED=unbuffered).returncode == 2


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/dev/fd/5", ">(cat)", "fifo"])
def test_a_reply_goes_into_a_stream_as_it_stands(program: Program, place: str) -> None:
    folder = program.folder
    os.mkfifo(folder / "fifo")
    asked = f"cd {folder}; {{ echo before; lacli ask hi --no-stdin -o {place}; echo $? >&2; echo behind; }} 5>&1"
    done = program.shell(f"{asked} | cat & cat fifo; wait" if place == "fifo" else f"{asked} | cat")
    assert sorted(done.stdout.splitlines()) == [b"before", b"behind", b"hello world"]
    assert done.stderr.splitlines()[-1] == b"0"


def test_what_is_written_to_a_redirected_descriptor_stands_between_what_others_write(program: Program) -> None:
    line = "{ echo before; lacli ask hi --no-stdin -o /dev/stdout; echo behind; } > out; cat out"
    assert program.shell(f"cd {program.folder}; {line}").stdout == b"before\nhello world\nbehind\n"


@pytest.mark.parametrize("place", ["/dev/fd/9", "/dev/stdin"])
def test_a_stream_that_takes_nothing_is_refused_before_a_reply_is_written(program: Program, place: str) -> None:
    done = program.shell(f"lacli ask hi -o {place} < /dev/null", SAY_BEGUN="1")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"lacli: error: {place} cannot be written; give another file for -o\n"


def test_files_that_are_streams_are_read_as_they_stand(program: Program) -> None:
    shown = "lacli ask --dry-run hi -f"
    for line in (f"printf 'x = 1\n' | {shown} /dev/stdin", f"{shown} <(printf 'x = 1\n') --no-stdin"):
        done = program.shell(line)
        assert b"x = 1\n" in done.stdout, done.stderr
    batch = "lacli ask --batch <(echo '\"hi\"') -o >(cat) | cat"
    assert json.loads(program.shell(batch).stdout)["text"] == "hello world"
    assert json.loads(program.shell("echo '\"hi\"' | lacli ask --batch /dev/stdin -o /dev/stdout").stdout)["index"] == 0
