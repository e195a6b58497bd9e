"""What an edit made of a file, in one word: good, refused, wrong or harm.

- good: what was asked for is there, and everything else is as it was.
- refused: the command failed, and the file is untouched.
- wrong: what was asked for is not there, or not right (as where nothing changed), but nothing else is lost or changed.
- harm: something else is lost or changed, or the file no longer parses.

Definitions, statements, keys and sections outside the task are compared byte for byte, in their order; those that the
task is about may gain words, and lose those that it names. Python is run.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lacli.bench.edits.tasks import Task
from lacli.bench.edits.tasks import before as text_before
from lacli.bench.edits.tree import IMPORTS, Unit, parses, units, words

GOOD, REFUSED, WRONG, HARM = VERDICTS = ("good", "refused", "wrong", "harm")
_RUN_S = 20
_RUNNER = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("m", sys.argv[1])
m = importlib.util.module_from_spec(spec)
sys.modules["m"] = m
spec.loader.exec_module(m)
exec(sys.stdin.read())
"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict and what it rests on."""

    verdict: str
    why: str = ""
    """The first thing found; empty where all is good."""


def judge(task: Task, data: bytes, code: int = 0) -> Judgement:
    """data: the file after the edit. code: what the command ended with."""
    before = text_before(task)
    if data == before.encode():
        return Judgement(REFUSED if code else WRONG, "" if code else "nothing changed")
    try:
        after = data.decode()
    except UnicodeDecodeError:
        return Judgement(HARM, "no longer UTF-8")
    if not _sound(after, task.language):
        return Judgement(HARM, "does not parse")
    old = units(before, task.language)
    new = [_as_before(unit, task) for unit in units(after, task.language)]
    damage = _damage(task, old, new)
    if damage:
        return Judgement(HARM, damage)
    missing = _missing(task, old, new, after)
    return Judgement(WRONG, missing) if missing else Judgement(GOOD)


def _sound(text: str, language: str) -> bool:
    if language == "python":
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return parses(text, language)


def _as_before(unit: Unit, task: Task) -> Unit:
    """The same unit under the name it had."""
    old_names = {new: old for old, new in task.renames.items()}
    path = ".".join(old_names.get(name, name) for name in unit.path.split("."))
    return Unit(path, unit.text, unit.gap)


def _damage(task: Task, old: Sequence[Unit], new: Sequence[Unit]) -> str:
    """What is lost or changed that was not asked for; empty where nothing is."""
    moving = {*task.touches, *task.removes, *task.moves, IMPORTS}
    kept = [unit for unit in old if unit.path not in moving]
    rest = [unit for unit in new if unit.path not in moving]
    place, extra = 0, []
    for unit in rest:
        if place < len(kept) and (unit.path, unit.text) == (kept[place].path, kept[place].text):
            place += 1
        else:
            extra.append(unit)
    if place < len(kept):
        return f"lost or changed: {_name(kept[place])}"
    known = {unit.path for unit in old}
    unasked = next((unit for unit in extra if unit.path in known or not unit.path), None)
    if unasked is not None:
        return f"new: {_name(unasked)}"
    for path in (*task.touches, IMPORTS):
        lost = _lost(_joined(old, path), _joined(new, path), task.loses if path != IMPORTS else ())
        if lost:
            return f"lost in {path}: {lost}"
    for path in task.moves:
        if _joined(old, path) != _joined(new, path):
            return f"lost or changed: {path}"
    return _spacing(kept, old, new)


def _spacing(kept: Sequence[Unit], old: Sequence[Unit], new: Sequence[Unit]) -> str:
    """White space that changed between two units that both stayed, or at the end of the file."""
    staying = {(unit.path, unit.text) for unit in kept}

    def gaps(found: Sequence[Unit]) -> dict[tuple[str, str, str, str], str]:
        pairs = zip(found, [*found[1:], None], strict=True)
        return {
            (one.path, one.text, *((two.path, two.text) if two else ("", ""))): one.gap
            for one, two in pairs
            if (one.path, one.text) in staying and (two is None or (two.path, two.text) in staying)
        }

    after = gaps(new)
    changed = next((key for key, gap in gaps(old).items() if after.get(key, gap) != gap), None)
    return f"white space below {changed[0] or changed[1]!r}" if changed is not None else ""


def _lost(old: str, new: str, loses: Sequence[str]) -> str:
    """The first word of the old text, in order, that the new one lacks; leaving out what may go."""
    for piece in loses:
        old = re.sub(rf"\b{piece}\b", " ", old) if re.fullmatch(r"\w+", piece) else old.replace(piece, " ")
    there = iter(words(new))
    return next((word for word in words(old) if not any(word == other for other in there)), "")


def _joined(found: Sequence[Unit], path: str) -> str:
    return "\n".join(unit.text for unit in found if unit.path == path)


def _name(unit: Unit) -> str:
    return unit.path or unit.text.strip().split("\n")[0]


def _missing(task: Task, old: Sequence[Unit], new: Sequence[Unit], after: str) -> str:
    """What was asked for and is not there, or is not right; empty where all is."""
    paths, known = [unit.path for unit in new], {unit.path for unit in old}
    for path in task.adds:
        if paths.count(path) != 1:
            return f"{path} is there {paths.count(path)} times"
    unasked = next((path for path in paths if path not in known and path not in task.adds), None)
    if unasked is not None:
        return f"nobody asked for {unasked}"
    still = next((path for path in task.removes if path in paths), None)
    if still is not None:
        return f"{still} is still there"
    for path in (*task.moves, *task.adds) if task.above or task.below else ():
        place = paths.index(path)
        if task.above and paths[place + 1 : place + 2] != [task.above]:
            return f"{path} is not above {task.above}"
        if task.below and (place == 0 or paths[place - 1] != task.below):
            return f"{path} is not below {task.below}"
    for path, pattern in task.has:
        if not re.search(pattern, _joined(new, path)):
            return f"{path} lacks {pattern}"
    for path, pattern in task.lacks:
        if re.search(pattern, _joined(new, path)):
            return f"{path} has {pattern}"
    if task.exact and not _same(task, after):
        return "not the change that was asked for"
    return _failure(task, after) if task.run else ""


def _same(task: Task, after: str) -> bool:
    """Whether both texts have the same words (and, in Python, the same meaning) outside what is free."""
    right = task.right_answer()
    if task.language == "python" and ast.dump(ast.parse(after)) != ast.dump(ast.parse(right)):
        return False
    for pattern in task.free:
        after, right = re.sub(pattern, " ", after), re.sub(pattern, " ", right)
    return words(after) == words(right)


def _failure(task: Task, after: str) -> str:
    """How the changed module fails, in a process of its own and an empty folder; empty where it does not."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.py"
        file.write_text(after, encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", _RUNNER, str(file)],
                input=task.run,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_RUN_S,
            )
        except subprocess.TimeoutExpired:
            return "it runs for ever"
    return (done.stderr.strip().splitlines() or ["it fails"])[-1] if done.returncode else ""
