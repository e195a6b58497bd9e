"""Makes prepared models: a folder with config, tokenizer, template and the weights a quantisation asks for, once.

The work is done elsewhere: `fetch` gets files, `gguf.prepare` and `hf.prepare` read them, `folder` writes.
"""

from __future__ import annotations

import json
from typing import Any, get_args

from lacli.errors import LacliError
from lacli.models.base import Quant
from lacli.models.fetch.disk import content_hash, known_hash, locked
from lacli.models.prepare.folder import (
    FLOAT_NAME,
    PreparedModel,
    find_folder,
    folder_for,
    is_intact,
    make,
    read_record,
    variant,
    variant_name,
    with_facts,
)
from lacli.models.progress import Progress, ProgressReport
from lacli.models.registry.choice import for_cpu
from lacli.models.registry.fim_markers import of_record
from lacli.models.spec import ModelSpec
from lacli.models.tokens.make import open_vocabulary

__all__ = ["PreparedModel", "Quant", "described", "prepare"]


def prepare(spec: ModelSpec, quant: Quant | None, report: ProgressReport, offline: bool = False) -> PreparedModel:
    """The prepared form of `spec` for `quant`: fetched and made where it is not there yet.

    None chooses for a CPU: int4 for a source in 4 bits and where int8 does not fit into the free memory, else int8.
    Raises ModelUnavailable, UsageError or OutOfMemory (disk).
    """
    if spec.kind == "hf":
        from lacli.models.hf.prepare import prepare_hf

        return prepare_hf(spec, quant, report, offline)
    return _prepare_gguf(spec, quant, report, offline)


def described(spec: ModelSpec, quant: Quant | None, report: ProgressReport, offline: bool = False) -> PreparedModel:
    """What can be known of a model without its weights: tokenizer, template, context, whatever it is prepared for.

    One that is not prepared at all is prepared for `quant`. Raises as `prepare` does.
    """
    if spec.kind == "hf":
        from lacli.models.hf.prepare import described_hf

        return described_hf(spec, report, offline)
    digest = next((source.sha256 for source in spec.sources if source.sha256), "")
    if not digest:
        from lacli.models.fetch.fetch import ensure_local

        digest = known_hash(ensure_local(spec, report, offline)) or ""
    for known in get_args(Quant) if digest else ():
        found = _existing(spec, digest, known)
        if found is not None:
            return found
    return prepare(spec, quant, report, offline)


def _prepare_gguf(spec: ModelSpec, quant: Quant | None, report: ProgressReport, offline: bool) -> PreparedModel:
    digest = next((source.sha256 for source in spec.sources if source.sha256), "")
    found = _existing(spec, digest, quant) if digest else None
    if found is not None:
        return found
    from lacli.models.fetch.fetch import ensure_local

    path = ensure_local(spec, report, offline)
    digest = known_hash(path) or ""
    found = _existing(spec, digest, quant) if digest else None
    if found is not None:
        return found
    from lacli.models.gguf.read import read_gguf

    file = read_gguf(path)
    digest = content_hash(file.paths, lambda done, total: report(Progress("check", done, total)))
    found = _existing(spec, digest, quant)
    if found is not None:
        return found
    from lacli.models.gguf.prepare import making

    folder = find_folder(digest) or folder_for(path.stem, digest)
    with locked(folder, lambda: report(Progress("wait", text="another lacli is preparing this model"))):
        found = _existing(spec, digest, quant)
        if found is None:
            made = making(file, digest)
            quant, note = (quant, "") if quant else _chosen(made.record)
            make(folder, made, quant, report)
            open_vocabulary(folder)  # makes its table, so that no start has to
            # Not chosen again: the memory that is free is another one now.
            found = _existing(spec, digest, quant, note)
    if found is None:
        raise LacliError(
            f"{folder} was prepared and cannot be read back", "remove it with `lacli models rm` and try again"
        )
    return found


def _chosen(record: dict[str, Any]) -> tuple[Quant, str]:
    return for_cpu(record["four_bit"], record["int8_bytes"])


def _existing(spec: ModelSpec, digest: str, quant: Quant | None, note: str = "") -> PreparedModel | None:
    folder = find_folder(digest)
    record = read_record(folder) if folder and is_intact(folder) else None
    if folder is None or record is None:
        return None
    quant, note = (quant, note) if quant else _chosen(record)
    name = variant_name(quant, record)
    float_file, wanted = variant(folder, record, FLOAT_NAME), variant(folder, record, name)
    if wanted is None:
        return None
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        template_file = folder / "chat_template.jinja"
        template = template_file.read_text(encoding="utf-8") if template_file.is_file() else None
    except (OSError, ValueError):
        return None
    markers = record.get("markers", {})
    ends = {*record["eos_ids"], *(markers[token] for token in spec.stop_tokens if token in markers)}
    return PreparedModel(
        folder=folder,
        spec=with_facts(spec, config, template),
        config=config,
        float_files=(float_file,) if float_file else (),
        packed_file=wanted if name != FLOAT_NAME else None,
        eos_ids=tuple(sorted(ends)),
        notes=(*record["notes"], *([note] if note else [])),
        chat_template=template,
        quant=quant,
        fim=of_record(record.get("fim")),
    )
