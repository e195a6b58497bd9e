"""bitsandbytes: NF4 and 8-bit weights for stock transformers models, on CUDA as they come and on a CPU exact by row.

On CUDA its fused kernels are the default of lacli. On a CPU it is slow and only there so that the same weights can be
used everywhere. Nothing else imports bitsandbytes.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from lacli.errors import UsageError
from lacli.models.base import Quant
from lacli.models.runners.dtype import dtype_on
from lacli.models.runners.generic.linear import row_exact_product
from lacli.models.runners.quant import QuantLinear

if TYPE_CHECKING:
    from transformers import BitsAndBytesConfig

SLOW_ON_CPU = "bitsandbytes is slow on a CPU; --quant int4 and int8 are fast there"


def config_for(quant: Quant, device: str) -> BitsAndBytesConfig:
    """How transformers shall quantise while it loads.

    Raises UsageError where bitsandbytes or a wanted CUDA device is not there; the device is never changed silently.
    """
    if device == "cuda" and not torch.cuda.is_available():
        built = torch.version.cuda is not None
        raise UsageError(
            "no CUDA device can be used" if built else f"PyTorch {torch.__version__} is a build without CUDA",
            "use --device cpu --quant int8" if built else "install a CUDA build of PyTorch, or use --quant int8",
        )
    missing = [name for name in ("bitsandbytes", "accelerate") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"--quant {quant} needs {' and '.join(missing)}, not installed here",
            f"run `pip install {' '.join(missing)}`, or use --quant int8",
        )
    # Its CPU layers log a line per call about half precision, and one at import about optional kernels from the hub.
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    from transformers import BitsAndBytesConfig

    if quant == "nf4":
        return BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype_on(device),
        )
    # A threshold above 0 picks outlier columns over all rows of a call: a row would depend on its neighbours.
    return BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=0.0)


class FourBitLinear(QuantLinear):
    """A bitsandbytes 4-bit linear on a CPU: its weights unpacked by bitsandbytes, multiplied exactly by row."""

    def __init__(self, linear: Any) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self._state = linear.weight.quant_state
        self._state.dtype = torch.float32  # what it was stored for would round once more
        self.register_buffer("weight", linear.weight.data)
        self.register_buffer("bias", None if linear.bias is None else linear.bias.data.to(torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        """See `QuantLinear`."""
        from bitsandbytes.functional import dequantize_4bit

        if not x.is_floating_point():  # some models cast their input to the dtype of the weight
            raise RuntimeError("this model casts activations to the dtype of its weights")
        weight = dequantize_4bit(self.get_buffer("weight"), self._state)
        bias = None if self.bias is None else self.get_buffer("bias")
        return row_exact_product(x.to(torch.float32), weight, bias).to(x.dtype)


def exact_linear(module: nn.Module) -> QuantLinear | None:
    """The row-exact stand-in for a bitsandbytes layer on a CPU, or None where the layer is exact as it is."""
    from bitsandbytes.nn.modules import Linear4bit

    return FourBitLinear(module) if isinstance(module, Linear4bit) else None


def ignore_outliers(model: nn.Module) -> None:
    """Take the outlier threshold from 8-bit layers of a checkpoint stored with one (see `config_for`)."""
    from bitsandbytes.nn.modules import Linear8bitLt

    for module in model.modules():
        if isinstance(module, Linear8bitLt):
            module.state.threshold = 0.0
