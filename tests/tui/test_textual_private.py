"""Private parts of Textual are used in one file, so that a new version of it is one file's business."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

from textual.message_pump import MessagePump

import lacli_tui

FOLDER = Path(lacli_tui.__file__).parent
ALLOWED = "textual_private.py"
PUBLIC = {"_exit", "_replace"}
"""Names of the standard library that only look private."""
FILES = sorted(path for path in FOLDER.rglob("*.py") if path.name != ALLOWED)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def own_names(trees: dict[Path, ast.Module]) -> set[str]:
    """Private names that our own classes and modules define."""
    found = set()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            ):
                found.add(node.attr)
    return {name for name in found if is_private(name)}


def test_nothing_private_is_imported_or_reached_into() -> None:
    trees = {path: ast.parse(path.read_text()) for path in FILES}
    own = own_names(trees)
    found = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual"):
                parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                found += [f"{path.name}: import {part}" for part in parts if is_private(part)]
            elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in PUBLIC:
                is_ours = ast.unparse(node.value) in ("self", "super()") and node.attr in own
                found += [] if is_ours else [f"{path.name}:{node.lineno}: .{node.attr}"]
    assert found == []


def test_nothing_private_is_overridden() -> None:
    """Also not by accident: a method of ours with the name of one of Textual's."""
    found = []
    for module in pkgutil.walk_packages(lacli_tui.__path__, "lacli_tui."):
        if module.name.endswith(".textual_private"):
            continue
        for name, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if cls.__module__ != module.name or not issubclass(cls, MessagePump):
                continue
            bases = [base for base in cls.__mro__[1:] if base.__module__.startswith("textual.")]
            for private in filter(is_private, vars(cls)):
                theirs = [base.__name__ for base in bases if private in vars(base)]
                if theirs and not private.startswith(
                    ("_abc_", "_merged_", "_css_", "_computes", "_inherit", "_reactives", "_decorated_handlers")
                ):
                    found.append(f"{module.name}.{name}.{private} is {theirs[0]}'s")
    assert found == []
