"""The suite of two days: its tasks are what it says, its means count what they should, its processes learn."""

from __future__ import annotations

import ast
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lacli.bench.sessions import report as sessions_report
from lacli.bench.sessions import run as sessions
from lacli.bench.sessions.run import Played, SessionTask, load_project, load_tasks, play_sessions
from lacli.bench.suites import word_overlap
from lacli.bench.workplace import new_repository
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.project import root as identity
from tests.documented import keys_of, sections

TASKS = load_tasks()


def test_there_are_ten_tasks_a_day_of_every_kind_and_few_regenerations() -> None:
    assert Counter(task.day for task in TASKS) == {1: 10, 2: 10}
    assert {task.kind for task in TASKS} == {"write", "test", "rename", "fix", "document"}
    names = [task.name for task in TASKS]
    for day in (1, 2):
        assert sum(bool(task.again) for task in TASKS if task.day == day) <= 2
    for place, task in enumerate(TASKS):
        assert not task.again or task.again in names[:place]
    assert len(set(names)) == 20


def test_no_prompt_is_asked_twice() -> None:
    asked = [task.prompt for task in TASKS]
    assert len(set(asked)) == 20
    for task in TASKS:
        for other in TASKS:
            if other.day < task.day and not task.again:
                ours, theirs = task.prompt.rsplit("\n\n", 1)[1], other.prompt.rsplit("\n\n", 1)[1]
                assert word_overlap(ours, theirs) < 0.5, (task.name, other.name)


def test_prompts_hold_the_file_they_are_about_in_a_fence_as_a_pipe_gives_it() -> None:
    files = load_project()
    for task in TASKS:
        assert task.prompt.startswith("```stdin\n")
        content = task.prompt.removeprefix("```stdin\n").split("\n```\n\n")[0]
        assert any(content in text for text in files.values()), task.name


def test_the_project_is_a_python_package_that_compiles() -> None:
    files = load_project()
    assert 8 <= len(files) <= 14
    for path, text in files.items():
        if path.endswith(".py"):
            ast.parse(text, path)


def answer(steps: float, reply: tuple[int, ...], prompt: tuple[int, ...] = ()) -> dict[str, Any]:
    return {
        "tokens": len(reply),
        "tokens_per_step": steps,
        "rows_per_step": 8.0,
        "ratio_to_plain": steps / 2,
        "equal_to_plain": True,
        "token_ids": list(reply),
        "prompt_ids": list(prompt),
    }


def task(name: str, day: int, again: str = "") -> SessionTask:
    return SessionTask(name, day, "write", f"prompt of {name}", again)


def test_means_leave_out_regenerations_and_near_twins_and_ratios_go_task_by_task() -> None:
    reply = tuple(range(40))
    played = [
        Played(task("a", 1), "kept", answer(1.0, reply)),
        Played(task("b", 1), "kept", answer(3.0, reply)),
        Played(task("c", 2), "kept", answer(3.0, reply)),
        Played(task("d", 2), "kept", answer(5.0, reply)),
        Played(task("again", 2, again="a"), "kept", answer(30.0, reply)),
        Played(task("twin", 2), "kept", answer(40.0, reply), twin="b"),
        Played(task("c", 2), "empty", answer(1.0, reply)),
        Played(task("d", 2), "empty", answer(5.0, reply)),
        Played(task("c", 2), "unrelated", answer(1.5, reply)),
        Played(task("d", 2), "unrelated", answer(5.0, reply)),
        Played(task("twin", 2), "empty", answer(1.0, reply), twin="b"),
    ]
    means = sessions_report.summary(played)
    assert (means["day_1"], means["day_2"]) == (2.0, 4.0)
    assert means["day_2_against_day_1"] == 2.0
    assert means["day_2_against_empty_pool"] == pytest.approx((3 + 1) / 2)
    assert means["day_2_against_unrelated_pool"] == pytest.approx((2 + 1) / 2)
    assert means["day_2_regenerations"] == 30.0
    assert means["day_2_ratio_to_plain"] == 2.0
    lines = sessions_report.table(played)
    assert any("regenerates a" in line for line in lines)
    assert any("much as b" in line for line in lines)
    record = sessions_report.records(played)[0]
    assert json.loads(json.dumps(record))["task"] == "a"
    assert "token_ids" not in record


def test_a_reply_that_says_again_what_was_said_is_a_twin_unless_its_own_prompt_says_it() -> None:
    said = tuple(range(60))
    before = [Played(task("a", 1), "kept", answer(1.0, said))]
    copied = Played(task("b", 2), "kept", answer(9.0, said, prompt=said))
    repeated = Played(task("c", 2), "kept", answer(9.0, said, prompt=(1, 2, 3)))
    other = Played(task("d", 2), "kept", answer(2.0, tuple(range(100, 160))))
    assert [sessions._with_twin(one, before).twin for one in (copied, repeated, other)] == ["", "a", ""]


def test_days_are_played_in_order_and_only_the_kept_pool_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each process found in its home tells which tasks were learned before it."""
    seen: list[tuple[str, list[str], list[str]]] = []

    def run(words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        home = Path(more["env"]["LACLI_HOME"])
        (home / "state").mkdir(exist_ok=True)
        learned = home / "state" / "learned"
        before = learned.read_text().splitlines() if learned.exists() else []
        prompts = json.loads(more["input"])["prompts"]
        names = [next((one.name for one in TASKS if one.prompt == prompt), "other") for prompt in prompts]
        seen.append((home.name, before, names))
        learned.write_text("\n".join([*before, *names]))
        answers = [answer(2.0, tuple(range(len(seen) * 100, len(seen) * 100 + 40))) for _ in prompts]
        return subprocess.CompletedProcess(words, 0, json.dumps(answers), "")

    monkeypatch.setattr(sessions.subprocess, "run", run)
    played = play_sessions(Settings(), 16, None, 2, lambda text: None)
    days = {day: [one.name for one in TASKS if one.day == day][:2] for day in (1, 2)}
    order = [*days[1], *days[2]]
    kept = [(before, names) for home, before, names in seen if home == "kept"]
    assert kept == [(order[:place], [name]) for place, name in enumerate(order)]
    once = [(before, names) for home, before, names in seen if home == "once"]
    assert once == [(before, [name]) for name in days[2] for before in ([], ["other"] * 10)]
    assert Counter(one.pool for one in played) == {"kept": 4, "empty": 2, "unrelated": 2}


def test_its_repository_is_its_own_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "the users"))
    root = new_repository(tmp_path / "taskq", load_project())
    assert (root / ".git" / "refs" / "heads").is_dir()
    assert identity.first_commit(root) is not None
    assert not (tmp_path / "the users").exists()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LacliError, match="cannot be made"):
        new_repository(tmp_path / "other", load_project())


def test_a_task_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, "", "Traceback\nno such model\n")

    monkeypatch.setattr(sessions.subprocess, "run", run)
    with pytest.raises(LacliError, match="no such model"):
        play_sessions(Settings(), 16, None, 1, lambda text: None)


@pytest.mark.slow
def test_a_process_answers_with_the_real_assistant_and_its_pool_learns(
    sandbox_with_model: Path, tmp_path: Path
) -> None:
    player = sessions._Player(tmp_path, Settings(offline=True), 12, 8)
    home = player.home("kept")
    (first,) = player(home, ["Say hello."])
    record = {"runs": sessions_report.records([Played(TASKS[0], "kept", first)])}
    documented = {key for key in sections()["lacli bench --suite sessions --json"] if key.startswith("runs")}
    assert keys_of(record, documented) == documented
    assert first["equal_to_plain"]
    assert first["tokens"] > 1
    assert list((home / "state" / "pools").rglob("*"))
    assert first["rows_per_step"] <= 8
    (again,) = player(home, ["Say hello."])
    assert again["token_ids"] == first["token_ids"]
    assert again["accepted_by_source"].get("project", 0) > 0
