"""The checks of the suite `edits`: each task knows a right answer, an unchanged file and a harmful one apart."""

from __future__ import annotations

import re

import pytest

from lacli.bench.edits.judge import verdict
from lacli.bench.edits.tasks import Task, tasks
from lacli.edits.outline import outline

TASKS = tasks()


def right(task: Task) -> str:
    """A right answer."""
    text = task.text
    found = outline(text, task.language)
    assert found is not None
    lines = text.split("\n")
    if task.renames:
        return re.sub(rf"(?<!\w){re.escape(task.renames[0])}(?!\w)", task.renames[1], text)
    if task.order:
        first, second = (next(each for each in found.definitions if each.label == name) for name in task.order)
        moved = lines[first.start : first.end]
        rest = lines[: first.start] + lines[first.end :]
        return "\n".join([*rest[: second.start], *moved, "", "", *rest[second.start :]])
    for name in task.removes:
        gone = next(each for each in found.definitions if each.label == name)
        return "\n".join(lines[: gone.start] + lines[gone.end :])
    if task.adds:
        name, new = task.right
        owner = next((each for each in found.definitions if each.label == name.rpartition(".")[0]), None)
        if task.language == "rust":
            owner = next(
                each for each in found.definitions if each.label == "Shlex" and each.signature_end < each.end - 9
            )
        at = len(lines) if owner is None else owner.end - (lines[owner.end - 1].strip() == "}")
        return "\n".join([*lines[:at], "", new.rstrip("\n"), *lines[at:]])
    for old, new in zip(task.right[::2], task.right[1::2], strict=True):
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.number}-{task.file}")
class TestEachTask:
    def test_a_right_answer_is_good(self, task: Task) -> None:
        assert verdict(task, right(task)) == "good"

    def test_the_file_as_it_was_is_not(self, task: Task) -> None:
        assert verdict(task, task.text) == "refused"

    def test_a_lost_definition_is_harm(self, task: Task) -> None:
        text = right(task)
        found = outline(text, task.language)
        assert found is not None
        free = {*task.changes, *task.adds, *task.removes}
        lost = next(
            each
            for each in reversed(found.definitions)
            if each.label not in free
            and not any(label.startswith((each.label + ".", each.label)) for label in free)
            and not any(each.label.startswith(label + ".") for label in free)
        )
        lines = text.split("\n")
        assert verdict(task, "\n".join(lines[: lost.start] + lines[lost.end :])) == "harm"


def test_there_are_forty_in_seven_languages() -> None:
    assert len(TASKS) == 40
    assert {task.language for task in TASKS} == {"python", "javascript", "go", "rust", "c", "toml", "markdown"}
    assert len({task.file for task in TASKS}) == 12
