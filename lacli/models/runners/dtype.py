"""The dtype that activations are computed in on a device; the same for all runners."""

from __future__ import annotations

import torch


def dtype_on(device: str | torch.device) -> torch.dtype:
    """float32 on a CPU, bfloat16 on CUDA, float16 on cards before Ampere, which have no fast bfloat16.

    float32 activations leave bitsandbytes' fused CUDA kernels above 7 rows; a CPU has no fast product of either half.
    """
    if torch.device(device).type == "cpu":
        return torch.float32
    is_older = torch.cuda.is_available() and torch.cuda.get_device_capability(device)[0] < 8
    return torch.float16 if is_older else torch.bfloat16
