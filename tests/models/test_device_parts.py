"""The parts of the forward for devices: merged attention, graphs, choices among linears, rotations, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from bitsandbytes.functional import dequantize_4bit, dequantize_blockwise
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from lacli import paths
from lacli.errors import LacliError, ModelUnavailable
from lacli.models.base import Rows
from lacli.models.runners.fused.device import attention, linears, tuned
from lacli.models.runners.fused.device import load as load_module
from lacli.models.runners.fused.device.attention import ChainAttention, Style, TreeAttention, reference_past
from lacli.models.runners.fused.device.buckets import ROWS
from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.graphs import Calls, CudaGraphs, Step
from lacli.models.runners.fused.device.inputs import StepInputs
from lacli.models.runners.fused.device.kv import KvCache
from lacli.models.runners.fused.device.linears import BUCKETS, Linear, Tuner, Way, linear_of
from lacli.models.runners.fused.device.load import _CHUNKS, _probe, _try, chunk_rows, load_device
from lacli.models.runners.fused.device.runner import DeviceRunner
from lacli.models.runners.fused.device.weights import Stored
from lacli.models.runners.tensors import Tensors
from tests.models.device import CPU, chain_of, ids_of, make, tree_of
from tests.models.families import CONFIGS, SWITCH, VOCAB, prompt_of

pytestmark = pytest.mark.usefixtures("one_thread")

HEADS, KV_HEADS, DIM, SLOTS = 6, 2, 8, 600


def plain(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor, scale: float) -> Tensor:
    """Attention written down once more, in float64, a head at a time."""
    rows, heads, dim = queries.shape
    group = heads // keys.shape[1]
    result = torch.empty(rows, heads, dim, dtype=torch.float64)
    for head in range(heads):
        scores = queries[:, head].double() @ keys[:, head // group].double().T * scale
        weights = torch.softmax(scores.masked_fill(~seen, -math.inf), dim=1)
        result[:, head] = weights @ values[:, head // group].double()
    return result.reshape(rows, heads * dim)


def step(rows: Rows, length: int, style: Style, window: int) -> tuple[Tensor, Tensor]:
    """A step's attention over random keys, and what it should be."""
    generator = torch.Generator().manual_seed(length)
    count = len(rows.token_ids)
    inputs = StepInputs(count, 1, CPU)
    inputs.fill(Rows(rows.token_ids, rows.parents, (0,)), length)
    stored = tuple(torch.randn(SLOTS, KV_HEADS, DIM, generator=generator) for _ in range(2))
    queries = torch.randn(count, HEADS, DIM, generator=generator)
    new = tuple(torch.randn(count, KV_HEADS, DIM, generator=generator) for _ in range(2))
    own = TreeAttention(style, inputs.positions(), inputs.slots(), inputs.length, inputs.seen())
    found = own(queries, new, stored, window)  # type: ignore[arg-type]
    places = [*range(length), *(length + depth for depth in rows.depths())]
    seen = torch.zeros(count, length + count, dtype=torch.bool)
    for row in range(count):
        ancestor = row
        seen[row, :length] = True
        while ancestor >= 0:
            seen[row, length + ancestor] = True
            ancestor = rows.parents[ancestor]
        if window:
            seen[row] &= torch.tensor([length + rows.depths()[row] - place < window for place in places])
    keys, values = (torch.cat([old[:length], fresh]) for old, fresh in zip(stored, new, strict=True))
    return found, plain(queries, keys, values, seen, style.scale)


def stock_past(
    queries: Tensor, keys: Tensor, values: Tensor, length: Tensor, chunk: int, scale: float
) -> tuple[Tensor, Tensor]:
    """`PastKernel` by PyTorch's own flash kernel for CPUs, a chunk a call; chunks beyond the length hold rubbish, as
    kernels leave there what they like."""
    mixed, lse = [], []
    for start in range(0, keys.shape[0], chunk):
        end = min(start + chunk, int(length))
        if end <= start:
            mixed.append(torch.full_like(queries, math.nan))
            lse.append(torch.full(queries.shape[:2], math.inf))
            continue
        heads = [part.transpose(0, 1)[None] for part in (queries, keys[start:end], values[start:end])]
        out, log = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*heads, scale=scale)
        mixed.append(out[0].transpose(0, 1))
        lse.append(log[0].transpose(0, 1) if log.shape[1] == queries.shape[1] else log[0])
    return torch.stack(mixed), torch.stack(lse)


class TestAttention:
    @pytest.mark.parametrize("length", [0, 1, 255, 256, 257, 500])
    @pytest.mark.parametrize("count", [1, 5, 33])
    @pytest.mark.parametrize("past", [None, reference_past, stock_past])
    def test_a_tree_sees_its_past_and_its_ancestors(self, past: Any, count: int, length: int) -> None:
        found, expected = step(tree_of(count, seed=length), length, Style(0.3, past=past, merged_from=0), 0)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-6)

    @pytest.mark.parametrize("window", [1, 4, 100])
    @pytest.mark.parametrize("length", [0, 3, 99, 300])
    def test_a_window_goes_by_positions(self, window: int, length: int) -> None:
        found, expected = step(tree_of(9, seed=2), length, Style(0.3, past=reference_past, merged_from=0), window)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-6)

    @pytest.mark.parametrize("window", [0, 7])
    def test_a_chunk_of_a_prompt_is_causal(self, window: int) -> None:
        queries = torch.randn(20, HEADS, DIM)
        stored = tuple(torch.randn(SLOTS, KV_HEADS, DIM) for _ in range(2))
        new = tuple(torch.randn(20, KV_HEADS, DIM) for _ in range(2))
        found = ChainAttention(Style(0.3), 50)(queries, new, stored, window)  # type: ignore[arg-type]
        assert all(torch.equal(buffer[50:70], part) for buffer, part in zip(stored, new, strict=True))
        distance = torch.arange(50, 70)[:, None] - torch.arange(70)
        seen = (distance >= 0) & (distance < (window or 100))
        expected = plain(queries, stored[0][:70], stored[1][:70], seen, 0.3)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-6)

    def test_a_prompt_goes_to_the_flash_kernel_with_its_window(self) -> None:
        seen: list[tuple[int, int, int]] = []

        def chain(queries: Tensor, keys: Tensor, values: Tensor, window: int, scale: float) -> Tensor:
            seen.append((len(queries), len(keys), window))
            return queries.reshape(len(queries), -1)

        stored = tuple(torch.zeros(SLOTS, KV_HEADS, DIM) for _ in range(2))
        new = tuple(torch.zeros(20, KV_HEADS, DIM) for _ in range(2))
        ChainAttention(Style(0.3, chain=chain), 50)(torch.zeros(20, HEADS, DIM), new, stored, 7)  # type: ignore[arg-type]
        assert seen == [(20, 70, 7)]


class TestFlashKernels:
    """PyTorch's kernels are not on a CPU, but their signatures and shapes are: on tensors without data."""

    def test_the_past_has_the_shape_of_the_reference(self) -> None:
        for length, chunk in ((300, 256), (700, 128)):
            shapes = []
            for kernel, device in ((attention.flash_past, "meta"), (reference_past, "cpu")):
                queries = torch.zeros(15, KV_HEADS, 64, dtype=torch.bfloat16, device=device)
                keys = torch.zeros(SLOTS, KV_HEADS, 64, dtype=torch.bfloat16, device=device)
                where = torch.tensor([length], device=device)
                shapes.append([part.shape for part in kernel(queries, keys, keys, where, chunk, 0.1)])
            assert shapes[0] == shapes[1]

    @pytest.mark.parametrize("window", [0, 7])
    def test_a_prompt_has_the_shape_of_its_rows(self, window: int) -> None:
        queries = torch.zeros(20, HEADS, 64, dtype=torch.bfloat16, device="meta")
        keys = torch.zeros(70, KV_HEADS, 64, dtype=torch.bfloat16, device="meta")
        assert attention.flash_chain(queries, keys, keys, window, 0.1).shape == (20, HEADS * 64)


class Recorder:
    """Captures as CUDA does, as far as a CPU can: what is recorded runs again at each replay, into the same tensors."""

    def __init__(self) -> None:
        self.captured = self.replayed = 0

    def __call__(self, step: Step) -> tuple[Callable[[], object], tuple[Tensor, ...]]:
        results = step()
        self.captured += 1

        def replay() -> None:
            self.replayed += 1
            for result, again in zip(results, step(), strict=True):
                result.copy_(again)

        return replay, results


WAITING = {"item", "_local_scalar_dense", "nonzero", "masked_select", "unique_dim", "_unique2", "equal", "index"}
"""Operations that wait for a device, or whose shapes depend on what lies there."""


class Watched(TorchDispatchMode):
    """Notes the operations within it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(operation.overloadpacket.__name__)
        return operation(*args, **(kwargs or {}))


class TestGraphs:
    @pytest.fixture
    def pair(self, tmp_path: Path) -> tuple[DeviceRunner, DeviceRunner, Recorder]:
        made, recorder = make("llama", tmp_path), Recorder()
        runner = made.device(merged=True)
        runner.use(replays=CudaGraphs(recorder))
        return runner, made.device(merged=True), recorder

    def test_each_shape_is_captured_once_and_says_what_calls_say(
        self, pair: tuple[DeviceRunner, DeviceRunner, Recorder]
    ) -> None:
        runner, called, recorder = pair
        for each in pair[:2]:
            each.prefill(ids_of(100))
        before = recorder.captured
        for seed in range(3):
            for size in (1, 2, 3, 4, 60, 64):
                rows = tree_of(size, seed)
                found, expected = runner.forward(rows), called.forward(rows)
                assert torch.equal(torch.as_tensor(found.logits), torch.as_tensor(expected.logits))
                assert np.array_equal(found.top_ids, expected.top_ids)
        assert recorder.captured - before == 4  # of 1, 2, 4 and 64 rows

    @pytest.mark.parametrize("name", ["llama", "qwen3", "gemma2", "gemma3", "phi3-longrope"])
    @pytest.mark.parametrize("merged", [False, True])
    def test_nothing_that_is_captured_waits_for_the_device(self, name: str, merged: bool, tmp_path: Path) -> None:
        """CUDA refuses to record what does; here the operations are looked at."""
        runner = make(name, tmp_path).device(merged=merged)
        runner.prefill(ids_of(9))
        watched = Watched()

        def capture(step: Step) -> tuple[Callable[[], object], tuple[Tensor, ...]]:
            with watched:
                results = step()
            return lambda: None, results

        runner.use(replays=CudaGraphs(capture))
        runner.forward(tree_of(5))
        assert len(watched.names) > 30
        assert not watched.names & WAITING

    def test_a_cache_that_moves_makes_them_void(self, pair: tuple[DeviceRunner, DeviceRunner, Recorder]) -> None:
        runner, called, _ = pair
        for each in pair[:2]:
            each.prefill(ids_of(500))
        for _ in range(30):
            for each in pair[:2]:
                each.forward(chain_of([3]))
                each.keep([0])
        found, expected = runner.forward(chain_of([4])), called.forward(chain_of([4]))
        assert torch.equal(torch.as_tensor(found.logits), torch.as_tensor(expected.logits))
        assert runner._caches[0].moves == 2

    def test_where_they_fail_the_model_runs_without(self, pair: tuple[DeviceRunner, DeviceRunner, Recorder]) -> None:
        runner, called, _ = pair

        def capture(step: Step) -> Any:
            raise RuntimeError("operation not permitted when stream is capturing")

        _try(runner, torch.zeros(1), runner.style, CudaGraphs(capture), "CUDA graphs", 1.0)
        assert runner.notes == (
            "CUDA graphs cannot be used on this device (operation not permitted when stream is capturing); "
            "the model runs without",
        )
        ids = ids_of(9)
        assert runner.prefill(ids).top_ids.tolist() == called.prefill(ids).top_ids.tolist()  # type: ignore[union-attr]

    def test_a_shape_there_is_no_memory_to_capture_is_called(self, tmp_path: Path) -> None:
        made, recorder = make("llama", tmp_path), Recorder()

        def capture(step: Step) -> Any:
            if recorder.captured:
                raise torch.OutOfMemoryError("out of memory")
            return recorder(step)

        runner, called = made.device(), made.device()
        runner.use(replays=CudaGraphs(capture))
        for each in (runner, called):
            each.prefill(ids_of(9))
        for size in (1, 2, 9, 2):
            rows = tree_of(size)
            assert np.array_equal(runner.forward(rows).top_ids, called.forward(rows).top_ids)
        assert recorder.captured == 1

    def test_an_error_of_the_device_is_a_line(self, pair: tuple[DeviceRunner, DeviceRunner, Recorder]) -> None:
        runner = pair[0]
        runner.prefill(ids_of(9))

        def broken(step: Step) -> Any:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nfurther lines")

        runner.use(replays=CudaGraphs(broken))
        with pytest.raises(LacliError, match=r"illegal memory access was encountered$"):
            runner.forward(chain_of([3]))
        assert runner.length == 9

    def test_kernels_that_give_other_results_are_not_used(
        self, pair: tuple[DeviceRunner, DeviceRunner, Recorder]
    ) -> None:
        runner, called, _ = pair
        expected = _probe(called)

        def wrong(*given: Any) -> tuple[Tensor, Tensor]:
            mixed, lse = reference_past(*given)
            return mixed + 1, lse

        _try(runner, expected, Style(runner.style.scale, past=wrong, merged_from=0), Calls(), "FlashAttention", 1e-4)
        assert "(other results)" in runner.notes[0]
        assert runner.style.past is reference_past
        assert _try(runner, expected, Style(runner.style.scale), Calls(), "masks", 1e-4)
        assert len(runner.notes) == 1

    @pytest.mark.parametrize("broken", ["", "past", "graphs"])
    def test_the_best_that_runs_is_taken(
        self, broken: str, pair: tuple[DeviceRunner, DeviceRunner, Recorder], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, called, recorder = pair
        runner = called
        runner.use(style=Style(called.style.scale))

        def chain(queries: Tensor, keys: Tensor, values: Tensor, window: int, scale: float) -> Tensor:
            distance = torch.arange(len(keys))[len(keys) - len(queries) :, None] - torch.arange(len(keys))
            return plain(queries, keys, values, distance >= 0, scale).to(queries.dtype)

        def fails(*given: Any) -> Any:
            raise RuntimeError("no kernel image is available for execution on the device")

        def capture() -> CudaGraphs:
            return CudaGraphs(fails if broken == "graphs" else recorder)

        monkeypatch.setattr(load_module, "flash_past", fails if broken == "past" else reference_past)
        monkeypatch.setattr(load_module, "flash_chain", chain)
        monkeypatch.setattr(load_module, "CudaGraphs", capture)
        load_module.improve(runner, _probe(runner), 1e-4, flash=True)
        assert (runner.style.past is reference_past) == (broken != "past")
        assert runner.style.merged_from == Style(1.0).merged_from
        assert isinstance(runner.replays, Calls) == (broken == "graphs")
        assert len(runner.notes) == (broken != "")
        assert all("no kernel image is available" in note for note in runner.notes)

    def test_kernels_for_prompts_are_tried_too(self, pair: tuple[DeviceRunner, DeviceRunner, Recorder]) -> None:
        """Its chunks are longer than any step."""
        runner, called, _ = pair

        def wrong(queries: Tensor, keys: Tensor, values: Tensor, window: int, scale: float) -> Tensor:
            return queries.flatten(1)

        style = Style(runner.style.scale, chain=wrong)
        assert not _try(runner, _probe(called), style, Calls(), "FlashAttention", 1e-4)


def doubling(name: str, most_rows: int = 1 << 30) -> Way:
    return Way(name, lambda x: 2 * x, most_rows)


class TestChoices:
    def test_the_fastest_way_is_taken_for_each_bucket(self) -> None:
        ways = [doubling("a"), doubling("b"), doubling("c", most_rows=8)]
        speed = {id(way.run): place for place, way in enumerate(ways)}

        def timer(run: Linear, x: Tensor) -> float:
            # b for many rows, c for few as far as it goes, a never
            return {0: 5.0, 1: 1.0 if len(x) >= 16 else 9.0, 2: 3.0}[speed[id(run)]]

        chosen = Tuner(CPU, torch.float32, timer=timer).chosen(ways, 10, 4)
        assert isinstance(chosen, linears.Chosen)
        assert [chosen.names[bucket] for bucket in BUCKETS] == ["c", "c", "c", "c", "b", "b", "b", "b"]
        x = torch.randn(3, 4)
        assert torch.equal(chosen(x), 2 * x)
        assert torch.equal(chosen(torch.ones(700, 4)), torch.full((700, 4), 2.0))

    def test_matrices_of_one_shape_are_timed_once(self) -> None:
        timed: list[int] = []
        tuner = Tuner(CPU, torch.float32, timer=lambda run, x: timed.append(len(x)) or 1.0)  # type: ignore[func-returns-value]
        for _ in range(3):
            tuner.chosen([doubling("a"), doubling("b")], 10, 4)
        assert len(timed) == 2 * len(BUCKETS)
        tuner.chosen([doubling("a"), doubling("b")], 12, 4)
        assert len(timed) == 4 * len(BUCKETS)

    def test_when_its_time_is_over_the_first_that_fits_is_taken(self) -> None:
        def timer(run: Linear, x: Tensor) -> float:
            raise AssertionError("nothing may be timed")

        tuner = Tuner(CPU, torch.float32, budget_s=0.0, timer=timer)
        tuner.chosen([doubling("few", most_rows=4), doubling("any")], 10, 4)
        (choice,) = tuner.choices.values()
        assert list(choice.values()) == ["few"] * 3 + ["any"] * 5
        assert not tuner.complete

    def test_what_was_chosen_before_stays_chosen(self) -> None:
        """Or a model could round otherwise at each load."""
        ways = [doubling("a"), doubling("b")]
        first = Tuner(CPU, torch.float32, timer=lambda run, x: 1.0 if run is ways[1].run else 2.0)
        first.chosen(ways, 10, 4)
        tuned.write("a card", first.choices)

        def timer(run: Linear, x: Tensor) -> float:
            raise AssertionError("nothing may be timed")

        again = Tuner(CPU, torch.float32, timer=timer, known=tuned.read("a card")).chosen(ways, 10, 4)
        assert isinstance(again, linears.Chosen)
        assert set(again.names.values()) == {"b"}
        assert tuned.read("another card") == {}

    @pytest.mark.parametrize("change", ["not JSON", "[]", '{"10x4 torch.float32 a | b": {"1": "gone"}}'])
    def test_choices_that_cannot_be_right_are_made_again(self, change: str) -> None:
        tuned.write("a card", {})
        (paths.cache_dir() / "kernels" / tuned.name_of("a card")).write_text(change, encoding="utf-8")
        tuner = Tuner(CPU, torch.float32, timer=lambda run, x: 1.0, known=tuned.read("a card"))
        made = tuner.chosen([doubling("a"), doubling("b")], 10, 4)
        assert isinstance(made, linears.Chosen)
        assert set(made.names.values()) == {"a"}

    def test_one_way_is_not_timed(self) -> None:
        def timer(run: Linear, x: Tensor) -> float:
            raise AssertionError("nothing may be timed")

        way = doubling("a")
        assert Tuner(CPU, torch.float32, timer=timer).chosen([way], 10, 4) is way.run

    def test_a_head_is_not_rounded_where_the_device_can(self, monkeypatch: pytest.MonkeyPatch) -> None:
        weight, x = torch.randn(40, 16).bfloat16(), torch.randn(3, 16).bfloat16()
        rounded = linears.head_of(weight)  # a CPU cannot
        assert isinstance(rounded, linears.Dense)
        assert rounded(x).dtype == torch.bfloat16
        assert isinstance(linears.head_of(weight.float()), linears.Dense)
        monkeypatch.setattr(torch, "mm", lambda left, right, out_dtype: (left.double() @ right.double()).to(out_dtype))
        found = linears.head_of(weight)
        assert isinstance(found, linears.Unrounded)
        torch.testing.assert_close(found(x), x.float() @ weight.float().T)

    @pytest.mark.parametrize(("quant", "error"), [("none", 1e-6), ("nf4", 0.2), ("bnb-int8", 0.03)])
    @pytest.mark.parametrize("rows", [1, 5, 64])
    def test_formats_are_near_the_weights_they_were_made_of(self, quant: Any, error: float, rows: int) -> None:
        generator = torch.Generator().manual_seed(1)
        weight, bias = torch.randn(96, 128, generator=generator), torch.randn(96, generator=generator)
        x = torch.randn(rows, 128, generator=generator)
        exact = torch.nn.functional.linear(x, weight, bias)
        found = linear_of(weight, bias, quant, Tuner(CPU, torch.float32))(x)
        assert found.shape == exact.shape
        assert found.dtype == x.dtype
        assert (found - exact).norm() <= error * exact.norm()

    @pytest.mark.parametrize("rows", [1, 5, 64])
    def test_matrices_of_a_file_are_joined_as_they_are(self, rows: int) -> None:
        """q, k and v are stored one by one, each with scales of its own."""
        generator = torch.Generator().manual_seed(1)
        made = [linears.Nf4.of(torch.randn(count, 128, generator=generator), None) for count in (64, 16, 16)]
        parts = [
            (each.packed, dequantize_blockwise(each.state.absmax, each.state.state2) + each.state.offset, count)
            for each, count in zip(made, (64, 16, 16), strict=True)
        ]
        bias, x = torch.randn(96, generator=generator), torch.randn(rows, 128, generator=generator)
        (way,) = linears.Nf4.joined(parts, made[0].state.code, 128, bias).ways()
        expected = torch.cat([dequantize_4bit(each.packed, each.state) for each in made])
        torch.testing.assert_close(way.run(x), torch.nn.functional.linear(x, expected, bias), rtol=1e-4, atol=1e-4)

    def test_blocks_that_reach_over_a_row_cannot_be_joined(self) -> None:
        with pytest.raises(ValueError, match="no multiple of a block"):
            linears.Nf4.joined([], torch.zeros(16), 96, None)


class TestConfig:
    @pytest.mark.parametrize("name", ["llama-yarn", "phi3-longrope", "llama-longrope"])
    def test_scaled_rotations_are_those_of_transformers(self, name: str) -> None:
        config = CONFIGS[name]()
        read = DeviceConfig.read(config.to_dict())
        assert read is not None
        (rope,) = read.ropes
        init = ROPE_INIT_FUNCTIONS[config.rope_parameters["rope_type"]]
        near, scale = init(config, CPU, seq_len=1)
        np.testing.assert_allclose(rope.inverse, near.numpy(), rtol=1e-6)
        assert rope.scale == pytest.approx(scale)
        if rope.beyond is not None:
            np.testing.assert_allclose(rope.beyond, init(config, CPU, seq_len=SWITCH + 1)[0].numpy(), rtol=1e-6)
            assert read.switch == SWITCH

    def test_yarn_with_all_its_numbers(self) -> None:
        rope = {
            "rope_type": "yarn",
            "factor": 8.0,
            "rope_theta": 1e6,
            "original_max_position_embeddings": 64,
            "beta_fast": 16,
            "beta_slow": 2,
            "mscale": 0.7,
            "mscale_all_dim": 0.9,
        }
        config = transformers.Qwen3Config(**{**SIZES, "head_dim": 64, "rope_parameters": rope})
        read = DeviceConfig.read(config.to_dict())
        assert read is not None
        theirs, scale = ROPE_INIT_FUNCTIONS["yarn"](config, CPU)
        np.testing.assert_allclose(read.ropes[0].inverse, theirs.numpy(), rtol=1e-6)
        assert read.ropes[0].scale == pytest.approx(scale)

    def test_files_of_older_releases_say_the_same(self) -> None:
        now = DeviceConfig.read(CONFIGS["gemma3"]().to_dict())
        old = CONFIGS["gemma3"]().to_dict()
        del old["rope_parameters"], old["layer_types"]
        old |= {"rope_theta": 1e6, "rope_local_base_freq": 10000.0, "sliding_window_pattern": 2}
        then = DeviceConfig.read(old)
        assert now is not None
        assert then is not None
        assert (now.rope_of, now.sizes.windows) == (then.rope_of, then.sizes.windows)
        for ours, theirs in zip(now.ropes, then.ropes, strict=True):
            assert np.array_equal(ours.inverse, theirs.inverse)
        phi = CONFIGS["phi3-longrope"]().to_dict()
        factors = {key: phi["rope_parameters"][key] for key in ("short_factor", "long_factor")}
        older = {**phi, "rope_parameters": None, "rope_scaling": {"type": "longrope", **factors}}
        assert DeviceConfig.read(older).switch == SWITCH  # type: ignore[union-attr]

    def test_a_context_before_the_switch_has_none(self) -> None:
        config = CONFIGS["phi3-longrope"]().to_dict()
        assert DeviceConfig.read(config, SWITCH).switch == 0  # type: ignore[union-attr]
        assert DeviceConfig.read(config, SWITCH + 1).switch == SWITCH  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        "changes",
        [
            {"model_type": "gemma"},
            {"model_type": "qwen2_moe"},
            {"hidden_act": "gelu"},
            {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}},
            {"quantization_config": {"quant_method": "bitsandbytes"}},
            {"model_type": "mistral", "layer_types": ["full_attention"] * 2},
            {"head_dim": 11},
        ],
    )
    def test_models_it_is_not_for_are_left_to_the_generic_runner(self, changes: dict[str, Any]) -> None:
        config = CONFIGS["llama"]().to_dict()
        assert DeviceConfig.read(config) is not None
        assert DeviceConfig.read({**config, **changes}) is None


SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}


class TestLoading:
    def test_chunks_of_a_prompt_are_as_large_as_there_is_memory_for(self, tmp_path: Path) -> None:
        model = make("llama", tmp_path).device()._model
        assert [chunk_rows(model, free) for free in (0, 1 << 30, 1 << 50)] == [_CHUNKS[-1], _CHUNKS[0], _CHUNKS[0]]
        assert sorted({chunk_rows(model, 1 << bits) for bits in range(20, 40)}) == sorted(_CHUNKS)

    def test_weights_of_another_size_are_refused(self, tmp_path: Path) -> None:
        made = make("phi3", tmp_path)
        made.config["intermediate_size"] = 47
        with pytest.raises(ModelUnavailable, match=r"gate_up_proj\.weight is \[96, 32\]"):
            made.device()

    def test_weights_that_are_no_numbers_are_refused(self, tmp_path: Path) -> None:
        from safetensors.torch import load_file, save_file

        made = make("gemma2", tmp_path)
        weights = load_file(made.file)
        weights["model.norm.weight"][:] = math.nan
        save_file(weights, made.file, {"format": "pt"})
        with pytest.raises(LacliError, match="not finite"):
            made.device()

    @pytest.mark.parametrize("quant", ["nf4", "bnb-int8"])
    def test_a_quantised_model_is_that_of_its_quantised_weights(self, quant: Any, tmp_path: Path) -> None:
        made = make("llama", tmp_path)
        config = DeviceConfig.read(made.config)
        assert config is not None
        runner = load_device(Tensors([made.file]), config, quant, CPU)
        plain = load_device(Tensors([made.file]), config, "none", CPU, stored=Rounded(quant, Tensors([made.file])))
        found, expected, exact = (
            torch.as_tensor(each.prefill(prompt_of(9)).logits)[0]  # type: ignore[union-attr]
            for each in (runner, plain, made.device())
        )
        assert not torch.equal(expected, exact)
        apart = 1e-5 if quant == "nf4" else 0.03  # int8 rounds activations, too
        assert (found - expected).norm() <= apart * expected.norm()


class Rounded:
    """What a loader of quantised files may give: here the weights they stand for, as floats."""

    def __init__(self, quant: str, tensors: Tensors) -> None:
        self._quant, self._tensors = quant, tensors

    def __call__(self, tuner: Tuner) -> Stored:
        return self.linear

    def linear(self, names: Sequence[str], bias: Tensor | None) -> Linear | None:
        if names[0] == "lm_head":
            return None
        weight = torch.cat([self._tensors.torch(f"{name}.weight") for name in names])
        if self._quant == "nf4":
            nf4 = linears.Nf4.of(weight, None)
            return linears.Dense(dequantize_4bit(nf4.packed, nf4.state), bias)
        int8 = linears.Int8.of(weight, None)
        return linears.Dense(int8.packed.float() * int8.scales[:, None] / 127, bias)


def test_room_is_made_at_once_where_the_context_has_it() -> None:
    roomy = KvCache(1, 1, 2, 4000, torch.float32, CPU, first=2048)
    assert (roomy.reserve(1), roomy.keys.shape[1], roomy.moves) == (512, 2048, 1)
    assert (roomy.reserve(1500), roomy.moves) == (2048, 1)
    small = KvCache(1, 1, 2, 100, torch.float32, CPU, first=2048)
    assert (small.reserve(1), small.keys.shape[1]) == (192, 192)


def test_rows_and_their_tree_arrive_in_one_copy() -> None:
    inputs = StepInputs(64, 4, CPU)
    rows = tree_of(60, seed=4)
    inputs.fill(Rows(rows.token_ids, rows.parents, (0, 7, 9)), 100)
    assert inputs.ids[:60].tolist() == list(rows.token_ids)
    assert inputs.positions()[:60].tolist() == [100 + depth for depth in rows.depths()]
    assert inputs.slots().tolist() == list(range(100, 164))
    assert inputs.wanted.tolist() == [0, 7, 9, 0]
    seen = inputs.seen()
    for row in range(64):
        line = []
        ancestor = row
        while ancestor >= 0:
            line.append(ancestor)
            ancestor = rows.parents[ancestor] if ancestor < 60 else -1
        assert seen[row].nonzero().flatten().tolist() == sorted(line)
    assert ROWS[-1] == 64  # a mask is one number of 64 bits
