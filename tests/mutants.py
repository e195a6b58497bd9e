"""Whether the tests notice mistakes: `python -m tests.mutants [PART]` makes each in a copy of the tree, runs the tests
of its room there and says whether they failed. PART: only the mutants whose file has this in its path.

A mutant is one change of a line that a person could make by mistake. Survivors ask for a test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LONGEST_S = 900


@dataclass(frozen=True)
class Mutant:
    """One change, and where to look whether it is noticed."""

    file: str
    old: str
    """Stands once in the file."""
    new: str
    tests: tuple[str, ...]


ENGINE = ("tests/engine",)
POOL = ("tests/pool",)
EDITS = ("tests/edits",)
CHAT = ("tests/chat", "tests/sessions", "tests/cli/chat")
"""Those that are there."""

MUTANTS = (
    Mutant("lacli/engine/stop.py", "if keep >= self._room:", "if keep > self._room:", ENGINE),
    Mutant(
        "lacli/engine/stop.py", "keep, finish = index, Finish.STOP", "keep, finish = index + 1, Finish.STOP", ENGINE
    ),
    Mutant("lacli/engine/stop.py", "self._room -= keep", "self._room -= len(token_ids)", ENGINE),
    Mutant("lacli/engine/accept.py", "if child is None or child not in scored:", "if child is None:", ENGINE),
    Mutant("lacli/engine/tree.py", "given + other - given * other", "given + other", ENGINE),
    Mutant("lacli/engine/tree.py", "if level < depth:", "if level <= depth:", ENGINE),
    Mutant("lacli/engine/sampler.py", "np.where(seen < 0, seen * penalty", "np.where(seen > 0, seen * penalty", ENGINE),
    Mutant("lacli/engine/sampler.py", 'side="right")', 'side="left")', ENGINE),
    Mutant("lacli/engine/window.py", "shift = emitted - 1 if full else emitted", "shift = emitted", ENGINE),
    Mutant("lacli/engine/loop.py", "if stops.room <= 0:", "if stops.room < 0:", ENGINE),
    Mutant(
        "lacli/pool/evict.py", "if size > left or (kept and size > reserved)", "if size > left or size > reserved", POOL
    ),
    Mutant("lacli/pool/evict.py", "holding.used_ms) < GRACE_MS", "holding.used_ms) > GRACE_MS", POOL),
    Mutant("lacli/pool/evict.py", "return max(0, min(self.", "return max(0, max(self.", POOL),
    Mutant("lacli/pool/format.py", "        if after > end:", "        if after >= end:", POOL),
    Mutant("lacli/pool/format.py", "if crc32(view[body:after]) != payload_crc:", "if False:", POOL),
    Mutant("lacli/pool/format.py", ".max()) >= vocab_size", ".max()) > vocab_size", POOL),
    Mutant(
        "lacli/pool/secrets.py",
        "repeated >= max(_LEAST_REPEATS * period",
        "repeated > max(_LEAST_REPEATS * period",
        POOL,
    ),
    Mutant("lacli/pool/store.py", "int(ids.max()) >= self._vocab_size", "int(ids.max()) > self._vocab_size", POOL),
    Mutant("lacli/edits/write/splice.py", "min(hunk.start + index, hunk.end - 1)", "hunk.start + index", EDITS),
    Mutant("lacli/edits/write/splice.py", 'if not content and above == "\\r" and end == "\\n":', "if False:", EDITS),
    Mutant(
        "lacli/edits/write/splice.py", "if index == len(made) - 1 and not last_has_end:", "if not last_has_end:", EDITS
    ),
    Mutant("lacli/edits/tree/hunks.py", "if found and found[-1].end == at else at", "if found else at", EDITS),
    Mutant("lacli/edits/write/choosing.py", "if at == group.end and not line:", "if not line:", EDITS),
    Mutant("lacli/edits/find/find.py", "and len(each.path) == 1", "", EDITS),
    Mutant("lacli/edits/reply/placing.py", "last[:1] in tuple(_CLOSERS) and into.end", "into.end", EDITS),
    Mutant("lacli/chat/conversation.py", "self.pending[:0] = self._waited", "self.pending[:] = self._waited", CHAT),
    Mutant("lacli/chat/conversation.py", "if self._left_out >= len(self._turns):", "if False:", CHAT),
    Mutant("lacli/chat/conversation.py", "if number > before:", "if number >= before:", CHAT),
    Mutant(
        "lacli/chat/conversation.py",
        "before = self._turns[:-1] if self._again",
        "before = self._turns if self._again",
        CHAT,
    ),
    Mutant("lacli/chat/blocks.py", "number >= len(turns)", "number > len(turns)", CHAT),
)


def main(part: str = "") -> int:
    """Try them all; the exit code is the number of survivors. Tests that fail without a change would prove nothing."""
    survivors = 0
    for tests in dict.fromkeys(mutant.tests for mutant in MUTANTS if part in mutant.file):
        if (fate := _fate(tests)) != "survived":
            print(f"{' '.join(tests)} without a change: {fate}", file=sys.stderr)
            return 1
    for mutant in MUTANTS:
        if part in mutant.file:
            fate = _fate(mutant.tests, mutant)
            survivors += fate != "killed"
            print(f"{fate:<9} {mutant.file}: {mutant.old.strip()}  ->  {mutant.new.strip() or '(nothing)'}", flush=True)
    return survivors


def problems() -> Iterator[str]:
    """Mutants whose line is no longer there, or not only once."""
    for mutant in MUTANTS:
        count = (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.old)
        if count != 1:
            yield f"{mutant.file} has {count} times: {mutant.old}"


def _fate(asked: Sequence[str], mutant: Mutant | None = None) -> str:
    """What these tests make of the tree, or of a mutant of it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        unwanted = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info")
        shutil.copytree(ROOT, copy, ignore=unwanted)
        if mutant is not None:
            changed = copy / mutant.file
            changed.write_text(changed.read_text(encoding="utf-8").replace(mutant.old, mutant.new, 1), encoding="utf-8")
        tests = [each for each in asked if (copy / each).exists()]
        options = ["-q", "-x", "-m", "not model and not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *tests],
                cwd=copy,
                env={**os.environ, "PYTHONPATH": str(copy)},
                capture_output=True,
                text=True,
                timeout=_LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "killed"  # it went on for ever, which is noticed too
    if done.returncode not in (0, 1):
        return "no tests"
    return "survived" if done.returncode == 0 else "killed"


if __name__ == "__main__":
    for problem in problems():
        print(f"to be mended: {problem}", file=sys.stderr)
    sys.exit(main(*sys.argv[1:]))
