"""Hugging Face folders: what is there, what is missing, what must not be touched.

Lives here: the checks before anything of a folder is loaded. May not: import torch or transformers, open pickles, run
code that came with a model.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.errors import ModelUnavailable, UsageError

_SINGLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
OUR_KINDS = (".q4", ".q4m", ".q8", ".q8m")  # of lacli.kernels.packing, which is not imported for them
_FLOATS = ("F64", "F32", "F16", "BF16")


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor of a safetensors file."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """As the file spells it, for instance BF16."""
    path: Path


@dataclass(frozen=True, slots=True)
class HfFolder:
    """A folder that passed the checks."""

    folder: Path
    config: Mapping[str, Any]
    generation_config: Mapping[str, Any]
    tokenizer_config: Mapping[str, Any]
    chat_template: str | None
    shards: tuple[Path, ...]
    tensors: Mapping[str, StoredTensor]
    documents: tuple[Path, ...]
    """The files all of this was read from, weights apart."""
    notes: tuple[str, ...]

    @property
    def parameters(self) -> int:
        """Weights of all tensors together."""
        if not self.stored_quantisation:
            return sum(math.prod(tensor.shape) for tensor in self.tensors.values())
        return sum(_weights_of(tensor) for tensor in self.tensors.values())

    @property
    def stored_quantisation(self) -> str:
        """The bitsandbytes type of a checkpoint that is stored quantised: nf4, fp4 or int8; else empty."""
        stored = self.config.get("quantization_config")
        if not isinstance(stored, dict):
            return ""
        is_four = stored.get("load_in_4bit") or stored.get("_load_in_4bit")
        return str(stored.get("bnb_4bit_quant_type", "fp4")) if is_four else "int8"


def _weights_of(tensor: StoredTensor) -> int:
    """Weights in a tensor of a checkpoint in bitsandbytes' layout: two in a byte of codes, none in scales."""
    if ".weight." in tensor.name or tensor.name.endswith((".SCB", ".weight_format")):
        return 0
    return math.prod(tensor.shape) * (2 if tensor.dtype == "U8" else 1)


def read_folder(folder: Path, shards: Sequence[Path] | None = None) -> HfFolder:
    """Check `folder` and read its documents and the headers of its weights.

    `shards` replaces the search for weights (a prepared folder that was copied). Raises UsageError for paths that leave
    the folder, ModelUnavailable for the rest.
    """
    names = _names(folder)
    _refuse_other_kinds(folder, names)
    config = _document(folder, "config.json", names, required=True)
    if not isinstance(config.get("model_type"), str):
        raise ModelUnavailable(f"{folder / 'config.json'} names no model_type", "get the folder of a language model")
    quantised = _is_bitsandbytes(folder, config)
    notes = _own_code(folder, config)
    if shards is None:
        shards = _shards(folder, names)
    tensors = _tensors(shards)
    if not quantised:
        _refuse_packed(tensors)
    if "tokenizer.json" not in names:
        raise ModelUnavailable(
            f"{folder} has no tokenizer.json",
            "make it once with transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)",
        )
    tokenizer_config = _document(folder, "tokenizer_config.json", names)
    documents = [
        name
        for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
        if name in names
    ]
    template, template_file = _template(folder, tokenizer_config, names)
    return HfFolder(
        folder=folder,
        config=config,
        generation_config=_document(folder, "generation_config.json", names),
        tokenizer_config=tokenizer_config,
        chat_template=template,
        shards=tuple(shards),
        tensors=tensors,
        documents=tuple(folder / name for name in [*documents, *([template_file] if template_file else [])]),
        notes=notes,
    )


def missing_files(folder: Path) -> list[str]:
    """Names a download of this folder still lacks; empty where it can be used."""
    try:
        names = _names(folder)
    except ModelUnavailable:
        return ["everything"]
    missing = [name for name in ("config.json", "tokenizer.json") if name not in names]
    if _INDEX in names:
        try:
            shards = set(json.loads((folder / _INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return [*missing, _INDEX]
        return missing + sorted(str(name) for name in shards if not (folder / str(name)).is_file())
    return missing if _SINGLE in names else [*missing, _SINGLE]


def _names(folder: Path) -> frozenset[str]:
    """Files in the folder; a link into a cache from which the file is gone does not count."""
    try:
        return frozenset(name for name in os.listdir(folder) if (folder / name).exists())
    except OSError as error:
        raise ModelUnavailable(
            f"cannot read the folder {folder}: {error.strerror}", "check the path and its permissions"
        ) from error


def _refuse_other_kinds(folder: Path, names: frozenset[str]) -> None:
    if "adapter_config.json" in names and _SINGLE not in names and _INDEX not in names:
        base = _document(folder, "adapter_config.json", names).get("base_model_name_or_path")
        of = f" for {base}" if isinstance(base, str) and base else ""
        raise ModelUnavailable(
            f"{folder} is a LoRA adapter{of}, not a whole model",
            "merge it into its base model first (peft: merge_and_unload)",
        )
    if "config.json" in names:
        return
    for name in sorted(names):
        if name.lower() == "config.json":
            raise ModelUnavailable(f"{folder} calls its configuration {name}", "rename it to config.json")
    files = sorted(name for name in names if name.lower().endswith(".gguf"))
    if files:
        raise ModelUnavailable(f"{folder} has no config.json but {files[0]}", f"name the file: -m {folder / files[0]}")
    if "snapshots" in names:
        raise ModelUnavailable(
            f"{folder} is a repository of the hub's cache", "name one of the folders in its snapshots folder"
        )
    if names & {"optimizer.pt", "trainer_state.json", "scheduler.pt"}:
        raise ModelUnavailable(
            f"{folder} is a training checkpoint without a config.json",
            "save the model itself: model.save_pretrained(folder)",
        )
    raise ModelUnavailable(f"{folder} has no config.json", "give the folder of a Hugging Face model")


def _document(folder: Path, name: str, names: frozenset[str], required: bool = False) -> dict[str, Any]:
    if name not in names and not required:
        return {}
    path = folder / name
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ModelUnavailable(f"cannot read {path}: {error.strerror}", "check its permissions") from error
    except ValueError as error:
        raise ModelUnavailable(f"{path} is not valid JSON ({error})", "fetch the file again") from error
    if not isinstance(found, dict):
        raise ModelUnavailable(f"{path} is not a JSON object", "fetch the file again")
    return found


def _is_bitsandbytes(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether bitsandbytes has quantised a checkpoint, which is then used as it is. Refuses all other methods."""
    stored = config.get("quantization_config")
    if not stored:
        return False
    method = stored.get("quant_method") if isinstance(stored, dict) else None
    if method is None and isinstance(stored, dict):
        method = "bitsandbytes" if stored.get("load_in_4bit") or stored.get("load_in_8bit") else None
    if method == "bitsandbytes":
        return True
    raise ModelUnavailable(
        f"{folder.name} is already quantised ({method or 'unknown method'})",
        "get the model as bfloat16 or float32 safetensors and choose --quant nf4, int8 or none, or get its GGUF",
    )


def _own_code(folder: Path, config: Mapping[str, Any]) -> tuple[str, ...]:
    if "auto_map" not in config:
        return ()
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES  # type: ignore[attr-defined]

    if config["model_type"] not in CONFIG_MAPPING_NAMES:
        raise ModelUnavailable(
            f"{folder.name} brings its own code (auto_map, model type {config['model_type']}), which is never run",
            "take a model that transformers knows by itself",
        )
    return (f"the code in {folder.name} (auto_map) is not run; transformers' own {config['model_type']} is used",)


def _shards(folder: Path, names: frozenset[str]) -> list[Path]:
    index = _document(folder, _INDEX, names)
    if not index:
        if _SINGLE in names:
            return [_inside(folder, _SINGLE)]
        _refuse_no_weights(folder, names)
    mapping = index.get("weight_map")
    if not isinstance(mapping, dict) or not mapping or not all(isinstance(name, str) for name in mapping.values()):
        raise ModelUnavailable(f"{folder / _INDEX} has no weight_map", "fetch the file again")
    wanted = sorted(set(mapping.values()))
    shards = [_inside(folder, name) for name in wanted]
    absent = [name for name in wanted if name not in names]
    if absent:
        raise ModelUnavailable(f"{folder} is incomplete: {', '.join(absent)} missing", "fetch the missing files")
    held = _tensors(shards)
    lost = [name for name, shard in mapping.items() if name not in held]
    if lost:
        raise ModelUnavailable(
            f"{folder}: {mapping[lost[0]]} does not hold {lost[0]}, which the index places there",
            "fetch the files again",
        )
    if _SINGLE in names and _SINGLE not in wanted:
        single = _tensors([_inside(folder, _SINGLE)])
        if set(single) != set(mapping):
            raise ModelUnavailable(
                f"{folder} holds {_SINGLE} and an index of shards with other tensors",
                "remove the one that is out of date",
            )
        return [folder / _SINGLE]
    return shards


def _inside(folder: Path, name: str) -> Path:
    """The file of this name, refused where it lies outside the folder; a hub cache's blobs count as inside."""
    path = folder / name
    if name in (".", "..") or "/" in name or "\\" in name or os.path.isabs(name):
        raise UsageError(
            f"{folder / _INDEX} names a file outside the folder: {name}",
            "use a copy of the model whose index names its own files",
        )
    if path.is_symlink():
        real, home = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
        blobs = home.parent.parent / "blobs" if home.parent.name == "snapshots" else None
        if not real.is_relative_to(home) and not (blobs and real.is_relative_to(os.path.realpath(blobs))):
            raise UsageError(f"{path} is a link to a file outside the folder: {real}", "copy the file into the folder")
    return path


def _refuse_no_weights(folder: Path, names: frozenset[str]) -> None:
    for name in sorted(names):
        if name.lower() == _SINGLE:
            raise ModelUnavailable(f"{folder} calls its weights {name}", f"rename it to {_SINGLE}")
    pickles = sorted(
        name
        for name in names
        if name.lower().endswith(_PICKLES) and "optimizer" not in name and "training_args" not in name
    )
    if pickles:
        raise ModelUnavailable(
            f"{folder} has its weights only as pickle ({pickles[0]}), which can run any code and is never opened",
            "get the model as safetensors; most repositories have it",
        )
    raise ModelUnavailable(f"{folder} has no {_SINGLE}", "fetch the missing file")


def _refuse_packed(tensors: Mapping[str, StoredTensor]) -> None:
    """Matrices of whole numbers belong to a quantised form the config does not speak of."""
    for tensor in tensors.values():
        ours = tensor.dtype == "U8" and tensor.name.endswith(OUR_KINDS)
        if tensor.dtype not in _FLOATS and len(tensor.shape) > 1 and not ours:
            raise ModelUnavailable(
                f"{tensor.path.name} stores {tensor.name} as {tensor.dtype}, which is a quantised form unknown here",
                "get the model as bfloat16 safetensors",
            )


def _tensors(shards: Sequence[Path]) -> dict[str, StoredTensor]:
    found: dict[str, StoredTensor] = {}
    for shard in shards:
        for tensor in read_header(shard):
            found[tensor.name] = tensor
    return found


def read_header(path: Path) -> list[StoredTensor]:
    """Names, shapes and types of a safetensors file, checked against its length."""
    try:
        size = path.stat().st_size
        with path.open("rb") as handle:
            count = int.from_bytes(handle.read(8), "little")
            text = handle.read(min(count, size))
    except OSError as error:
        raise ModelUnavailable(f"cannot read {path}: {error.strerror}", "check its permissions") from error
    if size < 8 or count > size - 8:
        pointer = text.startswith(b"https://git-lfs") or b"git-lfs" in text[:64] or size < 8
        kind = "a Git LFS pointer or an incomplete download" if pointer else "incomplete, or no safetensors file"
        raise ModelUnavailable(
            f"{path.name} has {size:,} bytes and its header alone asks for more: {kind}", "fetch the file again"
        )
    try:
        table = json.loads(text)
        table.pop("__metadata__", None)
        tensors = [StoredTensor(name, tuple(entry["shape"]), entry["dtype"], path) for name, entry in table.items()]
        needed = 8 + count + max((entry["data_offsets"][1] for entry in table.values()), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelUnavailable(f"{path.name} has a damaged header", "fetch the file again") from error
    if size < needed:
        raise ModelUnavailable(
            f"{path.name} has {size:,} bytes, its header asks for {needed:,}: incomplete download",
            "fetch the file again",
        )
    return tensors


def _template(
    folder: Path, tokenizer_config: Mapping[str, Any], names: frozenset[str]
) -> tuple[str | None, str | None]:
    """The chat template and the file of its own, where it has one; the file wins, as in transformers."""
    if "chat_template.jinja" in names:
        path = folder / "chat_template.jinja"
        try:
            return path.read_text(encoding="utf-8"), path.name
        except (OSError, UnicodeDecodeError) as error:
            raise ModelUnavailable(f"cannot read {path}: {error}", "fetch the file again") from error
    value = tokenizer_config.get("chat_template")
    if isinstance(value, list):
        named = {entry.get("name"): entry.get("template") for entry in value if isinstance(entry, dict)}
        value = named.get("default")
    return (value if isinstance(value, str) and value else None), None
