"""A Hugging Face folder as a prepared model. The folder is used in place; only packed weights are written elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory
from lacli.models.base import Quant
from lacli.models.fetch.disk import content_hash, locked
from lacli.models.fetch.fetch import ensure_local
from lacli.models.hf import tensor_names
from lacli.models.hf.eos import control_of, end_ids, markers_of, token_text, turn_end, vocabulary_of
from lacli.models.hf.folder import HfFolder, StoredTensor, missing_files, read_folder
from lacli.models.prepare.folder import (
    FLOAT_NAME,
    PACKED_NAMES,
    Making,
    Packed,
    PreparedModel,
    find_folder,
    folder_for,
    is_packed,
    make,
    read_record,
    variant,
    with_facts,
)
from lacli.models.prepare.vocabulary import embedding_rows, ends_by_name, rowless
from lacli.models.prepare.weights import Blocked, Blocks32, Weight, packed_bytes
from lacli.models.progress import Progress, ProgressReport
from lacli.models.registry.choice import for_cpu, int8_size
from lacli.models.spec import ModelSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lacli.kernels.packing import Blocks

_LINEARS = ("_proj.weight", ".c_fc.weight")


def prepare_hf(spec: ModelSpec, quant: Quant | None, report: ProgressReport, offline: bool) -> PreparedModel:
    """Check the folder, make packed weights where some are wanted, and find the end tokens."""
    folder = ensure_local(spec, report, offline)
    found = look_into(folder)
    tensor_names.refuse_headless(found)
    own = {packed: shard for packed, name in PACKED_NAMES.items() for shard in found.shards if shard.name == name}
    if own:
        return _prepared(spec, found, *_of_its_own(folder, own, quant))
    weights = hf_weights(found)
    notes = tensor_names.untied(found, lambda name, first, last: _rows(found.tensors[name], first, last))
    if quant is None:
        size = packed_bytes(weights, "int8") if _is_packed(found, "int8") else int8_size(found.parameters)
        quant, note = for_cpu(four_bit=False, int8_bytes=size)
        notes += (note,) if note else ()
    packed_file: Path | None = None
    if is_packed(quant) and _is_packed(found, quant):
        try:
            packed_file = _packed_file(found, weights, quant, _stem(folder), report)
        except (ModelUnavailable, OutOfMemory) as error:  # no place to keep it is no reason not to answer
            notes += (f"the {quant} form cannot be kept and is made anew at each start: {error.message}",)
    return _prepared(spec, found, quant, packed_file, notes)


def described_hf(spec: ModelSpec, report: ProgressReport, offline: bool) -> PreparedModel:
    """What can be known of a folder without reading its weights."""
    return _prepared(spec, look_into(ensure_local(spec, report, offline)), "none", None)


def look_into(folder: Path) -> HfFolder:
    """Check a folder; one that lacli prepared and someone copied may have packed weights only."""
    packed = [folder / name for name in PACKED_NAMES.values() if (folder / name).is_file()]
    if packed and missing_files(folder) == [FLOAT_NAME]:
        return read_folder(folder, packed)
    return read_folder(folder)


def _of_its_own(folder: Path, own: Mapping[Packed, Path], quant: Quant | None) -> tuple[Quant, Path]:
    """What a folder with packed weights only runs in."""
    for packed, path in own.items():
        if quant in (None, packed):
            return packed, path
    raise ModelUnavailable(
        f"{folder} holds {' and '.join(own)} weights only, --quant {quant} needs others",
        f"use --device cpu --quant {next(iter(own))}, or the model itself",
    )


def hf_weights(found: HfFolder) -> list[Weight]:
    """The tensors of a folder, read one by one when asked for.

    A head that is stored counts whatever the config says of ties, as it does to transformers.
    """
    return [_weight(item) for item in found.tensors.values()]


def _is_packed(found: HfFolder, quant: Packed) -> bool:
    """Whether the names of the family's linears are known; others are quantised each time they are loaded."""
    families = tensor_names.FAMILIES + (tensor_names.MORE_LINEARS if quant in ("nf4", "bnb-int8") else ())
    return found.config["model_type"] in families and "quantization_config" not in found.config


def _weight(item: StoredTensor) -> Weight:
    def read() -> NDArray[np.float32]:
        return _rows(item)

    vocabulary = item.name in (tensor_names.EMBEDDING, tensor_names.HEAD)
    if len(item.shape) != 2 or not (vocabulary or item.name.endswith(_LINEARS)):
        return Weight(item.name, item.shape, read)

    def rows(quant: Blocks32, first: int, last: int) -> Blocks:
        from lacli.kernels.packing import quantise

        return quantise(_rows(item, first, last), 4 if quant == "int4" and not vocabulary else 8)

    blocked = Blocked({"int4": "q8" if vocabulary else "q4m", "int8": "q8"}, rows)
    return Weight(
        item.name, item.shape, read, blocked, lambda first, last: _rows(item, first, last), is_vocabulary=vocabulary
    )


def _rows(item: StoredTensor, first: int = 0, last: int | None = None) -> NDArray[np.float32]:
    """A tensor, or some rows of it."""
    import torch
    from safetensors import safe_open

    with safe_open(str(item.path), framework="pt", device="cpu") as handle:
        if last is None:
            return handle.get_tensor(item.name).to(torch.float32).numpy()
        return handle.get_slice(item.name)[first:last].to(torch.float32).numpy()


def _stem(folder: Path) -> str:
    """A hub snapshot is called by its repository, not by its commit."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.rpartition("--")[2]
    return folder.name


def _packed_file(found: HfFolder, weights: list[Weight], quant: Packed, stem: str, report: ProgressReport) -> Path:
    digest = content_hash(found.shards, lambda done, total: report(Progress("check", done, total)))

    def existing() -> Path | None:
        there = find_folder(digest)
        record = read_record(there) if there else None
        return variant(there, record, PACKED_NAMES[quant]) if there and record else None

    path = existing()
    if path is not None:
        return path
    folder = find_folder(digest) or folder_for(stem, digest)
    with locked(folder, lambda: report(Progress("wait", text="another lacli is preparing this model"))):
        path = existing()
        if path is None:
            record = {
                "source": {"path": str(found.folder), "sha256": digest},
                "parameters": found.parameters,
                "packed": True,
                "notes": [],
            }
            make(folder, Making({}, weights, record, half=False), quant, report)
            path = existing()
    if path is None:
        raise LacliError(
            f"{folder} was prepared and cannot be read back", "remove it with `lacli models rm` and try again"
        )
    return path


def _prepared(
    spec: ModelSpec, found: HfFolder, quant: Quant, packed_file: Path | None, notes: tuple[str, ...] = ()
) -> PreparedModel:
    ids, end_notes = folder_end_ids(found, spec.stop_tokens)
    return PreparedModel(
        folder=found.folder,
        spec=with_facts(spec, found.config, found.chat_template),
        config=dict(found.config),
        float_files=tuple(shard for shard in found.shards if shard.name not in PACKED_NAMES.values()),
        packed_file=packed_file,
        eos_ids=ids,
        notes=found.notes + tensor_names.notes(found) + notes + end_notes,
        chat_template=found.chat_template,
        quant=quant,
    )


def folder_end_ids(found: HfFolder, stop_tokens: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Every id that ends a reply by one of the folder's files, and notes on ids that cannot be."""
    path = found.folder / "tokenizer.json"
    try:
        tokenizer: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        vocabulary, markers = vocabulary_of(tokenizer), markers_of(tokenizer)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelUnavailable(f"{path} is damaged", "fetch the file again") from error
    tokens = found.tokenizer_config
    special = {
        name: text
        for name in ("bos_token", "eos_token", "unk_token", "pad_token")
        if (text := token_text(tokens.get(name)))
    }
    rows = embedding_rows(found.config) or len(vocabulary)
    ids, notes = end_ids(
        named={
            "config.json": found.config.get("eos_token_id"),
            "generation_config.json": found.generation_config.get("eos_token_id"),
        },
        tokens=[special.get("eos_token"), turn_end(found.chat_template, markers, special), *stop_tokens],
        vocabulary=vocabulary,
        vocab_size=rows,
    )
    notes += rowless(vocabulary, rows)
    return ids, notes if ids or ends_by_name(control_of(tokenizer)) else (
        *notes,
        "the model names no end token; a reply ends at its token limit",
    )
