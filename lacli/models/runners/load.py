"""Loads a prepared model into a runner: on a CPU our C step if it fits the model and is built, else the same in
PyTorch; on CUDA our forward for devices; transformers for all else. Reads weights from safetensors only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from safetensors import SafetensorError

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory, UsageError
from lacli.kernels.library import library
from lacli.models.base import Quant, Runner
from lacli.models.registry.choice import ON_CUDA
from lacli.models.registry.limits import cores, processors
from lacli.models.registry.refusal import needs_more_cards
from lacli.models.runners.blame import is_own_bug
from lacli.models.runners.fused.config import AGAIN, FusedConfig
from lacli.models.runners.rotary import inverse_frequencies
from lacli.models.runners.tensors import Tensors

if TYPE_CHECKING:
    from lacli.models.prepare.prepare import PreparedModel

Device = Literal["cpu", "cuda"]
ON_DEVICE = "cuda"
"""What PyTorch calls it; tests put a CPU in its place."""
_UNREADABLE = (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError)
"""What values of a wrong type, or out of range, raise where they are read."""


def choose_device(asked: str) -> Device:
    """`auto`, `cpu` or `cuda` into a device that is there; a wanted CUDA device is never silently a CPU."""
    if asked == "cpu" or (asked == "auto" and not has_cuda_driver()):
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if asked == "auto":
        return "cpu"
    built = torch.version.cuda is not None
    raise UsageError(
        "no CUDA device can be used" if built else f"PyTorch {torch.__version__} is a build without CUDA",
        "use --device cpu" if built else "install a CUDA build of PyTorch, or use --device cpu",
    )


def has_cuda_driver() -> bool:
    """Whether NVIDIA's driver is installed: without it there is no need to import PyTorch in order to ask it."""
    for name in ("nvcuda.dll",) if os.name == "nt" else ("libcuda.so.1", "libcuda.so"):
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return True
    return False


def needs_torch(prepared: PreparedModel, quant: Quant, device: Device = "cpu", context: int | None = None) -> bool:
    """Whether PyTorch computes: False where our C step does all of it. Raises as `load_runner` for a wrong config."""
    with _translated(prepared.folder):
        return library() is None or _own_config(prepared, quant, device, context) is None


def load_runner(
    prepared: PreparedModel,
    quant: Quant,
    device: Device = "cpu",
    threads: int | None = None,
    context: int | None = None,
    strict: bool = False,
) -> Runner:
    """Load the weights of `prepared` for `quant` and return a runner with an empty cache.

    strict: on CUDA, every forward in one shape (`BucketedRunner.chains_only`); on a CPU nothing depends on shapes.
    Raises LacliError subclasses: files missing or damaged, out of memory, kernels that fail their self-test.
    """
    # More threads than processors wait for each other at every phase: ten times slower, and never faster.
    count = min(threads, processors()) if threads else cores()
    kernels = library()
    if kernels is not None:
        kernels.set_threads(count)
    with _translated(prepared.folder):
        config = _own_config(prepared, quant, device, context)
        if config is not None:
            packed = prepared.packed_file if prepared.quant == quant else None
            tensors = Tensors([packed] if packed else prepared.float_files)
            if kernels is not None:
                from lacli.models.runners.native.load import load_native

                return load_native(kernels, tensors, config, quant)
            if not any(config.windows):
                _let_torch_use(count)
                from lacli.models.runners.fused.load import load_fused

                return load_fused(tensors, config, quant)
        _let_torch_use(count)
        spread = device == "cuda" and needs_more_cards(prepared.spec, context, quant)
        if device == "cuda" and not spread:
            runner = _on_device(prepared, quant, context, strict)
            if runner is not None:
                return runner
        from lacli.models.runners.generic.runner import load_generic

        return load_generic(prepared, quant=quant, device=device, context=context, spread=spread)


def _own_config(prepared: PreparedModel, quant: Quant, device: Device, context: int | None) -> FusedConfig | None:
    """The model's sizes and constants as our own forward needs them; None if it does not fit the model."""
    try:
        config = FusedConfig.read(prepared.config, context)
        if config is not None:
            inverse_frequencies(config)  # the only numbers that are not checked one by one
    except _UNREADABLE as error:
        raise _no_model(prepared.folder, error) from error
    return config if device == "cpu" and quant in ("int4", "int8", "none") else None


def _on_device(prepared: PreparedModel, quant: Quant, context: int | None, strict: bool) -> Runner | None:
    """Our own forward on CUDA; None for models and weights it is not for."""
    from lacli.models.runners.fused.device.config import DeviceConfig

    config, quant = DeviceConfig.read(prepared.config, context), ON_CUDA.get(quant, quant)
    packed = prepared.packed_file if prepared.quant == quant else None
    files = [packed] if packed else list(prepared.float_files)
    if config is None or not files:
        return None
    import torch

    from lacli.models.runners.bnb_file import BnbFile
    from lacli.models.runners.fused.device.load import load_device
    from lacli.models.runners.fused.device.packed import stored_in

    stored = partial(stored_in, BnbFile(files), config.sizes) if packed else None
    return load_device(Tensors(files), config, quant, torch.device(ON_DEVICE), strict=strict, stored=stored)


def _let_torch_use(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def _no_model(folder: Path, error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"config.json in {folder} describes no model that can be loaded ({type(error).__name__}: {error})", AGAIN
    )


@contextlib.contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """Errors of loading that other libraries raise, as ours."""
    try:
        yield
    except SafetensorError as error:
        raise ModelUnavailable(
            f"the weights in {folder} are damaged: {error}", "remove them with `lacli models rm`"
        ) from error
    except _UNREADABLE as error:
        if is_own_bug(error):
            raise
        raise _no_model(folder, error) from error
    except MemoryError as error:
        raise OutOfMemory("the model does not fit into memory", "take a smaller model, or --quant int4") from error
    except RuntimeError as error:
        if "not enough memory" in str(error) or "out of memory" in str(error).lower():
            raise OutOfMemory("the model does not fit into memory", "take a smaller model, or --quant int4") from error
        raise LacliError(f"loading {folder} failed: {str(error).splitlines()[0]}") from error
