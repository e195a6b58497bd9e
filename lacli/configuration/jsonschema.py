"""The keys as a JSON Schema, by which editors complete and check a TOML file."""

from __future__ import annotations

from typing import Any

from lacli.configuration.document import KeyPath
from lacli.configuration.keys import Key, Schema

_TEXTS = {"type": "array", "items": {"type": "string"}}
_TYPES: dict[str, dict[str, Any]] = {
    "yes or no": {"type": "boolean"},
    "whole number": {"type": "integer"},
    "number": {"type": "number"},
    "text": {"type": "string"},
    "list of texts": {"anyOf": [{"type": "string"}, _TEXTS]},
    "list of pairs": {"type": "array", "items": _TEXTS | {"minItems": 2, "maxItems": 2}},
}


def json_schema(schema: Schema) -> dict[str, Any]:
    """The whole file as draft 2020-12 has it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "lacli"} | _table(schema, ())


def _table(schema: Schema, table: KeyPath) -> dict[str, Any]:
    inner = {name: _below(schema, (*table, name)) for name in schema.below(table)}
    own = {name: _key(key) for name, key in schema.keys.get(table, {}).items()}
    return {"type": "object", "additionalProperties": False, "properties": own | inner}


def _below(schema: Schema, table: KeyPath) -> dict[str, Any]:
    return {"type": "object"} if table in schema.tables else _table(schema, table)


def _key(key: Key) -> dict[str, Any]:
    found = dict(_TYPES[key.kind]) | ({"description": key.help} if key.help else {})
    if key.choices:
        found["enum"] = list(key.choices)
    if isinstance(key.default, bool | int | float | str) and key.default != "":
        found["default"] = key.default
    return found
