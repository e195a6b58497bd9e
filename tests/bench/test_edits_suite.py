"""Each task's check, against a right answer, the unchanged file and answers that do harm. No model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib import resources

import pytest

from lacli.bench.edits.judge import GOOD, HARM, REFUSED, WRONG, Judgement, judge
from lacli.bench.edits.tasks import Task, before, tasks
from lacli.bench.edits.tree import IMPORTS, Unit, parses, units, words

FOLDER = resources.files("lacli.bench") / "suites" / "edits"
ALL = pytest.mark.parametrize("task", tasks(), ids=lambda task: f"{task.number}-{task.kind}-{task.file}")


def joined(found: Sequence[Unit]) -> str:
    return "".join(unit.text + unit.gap for unit in found)


def without_each(text: str, task: Task) -> Iterator[tuple[str, str]]:
    """The text without one definition that the task is not about, for a few of them, with its path."""
    found = units(text, task.language)
    about = {*task.touches, *task.adds, *task.removes, *task.moves, *task.renames.values(), IMPORTS}
    others = [number for number, unit in enumerate(found) if unit.path not in about]
    for number in {others[0], others[len(others) // 2], others[-1]}:
        yield found[number].path, joined([*found[:number], *found[number + 1 :]])


def test_there_are_forty_tasks_on_twelve_files_of_seven_languages_and_ten_kinds() -> None:
    assert len(tasks()) == 40
    assert len({task.file for task in tasks()}) == 12
    assert {task.language for task in tasks()} == {"python", "javascript", "go", "rust", "c", "toml", "markdown"}
    assert len({task.kind for task in tasks()}) == 10


def test_every_file_has_its_source_and_its_licence() -> None:
    sources = tomllib.loads((FOLDER / "SOURCES.toml").read_text(encoding="utf-8"))["source"]
    assert {source["file"] for source in sources} == {task.file for task in tasks()}
    for source in sources:
        assert source["licence"].split(" OR ")[0] in ("MIT", "BSD-3-Clause", "Apache-2.0", "PSF-2.0")
        name = source["file"].split("/")[0]
        assert "Copyright" in (FOLDER / "licences" / f"{name}.txt").read_text(encoding="utf-8")
        assert 40 <= len((FOLDER / "files" / source["file"]).read_text(encoding="utf-8").splitlines()) <= 400


@ALL
def test_a_task_names_what_is_there(task: Task) -> None:
    paths = {unit.path for unit in units(before(task), task.language)}
    assert {*task.touches, *task.removes, *task.moves} <= paths
    assert not paths & set(task.adds)
    assert not task.above or task.above in paths
    assert not task.below or task.below in paths
    touched = "\n".join(unit.text for unit in units(before(task), task.language) if unit.path in task.touches)
    assert all(piece in touched for piece in task.loses)
    assert task.exact or task.run or task.has or task.moves


@ALL
def test_a_right_answer_is_good(task: Task) -> None:
    right = task.right_answer()
    assert right != before(task)
    assert judge(task, right.encode()) == Judgement(GOOD)


@ALL
def test_the_unchanged_file_is_refused_or_wrong(task: Task) -> None:
    unchanged = before(task).encode()
    assert judge(task, unchanged, 1).verdict == REFUSED
    assert judge(task, unchanged, 0).verdict == WRONG


@ALL
def test_a_definition_lost_elsewhere_is_harm_with_and_without_the_asked_change(task: Task) -> None:
    for text in (task.right_answer(), before(task)):
        for path, damaged in without_each(text, task):
            assert judge(task, damaged.encode()).verdict == HARM, path


@ALL
def test_half_a_file_is_harm(task: Task) -> None:
    right = task.right_answer()
    for share in (0.1, 0.5, 0.9):
        lines = right.splitlines(keepends=True)
        cut = "".join(lines[: int(len(lines) * share)])
        assert judge(task, cut.encode()).verdict == HARM, share


@ALL
def test_a_file_written_twice_or_wrapped_in_prose_is_harm(task: Task) -> None:
    right = task.right_answer()
    for text in (right + "\n" + right, f"Here is the changed file:\n\n```\n{right}```\n"):
        assert judge(task, text.encode()).verdict == HARM


@ALL
def test_two_units_that_change_places_are_harm(task: Task) -> None:
    found = units(task.right_answer(), task.language)
    about = {*task.touches, *task.adds, *task.removes, *task.moves, IMPORTS}
    pairs = [
        number
        for number in range(len(found) - 1)
        if not {found[number].path, found[number + 1].path} & about and found[number].text != found[number + 1].text
    ]
    number = pairs[-1]
    one, two = found[number : number + 2]
    swapped = [*found[:number], Unit("", two.text, one.gap), Unit("", one.text, two.gap), *found[number + 2 :]]
    assert judge(task, joined(swapped).encode()).verdict == HARM


@ALL
def test_what_a_touched_unit_loses_unasked_is_harm(task: Task) -> None:
    """Its last comment or its last statement, whichever comes last: a line that may not go."""
    loses = " ".join(task.loses)
    for unit in units(task.right_answer(), task.language):
        lines = unit.text.split("\n")
        free = [
            number
            for number, line in enumerate(lines)
            if unit.path in task.touches and len(words(line)) > 3 and number
            if line.strip() not in loses and not any(piece in line for piece in task.loses)
            if line in before(task)
        ]
        if free:
            short = "\n".join(lines[: free[-1]] + lines[free[-1] + 1 :])
            damaged = task.right_answer().replace(unit.text, short)
            assert judge(task, damaged.encode()).verdict == HARM, lines[free[-1]]


def task_of(words_of_it: str) -> Task:
    (found,) = [task for task in tasks() if words_of_it in task.instruction]
    return found


def edited(task: Task, old: str, new: str) -> bytes:
    right = task.right_answer()
    assert old in right
    return right.replace(old, new).encode()


def test_white_space_that_changes_elsewhere_is_harm() -> None:
    task = task_of("default of base in expo")
    damaged = edited(task, "\n\n\ndef constant(", "\n\ndef constant(")
    assert judge(task, damaged).why.startswith("white space below 'fibo'")
    assert judge(task, task.right_answer().rstrip("\n").encode()).verdict == HARM
    assert judge(task, edited(task, "    a = 1\n", "  a = 1\n")).verdict == HARM


def test_other_line_ends_are_harm() -> None:
    task = task_of("SetLimit should take 0")
    assert judge(task, edited(task, "\n", "\r\n")).verdict == HARM


def test_a_wrong_change_at_the_right_place_is_wrong() -> None:
    task = task_of("default of base in expo")
    assert judge(task, edited(task, "base: float = 3", "base: float = 4")).verdict == WRONG
    task = task_of("128 entries")
    assert judge(task, edited(task, "capacity=128", "capacity=64")).verdict == WRONG
    task = task_of("is_required()")
    assert judge(task, edited(task, "return self.default is None", "return True")).verdict == WRONG


def test_a_definition_at_the_wrong_place_is_wrong_and_a_name_defined_anew_is_harm() -> None:
    task = task_of("Add a method peek(key")
    assert judge(task, (before(task) + "\n\ndef peek(key, default=None):\n    pass\n").encode()).verdict == WRONG
    assert judge(task, (task.right_answer() + "\n\ndef freeze(obj):\n    return obj\n").encode()).verdict == HARM
    assert judge(task, (task.right_answer() + "\n\nprint(LRUCache())\n").encode()).verdict == HARM


def test_a_rename_half_made_is_wrong() -> None:
    task = task_of("Rename the class Node")
    assert judge(task, edited(task, "new Entry(", "new Node(")).verdict == WRONG
    comment = edited(task, "an instance of `Node`", "an instance of `Entry`")
    assert judge(task, comment).verdict == GOOD
    assert judge(task, edited(task, "Node.js 18", "Entry.js 18")).verdict == HARM


def test_an_import_may_be_added_and_none_lost() -> None:
    task = task_of("Add a method peek(key")
    assert judge(task, edited(task, "TYPE_CHECKING\n", "TYPE_CHECKING, Any\n")).verdict == GOOD
    assert (
        judge(task, edited(task, "from collections import", "import typing\nfrom collections import")).verdict == GOOD
    )
    assert judge(task, edited(task, "from collections.abc import Iterator\n", "")).verdict == HARM


def test_units_joined_are_the_file() -> None:
    for task in tasks():
        text = before(task)
        assert parses(text, task.language)
        assert joined(units(text, task.language)) == text.lstrip("\n")


def test_a_python_module_that_runs_for_ever_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacli.bench.edits.judge._RUN_S", 0.5)
    task = task_of("is_required()")
    endless = edited(task, "return self.default is None", "while True: pass")
    assert re.search("for ever", judge(task, endless).why)


@pytest.mark.parametrize(
    ("asked", "old", "new"),
    [
        ("hi_calloc return NULL", "if (size == 0)\n        return NULL;", "if(!size) {\n        return NULL;\n    }"),
        ("enqueue throw", "if (value === undefined) {", "if (typeof value === 'undefined') {"),
        ("toArray()", "return [...this];", "return Array.from(this);"),
        (
            "returns cap(g.sem)",
            "if g.sem == nil {\n\t\treturn -1\n\t}\n\treturn cap(g.sem)",
            "if g.sem != nil {\n\t\treturn cap(g.sem)\n\t}\n\treturn -1",
        ),
        ("SetLimit should take 0", "if n <= 0 {", "if n < 1 {"),
        ("SetLimit should take 0", "// A negative value indicates", "// Zero or a negative value indicates"),
        ("eb (1024", "(kb|mb|gb|tb|pb|eb)", "(kb|mb|gb|eb|tb|pb)"),
        (
            "impl of From<Duration>",
            "fn from(dur: Duration) -> StdDuration { dur.0 }",
            "fn from(value: Duration) -> Self {\n        value.0\n    }",
        ),
        ("Derive Default", "Hash, Clone, Copy, Default)", "Default, Hash, Clone, Copy)"),
        ("docs with mkdocs", 'docs = [\n    "mkdocs==1.6.1",\n]', 'docs = ["mkdocs==1.6.1"]'),
        ("128 entries", "capacity=128", "capacity: Optional[int] = 128"),
    ],
)
def test_other_right_answers_are_good_too(asked: str, old: str, new: str) -> None:
    task = task_of(asked)
    assert judge(task, edited(task, old, new)) == Judgement(GOOD)
