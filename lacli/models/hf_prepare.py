"""A Hugging Face folder as a prepared model. The folder is used where it lies; only an int8 variant is made beside.

Called by prepare.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory
from lacli.models.base import Quant
from lacli.models.disk import content_hash, locked
from lacli.models.fetch import Progress, Report, ensure_local
from lacli.models.gguf_prepare import with_tied_head
from lacli.models.hf_eos import end_ids, markers_of, token_text, turn_end, vocabulary_of
from lacli.models.hf_folder import HfFolder, StoredTensor, missing_files, read_folder
from lacli.models.prepare_folder import (
    FLOAT_NAME,
    INT8_NAME,
    Making,
    PreparedModel,
    find_folder,
    folder_for,
    make,
    read_record,
    variant,
    with_facts,
)
from lacli.models.prepare_weights import Weight
from lacli.models.registry import ModelSpec

if TYPE_CHECKING:
    from torch import Tensor

_INT8_FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "starcoder2")
_LINEARS = ("_proj.weight", ".c_fc.weight", "lm_head.weight")


def prepare_hf(spec: ModelSpec, quant: Quant, report: Report, offline: bool) -> PreparedModel:
    """Check the folder, make the int8 variant where one is wanted, and find the end tokens."""
    folder = ensure_local(spec, report, offline)
    found = look_into(folder)
    own = next((shard for shard in found.shards if shard.name == INT8_NAME), None)
    if own is not None:
        if quant != "int8":
            raise ModelUnavailable(
                f"{folder} holds int8 weights only, --quant {quant} needs others",
                "use --quant int8, or the model itself",
            )
        return _prepared(spec, found, float_files=(), int8_file=own)
    int8_file: Path | None = None
    notes: tuple[str, ...] = ()
    if quant == "int8" and _stores_int8(found):
        try:
            int8_file = _int8(found, _stem(folder), report)
        except (ModelUnavailable, OutOfMemory) as error:  # no place to keep it is no reason not to answer
            notes = (f"the int8 form cannot be kept and is made anew at each start: {error.message}",)
    return _prepared(spec, found, found.shards, int8_file, notes)


def look_into(folder: Path) -> HfFolder:
    """Check a folder; one that lacli prepared and someone copied may have int8 weights only."""
    int8_file = folder / INT8_NAME
    if int8_file.is_file() and missing_files(folder) == [FLOAT_NAME]:
        return read_folder(folder, [int8_file])
    return read_folder(folder)


def hf_weights(found: HfFolder) -> list[Weight]:
    """The tensors of a folder, read one by one when asked for."""
    return [Weight(item.name, item.shape, _is_linear(item), _loader(item)) for item in found.tensors.values()]


def _stores_int8(found: HfFolder) -> bool:
    """Whether the names of the family's linears are known; others are quantised each time they are loaded."""
    return found.config["model_type"] in _INT8_FAMILIES and "quantization_config" not in found.config


def _is_linear(item: StoredTensor) -> bool:
    return len(item.shape) == 2 and item.name.endswith(_LINEARS)


def _loader(item: StoredTensor) -> Callable[[], Tensor]:
    def load() -> Tensor:
        import torch
        from safetensors import safe_open

        with safe_open(str(item.path), framework="pt", device="cpu") as handle:
            return handle.get_tensor(item.name).to(torch.float32)

    return load


def _stem(folder: Path) -> str:
    """A hub snapshot is called by its repository, not by its commit."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.rpartition("--")[2]
    return folder.name


def _int8(found: HfFolder, stem: str, report: Report) -> Path:
    digest = content_hash(found.shards, lambda done, total: report(Progress("check", done, total)))

    def existing() -> Path | None:
        there = find_folder(digest)
        record = read_record(there) if there else None
        return variant(there, record, INT8_NAME) if there and record else None

    path = existing()
    if path is not None:
        return path
    folder = find_folder(digest) or folder_for(stem, digest)
    with locked(folder, lambda: report(Progress("wait", text="another lacli is preparing this model"))):
        path = existing()
        if path is None:
            source = {"path": str(found.folder), "sha256": digest}
            record = {
                "source": source,
                "parameters": found.parameters,
                "stores_int8": True,
                "notes": [],
            }
            config = dict(found.config)
            config.setdefault("tie_word_embeddings", "lm_head.weight" not in found.tensors)
            make(folder, Making({}, with_tied_head(hf_weights(found), config), record, half=False), "int8", report)
            path = existing()
    if path is None:
        raise LacliError(
            f"{folder} was prepared and cannot be read back", "remove it with `lacli models rm` and try again"
        )
    return path


def _prepared(
    spec: ModelSpec, found: HfFolder, float_files: tuple[Path, ...], int8_file: Path | None, notes: tuple[str, ...] = ()
) -> PreparedModel:
    ids, end_notes = folder_end_ids(found, spec.stop_tokens)
    return PreparedModel(
        folder=found.folder,
        spec=with_facts(spec, found.config, found.chat_template),
        config=dict(found.config),
        float_files=float_files,
        int8_file=int8_file,
        eos_ids=ids,
        notes=found.notes + notes + end_notes,
        chat_template=found.chat_template,
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
    size = found.config.get("vocab_size")
    ids, notes = end_ids(
        named={
            "config.json": found.config.get("eos_token_id"),
            "generation_config.json": found.generation_config.get("eos_token_id"),
        },
        tokens=[special.get("eos_token"), turn_end(found.chat_template, markers, special), *stop_tokens],
        vocabulary=vocabulary,
        vocab_size=size if isinstance(size, int) and size > 0 else len(vocabulary),
    )
    return ids, notes if ids else (*notes, "the model names no end token; a reply ends at its token limit")
