"""The C library through ctypes: when it is trusted, that its structures are the header's, what is refused before C."""

from __future__ import annotations

import ctypes
import gc
import platform
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacli.errors import UsageError
from lacli.kernels import library as module
from lacli.kernels import packing, structs
from lacli.kernels.library import ISAS, Library, library, why_not
from lacli.kernels.structs import Cache, Layer, Matrix, Model, Part, Sizes, aligned
from tests.models.kernels import needed

HEADER = Path(module.__file__).with_name("src")
SIZES = Sizes(heads=4, kv_heads=2, head_dim=8, hidden=32, intermediate=48, vocab=20, norm_epsilon=1e-5)


@pytest.fixture
def kernels() -> Iterator[Library]:
    """The library, its instruction set and threads put back afterwards."""
    found = needed()
    isa, threads = found.isa, found.threads
    yield found
    found.use(isa)
    found.set_threads(threads)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets LACLI_KERNEL and has the library looked for again, now and after the test."""

    def named(kernel: str) -> None:
        monkeypatch.setenv("LACLI_KERNEL", kernel)
        module._opened.cache_clear()

    yield named
    module._opened.cache_clear()


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def packed(rows: int = 40, columns: int = 72) -> np.ndarray:
    return structs.in_place(packing.pack(packing.quantise(floats(rows, columns), 8)))


def model() -> Model:
    def matrix(rows: int, columns: int) -> Matrix:
        return Matrix("f32", floats(rows, columns), rows, columns)

    one = np.ones(32, dtype=np.float32)
    layer = Layer(
        one, one, matrix(32, 32), matrix(16, 32), matrix(16, 32), matrix(32, 32), matrix(48, 32), matrix(48, 32),
        matrix(32, 48),
    )  # fmt: skip
    vocabulary = matrix(20, 32)
    return Model(SIZES, [layer], vocabulary, vocabulary, one)


def forward(kernels: Library, **changes: Any) -> Any:
    """Three rows after two positions, of which two are wanted."""
    cache = Cache(model(), "f32")
    cache.reserve(32, 0, 32)
    given: dict[str, Any] = {
        "parts": [Part(cache, changes.pop("length", 2), len(changes.get("token_ids", (3, 4, 5))))],
        "token_ids": [3, 4, 5],
        "parents": [-1, 0, 0],
        "wanted": [0, 2],
        "cosine": np.ones((8, 4), dtype=np.float32),
        "sine": np.zeros((8, 4), dtype=np.float32),
        "logits": np.empty((2, 20), dtype=np.float32),
        **changes,
    }
    return kernels.forward(**given)


class TestWhetherItIsThere:
    def test_a_missing_library_is_explained(self, tmp_path: Path) -> None:
        found, reason = module._open(tmp_path / "_step.so")
        assert found is None
        assert "not built" in reason

    def test_so_is_a_file_that_is_none(self, tmp_path: Path) -> None:
        path = tmp_path / "_step.so"
        path.write_bytes(b"\x7fELF nonsense")
        found, reason = module._open(path)
        assert found is None
        assert "cannot be opened" in reason
        assert "\n" not in reason

    def test_so_is_a_library_of_another_version(self, kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "ABI", module.ABI + 1)
        found, reason = module._open(module._PATH)
        assert found is None
        assert "another version" in reason

    def test_a_library_that_lacks_a_function_is_not_taken(
        self, kernels: Library, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module.ctypes, "CDLL", lambda path: ctypes.pythonapi)
        found, reason = module._open(module._PATH)
        assert found is None
        assert "cannot be opened" in reason

    @pytest.mark.parametrize(
        ("change", "said"),
        [(lambda y, x: y + 1, "wrong results"), (lambda y, x: y * np.float32(1 + 1e-6 * len(x)), "not exact by row")],
    )
    def test_one_that_computes_wrongly_is_found_out(
        self, change: Any, said: str, kernels: Library, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        right = Library.matmul
        monkeypatch.setattr(Library, "matmul", lambda self, matrix, x: change(right(self, matrix, x), x))
        found, reason = module._open(module._PATH)
        assert found is None
        assert said in reason

    def test_it_can_be_switched_off(self, ask: Callable[[str], None]) -> None:
        ask("torch")
        assert library() is None
        assert "LACLI_KERNEL" in why_not()

    def test_an_instruction_set_can_be_chosen(self, kernels: Library, ask: Callable[[str], None]) -> None:
        ask("portable")
        found = library()
        assert found is not None
        assert found.isa == "portable"
        assert why_not() == ""

    def test_a_name_that_is_none_is_refused_with_those_there_are(self, ask: Callable[[str], None]) -> None:
        ask("avx9")
        with pytest.raises(UsageError, match="avx9") as caught:
            library()
        assert all(name in caught.value.hint for name in ("torch", *ISAS))

    def test_so_is_a_set_that_this_machine_lacks(self, kernels: Library, ask: Callable[[str], None]) -> None:
        ask("avx2" if platform.machine() in ("arm64", "aarch64") else "neon-dot")
        with pytest.raises(UsageError, match="this machine has no"):
            library()


def test_the_structures_are_those_of_the_header(tmp_path: Path) -> None:
    """Sizes and offsets, as the compiler sees them."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    mirrors = [structs.CMatrix, structs.CLayer, structs.CModel, structs.CCache, structs.CPart, structs.CRows]
    names = {mirror: str(mirror.__doc__) for mirror in mirrors}
    lines = [f'printf("%zu\\n", sizeof({name}));' for name in names.values()]
    expected = [ctypes.sizeof(mirror) for mirror in mirrors]
    for mirror in mirrors:
        for field, *_ in mirror._fields_:
            lines.append(f'printf("%zu\\n", offsetof({names[mirror]}, {field}));')
            expected.append(getattr(mirror, field).offset)
    numbers = {f"LACLI_{kind.upper()}": value for kind, value in structs.KINDS.items()}
    numbers |= {"LACLI_ABI": module.ABI, "LACLI_TOP": module.TOP}
    numbers |= {"LACLI_BLOCK": packing.BLOCK, "LACLI_PANEL": packing.PANEL}
    lines += [f'printf("%zu\\n", (size_t){name});' for name in numbers]
    expected += numbers.values()
    source = tmp_path / "sizes.c"
    source.write_text(
        "#include <stdio.h>\n#include <stddef.h>\n#include <lacli.h>\nint main(void) {" + "\n".join(lines) + "}"
    )
    subprocess.run([compiler, "-I", str(HEADER), "-o", str(tmp_path / "sizes"), str(source)], check=True)
    printed = subprocess.run([str(tmp_path / "sizes")], check=True, capture_output=True, text=True).stdout
    assert [int(line) for line in printed.split()] == expected


class TestMatmul:
    def test_a_matrix_keeps_what_it_points_into(self, kernels: Library) -> None:
        x = floats(3, 72)
        matrices = [Matrix("q8", packed(), 40, 72, np.full(40, 2, dtype=np.float32)) for _ in range(50)]
        expected = kernels.matmul(matrices[0], x)
        gc.collect()
        rubbish = [np.full(4096, 7, dtype=np.uint8) for _ in range(500)]
        assert all(np.array_equal(kernels.matmul(matrix, x), expected) for matrix in matrices)
        assert len(rubbish) == 500

    def test_no_rows_give_no_rows(self, kernels: Library) -> None:
        assert kernels.matmul(Matrix("q8", packed(), 40, 72), floats(0, 72)).shape == (0, 40)

    @pytest.mark.parametrize(
        ("x", "said"),
        [
            (floats(3, 71), r"x is float32 \[3, 71\]; float32 \[3, 72\] is expected"),
            (floats(72), "x is"),
            (floats(1, 3, 72), "x is"),
            (floats(3, 72).astype(np.float64), "float64"),
            (floats(3, 144)[:, ::2], "not contiguous"),
            (floats(72, 3).T, "not contiguous"),
        ],
    )
    def test_an_input_of_another_form_is_refused(self, x: np.ndarray, said: str, kernels: Library) -> None:
        with pytest.raises(ValueError, match=said):
            kernels.matmul(Matrix("q8", packed(), 40, 72), x)

    def test_so_is_a_place_for_the_result(self, kernels: Library) -> None:
        with pytest.raises(ValueError, match=r"y is float32 \[3, 41\]; float32 \[3, 40\] is expected"):
            kernels.matmul(Matrix("q8", packed(), 40, 72), floats(3, 72), floats(3, 41))

    @pytest.mark.parametrize(
        ("kind", "data", "rows", "columns", "said"),
        [
            ("q8", packed(), 72, 40, r"q8 matrix of 72 x 40 is uint8 \[3, \d+\]; uint8 \[5, \d+\] is expected"),
            ("q4", packed(), 40, 72, "is expected"),
            ("q8", packed().view(np.int8), 40, 72, "int8"),
            ("q8", packed()[:, ::2], 40, 72, "is expected"),
            ("f32", floats(40, 72), 72, 40, "is expected"),
            ("f32", floats(40, 72).astype(np.float16), 40, 72, "float16"),
            ("bf16", floats(40, 72), 40, 72, "uint16"),
            ("f16", floats(40, 72), 40, 72, "no kind"),
            ("q9", packed(), 40, 72, "no kind"),
            ("f32", floats(0, 72), 0, 72, "0 x 72"),
        ],
    )
    def test_data_that_is_no_such_matrix_is_refused(
        self, kind: Any, data: np.ndarray, rows: int, columns: int, said: str
    ) -> None:
        with pytest.raises(ValueError, match=said):
            Matrix(kind, data, rows, columns)

    def test_so_is_data_that_is_not_aligned(self) -> None:
        data = packed()
        room = aligned((data.size + 64,), np.uint8)[1 : 1 + data.size].reshape(data.shape)
        with pytest.raises(ValueError, match="not aligned to 64"):
            Matrix("q8", room, 40, 72)
        assert structs.in_place(room).ctypes.data % 64 == 0
        numbers = np.zeros(40 * 72 * 4 + 1, dtype=np.uint8)[1:].view(np.float32).reshape(40, 72)
        with pytest.raises(ValueError, match="not aligned to 4"):
            Matrix("f32", numbers, 40, 72)

    def test_so_is_a_bias_of_another_length(self) -> None:
        with pytest.raises(ValueError, match=r"a bias is float32 \[39\]; float32 \[40\]"):
            Matrix("q8", packed(), 40, 72, floats(39))


class TestForward:
    def test_it_says_the_best_tokens_of_the_wanted_rows(self, kernels: Library) -> None:
        logits = np.empty((2, 20), dtype=np.float32)
        top_ids, top_logits = forward(kernels, logits=logits)
        assert top_ids.tolist() == np.argsort(-logits, axis=1, kind="stable")[:, : module.TOP].tolist()
        assert np.array_equal(top_logits, np.take_along_axis(logits, top_ids, axis=1))

    def test_several_sequences_share_one_and_each_is_as_alone(self, kernels: Library) -> None:
        weights = model()
        caches = [Cache(weights, "f32"), Cache(weights, "f16")]
        for cache in caches:
            cache.reserve(32, 0, 32)
        alone = []
        for cache, ids in zip(caches, ([3, 4], [5]), strict=True):
            logits = np.empty((len(ids), 20), dtype=np.float32)
            parents, wanted = list(range(-1, len(ids) - 1)), list(range(len(ids)))
            forward(
                kernels, parts=[Part(cache, 2, len(ids))], token_ids=ids, parents=parents, wanted=wanted, logits=logits
            )
            alone.append(logits)
        logits = np.empty((3, 20), dtype=np.float32)
        parts = [Part(caches[0], 2, 2), Part(caches[1], 2, 1)]
        forward(kernels, parts=parts, parents=[-1, 0, -1], wanted=[0, 1, 2], logits=logits)
        assert logits.tobytes() == np.concatenate(alone).tobytes()

    def test_a_cache_is_in_a_forward_once_and_all_are_of_one_model(self, kernels: Library) -> None:
        one, other = Cache(model(), "f32"), Cache(model(), "f32")
        for cache in (one, other):
            cache.reserve(32, 0, 32)
        for parts in ([Part(one, 2, 2), Part(one, 4, 1)], [Part(one, 2, 2), Part(other, 2, 1)]):
            with pytest.raises(ValueError, match="a cache of its own"):
                forward(kernels, parts=parts)

    def test_no_row_need_be_wanted(self, kernels: Library) -> None:
        top_ids, _ = forward(kernels, wanted=[], logits=np.empty((0, 20), dtype=np.float32))
        assert top_ids.shape == (0, module.TOP)

    @pytest.mark.parametrize(
        ("changes", "error", "said"),
        [
            ({"token_ids": [3, 20, 5]}, IndexError, "token id"),
            ({"token_ids": [3, -1, 5]}, IndexError, "token id"),
            ({"token_ids": [3, 1 << 40, 5]}, IndexError, "token id"),
            ({"parents": [-1, 1, 0]}, IndexError, "parent"),
            ({"parents": [-1, 0, -2]}, IndexError, "parent"),
            ({"parents": [-1, 0]}, ValueError, "3 rows have 2 parents"),
            ({"parts": []}, ValueError, "one model"),
            ({"wanted": [0, 3]}, IndexError, "wanted"),
            ({"wanted": [0]}, ValueError, "logits"),
            ({"length": 30}, ValueError, "3 rows after 30 do not fit a cache of 32"),
            ({"length": -1}, ValueError, "do not fit"),
            ({"length": 6}, ValueError, "the rotary table ends at 8; 3 rows after 6 may go beyond"),
            ({"token_ids": [], "parents": [], "wanted": [], "logits": floats(0, 20)}, ValueError, "not allow"),
            ({"sine": floats(7, 4)}, ValueError, "sine"),
            ({"cosine": floats(8, 3)}, ValueError, "cosine"),
            ({"logits": np.empty((2, 20))}, ValueError, "float64"),
            ({"logits": floats(2, 19)}, ValueError, "logits"),
        ],
    )
    def test_what_is_out_of_range_is_refused(
        self, changes: dict[str, Any], error: type[Exception], said: str, kernels: Library
    ) -> None:
        with pytest.raises(error, match=said):
            forward(kernels, **changes)

    @pytest.mark.parametrize("path", [[0, 40], [-1], [30], [1 << 40]])
    def test_so_are_rows_to_keep_beyond_the_cache(self, path: list[int], kernels: Library) -> None:
        cache = Cache(model(), "f16")
        cache.reserve(32, 0, 32)
        with pytest.raises((ValueError, IndexError)):
            kernels.keep(cache, 2, path)

    def test_matrices_that_do_not_fit_each_other_make_no_model(self) -> None:
        made = model()
        layer, vocabulary = made.layers[0], Matrix("f32", floats(20, 32), 20, 32)
        one = np.ones(32, dtype=np.float32)
        with pytest.raises(ValueError, match="head is 48 x 32; 20 x 32 is expected"):
            Model(SIZES, [layer], vocabulary, layer.up, one)
        with pytest.raises(ValueError, match=r"last norm is float32 \[31\]"):
            Model(SIZES, [layer], vocabulary, vocabulary, one[:31])
        with pytest.raises(ValueError, match="at least one layer"):
            Model(SIZES, [], vocabulary, vocabulary, one)


class TestCache:
    @pytest.mark.parametrize("kind", ["f32", "f16"])
    def test_growing_keeps_what_was_filled(self, kind: Any) -> None:
        cache = Cache(model(), kind)
        cache.reserve(5, 0, 20)
        assert cache.capacity == 32
        cache.keys[...], cache.values[...] = 3, 4
        before = cache.keys.ctypes.data
        cache.reserve(32, 32, 99)
        assert (cache.capacity, cache.keys.ctypes.data) == (32, before)
        cache.reserve(33, 20, 40)
        assert cache.capacity == 48
        assert (cache.keys[:, :, :1] == 3).all()
        assert (cache.values[:, :, :20] == 4).all()
        assert not cache.values[:, :, 20:].any()
        assert cache.keys.ctypes.data % 64 == cache.values.ctypes.data % 64 == 0
        assert cache.nbytes == 2 * 2 * 48 * 8 * (4 if kind == "f32" else 2)

    def test_no_memory_leaves_it_as_it_was(self) -> None:
        cache = Cache(model(), "f32")
        cache.reserve(16, 0, 16)
        with pytest.raises(MemoryError):
            cache.reserve(1 << 50, 16, 1 << 50)
        assert cache.capacity == 16
        assert cache.keys.shape[2] == 1


class TestThreads:
    def test_none_is_too_few(self, kernels: Library) -> None:
        with pytest.raises(ValueError, match="0 threads"):
            kernels.set_threads(0)

    def test_they_start_again_after_an_end(self, kernels: Library) -> None:
        matrix, x = Matrix("q8", packed(), 40, 72), floats(3, 72)
        kernels.set_threads(3)
        first = kernels.matmul(matrix, x)
        kernels.close()
        assert np.array_equal(kernels.matmul(matrix, x), first)

    def test_one_serves_where_more_cannot_be_started(self, kernels: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        matrix, x = Matrix("q8", packed(), 40, 72), floats(3, 72)
        expected = kernels.matmul(matrix, x)
        start = kernels._c.lacli_threads_new
        monkeypatch.setattr(kernels._c, "lacli_threads_new", lambda count: None if count > 1 else start(count))
        kernels.set_threads(4)
        assert np.array_equal(kernels.matmul(matrix, x), expected)
        assert kernels.threads == 1

    def test_callers_take_turns(self, kernels: Library) -> None:
        matrix, x = Matrix("q8", packed(400, 72), 400, 72), floats(3, 72)
        kernels.set_threads(2)
        expected = kernels.matmul(matrix, x)
        wrong: list[int] = []

        def call(number: int) -> None:
            for _ in range(200):
                if not np.array_equal(kernels.matmul(matrix, x), expected):
                    wrong.append(number)

        callers = [threading.Thread(target=call, args=(number,)) for number in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert not wrong

    def test_reading_gives_the_same_sum_on_any_number(self, kernels: Library) -> None:
        data = floats(70_001)
        sums = set()
        for threads in (1, 2, 3):
            kernels.set_threads(threads)
            sums.add(kernels.read(data))
        assert len(sums) == 1
        with pytest.raises(ValueError, match="not contiguous"):
            kernels.read(data[::2])
