"""Tiny random models behind the runner for devices, on CPU tensors, beside the runners it is compared with."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from lacli.kernels.library import library
from lacli.models.base import Rows, Runner
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.fused.device.attention import reference_past
from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.load import load_device
from lacli.models.runners.fused.device.runner import DeviceRunner
from lacli.models.runners.generic.attention import EXACT
from lacli.models.runners.generic.runner import GenericRunner
from lacli.models.runners.native.load import load_native
from lacli.models.runners.tensors import Tensors
from tests.models.families import CONFIGS, VOCAB, build

CPU = torch.device("cpu")
CONTEXT = 2048
FAMILIES = ("llama", "qwen2", "qwen2-mixed-windows", "qwen3", "mistral", "gemma2", "gemma3", "phi3")
SCALED = ("llama-yarn", "phi3-longrope", "llama-longrope")


@dataclass
class Made:
    """One model, in all its runners."""

    config: dict[str, Any]
    file: Path
    generic: GenericRunner
    """In float64."""
    native: Runner | None
    """In float32; None where it does not serve the family, or is not built."""

    def stock_in(self, dtype: torch.dtype) -> PreTrainedModel:
        """transformers' own model, computing in this dtype."""
        return AutoModelForCausalLM.from_pretrained(self.file.parent, dtype=dtype, attn_implementation="eager").eval()

    def device(self, *, merged: bool = False, **options: Any) -> DeviceRunner:
        config = DeviceConfig.read(self.config)
        assert config is not None
        runner = load_device(Tensors([self.file]), config, "none", CPU, **options)
        if merged:
            runner.use(style=replace(runner.style, past=reference_past, merged_from=0))
        return runner


def make(name: str, folder: Path, **changes: Any) -> Made:
    """A family of `tests.models.families` with norms that are not all one, a context of `CONTEXT`, and its files."""
    config = CONFIGS[name]()
    if name not in SCALED:
        config.max_position_embeddings = CONTEXT
    for key, value in changes.items():
        setattr(config, key, value)
    stock = build(config)
    for key, parameter in stock.named_parameters():
        if "norm" in key:
            parameter.data.uniform_(-0.4, 0.4) if name.startswith("gemma") else parameter.data.uniform_(0.5, 1.5)
        parameter.data.copy_(parameter.data.float())
    copy.deepcopy(stock).to(torch.float32).save_pretrained(folder)
    stock.set_attn_implementation(EXACT)
    stored = config.to_dict()
    file = folder / "model.safetensors"
    fused, kernels = FusedConfig.read(stored), library()
    native = load_native(kernels, Tensors([file]), fused, "none") if fused and kernels else None
    return Made(stored, file, GenericRunner(stock), native)


def ids_of(count: int, seed: int = 0) -> list[int]:
    return random.Random(seed).choices(range(2, VOCAB), k=count)


def tree_of(size: int, seed: int = 0) -> Rows:
    """A tree in which every row hangs from any row before it."""
    generator = random.Random(seed)
    parents = (-1, *(generator.randrange(row) for row in range(1, size)))
    return Rows(tuple(ids_of(size, seed)), parents, tuple(range(size)))


def chain_of(token_ids: list[int]) -> Rows:
    count = len(token_ids)
    return Rows(tuple(token_ids), tuple(range(-1, count - 1)), tuple(range(count)))
