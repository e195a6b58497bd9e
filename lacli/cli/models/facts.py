"""What `lacli models show` finds out about one model: from its files, and about this computer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lacli.models.registry.inventory import Presence
    from lacli.models.spec import ModelSpec


def facts(spec: ModelSpec, here: Presence) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the model's own files say, and notes on what had to be assumed; nothing where they are not here.

    Of a registered model only what its entry does not say.
    """
    if here.files is None:
        found: dict[str, Any] = {}
        notes: tuple[str, ...] = ()
    else:
        found, notes = _of_file(here.files) if spec.kind == "gguf" else _of_folder(here.files)
    four_bit, stored = found.pop("four_bit", False), found.pop("stored_quantisation", "")
    parameters = found.get("parameters", 0) if spec.path is not None else spec.parameters
    if spec.path is None:
        found = {"stored_as": found["stored_as"]} if found else {}
    if stored:
        found["runs_as"] = dict.fromkeys(("cpu", "cuda"), f"bitsandbytes {stored}, as it is stored")
    elif here.files is not None or spec.kind == "hf":
        found["runs_as"] = _runs_as(spec, four_bit, parameters)
    return found, notes


def _runs_as(spec: ModelSpec, four_bit: bool, parameters: int) -> dict[str, str]:
    from lacli.models.registry.choice import for_cpu, int8_size, on_device

    asked = spec.fixed_quant
    return {
        "cpu": asked or for_cpu(four_bit, int8_bytes=int8_size(parameters))[0],
        "cuda": on_device(asked, "cuda")[0] or "",
    }


def on_this_machine(here: Presence) -> dict[str, Any]:
    """The kernel that would run, and the weights there are, in bytes by quantisation."""
    from lacli.kernels.library import library, why_not
    from lacli.models.registry.inventory import variants

    found = library()
    return {
        "kernel": found.isa if found else "torch",
        "kernel_note": why_not(),
        "weights": {quant: size for folder in here.prepared for quant, size in variants(folder).items()},
    }


def _of_file(file: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    from lacli.models.gguf.config import OWN, read_config
    from lacli.models.gguf.read import read_gguf
    from lacli.models.gguf.tokenizer import build_tokenizer
    from lacli.models.gguf.weights import mostly_four_bits
    from lacli.models.registry import shape

    gguf = read_gguf(file)
    config, notes = read_config(gguf) if gguf.architecture in OWN else ({}, ())
    tokenizer = build_tokenizer(gguf.fields)
    stored = Counter(tensor.type_name for tensor in gguf.tensors.values())
    facts = {
        "title": str(gguf.fields.get("general.name", file.stem)),
        "architecture": gguf.architecture,
        "parameters": gguf.parameters,
        "context": config.get("max_position_embeddings") or gguf.fields.get(f"{gguf.architecture}.context_length", 0),
        "style": "chat" if tokenizer.chat_template else "base",
        "stored_as": dict(stored.most_common()),
        "bytes": sum(part.stat().st_size for part in gguf.paths),
        "licence": str(gguf.fields.get("general.license", "")),
        "four_bit": gguf.architecture in OWN and mostly_four_bits(gguf),
        "decodes_plainly": shape.architecture_decodes_plainly(gguf.architecture),
    }
    return facts, notes + tokenizer.notes


def _of_folder(folder: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    from lacli.models.hf.prepare import look_into
    from lacli.models.registry import shape

    found = look_into(folder)
    stored = Counter(tensor.dtype for tensor in found.tensors.values())
    facts = {
        "architecture": found.config["model_type"],
        "parameters": found.parameters,
        "context": found.config.get("max_position_embeddings", 0),
        "style": "chat" if found.chat_template else "base",
        "stored_as": dict(stored.most_common()),
        "bytes": sum(shard.stat().st_size for shard in found.shards),
        "decodes_plainly": shape.decodes_plainly(found.config),
        "stored_quantisation": found.stored_quantisation,
    }
    return facts, found.notes
