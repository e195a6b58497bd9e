"""What a listing of machine code says of a kernel's loop. No Triton needed: text in, numbers out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_LABEL = re.compile(r"^\s*(\.L_x_\d+):")
_BRANCH = re.compile(r"\bBRA\S*\s.*`\((\.L_x_\d+)\)")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*)")


def instructions(listing: str) -> Counter[str]:
    """How often each instruction, with its modifiers, stands in the whole kernel."""
    return Counter(_names(listing.splitlines()))


def loop(listing: str) -> Counter[str]:
    """The instructions of the longest loop; empty where there is none."""
    lines = listing.splitlines()
    labels = {found[1]: number for number, line in enumerate(lines) if (found := _LABEL.match(line))}
    longest: list[str] = []
    for number, line in enumerate(lines):
        branch = _BRANCH.search(line)
        if branch and labels.get(branch[1], number) < number:
            body = _names(lines[labels[branch[1]] : number + 1])
            longest = max(longest, body, key=len)
    return Counter(longest)


def count(found: Counter[str], *beginnings: str) -> int:
    """Instructions whose name begins with one of these."""
    return sum(times for name, times in found.items() if name.startswith(beginnings))


def wide_loads(found: Counter[str]) -> int:
    """Loads of 16 bytes from global memory: into registers, or past them into shared memory."""
    return sum(times for name, times in found.items() if name.startswith(("LDG.", "LDGSTS.")) and ".128" in name)


def _names(lines: Sequence[str]) -> list[str]:
    return [found[1] for line in lines if (found := _INSTRUCTION.match(line))]
