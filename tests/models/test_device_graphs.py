"""Steps captured and replayed, and which kernels are taken at load: what fails or says something else is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from lacli.errors import LacliError, OutOfMemory
from lacli.models.runners.fused.device import load as load_module
from lacli.models.runners.fused.device.attention import Style, reference_past
from lacli.models.runners.fused.device.graphs import Calls, CudaGraphs, Step
from lacli.models.runners.fused.device.load import _probe, _try
from lacli.models.runners.fused.device.runner import DeviceRunner
from tests.models.device import chain_of, ids_of, make, tree_of
from tests.models.test_device_attention import plain

pytestmark = pytest.mark.usefixtures("one_thread")


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

    def test_no_memory_for_a_larger_cache_leaves_one_that_fits(
        self, pair: tuple[DeviceRunner, DeviceRunner, Recorder], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Keys have moved by then and values have not: what was captured before reads keys that are gone."""
        runner, called, _ = pair
        cache = runner._caches[0]
        for each in pair[:2]:
            each.prefill(ids_of(500))
            each.forward(chain_of(ids_of(4)))
        zeros, made = cache._zeros, iter((True, False, True))

        def scarce(slots: int) -> Tensor:
            if not next(made):
                raise torch.OutOfMemoryError("CUDA out of memory")
            return zeros(slots)

        monkeypatch.setattr(cache, "_zeros", scarce)
        with pytest.raises(OutOfMemory):
            runner.forward(tree_of(30))
        assert cache.keys.shape[1] > cache.values.shape[1]
        for rows in (chain_of(ids_of(4)), tree_of(30)):
            found, expected = runner.forward(rows), called.forward(rows)
            assert torch.equal(torch.as_tensor(found.logits), torch.as_tensor(expected.logits))
            for each in pair[:2]:
                each.keep([0])

    def test_no_memory_for_a_chunk_of_a_prompt_makes_chunks_smaller(
        self, pair: tuple[DeviceRunner, DeviceRunner, Recorder], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runner, called, _ = pair
        logits, most, done = runner._model.logits, 150, list[int]()

        def scarce(ids: Tensor, *given: Any) -> Tensor:
            if len(ids) > most:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return logits(ids, *given)

        def note(count: int) -> bool:
            done.append(count)
            return True

        monkeypatch.setattr(runner._model, "logits", scarce)
        found, expected = runner.prefill(ids_of(300), note), called.prefill(ids_of(300))
        assert found is not None
        assert expected is not None
        assert done == [128, 256, 300]
        assert torch.allclose(torch.as_tensor(found.logits), torch.as_tensor(expected.logits), atol=1e-4)
        most = 0
        with pytest.raises(OutOfMemory):
            runner.prefill(ids_of(300))
        assert runner.length == 300

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

    @pytest.mark.parametrize("broken", ["", "past", "missing", "graphs"])
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

        def is_missing(*given: Any) -> Any:
            return torch.ops.aten.no_kernel_image_is_available  # an older PyTorch: raises AttributeError

        def capture() -> CudaGraphs:
            return CudaGraphs(fails if broken == "graphs" else recorder)

        past = {"past": fails, "missing": is_missing}.get(broken, reference_past)
        monkeypatch.setattr(load_module, "flash_past", past)
        monkeypatch.setattr(load_module, "flash_chain", chain)
        monkeypatch.setattr(load_module, "CudaGraphs", capture)
        load_module.improve(runner, _probe(runner), 1e-4, flash=True)
        assert (runner.style.past is reference_past) == (broken not in ("past", "missing"))
        assert runner.style.merged_from == Style(1.0).merged_from
        assert isinstance(runner.replays, Calls) == (broken == "graphs")
        assert len(runner.notes) == (broken != "")
        assert all("no kernel image is available" in note.replace("_", " ") for note in runner.notes)

    def test_kernels_for_prompts_are_tried_too(self, pair: tuple[DeviceRunner, DeviceRunner, Recorder]) -> None:
        """Its chunks are longer than any step."""
        runner, called, _ = pair

        def wrong(queries: Tensor, keys: Tensor, values: Tensor, window: int, scale: float) -> Tensor:
            return queries.flatten(1)

        style = Style(runner.style.scale, chain=wrong)
        assert not _try(runner, _probe(called), style, Calls(), "FlashAttention", 1e-4)
