"""Writes lacli/pool/secret_letters.py. Run by hand: `python -m tests.pool.count_letters`, when the counts change.

Every second top-level module or package of the standard library and of site-packages is counted, the others are left
for trying the limits on.
"""

from __future__ import annotations

import base64
import random
import re
import sysconfig
import textwrap
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

import lacli.pool.secret_letters

_RUN = re.compile(r"[A-Za-z0-9_+/=-]+")
_EDGES = (2.0, 3.3, 5.0)
"""Nats between the four levels of letters."""
_ROWS = ("abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "asdfghjkl", "zxcvbnm")


def counted_files(which: int) -> list[Path]:
    """The half that is counted (1), or the other one (0)."""
    standard, packages = Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))
    groups: dict[str, list[Path]] = {}
    for root, letter in ((standard, "t"), (packages, "s")):
        for file in sorted(root.rglob("*.py")):
            if root != standard or "site-packages" not in file.parts:
                groups.setdefault(letter + file.relative_to(root).parts[0], []).append(file)
    names = sorted(groups)
    random.Random(1).shuffle(names)
    rng = random.Random(2)
    chosen = [groups[name] for index, name in enumerate(names) if index % 2 == which]
    return [file for files in chosen for file in rng.sample(files, min(len(files), 250))]


def _words(files: list[Path]) -> Counter[str]:
    """Words, with the number of files each is in, at most twenty; digests are none."""
    seen: Counter[str] = Counter()
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if len(text) <= 300_000:
            seen.update({word for word in _RUN.findall(text) if len(word) < 60})
    digest = re.compile(r"[0-9a-fA-F]{20,}")
    return Counter({word: min(count, 20) for word, count in seen.items() if not digest.fullmatch(word)})


def _code(character: str) -> tuple[int, int]:
    """Class and letter."""
    if character.isdigit():
        return 2, 0
    if character.isalpha():
        return (3 if character.islower() else 4), ord(character.lower()) - 96
    return 1, 0


def count(words: Counter[str]) -> tuple[np.ndarray, np.ndarray]:
    """How often each three letters and each three classes come; contexts as `secret_random` has them."""
    letters, classes = np.zeros((27, 27, 27)), np.zeros((5, 5, 5))
    for word, weight in words.items():
        earlier = before = (0, 0)
        for own in map(_code, word):
            classes[earlier[0], before[0], own[0]] += weight
            if own[0] >= 3:
                fresh = before[0] < 3 or (before[0], own[0]) == (3, 4)
                short = fresh or earlier[0] < 3 or (earlier[0], before[0]) == (3, 4) or (before[0], own[0]) == (4, 3)
                letters[0 if short else earlier[1], 0 if fresh else before[1], own[1]] += weight
            earlier, before = before, own
    return letters, classes


def letter_levels(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The level of each three letters and the cost of each level in nats."""
    pairs = counts.sum(0)
    single = pairs.sum(0)
    chance = (single + 1) / (single[1:].sum() + 26)
    chance = (pairs + 20 * chance) / (pairs[:, 1:].sum(1, keepdims=True) + 20)
    chance = (counts + 30 * chance[None]) / (counts[:, :, 1:].sum(2, keepdims=True) + 30)
    cost = -np.log(chance)
    for row in _ROWS:
        codes = [ord(letter) - 96 for letter in row]
        for place in range(len(codes)):
            three = (0, 0, *codes[: place + 1])[-3:]
            cost[three] = min(cost[three], 1.6)
    for letter in range(1, 27):
        cost[letter, letter, letter] = 1.0
    levels, used = np.digitize(cost, _EDGES)[:, :, 1:], counts[:, :, 1:]
    cost = cost[:, :, 1:]
    means = [
        (np.average(cost[levels == level]) + np.average(cost[levels == level], weights=used[levels == level] + 1e-3))
        / 2
        for level in range(len(_EDGES) + 1)
    ]
    return levels, np.array(means)


def shape_costs(counts: np.ndarray) -> np.ndarray:
    """The cost of each class after two others, in quarters of a nat."""
    single = counts.sum(0)[:, 1:]
    chance = (single + 1) / (single.sum(1, keepdims=True) + 4)
    chance = (counts[:, :, 1:] + 200 * chance[None]) / (counts[:, :, 1:].sum(2, keepdims=True) + 200)
    costs = np.zeros((5, 5, 5))
    costs[:, :, 1:] = np.clip(np.round(-np.log(chance) * 4), 0, 24)
    return costs.astype(int)


def main() -> None:
    """Replace the three constants of the module, and nothing else of it."""
    letters, classes = count(_words(counted_files(1)))
    levels, means = letter_levels(letters)
    flat = levels.reshape(-1).astype(np.uint8)
    four = np.concatenate([flat, np.zeros(-len(flat) % 4, np.uint8)]).reshape(-1, 4)
    packed = (four << np.array([0, 2, 4, 6], np.uint8)).sum(1).astype(np.uint8).tobytes()
    constants = {
        "LETTERS": base64.b85encode(zlib.compress(packed, 9)).decode(),
        "SHAPES": "".join(chr(ord("A") + cost) for cost in shape_costs(classes).reshape(-1)),
    }
    path = Path(lacli.pool.secret_letters.__file__)
    text = path.read_text(encoding="utf-8")
    for name, value in constants.items():
        lines = "".join(f'    "{line}"\n' for line in textwrap.wrap(value, 112, break_on_hyphens=False))
        text = re.sub(rf"(?s)(?<=\n){name} = \(\n.*?\n\)\n", lambda _, n=name, body=lines: f"{n} = (\n{body})\n", text)
    levels_text = ", ".join(str(round(mean * 16)) for mean in means)
    path.write_text(re.sub(r"LEVELS = \(.*\)", f"LEVELS = ({levels_text})", text), encoding="utf-8")


if __name__ == "__main__":
    main()
