"""The runner of the suite `edits`, with scripted replies in place of a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lacli.assistant import assistant
from lacli.assistant.scripted import ScriptedAssistant
from lacli.bench.edits import __main__ as command
from lacli.bench.edits.report import lines
from lacli.bench.edits.run import Run, attempt
from lacli.bench.edits.tasks import Task, before, tasks
from lacli.bench.edits.ways import edit_with, plain_with
from lacli.errors import LacliError, PromptTooLong

TASK = tasks()[4]


def block(text: str) -> str:
    return f"Here it is:\n\n```python\n{text}```\n"


RIGHT = block(TASK.right_answer())
HALF = block("".join(before(TASK).splitlines(keepends=True)[:40]))


def done(way: str, *replies: str | LacliError, task: Task = TASK) -> Run:
    return attempt(task, way, lambda folder: ScriptedAssistant(replies * 3))  # which asks again


@pytest.mark.parametrize("way", ["lacli", "plain"])
def test_a_right_reply_is_good_either_way(way: str) -> None:
    run = done(way, RIGHT)
    assert (run.verdict, run.code, run.tries, run.why) == ("good", 0, 1, "")
    assert run.tokens > 100
    assert run.tokens_per_step is not None
    assert "+    base: float = 3,\n" in run.diff


def test_half_a_file_is_refused_by_lacli_and_harm_where_nobody_looks() -> None:
    refused, harm = done("lacli", HALF), done("plain", HALF)
    assert (refused.verdict, refused.diff) == ("refused", "")
    assert refused.why
    assert (harm.verdict, harm.code) == ("harm", 0)


def test_a_reply_without_a_block_leaves_the_file() -> None:
    assert done("lacli", "I would rather not.").verdict == "refused"
    assert done("plain", "I would rather not.").verdict == "refused"


def test_the_likest_of_two_blocks_is_taken() -> None:
    assert done("plain", block("expo(base=3)\n") + RIGHT).verdict == "good"


@pytest.mark.parametrize("way", ["lacli", "plain"])
def test_a_file_that_does_not_fit_is_refused(way: str) -> None:
    run = done(way, PromptTooLong("too long"))
    assert (run.verdict, run.code, run.why, run.tokens) == ("refused", 5, "too long", 0)


def test_the_plain_way_asks_for_the_whole_file_with_the_file_attached(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    scripted = ScriptedAssistant([block("a = 2\n")])
    plain_with(scripted, path, "Make a 2.")
    (message,) = scripted.requests[0].messages
    assert message.text == "Make a 2.\n\nReturn the whole file with this change in one code block."
    assert [(each.label, each.text) for each in message.attachments] == [("a.py", "a = 1\n")]
    assert path.read_text() == "a = 2\n"


def test_the_reply_may_take_what_the_context_has_room_for(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a\n" * 1000)
    scripted = ScriptedAssistant(["nothing"] * 3)
    edit_with(scripted, path, "Shorten it.")
    assert 1000 < scripted.requests[0].max_tokens < 2048 - 1000


class Scripts:
    """Assistants of the command: each answers the one question with the next reply, or ends the run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, replies: Sequence[Any]) -> None:
        self.settings: list[Any] = []
        left = iter(replies)

        def make(settings: Any) -> ScriptedAssistant:
            self.settings.append(settings)
            reply = next(left)
            if isinstance(reply, BaseException):
                raise reply
            return ScriptedAssistant([reply] * 3)

        monkeypatch.setattr(assistant, "Assistant", make)
        monkeypatch.setattr(command, "machine", lambda: {"cpu": "a processor"})
        monkeypatch.setattr(command, "machine_line", lambda facts: str(facts["cpu"]))


def test_the_command_takes_turns_and_prints_a_line_a_task_and_the_tables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = Scripts(monkeypatch, [HALF, RIGHT, RIGHT, HALF])
    assert command.main(["--only", "5,6"]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[:3] for line in printed.splitlines()[:4]] == [
        ["5", "plain", "harm"],
        ["5", "lacli", "good"],
        ["6", "lacli", "refused"],  # the right answer of another task: what was to be added is not there
        ["6", "plain", "harm"],
    ]
    assert "| lacli | 2 | 1 | 1 | 0 | 0 | 2.00 |" in printed
    assert "| default | 1 / 0 / 0 / 0 | 0 / 0 / 0 / 1 |" in printed
    assert "a processor" in printed
    assert all(not settings.pool and settings.folder is not None for settings in scripts.settings)
    assert len({settings.folder for settings in scripts.settings}) == 4


def test_a_run_that_was_cut_off_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "edits.json"
    Scripts(monkeypatch, [RIGHT, KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        command.main(["--only", "5", "--out", str(out)])
    assert [run["way"] for run in json.loads(out.read_text())["runs"]] == ["plain"]
    scripts = Scripts(monkeypatch, [HALF])
    assert command.main(["--only", "5", "--out", str(out)]) == 0
    document = json.loads(out.read_text())
    assert [(run["way"], run["verdict"]) for run in document["runs"]] == [("plain", "good"), ("lacli", "refused")]
    assert document["machine"] == {"cpu": "a processor"}
    assert len(scripts.settings) == 1
    assert "| plain | 1 | 1 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "5,41"], "there is no task '41': give numbers from 1 to 40"),
        (["--ways", "lacli,magic"], "there is no way 'magic': choose of lacli, plain"),
        (["--out", "no/such/folder.json"], "cannot be written"),
        (["--out", "results.json"], "of the model other, not smollm2-135m"),
        (["--out", "notes.json"], "holds no results of this suite"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_work(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results.json").write_text('{"suite": "edits", "model": "other", "runs": []}')
    Path("notes.json").write_text("[]")
    Scripts(monkeypatch, [])
    assert command.main(arguments) == 2
    assert said in capsys.readouterr().err


def test_medians_are_compared_task_by_task() -> None:
    def run(task: int, way: str, seconds: float) -> Run:
        return Run(task, "a.py", "add", "python", way, "good", "", 0, 1, seconds, 10, 2.0, "")

    pairs = [
        run(1, "lacli", 1.0),
        run(1, "plain", 2.0),
        run(2, "lacli", 9.0),
        run(2, "plain", 10.0),
        run(3, "lacli", 5),
    ]
    assert "Seconds of lacli by plain's, median over 2 tasks: 0.70" in lines(pairs)
    assert lines([]) == ["no task was done"]
