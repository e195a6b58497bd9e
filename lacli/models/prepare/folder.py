"""The prepared folder on disk: its name, its record, and writing it all or nothing.

Lives here: naming, variants, what a kill may leave behind. May not: know GGUF or Hugging Face (they hand over a
`Making`).

A folder is named by its source's hash and the format version, written beside and renamed; what a kill leaves behind
begins with a dot, is never read and is swept by the next run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models.base import Quant
from lacli.models.fetch.disk import require_space
from lacli.models.prepare.bnb import Bnb, bnb_bytes, write_bnb
from lacli.models.prepare.positions import most_positions
from lacli.models.prepare.weights import Blocks32, Weight, float_bytes, packed_bytes, write_float, write_packed
from lacli.models.progress import Progress, ProgressReport
from lacli.models.registry.fim_markers import FimMarkers
from lacli.models.spec import ModelSpec
from lacli.paths import models_dir
from lacli.storage import atomic

FORMAT = 3
"""Raised whenever what is written into a prepared folder changes."""
FLOAT_NAME = "model.safetensors"
Packed = Blocks32 | Bnb
"""Quantisations with a weights file of their own."""
PACKED_NAMES: dict[Packed, str] = {
    "int4": "model.int4.safetensors",
    "int8": "model.int8.safetensors",
    "nf4": "model.nf4.safetensors",
    "bnb-int8": "model.bnb-int8.safetensors",
}
RECORD_NAME = "prepared.json"
HALF_FROM = 1_000_000_000
"""Parameters above which the float variant is bfloat16."""


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A model ready to be loaded."""

    folder: Path
    """Holds config.json and the tokenizer; the user's own folder for Hugging Face models."""
    spec: ModelSpec
    """With context and style filled in from the model's files."""
    config: dict[str, Any]
    float_files: tuple[Path, ...]
    """Safetensors under Hugging Face names; empty where only packed ones were made."""
    packed_file: Path | None
    """Weights packed for `quant`; None where they are quantised when they are loaded, or not at all."""
    eos_ids: tuple[int, ...]
    """Every id that ends a reply."""
    notes: tuple[str, ...]
    """What had to be assumed; one line each for the user."""
    chat_template: str | None = None
    quant: Quant = "none"
    """What it was prepared for: how its weights are to run."""
    fim: FimMarkers | None = None
    """The fill-in-the-middle markers that the source names itself."""


@dataclass(frozen=True, slots=True)
class Making:
    """A source of weights and documents for one prepared folder."""

    documents: dict[str, str]
    """File name to content."""
    weights: Sequence[Weight]
    record: dict[str, Any]
    """Goes into prepared.json."""
    half: bool
    """Whether the float variant is bfloat16."""


def folder_for(stem: str, digest: str) -> Path:
    """The prepared folder of a source."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip(".-") or "model"
    return models_dir() / f"{plain[:80]}-{digest[:12]}-f{FORMAT}"


def make(folder: Path, making: Making, quant: Quant, report: ProgressReport) -> None:
    """Write the folder, or add a variant to it. The caller holds its lock."""
    sweep(folder)
    name = variant_name(quant, making.record)
    require_space(folder.parent, _needed(making, name))
    _write(folder, name, making, report)
    for old in older_formats(making.record["source"]["sha256"]):
        shutil.rmtree(old, ignore_errors=True)
        old.with_name(f".{old.name}.lock").unlink(missing_ok=True)


def _write(folder: Path, name: str, making: Making, report: ProgressReport) -> None:
    if not is_intact(folder):
        if folder.exists():
            shutil.rmtree(folder)
        beside = folder.with_name(f".{folder.name}.tmp-{os.getpid()}")
        with _removed_on_failure(beside):
            beside.mkdir(mode=0o700, parents=True)
            _write_weights(beside / name, making, report)
            for document, text in making.documents.items():
                write_text(beside / document, text)
            _write_record(beside, making, {name: (beside / name).stat().st_size})
            atomic.sync_folder(beside)
            atomic.move(beside, folder)
        return
    beside = folder / f".{name}.tmp-{os.getpid()}"
    with _removed_on_failure(beside):
        _write_weights(beside, making, report, name)
        atomic.move(beside, folder / name)
        record = read_record(folder) or {}
        _write_record(folder, making, {**record.get("weights", {}), name: (folder / name).stat().st_size})


def variant_name(quant: Quant, record: Mapping[str, Any]) -> str:
    """The weights file a quantisation is loaded from: packed only where our own mapping knows the linears."""
    return PACKED_NAMES[quant] if is_packed(quant) and record.get("packed") else FLOAT_NAME


def is_packed(quant: Quant) -> TypeGuard[Packed]:
    """Whether weights of this quantisation have a file of their own."""
    return quant in PACKED_NAMES


def read_record(folder: Path) -> dict[str, Any] | None:
    """prepared.json where it is as it was written, in the right format, and all documents are there."""
    try:
        record = json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))
        right = record["format"] == FORMAT and record.pop("check") == _check(record)
        return record if right and all((folder / name).is_file() for name in record["documents"]) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def is_intact(folder: Path) -> bool:
    """Whether record and documents are what was written. What was not is made anew: the folder is nobody's to edit."""
    record = read_record(folder)
    try:
        return record is not None and all(
            hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
            for name, digest in record["documents"].items()
        )
    except OSError:
        return False


def variant(folder: Path, record: dict[str, Any], name: str) -> Path | None:
    """A weights file of a prepared folder, where it is there in full."""
    path = folder / name
    try:
        return path if path.stat().st_size == record["weights"].get(name) else None
    except OSError:
        return None


def sweep(folder: Path) -> None:
    """Remove what a killed preparation of this folder left. The caller holds its lock."""
    for stale in [*folder.parent.glob(f".{folder.name}.tmp-*"), *folder.glob(".*.tmp-*")]:
        if stale.is_dir():
            shutil.rmtree(stale, ignore_errors=True)
        else:
            stale.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace a document of a prepared folder."""
    beside = path.with_name(f".{path.name}.tmp-{os.getpid()}")  # as `sweep` expects it
    atomic.replace(path, text.encode(), 0o666, beside=beside)


def with_facts(spec: ModelSpec, config: Mapping[str, Any], template: str | None) -> ModelSpec:
    """`spec` with the context the model really has, and plain continuation where it has no chat template."""
    most = most_positions(config)
    context = min(spec.context or most, most) if most else spec.context or 2048
    return replace(spec, context=context, style=spec.style if template or spec.chat_template else "base")


def find_folder(digest: str) -> Path | None:
    """The same content under another file name is prepared only once."""
    try:
        found = sorted(models_dir().glob(f"[!.]*-{digest[:12]}-f{FORMAT}"))
    except OSError as error:
        raise ModelUnavailable(
            f"cannot read {models_dir()}: {error.strerror}", "set LACLI_HOME to a folder that is yours"
        ) from None
    return next(iter(found), None)


def older_formats(digest: str) -> list[Path]:
    """Folders that an older lacli made of the same source; no lacli from now on reads them."""
    folders = models_dir().glob(f"[!.]*-{digest[:12]}-f*")
    return [folder for folder in folders if 0 < _format_of(folder) < FORMAT]


def _format_of(folder: Path) -> int:
    number = folder.name.rpartition("-f")[2]
    return int(number) if number.isdecimal() else 0


def _needed(making: Making, name: str) -> int:
    documents = sum(len(text.encode()) for text in making.documents.values())
    quant = _packed(name)
    if quant == "nf4" or quant == "bnb-int8":
        return documents + bnb_bytes(making.weights, quant)
    return documents + (packed_bytes(making.weights, quant) if quant else float_bytes(making.weights, making.half))


def _packed(name: str) -> Packed | None:
    return next((quant for quant, packed in PACKED_NAMES.items() if packed == name), None)


def _write_weights(path: Path, making: Making, report: ProgressReport, name: str = "") -> None:
    def tick(done: int, total: int) -> None:
        report(Progress("prepare", done, total))

    quant = _packed(name or path.name)
    try:
        if quant == "nf4" or quant == "bnb-int8":
            write_bnb(path, making.weights, quant, tick)
        elif quant:
            write_packed(path, making.weights, quant, tick)
        else:
            write_float(path, making.weights, making.half, tick)
    except OSError as error:
        raise OutOfMemory(
            f"cannot write {path}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error


def _write_record(folder: Path, making: Making, weights: dict[str, int]) -> None:
    documents = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in making.documents.items()}
    record = {"format": FORMAT, **making.record, "documents": documents, "weights": weights}
    write_text(folder / RECORD_NAME, json.dumps({**record, "check": _check(record)}, indent=1, ensure_ascii=False))


def _check(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        raise
