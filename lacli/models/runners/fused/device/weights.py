"""Hugging Face tensors as the forward for devices wants them: q, k, v and gate, up joined, norms in float32.

One matrix at a time: it is read, brought to the device, and handed to `make`, which may quantise it, so what is in
memory beside the result is one matrix. Where a file holds matrices quantised already, `stored` gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.linears import Linear
from lacli.models.runners.fused.device.step import StepLayer, StepWeights
from lacli.models.runners.tensors import Tensors

MakeLinear = Callable[[str, Tensor, Tensor | None], Linear]
"""(name of the first part without `.weight`, weight [rows, columns] and bias on the device in the model's dtype)"""

Stored = Callable[[Sequence[str], Tensor | None], Linear | None]
"""(names of matrices without `.weight`, bias on the device) -> them one below the other; None where they are floats"""

_EMBEDDING = "model.embed_tokens"


class WeightReader:
    """Reads the weights of one model."""

    def __init__(
        self,
        tensors: Tensors,
        config: DeviceConfig,
        device: torch.device,
        dtype: torch.dtype,
        make: MakeLinear,
        stored: Stored = lambda names, bias: None,
    ) -> None:
        self._tensors, self._config = tensors, config
        self._device, self._dtype = device, dtype
        self._make, self._stored = make, stored

    def read(self) -> StepWeights:
        """Raises ModelUnavailable where tensors are missing or of another size than config.json says."""
        embedding = self._matrix(_EMBEDDING)
        tied = self._tensors.head == _EMBEDDING
        layers = [self._layer(index) for index in range(self._config.sizes.layers)]
        self._config.sizes.refuse_more(self._tensors)
        head = self._make("lm_head", embedding, None) if tied else self._linear(self._tensors.head)
        return StepWeights(embedding, layers, self._norm("model.norm"), head)

    def _layer(self, index: int) -> StepLayer:
        prefix = f"model.layers.{index}"
        attention, mlp, family = f"{prefix}.self_attn", f"{prefix}.mlp", self._config.family
        if family.joined:
            qkv, gate_up = self._linear(f"{attention}.qkv_proj"), self._linear(f"{mlp}.gate_up_proj")
        else:
            qkv = self._linear(*(f"{attention}.{name}_proj" for name in "qkv"))
            gate_up = self._linear(f"{mlp}.gate_proj", f"{mlp}.up_proj")
        sandwich = family.sandwich
        before_mlp = "pre_feedforward_layernorm" if sandwich else "post_attention_layernorm"
        return StepLayer(
            input_norm=self._norm(f"{prefix}.input_layernorm"),
            qkv=qkv,
            output=self._linear(f"{attention}.o_proj"),
            mlp_norm=self._norm(f"{prefix}.{before_mlp}"),
            gate_up=gate_up,
            down=self._linear(f"{mlp}.down_proj"),
            head_norm=self._head_norm(attention) if self._config.sizes.head_norms else None,
            attention_norm=self._norm(f"{prefix}.post_attention_layernorm") if sandwich else None,
            output_norm=self._norm(f"{prefix}.post_feedforward_layernorm") if sandwich else None,
        )

    def _norm(self, name: str) -> Tensor:
        weight = torch.from_numpy(self._tensors.floats(f"{name}.weight") + self._config.family.norm_offset)
        return weight.to(self._device)

    def _head_norm(self, attention: str) -> Tensor:
        sizes = self._config.sizes
        parts = ((f"{attention}.q_norm", sizes.heads), (f"{attention}.k_norm", sizes.kv_heads))
        return torch.cat([self._norm(name).expand(count, -1) for name, count in parts])

    def _matrix(self, name: str) -> Tensor:
        self._config.sizes.check_shape(name, self._tensors.array(f"{name}.weight")[1].shape)
        return self._tensors.torch(f"{name}.weight").to(self._device).to(self._dtype)

    def _linear(self, *names: str) -> Linear:
        """The matrices of these names, one below the other."""
        bias = None
        if f"{names[0]}.bias" in self._tensors:
            biases = [torch.from_numpy(self._tensors.floats(f"{name}.bias").copy()) for name in names]
            bias = torch.cat(biases).to(self._device, self._dtype)
        found = self._stored(names, bias)
        if found is not None:
            return found
        parts = [self._matrix(name) for name in names]
        return self._make(names[0], parts[0] if len(parts) == 1 else torch.cat(parts), bias)
