"""Loads weights into a `DeviceRunner`, and finds out which of its kernels work on this device.

FlashAttention and CUDA graphs are tested at load against the same model without them; what raises or gives other logits
is not used, with a note.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from lacli.errors import LacliError
from lacli.models.base import Quant, Rows, Scores
from lacli.models.runners.blame import is_own_bug
from lacli.models.runners.dtype import dtype_on
from lacli.models.runners.fused.device import tuned
from lacli.models.runners.fused.device.attention import Style, flash_chain, flash_past
from lacli.models.runners.fused.device.buckets import ROWS
from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.graphs import Calls, CudaGraphs, Replays
from lacli.models.runners.fused.device.linears import Linear, Tuner, head_of, linear_of
from lacli.models.runners.fused.device.runner import DeviceRunner, Shapes
from lacli.models.runners.fused.device.step import StepModel
from lacli.models.runners.fused.device.weights import Stored, WeightReader
from lacli.models.runners.tensors import Tensors

_CHUNKS = (2048, 1024, 512)
_SHARE = 8
"""A chunk of a prompt may take the eighth part of the memory that is free."""
_FLASH_DIMS = 256
_AGREED = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""How far kernels may be apart, relative to the norm of the logits."""


def load_device(
    tensors: Tensors,
    config: DeviceConfig,
    quant: Quant,
    device: torch.device,
    *,
    dtype: torch.dtype | None = None,
    strict: bool = False,
    stored: Callable[[Tuner], Stored] | None = None,
) -> DeviceRunner:
    """quant: none (bfloat16, or float16 before Ampere, or `dtype`), nf4 or bnb-int8.

    strict: one shape for every forward. stored: given the tuner, what gives matrices that a file holds quantised.
    Raises ModelUnavailable where weights do not fit the config, LacliError where the model computes nonsense.
    """
    dtype = dtype or dtype_on(device)
    if device.type == "cuda":  # sums of a split reduction are rounded to bfloat16 otherwise
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    gpu = tuned.gpu_of(device)
    known = tuned.read(gpu)
    tuner = Tuner(device, dtype, known=known)

    def make(name: str, weight: Tensor, bias: Tensor | None) -> Linear:
        return head_of(weight) if name == "lm_head" and bias is None else linear_of(weight, bias, quant, tuner)

    with torch.inference_mode():
        more = () if stored is None else (stored(tuner),)
        model = StepModel(config, WeightReader(tensors, config, device, dtype, make, *more).read())
    if device.type == "cuda":
        torch.cuda.empty_cache()  # what quantising took
    if tuner.complete and tuner.choices != known:
        tuned.write(gpu, tuner.choices)
    return runner_of(model, strict=strict)


def runner_of(model: StepModel, *, strict: bool = False) -> DeviceRunner:
    """A runner with the best kernels that run here and agree."""
    sizes = model.config.sizes
    plain = Style(model.config.query_scale, model.config.attention_cap)
    shapes = Shapes.strict(sizes.context_size) if strict else Shapes(chunk=chunk_rows(model))
    runner = DeviceRunner(model, plain, Calls(), shapes)
    expected = _probe(runner)
    if not bool(torch.isfinite(expected).all()):
        raise LacliError("the model gives logits that are not finite", "the weights may be damaged")
    if model.device.type == "cuda":
        improve(runner, expected, _AGREED[model.dtype], flash=not strict and flash_fits(model))
    return runner


def improve(runner: DeviceRunner, expected: Tensor, tolerance: float, *, flash: bool) -> None:
    """Take FlashAttention, where the model and device are made for it, and graphs, as far as they agree."""
    if flash:
        style = replace(runner.style, past=flash_past, chain=flash_chain)
        # Behind the short text of the probe, too, it is to be merged.
        if _try(runner, expected, replace(style, merged_from=0), Calls(), "FlashAttention", tolerance):
            runner.use(style=style)
    _try(runner, expected, runner.style, CudaGraphs(), "CUDA graphs", tolerance)


def flash_fits(model: StepModel) -> bool:
    """Whether PyTorch's FlashAttention is made for this model and device."""
    dim = model.config.sizes.head_dim
    modern = model.device.type == "cuda" and torch.cuda.get_device_capability(model.device)[0] >= 8
    return modern and model.dtype != torch.float32 and dim % 8 == 0 and dim <= _FLASH_DIMS


def chunk_rows(model: StepModel, free_bytes: int | None = None) -> int:
    """Rows of a chunk of a prompt: as many as the free memory has room for."""
    sizes = model.config.sizes
    if free_bytes is None:
        if model.device.type != "cuda":
            return _CHUNKS[-1]
        free_bytes = torch.cuda.mem_get_info(model.device)[0]
    wide = 4 * sizes.hidden + 4 * sizes.intermediate + 4 * sizes.heads * sizes.head_dim
    group = sizes.heads // sizes.kv_heads
    row = 4 * wide + 2 * group * sizes.context_size  # float32 activations, and its lines in a mask
    return next((rows for rows in _CHUNKS if rows * row <= free_bytes // _SHARE), _CHUNKS[-1])


def _probe(runner: DeviceRunner) -> Tensor:
    """Logits after two chunks of a prompt, where the context is long enough for them, after a few tokens more, of a
    tree behind those, and of a chain behind what was kept of it."""
    vocab, chunk = runner.vocab_size, ROWS[-1] + 1
    ids = [(7 * index + 3) % vocab for index in range(2 * chunk)]
    found: list[Tensor] = []

    def note(scores: Scores | None) -> None:
        assert scores is not None
        found.append(torch.as_tensor(scores.logits).clone())  # the next forward may overwrite them

    runner.truncate(0)
    if runner.context_size > 3 * chunk:
        note(runner.prefill(ids[:chunk]))
        note(runner.prefill(ids[chunk:]))
    note(runner.prefill(ids[:4]))
    note(runner.forward(Rows((ids[4], ids[0], ids[5], ids[1]), (-1, 0, 0, 1), (0, 1, 2, 3))))
    runner.keep([0, 2])
    note(runner.forward(Rows((ids[6], ids[7]), (-1, 0), (0, 1))))
    runner.truncate(0)
    return torch.cat(found)


def _try(runner: DeviceRunner, expected: Tensor, style: Style, replays: Replays, name: str, tolerance: float) -> bool:
    """Let the runner use these if they run and agree, else leave it as it was, with a note."""
    before = runner.style, runner.replays
    try:
        runner.use(style=style, replays=replays)
        found = [_probe(runner) for _ in range(2)]  # captured, then replayed
        if all(bool((each - expected).norm() <= tolerance * expected.norm()) for each in found):
            return True
        why = "other results"
    except (RuntimeError, LacliError, TypeError, AttributeError) as error:  # the last: this PyTorch has no such call
        if is_own_bug(error):
            raise
        why = str(error.__cause__ or error).strip().splitlines()[0]
    runner.use(style=before[0], replays=before[1])
    runner.truncate(0)
    runner.notes = (*runner.notes, f"{name} cannot be used on this device ({why}); the model runs without")
    return False
