"""A row's bits never depend on the other rows of a call, on threads, slots or the instruction set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from lacli.kernels import packing
from lacli.kernels.library import ISAS, Library, library, why_not
from lacli.kernels.structs import Cache, Layer, Matrix, Model, Part, Sizes, aligned

Floats = NDArray[np.float32]
Kind = Literal["q4", "q4m", "q8", "q8m", "f32", "bf16"]
KINDS: tuple[Kind, ...] = ("q4", "q4m", "q8", "q8m", "f32", "bf16")
MOST = 64
"""Rows of the largest step that is promised to be exact by row; the fuzz driver goes beyond."""


@pytest.fixture
def kernels() -> Iterator[Library]:
    """The library, its instruction set and threads put back afterwards."""
    found = library()
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why_not())
    isa, threads = found.isa, found.threads
    yield found
    found.use(isa)
    found.set_threads(threads)


def isas(kernels: Library) -> list[str]:
    """Those this machine has, portable C first: what the others are compared with."""
    found = []
    for name in reversed(ISAS):
        try:
            kernels.use(name)
        except ValueError:
            continue
        found.append(name)
    return found


def matrix(kind: Kind, rows: int, columns: int, random: np.random.Generator, bias: bool = False) -> Matrix:
    weight = random.standard_normal((rows, columns), dtype=np.float32) / np.float32(columns**0.5)
    added = random.standard_normal(rows, dtype=np.float32) if bias else None
    if kind == "f32":
        return Matrix(kind, weight, rows, columns, added)
    if kind == "bf16":
        return Matrix(kind, (weight.view(np.uint32) >> 16).astype(np.uint16), rows, columns, added)
    count, four = -(-columns // 32), kind.startswith("q4")
    values = random.integers(0, 16, (rows, columns)) if four else random.integers(-127, 128, (rows, columns))
    steps = random.uniform(0.5, 1.5, (rows, count)) / (4.6 if four else 73) / columns**0.5
    blocks = packing.Blocks(
        values.astype(np.uint8 if four else np.int8),
        steps.astype(np.float16),
        (-7.5 * steps if four else steps).astype(np.float16) if kind.endswith("m") else None,
        4 if four else 8,
    )
    packed = packing.pack(blocks)
    data = aligned(packed.shape, np.uint8)
    data[...] = packed
    return Matrix(kind, data, rows, columns, added)


class TestAProduct:
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_row_has_the_same_bits_among_any_number_of_rows(self, kernels: Library, kind: Kind) -> None:
        random = np.random.default_rng(KINDS.index(kind))
        weights = matrix(kind, 83, 115, random, bias=True)
        x = random.standard_normal((MOST, 115), dtype=np.float32)
        kernels.use("portable")
        kernels.set_threads(1)
        alone = np.concatenate([kernels.matmul(weights, x[row : row + 1]) for row in range(MOST)])
        for isa in isas(kernels):
            for threads in range(1, 5):
                kernels.use(isa)
                kernels.set_threads(threads)
                for rows in range(threads, MOST + 1, 4):  # each number of rows once; the edges on all threads
                    first = kernels.matmul(weights, x[:rows])
                    assert first.tobytes() == alone[:rows].tobytes(), (isa, threads, rows)
                for rows in (1, 7, MOST):
                    last = kernels.matmul(weights, np.ascontiguousarray(x[-rows:]))
                    assert last.tobytes() == alone[-rows:].tobytes(), (isa, threads, rows)

    @pytest.mark.parametrize("kind", KINDS)
    def test_long_columns_too(self, kernels: Library, kind: Kind) -> None:
        """Of the default model's size, where loops are unrolled and work is shared differently."""
        random = np.random.default_rng(7)
        weights = matrix(kind, 100, 1536, random)
        x = random.standard_normal((17, 1536), dtype=np.float32)
        kernels.set_threads(2)
        results = set()
        for isa in isas(kernels):
            kernels.use(isa)
            results.add(kernels.matmul(weights, x).tobytes())
            results.add(b"".join(kernels.matmul(weights, row[None]).tobytes() for row in x))
        assert len(results) == 1


VARIANTS: dict[str, dict[str, object]] = {
    "int4 as the default model": {"kind": "q4m", "ends": "q8"},
    "int8, biases, windows": {"kind": "q8", "ends": "q8", "bias": True, "window": 21},
    "float32, norms of heads": {"kind": "f32", "ends": "bf16", "norms": True, "cache": "f32"},
}


class Decoder:
    """A tiny model with one sequence in its cache, driven as a runner drives it."""

    HEADS, KV_HEADS, HEAD_DIM, HIDDEN, INNER, VOCAB = 6, 2, 24, 96, 136, 203

    def __init__(self, kernels: Library, variant: str) -> None:
        options = VARIANTS[variant]
        random = np.random.default_rng(len(variant))
        kind: Kind = options["kind"]  # type: ignore[assignment]
        ends: Kind = options["ends"]  # type: ignore[assignment]
        bias = bool(options.get("bias"))
        queries, keys = self.HEADS * self.HEAD_DIM, self.KV_HEADS * self.HEAD_DIM

        def norm(width: int) -> Floats:
            return random.uniform(0.7, 1.3, width).astype(np.float32)

        layers = [
            Layer(
                input_norm=norm(self.HIDDEN),
                post_norm=norm(self.HIDDEN),
                query=matrix(kind, queries, self.HIDDEN, random, bias),
                key=matrix(kind, keys, self.HIDDEN, random, bias),
                value=matrix(kind, keys, self.HIDDEN, random, bias),
                output=matrix(kind, self.HIDDEN, queries, random),
                gate=matrix(kind, self.INNER, self.HIDDEN, random),
                up=matrix(kind, self.INNER, self.HIDDEN, random),
                down=matrix(kind, self.HIDDEN, self.INNER, random),
                query_norm=norm(self.HEAD_DIM) if options.get("norms") else None,
                key_norm=norm(self.HEAD_DIM) if options.get("norms") else None,
                window=int(options.get("window", 0)) * (layer % 2),  # type: ignore[call-overload]
            )
            for layer in range(3)
        ]
        embedding = matrix(ends, self.VOCAB, self.HIDDEN, random)
        sizes = Sizes(self.HEADS, self.KV_HEADS, self.HEAD_DIM, self.HIDDEN, self.INNER, self.VOCAB, 1e-5)
        self.model = Model(sizes, layers, embedding, embedding, norm(self.HIDDEN))
        half = self.HEAD_DIM // 2
        angles = np.outer(np.arange(256), 10000.0 ** -(np.arange(half) / half))
        self.cosine, self.sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        self.kernels, self.cache_kind = kernels, options.get("cache", "f16")
        self.clear()

    def clear(self) -> None:
        self.length = 0
        self.cache = Cache(self.model, self.cache_kind)  # type: ignore[arg-type]
        self.cache.reserve(256, 0, 256)
        self.cache.keys[...] = self.cache.values[...] = np.nan  # a slot without a position is never used

    def step(self, ids: Sequence[int], parents: Sequence[int], wanted: Sequence[int]) -> Floats:
        logits = np.empty((len(wanted), self.VOCAB), dtype=np.float32)
        part = Part(self.cache, self.length, len(ids))
        top_ids, _ = self.kernels.forward([part], ids, parents, wanted, self.cosine, self.sine, logits)
        assert np.isfinite(logits).all()
        assert np.array_equal(top_ids[:, 0], logits.argmax(axis=1))
        return logits

    def keep(self, path: Sequence[int]) -> None:
        self.kernels.keep(self.cache, self.length, path)
        self.length += len(path)

    def feed(self, ids: Sequence[int], chunk: int = 1) -> Floats:
        """Logits after each of the ids, which come in a chain of `chunk` rows a step."""
        logits = []
        for start in range(0, len(ids), chunk):
            rows = ids[start : start + chunk]
            logits.append(self.step(rows, range(-1, len(rows) - 1), range(len(rows))))
            self.keep(range(len(rows)))
        return np.concatenate(logits)


@pytest.fixture(params=VARIANTS)
def decoder(request: pytest.FixtureRequest, kernels: Library) -> Decoder:
    return Decoder(kernels, request.param)


def text(count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, Decoder.VOCAB, count).tolist()  # type: ignore[no-any-return]


class TestAForward:
    @pytest.mark.default_cases(1)
    def test_prefill_gives_the_bits_of_plain_decoding_in_each_set_on_any_threads(
        self, kernels: Library, decoder: Decoder
    ) -> None:
        ids = text(70)
        kernels.use("portable")
        kernels.set_threads(1)
        plain = decoder.feed(ids)
        for isa in isas(kernels):
            for threads, chunk in ((1, 70), (2, 1), (2, 33), (3, 16), (4, 70)):
                kernels.use(isa)
                kernels.set_threads(threads)
                decoder.clear()
                assert decoder.feed(ids, chunk).tobytes() == plain.tobytes(), (isa, threads, chunk)

    @pytest.mark.default_cases(1)
    def test_a_row_is_the_same_beside_any_number_of_guesses(self, kernels: Library, decoder: Decoder) -> None:
        prompt, guesses = text(40), text(MOST, seed=1)
        kernels.set_threads(2)
        decoder.feed(prompt, 40)
        alone = decoder.step(guesses[:1], [-1], [0])
        for isa in isas(kernels):
            kernels.use(isa)
            for rows in range(1, MOST + 1):
                parents = [-1, *np.random.default_rng(rows).integers(0, range(1, rows)).tolist()]
                assert decoder.step(guesses[:rows], parents, [0]).tobytes() == alone.tobytes(), (isa, rows)

    @pytest.mark.default_cases(1)
    def test_a_path_through_a_tree_is_plain_decoding_wherever_its_rows_sit(
        self, kernels: Library, decoder: Decoder
    ) -> None:
        prompt, path = text(35), text(6, seed=2)
        decoder.feed(prompt, 35)
        plain = decoder.feed(path)
        after = decoder.feed([5, 6])
        for seed in range(20):
            random = np.random.default_rng(seed)
            kernels.use(str(random.choice(isas(kernels))))
            kernels.set_threads(int(random.integers(1, 5)))
            decoder.clear()
            decoder.feed(prompt, int(random.integers(1, 36)))
            ids, parents, places = tree_around(path, random)
            assert decoder.step(ids, parents, places).tobytes() == plain.tobytes(), seed
            decoder.keep(places)
            assert decoder.feed([5, 6]).tobytes() == after.tobytes(), seed


def tree_around(path: Sequence[int], random: np.random.Generator) -> tuple[list[int], list[int], list[int]]:
    """The path with guesses before, between and behind its rows, below any of them: ids, parents, the path's rows."""
    ids, parents, places = [path[0]], [-1], [0]
    for token in path[1:]:
        for _ in range(int(random.integers(0, 5))):
            parents.append(int(random.integers(0, len(ids))))
            ids.append(int(random.integers(0, Decoder.VOCAB)))
        parents.append(places[-1])
        places.append(len(ids))
        ids.append(token)
    for _ in range(int(random.integers(0, 9))):
        parents.append(int(random.integers(0, len(ids))))
        ids.append(int(random.integers(0, Decoder.VOCAB)))
    return ids, parents, places
