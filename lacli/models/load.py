"""A prepared model into a runner: picks the fused forward where it fits, the generic one elsewhere.

Called by `lacli.assistant` and the bench. Reads weights from safetensors only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory, UsageError
from lacli.models.base import Quant, Runner
from lacli.models.fused import FusedConfig, FusedLayer, FusedRunner
from lacli.models.quant import FloatLinear, Int8Linear, QuantLinear, quantise_rows, self_test

if TYPE_CHECKING:
    from lacli.models.prepare import PreparedModel

Device = Literal["cpu", "cuda"]
_AGAIN = "fetch the model again"


def choose_device(asked: str) -> Device:
    """`auto`, `cpu` or `cuda` into a device that is there; a wanted CUDA device is never silently a CPU."""
    if asked == "cuda" and not torch.cuda.is_available():
        built = torch.version.cuda is not None
        raise UsageError(
            "no CUDA device can be used" if built else f"PyTorch {torch.__version__} is a build without CUDA",
            "use --device cpu" if built else "install a CUDA build of PyTorch, or use --device cpu",
        )
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return "cuda" if asked == "cuda" else "cpu"


def default_quant(device: Device) -> Quant:
    """nf4 on CUDA, int8 on a CPU."""
    return "nf4" if device == "cuda" else "int8"


def physical_threads() -> int:
    """Cores this process may use, one thread each; hyper-threads do not help a memory-bound step."""
    import psutil

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, psutil.cpu_count(logical=False) or allowed))


def load_runner(
    prepared: PreparedModel,
    quant: Quant,
    device: Device = "cpu",
    threads: int | None = None,
    context: int | None = None,
) -> Runner:
    """Load the weights of `prepared` for `quant` and return a runner with an empty cache.

    Raises LacliError subclasses: files missing or damaged, out of memory, kernels that fail their self-test.
    """
    torch.set_num_threads(threads or physical_threads())
    with _translated(prepared.folder):
        config = FusedConfig.read(prepared.config, context)
        if device == "cpu" and quant in ("int8", "none") and config is not None:
            return _load_fused(prepared, config, quant)
        from lacli.models.runner import load_generic

        return load_generic(prepared, quant=quant, device=device, context=context)


@contextlib.contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """Foreign errors of loading, as ours."""
    try:
        yield
    except SafetensorError as error:
        raise ModelUnavailable(
            f"the weights in {folder} are damaged: {error}", "remove them with `lacli models rm`"
        ) from error
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError) as error:
        raise ModelUnavailable(
            f"config.json in {folder} describes no model that can be loaded ({type(error).__name__}: {error})",
            _AGAIN,
        ) from error
    except MemoryError as error:
        raise OutOfMemory("the model does not fit into memory", "take a smaller model, or --quant int8") from error
    except RuntimeError as error:
        if "not enough memory" in str(error) or "out of memory" in str(error).lower():
            raise OutOfMemory("the model does not fit into memory", "take a smaller model, or --quant int8") from error
        raise LacliError(f"loading {folder} failed: {str(error).splitlines()[0]}") from error


class _Tensors:
    """Named tensors of several safetensors files, read one at a time from memory maps."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._handles = [safe_open(str(file), framework="pt", device="cpu") for file in files]
        self._where = {name: handle for handle in self._handles for name in handle.keys()}  # noqa: SIM118

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def __call__(self, name: str) -> Tensor:
        if name not in self._where:
            raise ModelUnavailable(f"the weights lack the tensor {name}", _AGAIN)
        return self._where[name].get_tensor(name)

    def optional(self, name: str) -> Tensor | None:
        return self(name) if name in self else None


def _load_fused(prepared: PreparedModel, config: FusedConfig, quant: Quant) -> FusedRunner:
    files = [prepared.int8_file] if quant == "int8" and prepared.int8_file else list(prepared.float_files)
    tensors = _Tensors(files)
    tested: set[tuple[type[QuantLinear], int]] = set()

    def linear(*names: str) -> QuantLinear:
        """The linears of these names side by side as one."""
        biases = [tensors.optional(f"{name}.bias") for name in names]
        bias = (
            torch.cat([part.to(torch.float32) for part in biases if part is not None])
            if biases[0] is not None
            else None
        )
        weights = [tensors(f"{name}.weight") for name in names]
        for name, weight in zip(names, weights, strict=True):
            _check_shape(name, weight, config)
        width = config.shape_of(names[0])[1]
        made: QuantLinear
        if quant == "int8":
            if weights[0].dtype == torch.int8:
                parts = [(weight, tensors(f"{name}.scale")) for name, weight in zip(names, weights, strict=True)]
            else:
                parts = [quantise_rows(weight) for weight in weights]
            made = Int8Linear(
                _joined([weight for weight, _ in parts]), _joined([scale for _, scale in parts]), bias, width
            )
        else:
            made = FloatLinear(_joined(weights), bias)
        if (type(made), made.in_features) not in tested:
            tested.add((type(made), made.in_features))
            self_test(made)
        return made

    def norm(name: str) -> Tensor:
        return tensors(f"{name}.weight").to(torch.float32)

    layers = []
    for index in range(config.layers):
        prefix = f"model.layers.{index}"
        attention, mlp = f"{prefix}.self_attn", f"{prefix}.mlp"
        layers.append(
            FusedLayer(
                input_norm=norm(f"{prefix}.input_layernorm"),
                qkv=linear(f"{attention}.q_proj", f"{attention}.k_proj", f"{attention}.v_proj"),
                output=linear(f"{attention}.o_proj"),
                post_norm=norm(f"{prefix}.post_attention_layernorm"),
                gate_up=linear(f"{mlp}.gate_proj", f"{mlp}.up_proj"),
                down=linear(f"{mlp}.down_proj"),
            )
        )
    if f"model.layers.{config.layers}.input_layernorm.weight" in tensors:
        raise ModelUnavailable(f"the weights have more than the {config.layers} layers of config.json", _AGAIN)
    embedding = tensors("model.embed_tokens.weight")
    _check_shape("model.embed_tokens", embedding, config)
    head = linear("lm_head" if "lm_head.weight" in tensors else "model.embed_tokens")
    return FusedRunner(config, embedding, layers, norm("model.norm"), head)


def _check_shape(name: str, weight: Tensor, config: FusedConfig) -> None:
    """Refuse weights that are not those of this config: some would even run."""
    rows, columns = config.shape_of(name)
    padded = -(-columns // 32) * 32 if weight.dtype == torch.int8 else columns
    if tuple(weight.shape) != (rows, padded):
        raise ModelUnavailable(
            f"{name}.weight is {list(weight.shape)} where config.json asks for {[rows, columns]}",
            _AGAIN,
        )


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
