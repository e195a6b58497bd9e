"""What a run keeps is in one object, `lacli.cli.run.Run`: no other module of the command line has state of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CLI = Path(__file__).resolve().parents[2] / "lacli" / "cli"
_CONTAINERS = ("dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict")


def state_of(tree: ast.Module) -> Iterator[str]:
    """Variables that outlive a call: empty containers, objects of a class of the same file, attributes of classes."""
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        empty = isinstance(value, ast.List | ast.Dict) and not ast.unparse(value).strip("[]{}")
        made = isinstance(value, ast.Call) and ast.unparse(value.func) in (*_CONTAINERS, *classes)
        if empty or made:
            yield ast.unparse(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield ast.unparse(node)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in ast.walk(node.targets[0] if isinstance(node, ast.Assign) else node.target):
                if isinstance(target, ast.Attribute) and _is_class(target.value):
                    yield ast.unparse(node)


def _is_class(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.lstrip("_")[:1].isupper() and node.id != "Run"


@pytest.mark.parametrize("file", sorted(CLI.rglob("*.py")), ids=lambda file: str(file.relative_to(CLI)))
def test_no_other_module_has_state(file: Path) -> None:
    found = list(state_of(ast.parse(file.read_text(encoding="utf-8"))))
    assert found == (["Run.current = Run()"] if file == CLI / "run.py" else [])


@pytest.mark.parametrize(
    "code",
    [
        "seen = {}",
        "seen: list[str] = []",
        "class _State:\n    number = 0\n_state = _State()",
        "class _Pending:\n    number = None\ndef keep():\n    _Pending.number = 1",
        "count = 0\ndef add():\n    global count\n    count += 1",
    ],
)
def test_state_would_be_found(code: str) -> None:
    assert list(state_of(ast.parse(code)))
