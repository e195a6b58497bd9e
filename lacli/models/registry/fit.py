"""Whether a model fits into the memory that is free: weights, KV cache and what a step needs.

Files only, no torch. What is not known yet is estimated, and marked as an estimate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.models.prepare.positions import most_positions
from lacli.models.registry import shape
from lacli.models.registry.inventory import Presence, presence, variants
from lacli.models.registry.machine import Machine, this_machine
from lacli.models.spec import ModelSpec

_PROGRAM = {"cpu": 400_000_000, "cuda": 600_000_000}
"""Memory of Python and PyTorch themselves; on a card of its driver, kernels and captured graphs."""
_ROWS = {"cpu": 64, "cuda": 512}
"""The most rows of a forward: a chunk of the prompt, or the widest step."""
_BYTES = {"int4": 0.5625, "nf4": 0.516, "int8": 1.0625, "bnb-int8": 1.002, "none": 2.0}
"""Bytes of a weight with its share of the scales; `none` is bfloat16, as in most models."""
_WIDE = {"int4": 1.0625, "int8": 1.0625, "nf4": 2.0, "bnb-int8": 2.0, "none": 2.0}
"""The same for embeddings and head, which keep more bits."""
_FEWER = {"none": "int8", "int8": "int4", "bnb-int8": "nf4"}
"""What to try where the weights are too large."""
_ON_CPU = {"nf4": "int4", "bnb-int8": "int8"}
_LEAST_CONTEXT = 512


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
    """KV cache of one token; 0 where nothing tells."""
    work: int
    """The program itself, activations and logits."""
    free: int
    total: int
    lightest: int = 0
    """The smaller one of what lies on the disk and the estimate: a prepared file may hold more bits than run."""
    token_bytes: int = 0
    """Bytes that a step of one token reads with an empty context: the weights without those it does not use."""
    decodes_plainly: bool = False
    """Whether lookahead brings this model nothing."""

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
    def least(self) -> int:
        """What no run does without: weights, the shortest context, activations and logits. The program is there."""
        return self.lightest + self.kv_token * _LEAST_CONTEXT + self.work - _PROGRAM[self.device]

    @property
    def most_context(self) -> int:
        """The longest context that fits; 0 where none does, or nothing is known."""
        room = self.free - self.weights - self.work
        return max(0, min(room // self.kv_token, self.context)) if self.kv_token else 0


def fit(
    spec: ModelSpec,
    context: int | None = None,
    quant: str | None = None,
    device: str = "auto",
    machine: Machine | None = None,
) -> Fit:
    """Compare what `spec` needs for a context of this length with the free memory of the device it would run on."""
    machine = machine or this_machine(with_card=device in ("auto", "cuda"))
    here = presence(spec)
    config = _config(spec, here)
    card = machine.card if device in ("auto", "cuda") else None
    where, memory = ("cuda", card) if card else ("cpu", machine.ram)
    runs = quant or _quant(spec, here, where)
    known = {name: size for folder in here.prepared for name, size in variants(folder).items()}
    parameters = spec.parameters or shape.parameters(config)
    bound = spec.context or most_positions(config) or 0
    estimate = _estimate(parameters, config, runs)
    weights = known.get(runs) or estimate
    embedding, experts = shape.unread(config)
    return Fit(
        quant=runs,
        device=where,
        context=min(context, bound) if context and bound else context or bound,
        weights=weights,
        measured=runs in known,
        kv_token=shape.kv_numbers(config) * _number_bytes(runs, where),
        work=_PROGRAM[where]
        + _ROWS[where] * 4 * (shape.number(config, "vocab_size") + 8 * shape.number(config, "hidden_size")),
        free=memory.free,
        total=memory.total,
        lightest=min(weights, estimate),
        token_bytes=max(0, round(weights - embedding * _WIDE[runs] - experts * _BYTES[runs])),
        decodes_plainly=spec.decodes_plainly or shape.decodes_plainly(config),
    )


def ways(spec: ModelSpec, found: Fit, machine: Machine) -> list[str]:
    """Up to three sets of command-line options with which this model would fit; none if it fits already."""
    if found.fits:
        return []
    ways = []
    if found.most_context >= _LEAST_CONTEXT:
        ways.append(f"--ctx {_round(found.most_context)}")
    tries = [(quant, found.device) for quant in _fewer(found.quant)]
    if found.device == "cuda":
        tries += [(quant, "cpu") for quant in _fewer(found.quant, itself=True)]
    for quant, device in tries:
        other = fit(spec, found.context, _ON_CPU.get(quant, quant) if device == "cpu" else quant, device, machine)
        options = f"--quant {other.quant}" + (" --device cpu" if device != found.device else "")
        if other.fits:
            ways.append(options)
        elif other.most_context >= _LEAST_CONTEXT:
            ways.append(f"{options} --ctx {_round(other.most_context)}")
    return ways[:3]


def floor_ms(found: Fit, bandwidth: float) -> float:
    """Least milliseconds per token: bytes read divided by memory bandwidth. A projection, not a measurement."""
    return 1e3 * found.token_bytes / bandwidth


def registered_that_fit(specs: list[ModelSpec], found: Fit, machine: Machine) -> str:
    """The alias of the largest of these models that fits with the same context; empty if none does."""
    device = found.device
    fitting = (
        spec
        for spec in sorted(specs, key=lambda each: -each.parameters)
        if (other := fit(spec, found.context, None, device, machine)).fits and other.kv_token
    )
    return next((spec.alias for spec in fitting), "")


def _fewer(quant: str, itself: bool = False) -> list[str]:
    found = [quant] if itself else []
    while quant in _FEWER:
        quant = _FEWER[quant]
        found.append(quant)
    return found


def _round(tokens: int) -> int:
    return tokens // 256 * 256


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
    """The model's configuration, as far as it is on this computer, or the registry's word for it."""
    folders = [*here.prepared, *([here.files] if here.files is not None and spec.kind == "hf" else [])]
    for folder in folders:
        try:
            found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            text = found.get("text_config")
            return {**found, **text} if isinstance(text, dict) else found
    if here.files is not None and spec.kind == "gguf":
        return _config_of_gguf(here.files)
    return spec.shape


def _config_of_gguf(file: Path) -> Mapping[str, Any]:
    from lacli.models.gguf.config import OWN, read_config
    from lacli.models.gguf.read import read_gguf

    gguf = read_gguf(file)
    if gguf.architecture in OWN:
        return read_config(gguf)[0]
    return {"layer_types": ["other"]} if shape.architecture_decodes_plainly(gguf.architecture) else {}


def _estimate(parameters: int, config: Mapping[str, Any], quant: str) -> int:
    wide = min(shape.wide(config), parameters)
    return round((parameters - wide) * _BYTES[quant] + wide * _WIDE[quant])


def _number_bytes(quant: str, device: str) -> int:
    """Bytes of a number in the KV cache: float32 on a CPU where the weights are, else 16 bits."""
    return 4 if quant == "none" and device == "cpu" else 2
