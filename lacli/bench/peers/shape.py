"""A 1.5B Llama shape with random weights: the time of one row against what memory's bandwidth allows.

The sizes are Yi-Coder-1.5B's. Weights are random bytes in the layout the C step reads, with small scales: the time
does not depend on what they say. Runs in a process of its own, so that gigabytes go as it ends; started by
`process`.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacli.bench.peers.serve import Answer, serve
from lacli.bench.step_cost import step_samples
from lacli.kernels import packing
from lacli.kernels.library import Library, library
from lacli.kernels.structs import Layer, Matrix, Model, aligned
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.native.load import sizes_of
from lacli.models.runners.native.runner import NativeModel, NativeRunner

_CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "hidden_size": 2048,
    "intermediate_size": 5504,
    "vocab_size": 64000,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
_SCALE = 1 / 4096
_PAST = 16
_KINDS: dict[str, packing.Kind] = {"int4": "q4m", "int8": "q8"}


class Weights:
    """One piece of memory that all matrices lie in."""

    def __init__(self, total: int) -> None:
        self._all: NDArray[np.uint8] = aligned((total,), np.uint8)
        step = 1 << 24
        noise = np.random.default_rng(0).integers(0, 256, step, dtype=np.uint8)
        for start in range(0, total, step):
            part = self._all[start : start + step]
            part[:] = noise[: len(part)]
        self._used = 0

    def matrix(self, kind: packing.Kind, rows: int, columns: int) -> Matrix:
        """The next matrix, with scales and minima that keep activations small."""
        size = packing.nbytes(kind, rows, columns)
        data = self._all[self._used : self._used + size].reshape(packing.shape(kind, rows, columns))
        self._used += size
        blocks = -(-columns // packing.BLOCK)
        values = blocks * packing.PANEL * (16 if kind.startswith("q4") else 32)
        factors = np.ascontiguousarray(np.full(blocks * packing.PANEL, _SCALE, dtype=np.float16)).view(np.uint8)
        for number in range(2 if kind.endswith("m") else 1):
            begin = values + number * len(factors)
            data[:, begin : begin + len(factors)] = factors
        return Matrix(kind, data, rows, columns)

    def read_seconds(self, kernels: Library) -> float:
        """Time to read all of it with all threads."""
        started = time.perf_counter()
        kernels.read(self._all)
        return time.perf_counter() - started

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return len(self._all)


def measure(quant: Literal["int4", "int8"], threads: int, repeats: int) -> Answer:
    """Milliseconds of steps of one row, of reading as many bytes as such a step reads, taken in turn."""
    kernels = library()
    if kernels is None:
        raise RuntimeError("the C kernels are not built")
    kernels.set_threads(threads)
    config = FusedConfig.read(_CONFIG)
    assert config is not None
    kind = _KINDS[quant]
    shapes = {name: config.shape_of(f"model.layers.0.{name}") for name in _LINEARS}
    head_bytes = packing.nbytes("q8", config.vocab_size, config.hidden)
    layer_bytes = sum(packing.nbytes(kind, *shape) for shape in shapes.values())
    weights = Weights(config.layers * layer_bytes + head_bytes)
    norm = np.ones(config.hidden, dtype=np.float32)
    layers = []
    for _ in range(config.layers):
        matrices = {_LINEARS[name]: weights.matrix(kind, *shape) for name, shape in shapes.items()}
        layers.append(Layer(norm, norm, **matrices))  # type: ignore[arg-type]  # they are the names' own
    # Read row by row only, so its bytes do not count: the head's stand in for them.
    head = weights.matrix("q8", config.vocab_size, config.hidden)
    model = Model(sizes_of(config), layers, head, head, norm)
    runner = NativeRunner(NativeModel(kernels, config, model, "f16"))
    steps, reads = [], []
    for _ in range(repeats):
        reads.append(1000 * weights.read_seconds(kernels))
        steps += step_samples(runner, (1,), 1, _PAST)[1]
    return {"step_ms": steps, "read_ms": reads, "bytes": weights.nbytes, "build": kernels.isa}


_LINEARS = {
    "self_attn.q_proj": "query",
    "self_attn.k_proj": "key",
    "self_attn.v_proj": "value",
    "self_attn.o_proj": "output",
    "mlp.gate_proj": "gate",
    "mlp.up_proj": "up",
    "mlp.down_proj": "down",
}


def main() -> None:
    """Serve."""
    serve({"measure": measure})
