"""GGUF architectures we have no mapping for: read by transformers' own loader, and written by us.

Such a model refuses `save_pretrained`, and it is in memory whole while it is prepared.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lacli.errors import ModelUnavailable
from lacli.models.gguf.read import GgufFile
from lacli.models.prepare.weights import Weight

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor


def convert(file: GgufFile, half: bool) -> tuple[dict[str, Any], tuple[str, ...], list[Weight]]:
    """config.json, notes and weights of `file`."""
    name = file.paths[0].name
    if len(file.paths) > 1:
        raise ModelUnavailable(
            f"{name} is split, which works only for llama, qwen2 and qwen3", "merge it with llama-gguf-split --merge"
        )
    import torch
    import transformers

    remedy = "use the Hugging Face folder of the model, or a model of `lacli models list`"
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bar knows no switch
            model = transformers.AutoModelForCausalLM.from_pretrained(
                str(file.paths[0].parent),
                gguf_file=name,
                dtype=torch.bfloat16 if half else torch.float32,
                local_files_only=True,
            )
    except Exception as error:  # a foreign loader over a foreign file: any failure means that it cannot be read
        said = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise ModelUnavailable(
            f"{name} has architecture {file.architecture}, which cannot be read here ({said})",
            remedy,
        ) from error
    config: dict[str, Any] = model.config.to_dict()
    config = {key: value for key, value in config.items() if key not in ("quantization_config", "_name_or_path")}
    config["architectures"] = [type(model).__name__]
    seen: set[int] = set()
    weights = []
    for key, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:  # a tied head is its embedding once more
            seen.add(tensor.data_ptr())
            weights.append(Weight(key, tuple(tensor.shape), _held(tensor)))
    return config, (), weights


def _held(tensor: Tensor) -> Callable[[], NDArray[np.float32]]:
    return lambda: tensor.float().numpy()
