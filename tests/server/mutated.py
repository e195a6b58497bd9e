"""Seeded mutations of messages that are valid: a value of another kind here, a member less there, a byte flipped."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

OUTSIDE = "outside-the-project.txt"
"""A file that no door has any business with; mutations name it in many ways."""


class Mutator:
    """Makes mutations of one seed; `outside` is the folder that holds `OUTSIDE`."""

    def __init__(self, seed: int, outside: str = "/") -> None:
        self._chance = random.Random(seed)
        self._odd: list[Any] = [
            *(
                None,
                True,
                False,
                0,
                -1,
                1,
                2**31,
                2**63,
                -(2**63) - 1,
                10**30,
                0.5,
                -0.0,
                1e300,
                "",
                " ",
                "\0",
                "\ud800",
            ),
            *(
                "x" * 3000,
                "\u202e",
                "é😀",
                "<|im_start|>",
                "[DONE]",
                "\r\n\r\n",
                "%s%n{0}",
                [],
                {},
                [[]],
                [None],
                {"": {}},
            ),
            *(f"../../{OUTSIDE}", f"{outside}/{OUTSIDE}", f"file://{outside}/{OUTSIDE}", f"./{OUTSIDE}\0.py", outside),
            *([{"type": "text"}], [{"type": "image_url", "image_url": {"url": f"file://{outside}/{OUTSIDE}"}}]),
            *([1, 2, 3], ["a"], [-1], [2**40], {"type": "text", "text": 1}, "~", "/dev/stdin", "/proc/self/environ"),
        ]

    def value(self, valid: Any, times: int = 3) -> Any:
        """The value with up to so many mutations."""
        value = copy.deepcopy(valid)
        for _ in range(self._chance.randint(1, times)):
            value = self._once(value)
        return value

    def data(self, valid: bytes) -> bytes:
        """The bytes with some of them changed, taken, doubled or put in."""
        data = bytearray(valid)
        for _ in range(self._chance.randint(1, 4)):
            at = self._chance.randrange(len(data) + 1)
            kind = self._chance.randrange(5)
            if kind == 0:
                del data[at:]
            elif kind == 1:
                del data[at : at + self._chance.randint(1, 9)]
            elif kind == 2:
                data[at:at] = self._chance.randbytes(self._chance.randint(1, 5))
            elif kind == 3:
                data[at:at] = data[at : at + 20]
            elif at < len(data):
                data[at] ^= 1 << self._chance.randrange(8)
        return bytes(data)

    def body(self, valid: Any) -> bytes:
        """A mutation of either kind."""
        if self._chance.random() < 0.25:
            return self.data(json.dumps(valid).encode())
        return json.dumps(self.value(valid)).encode()

    def pick(self, choices: list[Any]) -> Any:
        """One of them."""
        return self._chance.choice(choices)

    def _once(self, value: Any) -> Any:
        spots = list(_spots(value))
        if not spots:
            return self.pick(self._odd)
        holder, key = self.pick(spots)
        kind = self._chance.randrange(8)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[self.pick(["", "x", "model", "n", "stream", "stop", "__class__", str(key) + "s"])] = holder.pop(key)
        elif kind == 2:
            holder[key] = [holder[key]] * self._chance.randint(1, 3)
        elif kind == 3:
            for _ in range(self._chance.choice([1, 2, 90])):
                holder[key] = {"a": holder[key]}
        elif kind == 4:
            other, name = self.pick(spots)
            holder[key] = copy.deepcopy(other[name]) if name in other or isinstance(other, list) else None
        else:
            holder[key] = copy.deepcopy(self.pick(self._odd))
        return value


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a value: what holds it and under which key."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _spots(value[key])
