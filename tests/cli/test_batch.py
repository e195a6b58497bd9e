"""`lacli ask --batch`: lines in, lines out in their order, what is refused, and going on after an interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from lacli.cli.ask.batch_input import PromptFile
from lacli.cli.framework.options import Common
from lacli.errors import LacliError, PromptTooLong
from lacli.events import Finished, Piece, ReplyStats
from tests.cli.conftest import Program, Scripted


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def write(path: Path, *values: Any) -> str:
    path.write_text(lines(*values), encoding="utf-8")
    return str(path)


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def interrupted(text: str = "so far") -> list[Any]:
    """A reply that the user stopped."""
    return [Piece(text, ("",), ReplyStats()), Finished(text, (1,), "cancelled", ReplyStats())]


class TestLines:
    def test_a_string_or_an_object_a_line_a_reply_a_line_in_their_order(
        self, scripted: Scripted, tmp_path: Path
    ) -> None:
        """The first reply ends last."""
        path = write(
            tmp_path / "p.jsonl",
            "one",
            {"prompt": "two", "id": "b"},
            {"messages": [{"role": "user", "content": "three"}], "id": 7},
        )
        result = scripted.run(["ask", "--batch", path], ["a b c d e f g h", "short", "x y"])
        found = records(result.out)
        assert [(each["index"], each.get("id"), each["text"]) for each in found] == [
            (0, None, "a b c d e f g h"),
            (1, "b", "short"),
            (2, 7, "x y"),
        ]
        assert all(each["finish_reason"] == "stop" and each["stats"]["predicted_n"] for each in found)
        assert (result.code, result.err) == (0, "")
        assert scripted.assistants[0].closed

    def test_each_line_has_its_own_options_over_the_common_ones(self, scripted: Scripted, tmp_path: Path) -> None:
        path = write(
            tmp_path / "p.jsonl",
            {"prompt": "one", "max_tokens": 5, "temperature": 1, "top_p": 0.5, "top_k": 3, "seed": 9},
            {"prompt": "two", "stop": "END", "system": "Be brief.", "repetition_penalty": 1.5},
            {
                "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "three"}],
                "stop": ["a", "b"],
            },
            "four",
        )
        scripted.run(["ask", "--batch", path, "-n", "77", "-s", "Common."], ["r"] * 4)
        first, second, third, fourth = scripted.assistants[0].requests
        assert (first.max_tokens, first.temperature, first.top_p, first.top_k, first.seed) == (5, 1.0, 0.5, 3, 9)
        assert [message.text for message in first.messages] == ["Common.", "one"]
        assert [message.text for message in second.messages] == ["Be brief.", "two"]
        assert (second.stops, second.repetition_penalty, second.max_tokens) == (("END",), 1.5, 77)
        assert [(message.role, message.text) for message in third.messages] == [("system", "S"), ("user", "three")]
        assert third.stops == ("a", "b")
        assert fourth.messages[-1].text == "four"

    def test_a_dash_is_stdin_and_bom_blank_lines_and_crlf_are_no_prompts(self, scripted: Scripted) -> None:
        data = b'\xef\xbb\xbf"one"\r\n\r\n   \n"tw\xc3\xb6"'
        result = scripted.run(["ask", "--batch", "-"], ["r1", "r2"], stdin=data)
        assert [each["index"] for each in records(result.out)] == [0, 1]
        assert [request.messages[-1].text for request in scripted.assistants[0].requests] == ["one", "twö"]

    def test_halves_of_characters_and_control_characters_come_through_as_json(self, scripted: Scripted) -> None:
        result = scripted.run(
            ["ask", "--batch", "-"], ["a\x1b[31m\n\u2028b"], stdin=b'{"prompt": "\\ud83d", "id": "\\ud83d"}'
        )
        assert result.code == 0
        assert len(result.out.split("\n")) == 2
        assert records(result.out)[0]["text"] == "a\x1b[31m\n\u2028b"

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("{", "it is not JSON"),
            ("3", "neither a string nor an object"),
            ("null", "neither a string nor an object"),
            ('{"promt": "x"}', "the key 'promt' is unknown; did you mean 'prompt'?"),
            ("{}", 'neither "prompt" nor "messages"'),
            ('{"prompt": "a", "messages": []}', "both"),
            ('{"prompt": 3}', '"prompt" is not a string'),
            ('""', "asks nothing"),
            ('{"messages": []}', "not a list of messages"),
            ('{"messages": [{"role": "user"}]}', "not an object with role and content"),
            ('{"messages": [{"role": "tool", "content": "x"}]}', "'tool' is unknown"),
            ('{"messages": [{"role": "assistant", "content": "x"}]}', "not the user's"),
            ('{"messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "x"}]}', "not the user's"),
            ('{"prompt": "a", "max_tokens": 1.5}', '"max_tokens" is not a whole number'),
            ('{"prompt": "a", "max_tokens": true}', "not a whole number"),
            ('{"prompt": "a", "temperature": -1}', "out of range"),
            ('{"prompt": "a", "temperature": 1e999}', "out of range"),
            ('{"prompt": "a", "temperature": 1' + 400 * "0" + "}", "out of range; give a number 0 or more"),
            ('{"prompt": "a", "temperature": NaN}', "not JSON"),
            ('{"prompt": "a", "top_p": 0}', "out of range"),
            ('{"prompt": "a", "stop": [""]}', '"stop"'),
            ('{"prompt": "a", "id": NaN}', "not JSON"),
            ('{"prompt": "a", "id": [1e999]}', "1e999 is out of range"),
            ("[" * 100_000, "nested too deep"),
        ],
    )
    def test_a_line_that_is_no_prompt_is_named_before_the_model_loads(
        self, line: str, said: str, scripted: Scripted, tmp_path: Path
    ) -> None:
        path = tmp_path / "p.jsonl"
        path.write_text(f'"good"\n\n{line}\n"good"\n')
        result = scripted.run(["ask", "--batch", str(path)])
        assert result.code == 2
        assert f"{path} line 3: " in result.err
        assert said in result.err
        assert result.out == ""
        assert not scripted.assistants

    def test_so_is_one_of_other_bytes(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "--batch", "-"], stdin=b'"a"\n"caf\xe9"\n')
        assert (result.code, "stdin line 2: it is not UTF-8" in result.err) == (2, True)

    @pytest.mark.parametrize("data", [b"", b"\n\n"])
    def test_a_file_without_a_prompt_is_refused(self, data: bytes, scripted: Scripted) -> None:
        result = scripted.run(["ask", "--batch", "-"], stdin=data)
        assert (result.code, "holds no prompt" in result.err) == (2, True)

    def test_so_are_a_missing_file_a_folder_and_what_belongs_to_one_question(
        self, scripted: Scripted, tmp_path: Path
    ) -> None:
        assert scripted.run(["ask", "--batch", str(tmp_path / "none")]).code == 2
        assert scripted.run(["ask", "--batch", str(tmp_path)]).code == 2
        path = write(tmp_path / "p.jsonl", "a")
        for more in (["words"], ["-x"], ["-f", path], ["--jsonl"], ["-c"], ["-i"], ["--dry-run"]):
            result = scripted.run(["ask", "--batch", path, *more])
            assert (result.code, "exclude each other" in result.err) == (2, True), more


class TestFailures:
    def test_a_prompt_that_fails_is_a_line_with_its_error_and_the_others_go_on(
        self, scripted: Scripted, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "p.jsonl", "a", {"prompt": "b", "id": "x"}, "c")
        result = scripted.run(["ask", "--batch", path], ["one", PromptTooLong("too long", "shorten it"), "three"])
        first, failed, last = records(result.out)
        assert (first["text"], last["text"]) == ("one", "three")
        assert (failed["index"], failed["id"]) == (1, "x")
        assert failed["error"] == {"message": "too long", "hint": "shorten it", "exit_code": 5}
        assert result.code == 1
        assert "1 of 3 prompts got no reply" in result.err

    def test_alone_it_ends_the_program_as_it_would_without_a_batch(self, scripted: Scripted, tmp_path: Path) -> None:
        result = scripted.run(["ask", "--batch", write(tmp_path / "p", "a")], [PromptTooLong("too long", "shorten it")])
        assert (result.code, result.err) == (5, "lacli: error: too long; shorten it\n")
        assert records(result.out)[0]["error"]["exit_code"] == 5

    def test_a_stopped_run_keeps_all_that_was_finished_and_ends_with_130(
        self, scripted: Scripted, tmp_path: Path
    ) -> None:
        """The second reply is stopped; the third, done before, comes after the gap."""
        path = write(tmp_path / "p.jsonl", "a", "b", "c")
        result = scripted.run(["ask", "--batch", path], ["one", interrupted(), "three"])
        assert [(each["index"], each["text"]) for each in records(result.out)] == [(0, "one"), (2, "three")]
        assert result.code == 130


class TestOutputFile:
    PROMPTS = ("a", "b", "c", "d")

    def run(self, scripted: Scripted, tmp_path: Path, scripts: Sequence[Any], *more: str) -> Any:
        path = write(tmp_path / "p.jsonl", *self.PROMPTS)
        return scripted.run(["ask", "--batch", path, "-o", str(tmp_path / "out.jsonl"), *more], scripts)

    def texts(self, tmp_path: Path) -> list[str]:
        return [each["text"] for each in records((tmp_path / "out.jsonl").read_text(encoding="utf-8"))]

    def test_goes_on_where_it_stopped_and_has_the_bytes_of_a_run_without_a_stop(
        self, scripted: Scripted, tmp_path: Path
    ) -> None:
        assert self.run(scripted, tmp_path, ["one", "two", "three", "four"]).out == ""
        whole = (tmp_path / "out.jsonl").read_bytes()
        (tmp_path / "out.jsonl").unlink()
        assert self.run(scripted, tmp_path, ["one", interrupted(), "three", interrupted()]).code == 130
        assert self.texts(tmp_path) == ["one", "three"]
        result = self.run(scripted, tmp_path, ["two", "four"])
        assert (result.code, "has 2 replies of 4 already" in result.err) == (0, True)
        assert [request.messages[-1].text for request in scripted.assistants[-1].requests] == ["b", "d"]
        assert (tmp_path / "out.jsonl").read_bytes() == whole

    @pytest.mark.parametrize("cut", [1, 30, 60])
    def test_half_a_line_is_cut_and_its_prompt_asked_again(self, cut: int, scripted: Scripted, tmp_path: Path) -> None:
        self.run(scripted, tmp_path, ["one", "two", "three", "four"])
        whole = (tmp_path / "out.jsonl").read_bytes()
        (tmp_path / "out.jsonl").write_bytes(whole[:-cut])
        assert self.run(scripted, tmp_path, ["four"]).code == 0
        assert (tmp_path / "out.jsonl").read_bytes() == whole

    def test_nothing_is_asked_where_all_is_there(self, scripted: Scripted, tmp_path: Path) -> None:
        self.run(scripted, tmp_path, ["one", "two", "three", "four"])
        whole = (tmp_path / "out.jsonl").read_bytes()
        result = self.run(scripted, tmp_path, [])
        assert (result.code, scripted.assistants[-1].requests) == (0, [])
        assert (tmp_path / "out.jsonl").read_bytes() == whole

    def test_a_failure_is_kept_and_still_counts(self, scripted: Scripted, tmp_path: Path) -> None:
        assert self.run(scripted, tmp_path, ["one", LacliError("broken"), "three", "four"]).code == 1
        again = self.run(scripted, tmp_path, [])
        assert (again.code, "1 of 4 prompts got no reply" in again.err) == (1, True)

    @pytest.mark.parametrize(
        ("prompts", "more"),
        [
            (("a", "B", "c", "d"), ()),
            (("a", "b", "c", "d"), ("-n", "9")),
            (("a", "b", "c", "d"), ("-m", "other")),
            (("a", "b", "c"), ()),
        ],
    )
    def test_the_replies_to_other_prompts_or_options_are_left_alone(
        self, prompts: Sequence[str], more: Sequence[str], scripted: Scripted, tmp_path: Path
    ) -> None:
        self.run(scripted, tmp_path, ["one", "two", "three", "four"])
        whole = (tmp_path / "out.jsonl").read_bytes()
        path = write(tmp_path / "p.jsonl", *prompts)
        result = scripted.run(["ask", "--batch", path, "-o", str(tmp_path / "out.jsonl"), *more], ["x"])
        assert (result.code, "give another -o" in result.err) == (2, True)
        assert (tmp_path / "out.jsonl").read_bytes() == whole

    def test_more_prompts_at_the_end_are_gone_on_with(self, scripted: Scripted, tmp_path: Path) -> None:
        self.run(scripted, tmp_path, ["one", "two", "three", "four"])
        path = write(tmp_path / "p.jsonl", *self.PROMPTS, "e")
        scripted.run(["ask", "--batch", path, "-o", str(tmp_path / "out.jsonl")], ["five"])
        assert self.texts(tmp_path) == ["one", "two", "three", "four", "five"]

    @pytest.mark.parametrize(
        "content", ["my notes\n", "[" * 99_999 + "\n", '{"text": "x"}\n', '{"index": 1, "key": "k"}\n[]\n']
    )
    def test_a_file_that_holds_no_replies_is_left_alone(self, content: str, scripted: Scripted, tmp_path: Path) -> None:
        (tmp_path / "out.jsonl").write_text(content)
        result = self.run(scripted, tmp_path, ["x"])
        assert result.code == 2
        assert (tmp_path / "out.jsonl").read_text() == content

    def test_two_runs_do_not_write_one_file(self, scripted: Scripted, tmp_path: Path) -> None:
        fcntl = pytest.importorskip("fcntl")
        path, out = write(tmp_path / "p.jsonl", "one"), tmp_path / "o.jsonl"
        with open(out, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            result = scripted.run(["ask", "--batch", path, "-o", str(out)])
        assert (result.code, "another lacli is writing" in result.err, out.read_bytes()) == (2, True, b"")
        assert scripted.run(["ask", "--batch", path, "-o", str(out)]).code == 0

    def test_a_run_of_which_nothing_came_leaves_no_file(self, scripted: Scripted, tmp_path: Path) -> None:
        out = tmp_path / "out.jsonl"
        empty, path = tmp_path / "empty", write(tmp_path / "p.jsonl", "a")
        empty.touch()
        assert scripted.run(["ask", "--batch", str(empty), "-o", str(out)]).code == 2
        assert not out.exists()
        assert scripted.run(["ask", "--batch", path, "-o", str(out)], [interrupted()]).code == 130
        assert not out.exists()
        out.touch()
        assert scripted.run(["ask", "--batch", str(empty), "-o", str(out)]).code == 2
        assert out.exists()

    def test_so_is_the_file_of_the_prompts_and_a_folder(self, scripted: Scripted, tmp_path: Path) -> None:
        path = write(tmp_path / "p.jsonl", "a")
        for out in (path, str(tmp_path), str(tmp_path / "none" / "out")):
            assert scripted.run(["ask", "--batch", path, "-o", out]).code == 2
        assert (tmp_path / "p.jsonl").read_text() == '"a"\n'

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_full_disk_is_one_line(self, scripted: Scripted, tmp_path: Path) -> None:
        result = scripted.run(["ask", "--batch", write(tmp_path / "p", "a"), "-o", "/dev/full"], ["x"])
        assert result.code == 4
        assert result.err.startswith("lacli: error: /dev/full cannot be written: No space left on device; repeat ")
        assert result.err.count("\n") == 1


def test_statistics_are_those_of_all_together(scripted: Scripted, tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", "a", "b")
    result = scripted.run(["ask", "--batch", path, "--stats"], ["one two three", "four five"])
    stats = json.loads(result.err)
    assert (stats["replies"], stats["failed"], stats["predicted_n"]) == (2, 0, 5)
    line = scripted.run(["ask", "--batch", path, "-u"], ["one two three", "four five"]).err
    assert line.startswith("2 replies · 5 tokens in ")


def test_a_long_file_is_read_as_it_is_needed(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", *(f"prompt {number}" for number in range(50_000)))
    with PromptFile(path, Common()) as prompts:
        assert [line.index for line in islice(prompts.lines(), 10)] == list(range(10))
        assert prompts._file.tell() < 1000


def test_a_batch_that_an_older_lacli_began_is_gone_on_with(tmp_path: Path) -> None:
    """What requests have gained since is no part of the key by which a reply is found again."""
    said = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    path = write(tmp_path / "p.jsonl", {"messages": said, "temperature": 0.5, "stop": "x"})
    with PromptFile(path, Common(model="m", quant="int8")) as prompts:
        assert [line.key for line in prompts.lines()] == ["cca15e40038dd3b9"]


def test_the_numbers_are_kept_for_the_statistics_of_weeks_and_no_word(scripted: Scripted, tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", "alpha", "beta")
    scripted.run(["ask", "--batch", path], ["one two three", "four five"])
    kept = scripted.run(["stats", "--json"]).out
    assert '"predicted_n": 5' in kept
    assert scripted.run(["sessions", "list"]).out == ""
    scripted.run(["ask", "--batch", path, "--no-log"], ["one two three", "four five"])
    assert scripted.run(["stats", "--json"]).out == kept


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
class TestProcess:
    def test_ctrl_c_keeps_what_was_finished_and_the_same_command_goes_on(
        self, program: Program, tmp_path: Path
    ) -> None:
        path, out = write(tmp_path / "p.jsonl", "a", "b", "c"), tmp_path / "out.jsonl"
        scripts = json.dumps(["one", "two " * 2000, "three"])
        running = subprocess.Popen(
            program.command("ask", "--batch", path, "-o", str(out)),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | {"SCRIPTS": scripts, "PAUSE": "0.02"},
        )
        while not (out.exists() and out.read_text()):
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=20)
        assert running.returncode == 130
        assert err.decode() == f"lacli: stopped; the same command goes on with {out}\n"
        kept = [each["index"] for each in records(out.read_text())]
        assert kept in ([0], [0, 2])
        rest = json.dumps(["two"] if 2 in kept else ["two", "three"])
        assert program.shell(f"lacli ask --batch '{path}' -o '{out}'", SCRIPTS=rest).returncode == 0
        assert [each["text"] for each in records(out.read_text())] == ["one", "two", "three"]

    def test_a_second_run_onto_a_file_is_refused_and_takes_nothing_from_the_first(
        self, program: Program, tmp_path: Path
    ) -> None:
        """The first one has looked at the file and loads its model when the second one comes."""
        pytest.importorskip("fcntl")
        path, out = write(tmp_path / "p.jsonl", "a", "b"), tmp_path / "out.jsonl"
        out.write_text("")
        first = subprocess.Popen(
            program.command("ask", "--batch", path, "-o", str(out)),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=os.environ | {"SCRIPTS": '["first a", "first b"]', "LOADS": "3"},
        )
        assert first.stderr is not None
        assert first.stderr.readline() == b"loads\n"
        second = program.shell(f"lacli ask --batch '{path}' -o '{out}'", SCRIPTS='["second a", "second b"]')
        assert second.returncode == 2
        assert second.stderr.decode() == (
            f"lacli: error: another lacli is writing {out}; wait for it, or give another -o\n"
        )
        first.communicate(timeout=30)
        assert first.returncode == 0
        assert [each["text"] for each in records(out.read_text())] == ["first a", "first b"]

    def test_what_another_run_wrote_while_this_one_started_is_gone_on_with(
        self, program: Program, tmp_path: Path
    ) -> None:
        path, out = write(tmp_path / "p.jsonl", "a", "b", "c"), tmp_path / "out.jsonl"
        scripts = json.dumps(["one", "two", "three"])
        line = f"lacli ask --batch '{path}' -o '{out}'"
        runs = [
            subprocess.Popen(
                program.command("ask", "--batch", path, "-o", str(out)), env=os.environ | {"SCRIPTS": scripts}
            )
            for _ in range(4)
        ]
        codes = {run.wait(timeout=60) for run in runs}
        assert 0 in codes
        assert codes <= {0, 2}
        assert program.shell(line, SCRIPTS="[]").returncode == 0
        assert [each["text"] for each in records(out.read_text())] == ["one", "two", "three"]

    @pytest.mark.slow
    def test_a_reader_that_goes_away_is_141_after_every_reply_was_closed(
        self, program: Program, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "p.jsonl", *"abc")
        scripts = json.dumps(["one", "two " * 500, "three"])
        line = f"lacli ask --batch '{path}' | head -c 9; echo ${{PIPESTATUS[0]}}"
        done = program.shell(line, SCRIPTS=scripts, PAUSE="0.005", SAY_CLOSED="1")
        assert done.stdout.decode() == '{"index":141\n'
        assert done.stderr == b"closed\n" * 3

    @pytest.mark.slow
    def test_the_end_of_the_time_is_6(self, program: Program, tmp_path: Path) -> None:
        path = write(tmp_path / "p.jsonl", *"abc")
        scripts = json.dumps(["one", "two " * 5000, "three"])
        done = program.shell(f"lacli ask --batch '{path}' --timeout 3", SCRIPTS=scripts, PAUSE="0.01")
        assert done.returncode == 6
        assert b"the 3 s of --timeout were over" in done.stderr
