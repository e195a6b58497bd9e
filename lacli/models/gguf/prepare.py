"""A GGUF file into what a prepared folder is made of: documents and weights."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

from lacli.models.gguf.config import OWN, read_config
from lacli.models.gguf.read import GgufFile
from lacli.models.gguf.weights import gguf_weights, mostly_four_bits
from lacli.models.hf.eos import control_of, end_ids, markers_of, token_text, turn_end, vocabulary_of
from lacli.models.prepare.folder import HALF_FROM, Making
from lacli.models.prepare.vocabulary import ends_by_name, rowless
from lacli.models.prepare.weights import packed_bytes
from lacli.models.registry.choice import int8_size
from lacli.models.registry.fim_markers import named_by


def making(file: GgufFile, digest: str) -> Making:
    """Documents, weights and record of `file`."""
    from lacli.models.gguf.tokenizer import build_tokenizer

    half = file.parameters > HALF_FROM
    own = file.architecture in OWN
    if own:
        config, notes = read_config(file)
        weights = gguf_weights(file, config)
    else:
        from lacli.models.gguf.legacy import convert

        config, notes, weights = convert(file, half)
    config["dtype"] = "bfloat16" if half else "float32"
    tokenizer = build_tokenizer(file.fields)
    parsed = json.loads(tokenizer.tokenizer_json)
    markers = markers_of(parsed)
    tokens = tokenizer.tokenizer_config
    special = {
        name: text
        for name in ("bos_token", "eos_token", "unk_token", "pad_token")
        if (text := token_text(tokens.get(name)))
    }
    vocabulary, rows = vocabulary_of(parsed), config["vocab_size"]
    ids, end_notes = end_ids(
        named={file.paths[0].name: list(tokenizer.eos_ids)},
        tokens=[special.get("eos_token"), turn_end(tokenizer.chat_template, markers, special)],
        vocabulary=vocabulary,
        vocab_size=rows,
    )
    if not ids and not ends_by_name(control_of(parsed)):
        end_notes += ("the file names no end token; a reply ends at its token limit",)
    generation = {"eos_token_id": list(ids)} | {
        key: config[key] for key in ("bos_token_id", "pad_token_id") if key in config
    }
    documents = {
        "config.json": _json(config),
        "generation_config.json": _json(generation),
        "tokenizer.json": tokenizer.tokenizer_json,
        "tokenizer_config.json": _json({key: value for key, value in tokens.items() if key != "chat_template"}),
    }
    if tokenizer.chat_template:
        documents["chat_template.jinja"] = tokenizer.chat_template
    fim = named_by(file.fields, vocabulary_of(parsed))
    record: dict[str, Any] = {
        "source": _source(file, digest),
        "parameters": file.parameters,
        "eos_ids": list(ids),
        "markers": markers,
        "fim": None if fim is None else asdict(fim),
        "packed": own,
        "four_bit": own and mostly_four_bits(file),
        "int8_bytes": packed_bytes(weights, "int8") if own else int8_size(file.parameters),
        "notes": [*notes, *tokenizer.notes, *end_notes, *rowless(vocabulary, rows)],
    }
    return Making(documents, weights, record, half)


def _source(file: GgufFile, digest: str) -> dict[str, Any]:
    found = file.paths[0].stat()
    return {"path": os.fspath(file.paths[0]), "bytes": found.st_size, "mtime_ns": found.st_mtime_ns, "sha256": digest}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
