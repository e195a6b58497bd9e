"""Rotary embeddings whose frequencies depend on the length of the sequence: made a function of the row alone.

transformers takes the length from the largest position in a call, so guessed rows past the switch would change the
rows before it, and a larger base stays after going back. A forward hook on the rotary modules asks them again with the
length each row has when tokens are decoded one by one; nothing inside transformers is replaced.

Two kinds exist. *dynamic* (NTK): a prompt is rotated for its whole length, every later token for its own.
*longrope*: past the switch the whole sequence is rotated by other factors, so keys made before are void.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig

from lacli.models.runners.generic.exact import VECTOR, rotary_in_whole_vectors


class RopeSwitch:
    """What the rotary modules of one model need to know of the sequence."""

    def __init__(self, model: nn.Module, config: PreTrainedConfig) -> None:
        self.limit: int | None = None
        """Longest sequence before the frequencies change; None where they never do."""
        self.rebuilds = False
        """True where crossing `limit` makes all keys void (longrope)."""
        self.span = 0
        """Length of the sequence the next forward belongs to; 0: each row counts as the end of its own."""
        for module in model.modules():
            limits = _limits(module, config)
            if limits:
                self.limit = min([*limits.values()] + ([] if self.limit is None else [self.limit]))
                self.rebuilds = self.rebuilds or "longrope" in limits
                module.register_forward_hook(self._rotate, with_kwargs=True)
            elif hasattr(module, "rope_type"):
                module.register_forward_hook(rotary_in_whole_vectors, with_kwargs=True)

    def prompt_span(self, length: int) -> int:
        """`span` for a prompt that makes the sequence `length` tokens long."""
        if self.limit is None or length <= self.limit:
            return 0
        return self.long_span if self.rebuilds else length

    @property
    def long_span(self) -> int:
        """`span` of every sequence past the switch, where crossing it makes all keys void."""
        return (self.limit or 0) + 1

    def regime(self, length: int) -> int:
        """1 where a sequence of `length` tokens has keys of its own kind, else 0."""
        return int(self.rebuilds and self.limit is not None and length > self.limit)

    def _rotate(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        assert self.limit is not None
        call = inspect.signature(module.forward).bind(*args, **kwargs)
        positions: Tensor = call.arguments["position_ids"]
        if self.span:
            return _ask(module, call, positions, self.span)
        result = _ask(module, call, positions.clamp(max=self.limit - 1), self.limit)
        for position in sorted({int(p) for p in positions.flatten() if p >= self.limit}):
            rows = (positions[0] == position).nonzero().flatten()
            own = _ask(module, call, positions[:, rows], position + 1)
            for whole, part in zip(_tensors(result), _tensors(own), strict=True):
                whole[:, rows] = part
        return result


def _limits(module: nn.Module, config: PreTrainedConfig) -> dict[str, int]:
    """Kind of every length-dependent rotation in this module, with the longest sequence before it switches."""
    rope_type = getattr(module, "rope_type", None)
    limits: dict[str, int] = {}
    for layer_type, kind in (rope_type if isinstance(rope_type, dict) else {None: rope_type}).items():
        if not isinstance(kind, str):
            continue
        if kind == "longrope":
            parameters = getattr(module, "config", config).rope_parameters
            parameters = parameters if layer_type is None else parameters[layer_type]
            limits["longrope"] = int(parameters["original_max_position_embeddings"])
        elif "dynamic" in kind:
            limits["dynamic"] = int(cast("int", module.original_max_seq_len))
    return limits


def _ask(module: nn.Module, call: inspect.BoundArguments, positions: Tensor, span: int) -> Any:
    """The module's answer for `positions` in a sequence of `span` tokens, whatever it was asked before."""
    # The first position alone takes back a base that an earlier, longer sequence has grown.
    module.forward(**{**call.arguments, "position_ids": positions.new_zeros(1, 1)})
    count = positions.shape[1]
    last = positions.new_full((1, VECTOR - count % VECTOR), span - 1)
    answer = module.forward(**{**call.arguments, "position_ids": torch.cat([positions, last], dim=1)})
    rows = [tensor[:, :count].clone() for tensor in _tensors(answer)]
    return rows[0] if isinstance(answer, Tensor) else tuple(rows)


def _tensors(answer: Any) -> Sequence[Tensor]:
    return [answer] if isinstance(answer, Tensor) else list(answer)
