"""Frozen dataclasses as JSON objects and back, for `protocol`: which member has which type says the class itself.

A member that is missing has its default, one that is unknown is passed over. In a union of dataclasses the member
`type` tells which it is: the name of its class, or what the class says as `TAG`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lacli.events import Finished, Loading, Notice, Piece, Prefill

_Message = TypeVar("_Message")


def to_json(message: object) -> dict[str, Any]:
    """A dataclass of `events`, `config` or `protocol` as a JSON object."""
    if not dataclasses.is_dataclass(message):
        raise TypeError(f"{type(message).__name__} is not a dataclass")
    kind: Any = type(message)
    return {name: _json_value(getattr(message, name)) for name in _field_names(kind)}


def from_json(kind: type[_Message], value: object) -> _Message:
    """The dataclass that `to_json` was given. Raises ValueError naming the wrong member."""
    hint: Any = kind
    return typing.cast(_Message, reader(hint)(value, ""))


def _tag(kind: type) -> str:
    return getattr(kind, "TAG", "") or kind.__name__.lower()


def tagged(message: object) -> dict[str, Any]:
    """The same with its `type`."""
    return {"type": _tag(type(message)), **to_json(message)}


def _json_value(value: Any) -> Any:
    kind = type(value)
    if kind in _JSON_TYPES:
        return value
    if kind is float:
        return value if math.isfinite(value) else _NOT_FINITE[str(value)]
    if kind is tuple:
        return [_json_value(each) for each in value]
    if kind is dict:
        return {str(key): _json_value(each) for key, each in value.items()}
    for base in (str, int, float):  # subclasses of them, as NumPy's numbers
        if isinstance(value, base):
            return _json_value(base(value))
    if isinstance(value, Path):
        return str(value)
    return tagged(value) if kind in _EVENTS else to_json(value)


_JSON_TYPES = frozenset((str, int, bool, type(None)))
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_EVENTS = frozenset((Notice, Loading, Prefill, Piece, Finished))

Reader = Callable[[object, str], Any]
"""Turns a JSON value into a Python one; the second argument is its place, for the ValueError."""


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(kind))


@functools.cache
def reader(hint: Any) -> Reader:
    """The function that reads a value of this type from JSON."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _read_optional(arguments) if type(None) in arguments else _read_union(arguments)
    if origin is typing.Literal:
        return _read_literal(arguments)
    if origin is tuple:
        return _read_list(reader(arguments[0]))
    if origin is dict:
        return _read_mapping(reader(arguments[1]))
    if dataclasses.is_dataclass(hint):
        return _read_object(hint)
    return _SCALARS[hint]


def _read_object(kind: Any) -> Reader:
    hints = typing.get_type_hints(kind)
    readers = {each.name: reader(hints[each.name]) for each in dataclasses.fields(kind)}
    missing = dataclasses.MISSING
    required = [
        each.name for each in dataclasses.fields(kind) if each.default is missing and each.default_factory is missing
    ]

    def read(value: object, where: str) -> Any:
        if not isinstance(value, dict):
            raise _type_error(where, "an object")
        for name in required:
            if name not in value:
                raise ValueError(f"{_join(where, name)} is missing")
        return kind(**{name: readers[name](value[name], _join(where, name)) for name in readers if name in value})

    return read


def _read_union(kinds: tuple[Any, ...]) -> Reader:
    readers = {_tag(kind): reader(kind) for kind in kinds}

    def read(value: object, where: str) -> Any:
        if not isinstance(value, dict):
            raise _type_error(where, "an object")
        name = value.get("type")
        if not isinstance(name, str) or name not in readers:
            raise ValueError(f"{_join(where, 'type')} is none of {', '.join(readers)}")
        return readers[name](value, where)

    return read


def _read_optional(kinds: tuple[Any, ...]) -> Reader:
    (kind,) = (each for each in kinds if each is not type(None))
    inner = reader(kind)
    return lambda value, where: None if value is None else inner(value, where)


def _read_literal(values: tuple[Any, ...]) -> Reader:
    def read(value: object, where: str) -> Any:
        if value not in values:
            raise ValueError(f"{where} is none of {', '.join(map(repr, values))}")
        return value

    return read


def _read_list(inner: Reader) -> Reader:
    def read(value: object, where: str) -> Any:
        if not isinstance(value, list):
            raise _type_error(where, "a list")
        return tuple(inner(each, where) for each in value)

    return read


def _read_mapping(inner: Reader) -> Reader:
    def read(value: object, where: str) -> Any:
        if not isinstance(value, dict):
            raise _type_error(where, "an object")
        return {key: inner(each, _join(where, key)) for key, each in value.items()}

    return read


def _read_int(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _type_error(where, "a whole number")
    return value


def _read_float(value: object, where: str) -> float:
    if isinstance(value, str) and value in _NOT_FINITE.values():
        return float(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _type_error(where, "a number")
    try:
        return float(value)
    except OverflowError:
        raise _type_error(where, "a number") from None


def _read_str(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _type_error(where, "a string")
    return value


def _read_bool(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _type_error(where, "true or false")
    return value


_SCALARS: dict[Any, Reader] = {
    int: _read_int,
    float: _read_float,
    str: _read_str,
    bool: _read_bool,
    Path: lambda value, where: Path(_read_str(value, where)),
}


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _type_error(where: str, wanted: str) -> ValueError:
    return ValueError(f"{where or 'it'} is not {wanted}")
