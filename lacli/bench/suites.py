"""The prompts of the bench, read from `suites/` inside the package. Text only; knows no model.

Called by `runner`, `exact`, `reference` and `lacli bench`.
"""

from __future__ import annotations

import sysconfig
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from lacli.errors import UsageError

SUITES = ("code", "edit", "edit-ref", "prose")
LONG = "long"
"""Prompts of some 8,000 tokens: not among "all", as reading one takes minutes on a CPU."""
_NOT_LIBRARY = {"test", "tests", "site-packages", "dist-packages", "idlelib", "lib2to3"}


@dataclass(frozen=True, slots=True)
class Case:
    """One prompt."""

    name: str
    """Unique within its suite."""
    suite: str
    """code, edit, edit-ref, prose or long"""
    prompt: str
    """What the user says; goes through the model's chat template."""
    reply: str = ""
    """The reply the model is made to give (edit-ref); "" where it answers by itself."""
    filled: int = 0
    """Tokens the prompt is filled up to with source text in front, as far as the context goes."""


def load_suites(name: str, limit: int | None = None) -> tuple[Case, ...]:
    """The cases of a suite, or of all; at most `limit` of each."""
    if name != "all" and name not in (*SUITES, LONG):
        known = ", ".join((*SUITES, LONG, "sessions", "all"))
        raise UsageError(f"there is no suite {name!r}", f"choose one of {known}")
    names = SUITES if name == "all" else (name,)
    return tuple(case for suite in names for case in _load(suite)[:limit])


def python_sources() -> str:
    """A fixed text of Python source, for perplexity: the files of edit-ref after their edits."""
    pairs = [tomllib.loads(text) for text in _pairs()]
    return "\n\n".join(pair["after"] for pair in pairs if pair["language"] == "python")


def library_sources() -> Iterator[str]:
    """The files of Python's standard library: a lot of text that has nothing to do with any prompt."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if not _NOT_LIBRARY & set(path.relative_to(root).parts):
            yield path.read_text(encoding="utf-8", errors="replace")


def word_overlap(left: str, right: str, size: int = 3) -> float:
    """Share of the runs of `size` words that two texts have in common (Jaccard); 1 for equal texts."""
    ours, theirs = runs(left.lower().split(), size), runs(right.lower().split(), size)
    return len(ours & theirs) / max(1, len(ours | theirs))


def shared_runs(left: Sequence[int], right: Sequence[int], size: int) -> float:
    """Share of the runs of `size` tokens of the shorter text that the other has, too."""
    ours, theirs = runs(left, size), runs(right, size)
    return len(ours & theirs) / max(1, min(len(ours), len(theirs)))


def runs(words: Sequence[Any], size: int) -> set[tuple[Any, ...]]:
    """All runs of `size` words or tokens; of a shorter text the whole."""
    return {tuple(words[start : start + size]) for start in range(max(1, len(words) - size + 1))}


def _load(suite: str) -> list[Case]:
    if suite == "edit-ref":
        return [_pair(tomllib.loads(text)) for text in _pairs()]
    folder = resources.files("lacli.bench") / "suites"
    table = tomllib.loads((folder / f"{suite}.toml").read_text(encoding="utf-8"))
    return [Case(entry["name"], suite, entry["text"], filled=entry.get("filled", 0)) for entry in table["prompt"]]


def _pairs() -> list[str]:
    folder = resources.files("lacli.bench") / "suites" / "edit_ref"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return [file.read_text(encoding="utf-8") for file in files]


def _pair(entry: dict[str, str]) -> Case:
    fence = f"```{entry['language']}\n"
    prompt = f"{entry['instruction']}\n{fence}{entry['before']}```"
    return Case(entry["name"], "edit-ref", prompt, f"{fence}{entry['after']}```")
