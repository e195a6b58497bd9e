"""Says of a changed file whether it is what was asked for, and whether anything else is lost or changed.

Independent of `lacli.edits`' own checks on purpose: it compares tokens of the syntax tree and runs the changed file.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Literal

from lacli.bench.edits.tasks import Task
from lacli.edits.outline import Outline, outline
from lacli.edits.syntax import is_sound, parsed, text_of, walk

Verdict = Literal["good", "refused", "wrong", "harm"]

_SECONDS = 30
_BESIDE = {
    "signer.py": {
        "encoding.py": (
            "import base64\n_base64_alphabet = b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_='\n"
            "def want_bytes(s, encoding='utf-8', errors='strict'):\n"
            "    return s.encode(encoding, errors) if isinstance(s, str) else s\n"
            "def base64_encode(s):\n    return base64.urlsafe_b64encode(want_bytes(s)).rstrip(b'=')\n"
            "def base64_decode(s):\n    s = want_bytes(s)\n"
            "    return base64.urlsafe_b64decode(s + b'=' * (-len(s) % 4))\n"
        ),
        "exc.py": (
            "class BadSignature(Exception):\n    def __init__(self, message, payload=None):\n"
            "        super().__init__(message)\n        self.payload = payload\n"
        ),
    }
}
"""What a file imports from beside it."""


def verdict(task: Task, after: str) -> Verdict:
    """What became of a task; `after` is the file as it is now. One that is as it was counts as refused."""
    if after == task.text:
        return "refused"
    if not rest_stays(task, after):
        return "harm"
    return "good" if is_asked(task, after) else "wrong"


def rest_stays(task: Task, after: str) -> bool:
    """Whether all that was not to change is there, token for token and in its order, and the file still parses."""
    before = task.text
    if is_sound(before, task.language) and not is_sound(after, task.language):
        return False
    if task.renames:
        return _tokens(task, after, ()) == _renamed(task)
    free = (*task.changes, *task.adds, *task.removes)
    return _tokens(task, before, free) == _tokens(task, after, free)


def is_asked(task: Task, after: str) -> bool:
    """Whether the change asked for is there."""
    found = outline(after, task.language)
    assert found is not None
    labels = Counter(each.label for each in found.definitions)
    had = Counter(each.label for each in (outline(task.text, task.language) or found).definitions)
    if any(labels[name] != had[name] for name in task.changes):
        return False
    if any(labels[name] < 1 for name in task.adds) or any(labels[name] for name in task.removes):
        return False
    places = [_place(after, found, name) for name in task.order]
    if places != sorted(places):
        return False
    for name in task.adds[:1] or task.changes[:1] or ("",):
        text = _text_of(after, found, name)
        if not all(re.search(each, text) for each in task.has) or any(re.search(each, text) for each in task.lacks):
            return False
    return not task.python or _runs(task, after)


def _text_of(text: str, found: Outline, name: str) -> str:
    lines = text.split("\n")
    return "\n".join(
        "\n".join(lines[each.start : each.end]) for each in found.definitions if not name or each.label == name
    )


def _place(text: str, found: Outline, name: str) -> int:
    return next((each.start for each in found.definitions if each.label == name), -1)


def _tokens(task: Task, text: str, free: tuple[str, ...]) -> list[str]:
    """The tokens of a file, comments among them, without the definitions that are free to change."""
    tree, found = parsed(text, task.language), outline(text, task.language)
    assert tree is not None
    assert found is not None
    ranges = [(each.start, each.end) for each in found.definitions if each.label in free]
    kept = []
    for node in walk(tree.root_node):
        row = node.start_point[0]
        if node.child_count and node.type not in ("string", "string_literal", "template_string"):
            continue
        if node.parent is not None and node.parent.type in ("string", "string_literal", "template_string"):
            continue
        if not any(start <= row < end for start, end in ranges):
            kept += text_of(node).split()
    return [token for token in kept if token not in (";", ",")]


def _renamed(task: Task) -> list[str]:
    """The tokens of the file with the name changed wherever it stands as a word."""
    old, new = task.renames
    text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, task.text)
    return _tokens(task, text, ())


def _runs(task: Task, after: str) -> bool:
    """Whether the changed file does what the task says, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "package"
        package.mkdir()
        (package / "__init__.py").touch()
        for name, text in _BESIDE.get(task.file, {}).items():
            (package / name).write_text(text, encoding="utf-8")
        (package / "changed.py").write_text(after, encoding="utf-8")
        program = f"import sys; sys.path.insert(0, {folder!r})\nimport package.changed as m\n{task.python}\n"
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", program], capture_output=True, timeout=_SECONDS, check=False, cwd=folder
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0
