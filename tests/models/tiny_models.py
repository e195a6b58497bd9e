"""Tiny models for tests: GGUF files written tensor by tensor, and Hugging Face folders made from them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

HIDDEN, HEADS, KV_HEADS, INNER, LAYERS = 64, 4, 2, 96, 2
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKERS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def vocabulary() -> list[str]:
    """Three markers, then the 256 byte characters of byte-level BPE, then one merged piece."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [256 + index for index in range(256 - len(printable))]
    return [*MARKERS, *(chr(code) for code in printable + others), "ab"]


def shapes(architecture: str, vocab: int, head_dim: int = HIDDEN // HEADS) -> dict[str, tuple[int, ...]]:
    """GGUF names of all tensors, with torch's shapes."""
    found: dict[str, tuple[int, ...]] = {"token_embd.weight": (vocab, HIDDEN), "output_norm.weight": (HIDDEN,)}
    for index in range(LAYERS):
        block = f"blk.{index}"
        found |= {
            f"{block}.attn_norm.weight": (HIDDEN,),
            f"{block}.ffn_norm.weight": (HIDDEN,),
            f"{block}.attn_q.weight": (HEADS * head_dim, HIDDEN),
            f"{block}.attn_k.weight": (KV_HEADS * head_dim, HIDDEN),
            f"{block}.attn_v.weight": (KV_HEADS * head_dim, HIDDEN),
            f"{block}.attn_output.weight": (HIDDEN, HEADS * head_dim),
            f"{block}.ffn_gate.weight": (INNER, HIDDEN),
            f"{block}.ffn_up.weight": (INNER, HIDDEN),
            f"{block}.ffn_down.weight": (HIDDEN, INNER),
        }
        if architecture == "starcoder2":  # no gate, and a bias everywhere
            del found[f"{block}.ffn_gate.weight"]
            weights = [name for name in found if name.startswith(block) or name == "output_norm.weight"]
            found |= {name.removesuffix("weight") + "bias": found[name][:1] for name in weights}
        if architecture == "qwen2":
            found |= {f"{block}.attn_{short}.bias": found[f"{block}.attn_{short}.weight"][:1] for short in "qkv"}
        if architecture == "qwen3":
            found |= {f"{block}.attn_q_norm.weight": (head_dim,), f"{block}.attn_k_norm.weight": (head_dim,)}
    return found


def write_gguf(
    path: Path,
    architecture: str = "llama",
    *,
    fields: Mapping[str, Any] | None = None,
    drop: tuple[str, ...] = (),
    extra: Mapping[str, Any] | None = None,
    stored_as: Callable[[str], str] = lambda name: "F32",
    head_dim: int = HIDDEN // HEADS,
    seed: int = 0,
    declared: str | None = None,
) -> Path:
    """A whole model of `architecture` with random weights.

    `fields` are added or replace metadata, `drop` removes metadata or tensors by name, `extra` adds float tensors,
    `stored_as` gives each matrix its block format, `declared` is the architecture the file claims.
    """
    writer = gguf.GGUFWriter(path, declared or architecture)
    named: dict[str, Any] = {
        f"{architecture}.block_count": LAYERS,
        f"{architecture}.context_length": 128,
        f"{architecture}.embedding_length": HIDDEN,
        f"{architecture}.feed_forward_length": INNER,
        f"{architecture}.attention.head_count": HEADS,
        f"{architecture}.attention.head_count_kv": KV_HEADS,
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{architecture}.attention.layer_norm_epsilon": 1e-5,
        f"{architecture}.rope.freq_base": 10000.0,
        f"{architecture}.vocab_size": len(vocabulary()),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": vocabulary(),
        "tokenizer.ggml.token_type": [3] * len(MARKERS) + [1] * (len(vocabulary()) - len(MARKERS)),
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": TEMPLATE,
        **(fields or {}),
    }
    if head_dim != HIDDEN // HEADS:
        named |= {f"{architecture}.attention.key_length": head_dim, f"{architecture}.attention.value_length": head_dim}
    for key, value in named.items():
        if key not in drop:
            _add(writer, key, value)
    random = np.random.default_rng(seed)
    for name, shape in shapes(architecture, len(vocabulary()), head_dim).items():
        if name in drop:
            continue
        values = (random.standard_normal(shape) * 0.1).astype(np.float32)
        kind = gguf.GGMLQuantizationType[stored_as(name) if len(shape) > 1 else "F32"]
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    for name, values in (extra or {}).items():
        writer.add_tensor(name, np.asarray(values, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_uint32(key, value)


def prepare_file(path: Path, quant: str | None = "none") -> Any:
    """Prepare a GGUF file or folder, silently."""
    from lacli.models.prepare.prepare import prepare
    from lacli.models.registry.registry import spec_of_path

    return prepare(spec_of_path(path), quant, lambda step: None)  # type: ignore[arg-type]


def write_folder(folder: Path, architecture: str = "llama", **changes: Any) -> Path:
    """A Hugging Face folder of a tiny model; `changes` are keys of config.json."""
    source = write_gguf(folder.with_name(f"{folder.name}.gguf"), architecture)
    prepared = prepare_file(source)
    shutil.copytree(prepared.folder, folder)
    (folder / "prepared.json").unlink()
    if changes:
        edit_json(folder / "config.json", **changes)
    return folder


def edit_json(path: Path, **changes: Any) -> None:
    """Set keys of a JSON file; None removes a key."""
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    document |= changes
    kept = {key: value for key, value in document.items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")
