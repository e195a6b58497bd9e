"""The members of a JSON body, read by type: null is as good as absent, and what is wrong is named.

Every text that comes out can be encoded, every number is finite. Pure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from lacli.server.http.refusals import Refusal, not_served, wrong

DEPTH = 64
"""Objects and lists in each other."""
_MOST_STOPS = 1024
_MOST_SIGNS = 250_000
"""Commas and brackets of a body, in its texts, too. Nothing else is served while JSON is parsed, and a million small
values take a second."""


class Fields:
    """An object of the body; `where` is its place, for what is said of it."""

    def __init__(self, data: dict[str, Any], where: str = "") -> None:
        self._data = data
        self._where = where

    def at(self, name: str) -> str:
        """The place of a member."""
        return f"{self._where}.{name}" if self._where else name

    def has(self, name: str) -> bool:
        """Whether a member says anything."""
        return self._data.get(name) is not None

    def value(self, name: str) -> Any:
        """The member as it came."""
        return self._data.get(name)

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        value = self._data.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise wrong(self.at(name), "is not a string")
        return whole_text(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        value = self._data.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise wrong(self.at(name), "is neither true nor false")
        return value

    def whole(self, name: str, default: int, least: int = 0, most: int = 2**31 - 1) -> int:
        """A whole number."""
        value = self._data.get(name)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong(self.at(name), "is not a whole number")
        if not least <= value <= most:
            raise wrong(self.at(name), f"is not between {least} and {most}")
        return value

    def number(self, name: str, default: float, least: float = 0.0, most: float = math.inf) -> float:
        """A number."""
        value = self._data.get(name)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise wrong(self.at(name), "is not a number")
        if not least <= value <= most or abs(value) > 1e300:
            raise wrong(self.at(name), f"is not between {least:g} and {most:g}")
        return float(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """A string or a list of strings; empty ones, which say nothing, are left out."""
        value = self._data.get(name)
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | None) or not all(isinstance(each, str) for each in value or ()):
            raise wrong(self.at(name), "is neither a string nor a list of strings")
        found = tuple(dict.fromkeys(whole_text(each) for each in value or () if each))
        if len(found) > _MOST_STOPS:
            raise wrong(self.at(name), f"has more than {_MOST_STOPS} strings")
        return found

    def inner(self, name: str) -> Fields:
        """An object; one without members where there is none."""
        value = self._data.get(name)
        if not isinstance(value, dict | None):
            raise wrong(self.at(name), "is not an object")
        return Fields(value or {}, self.at(name))

    def objects(self, name: str) -> Iterator[Fields]:
        """The objects of a list."""
        value = self._data.get(name)
        if not isinstance(value, list | None):
            raise wrong(self.at(name), "is not a list")
        for index, each in enumerate(value or ()):
            where = f"{self.at(name)}[{index}]"
            if not isinstance(each, dict):
                raise wrong(where, "is not an object")
            yield Fields(each, where)

    def refuse(self, names: Iterable[str]) -> None:
        """Say of the first of these members that asks for something that it is not served."""
        for name in names:
            value = self._data.get(name)
            if value not in (None, False, "", 0) and value != [] and value != {}:
                raise not_served(self.at(name))


def parsed(body: bytes) -> Fields:
    """The object that a body is."""
    if sum(map(body.count, (b",", b"[", b"{"))) > _MOST_SIGNS:
        raise Refusal(400, "the body has too many values for one request")
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not UTF-8") from None
    except RecursionError:
        raise Refusal(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise Refusal(400, f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refusal(400, "the body is not a JSON object")
    if not _is_shallow(value):
        raise Refusal(400, "the body is nested too deeply")
    return Fields(value)


def whole_text(text: str) -> str:
    """Halves of characters can be written in JSON and in nothing else: a question mark for each."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"{number[:40]} is out of range")
    return value
