"""Whether a model fits into the memory that is free: weights, KV cache and what a step needs.

Files only, no torch. What is not known yet is estimated, and marked as an estimate.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.models.prepare.positions import most_positions
from lacli.models.registry import limits
from lacli.models.registry.inventory import Presence, presence, variants
from lacli.models.spec import ModelSpec

_PROGRAM = 400_000_000
"""Memory of Python and PyTorch themselves."""
_ROWS = 64
"""The most rows of a forward: a chunk of the prompt, or the widest step."""
_BYTES = {"int4": 0.5625, "nf4": 0.5625, "int8": 1.0625, "bnb-int8": 1.03, "none": 2.0}
"""Bytes of a weight with its share of the scales; `none` is bfloat16, as in most models."""
_WIDE = {"int4": 1.0625, "int8": 1.0625, "nf4": 2.0, "bnb-int8": 2.0, "none": 2.0}
"""The same for embeddings and head, which keep more bits."""
_KV_BYTES = {"none": 4}
"""Bytes of a number in the KV cache; 2 unless listed."""
_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Fit:
    """What a model needs and what there is, in bytes."""

    quant: str
    device: str
    context: int
    """Tokens of prompt and reply; 0 where the model's own bound is not known."""
    weights: int
    measured: bool
    """Whether `weights` is what lies on the disk rather than an estimate."""
    kv_token: int
    """KV cache of one token; 0 where the model's configuration is not on this computer."""
    work: int
    """The program itself, activations and logits."""
    free: int
    total: int

    @property
    def cache(self) -> int:
        """The KV cache when the context is full."""
        return self.kv_token * self.context

    @property
    def needed(self) -> int:
        """The sum of it all."""
        return self.weights + self.cache + self.work

    @property
    def fits(self) -> bool:
        """Whether it fits with the whole context."""
        return self.needed <= self.free

    @property
    def most_context(self) -> int:
        """The longest context that fits; 0 where none does, or nothing is known."""
        room = self.free - self.weights - self.work
        return max(0, min(room // self.kv_token, self.context)) if self.kv_token else 0


def fit(spec: ModelSpec, context: int | None = None, quant: str | None = None, device: str = "auto") -> Fit:
    """Compare what `spec` needs for a context of this length with the free memory of the device it would run on."""
    here = presence(spec)
    config = _config(spec, here)
    graphics = _graphics_memory() if device in ("auto", "cuda") else None
    where = "cuda" if graphics else "cpu"
    free, total = graphics or _memory()
    runs = quant or _quant(spec, here, where)
    known = {name: size for folder in here.prepared for name, size in variants(folder).items()}
    parameters = spec.parameters or _parameters(config)
    bound = spec.context or most_positions(config) or 0
    return Fit(
        quant=runs,
        device=where,
        context=min(context, bound) if context and bound else context or bound,
        weights=known.get(runs) or _estimate(parameters, config, runs),
        measured=runs in known,
        kv_token=_kv_token(config, runs),
        work=_PROGRAM + _ROWS * 4 * (_number(config, "vocab_size") + 8 * _number(config, "hidden_size")),
        free=free,
        total=total,
    )


def _number(config: Mapping[str, Any], key: str) -> int:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _quant(spec: ModelSpec, here: Presence, device: str) -> str:
    """The quantisation it would run in: the one prepared, asked for, or the default."""
    from lacli.models.registry.choice import for_cpu, int8_size, on_device

    asked = spec.fixed_quant
    if device == "cuda":
        return on_device(asked, device)[0] or "nf4"
    prepared = next((name for folder in here.prepared for name in variants(folder)), None)
    four_bit = any("q4" in source.file_name.lower() for source in spec.sources)
    return asked or prepared or for_cpu(four_bit, int8_bytes=int8_size(spec.parameters))[0]


def _config(spec: ModelSpec, here: Presence) -> Mapping[str, Any]:
    """The model's configuration, as far as it is on this computer."""
    folders = [*here.prepared, *([here.files] if here.files is not None and spec.kind == "hf" else [])]
    for folder in folders:
        try:
            found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            return found
    if here.files is not None and spec.kind == "gguf":
        return _config_of_gguf(here.files)
    return {}


def _config_of_gguf(file: Path) -> Mapping[str, Any]:
    from lacli.models.gguf.config import OWN, read_config
    from lacli.models.gguf.read import read_gguf

    gguf = read_gguf(file)
    return read_config(gguf)[0] if gguf.architecture in OWN else {}


def _parameters(config: Mapping[str, Any]) -> int:
    """The number of weights of a model of the Llama shape; 0 if the configuration does not tell."""
    hidden, layers = _number(config, "hidden_size"), _number(config, "num_hidden_layers")
    if not hidden or not layers:
        return 0
    heads = _number(config, "num_attention_heads") or 1
    width = _number(config, "head_dim") or hidden // heads
    keys = (_number(config, "num_key_value_heads") or heads) * width
    layer = 2 * hidden * (heads * width + keys) + 3 * hidden * _number(config, "intermediate_size")
    return layers * layer + _wide(config)


def _wide(config: Mapping[str, Any]) -> int:
    """Weights of the embeddings, and of the head if it has its own."""
    tables = 1 if config.get("tie_word_embeddings") else 2
    return tables * _number(config, "vocab_size") * _number(config, "hidden_size")


def _estimate(parameters: int, config: Mapping[str, Any], quant: str) -> int:
    wide = min(_wide(config), parameters)
    return round((parameters - wide) * _BYTES[quant] + wide * _WIDE[quant])


def _kv_token(config: Mapping[str, Any], quant: str) -> int:
    """Keys and values of one token in all layers."""
    hidden, heads = _number(config, "hidden_size"), _number(config, "num_attention_heads")
    if not hidden or not heads:
        return 0
    width = _number(config, "head_dim") or hidden // heads
    keys = _number(config, "num_key_value_heads") or heads
    return 2 * _number(config, "num_hidden_layers") * keys * width * _KV_BYTES.get(quant, 2)


def _memory() -> tuple[int, int]:
    """Free and all memory."""
    return limits.free_memory(), limits.all_memory()


def _graphics_memory() -> tuple[int, int] | None:
    """Free and all memory of the first graphics card that CUDA could use; None where there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    query = [program, "--query-gpu=memory.free,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, timeout=_WAIT_S, check=True, stdin=subprocess.DEVNULL)
        free, total = done.stdout.decode().splitlines()[0].split(",")
        return int(free) << 20, int(total) << 20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
