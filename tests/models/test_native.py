"""The runner over the C step: weights in place, its cache, what it does where there is no memory.

What it computes is in test_fused.py and test_fused_bits.py, together with PyTorch's.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory
from lacli.kernels import packing
from lacli.kernels.structs import Cache, Matrix
from lacli.models.base import Rows
from lacli.models.prepare.folder import PreparedModel
from lacli.models.runners.load import load_runner
from lacli.models.runners.native.runner import NativeRunner
from lacli.models.runners.tensors import Tensors
from tests.models.kernels import choose, logits_of, needed, stored
from tests.models.test_fused import VOCAB, copied, prompt_of, write
from tests.models.tiny_models import prepare_file, write_gguf


@pytest.fixture(autouse=True)
def library() -> None:
    needed()


def load(prepared: PreparedModel, quant: str = "none", context: int | None = None) -> NativeRunner:
    runner = load_runner(prepared, quant, threads=1, context=context)  # type: ignore[arg-type]
    assert isinstance(runner, NativeRunner)
    return runner


def pack(prepared: PreparedModel, file: Path, quant: Any) -> PreparedModel:
    """The same model with its weights packed as `prepare` does."""
    tensors = Tensors(prepared.float_files)
    made: dict[str, torch.Tensor] = {}
    for name in tensors:
        weight = tensors.floats(name)
        if weight.ndim == 1:
            made[name] = torch.from_numpy(weight.copy())
            continue
        blocks = packing.quantise(weight, 4 if quant == "int4" and "layers" in name else 8)
        made[f"{name.removesuffix('.weight')}.{blocks.kind}"] = torch.from_numpy(packing.pack(blocks))
    save_file(made, file)
    return dataclasses.replace(prepared, float_files=(), packed_file=file, quant=quant)


def test_threads_beyond_the_processors_are_not_started(tmp_path: Path) -> None:
    runner = load_runner(write(tmp_path)[1], "none", threads=1024)
    assert isinstance(runner, NativeRunner)
    assert 1 <= runner._model.library.threads <= (os.cpu_count() or 1)


def matrices(runner: NativeRunner) -> dict[str, Matrix]:
    layer = runner._cache.model.layers[0]
    embedding, head, _ = runner._cache.model._kept
    return {"query": layer.query, "down": layer.down, "embedding": embedding, "head": head}


class TestWeights:
    @pytest.mark.parametrize(
        ("quant", "layers", "vocabulary"), [("none", "f32", "f32"), ("int8", "q8", "q8"), ("int4", "q4m", "q8")]
    )
    def test_each_quantisation_has_its_kinds(self, quant: str, layers: str, vocabulary: str, tmp_path: Path) -> None:
        runner = load(write(tmp_path)[1], quant)
        kinds = {name: matrix.kind for name, matrix in matrices(runner).items()}
        assert kinds == {"query": layers, "down": layers, "embedding": vocabulary, "head": vocabulary}
        assert runner._cache.keys.dtype == (np.float32 if quant == "none" else np.float16)
        assert runner.kernel == needed().isa

    def test_floats_are_used_where_they_lie(self, tmp_path: Path) -> None:
        for matrix in matrices(load(write(tmp_path)[1])).values():
            assert not matrix._kept[0].flags.writeable  # a map of the file, not a copy

    @pytest.mark.parametrize("quant", ["int8", "int4"])
    def test_so_are_the_files_that_lacli_prepares(self, quant: str, tmp_path: Path) -> None:
        runner = load(prepare_file(write_gguf(tmp_path / "x.gguf"), quant), quant)
        for matrix in matrices(runner).values():
            assert not matrix._kept[0].flags.writeable

    @pytest.mark.parametrize("kernel", ["native", "torch"])
    @pytest.mark.parametrize("quant", ["int8", "int4"])
    def test_a_packed_file_says_what_floats_packed_at_load_say(
        self, quant: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whatever place in the file its matrices have; safetensors' own writer does not align them."""
        choose(kernel, monkeypatch)
        _, prepared = write(tmp_path, model_type="qwen3", head_dim=20, attention_bias=True)
        packed = pack(prepared, tmp_path / "packed.safetensors", quant)
        ids = prompt_of(30)
        runners = [load_runner(each, quant, threads=1) for each in (prepared, packed)]  # type: ignore[arg-type]
        first, second = (copied(runner.prefill(ids)) for runner in runners)
        assert runners[0].kernel == runners[1].kernel == (needed().isa if kernel == "native" else "torch")
        if kernel == "native":
            assert torch.equal(first, second)
        else:  # rounded twice
            assert torch.cosine_similarity(first[0], second[0], dim=0) > (0.99 if quant == "int8" else 0.8)

    @pytest.mark.parametrize("kernel", ["native", "torch"])
    @pytest.mark.parametrize(
        ("changes", "said"), [({"intermediate_size": 128}, "gate_proj"), ({"vocab_size": 90}, "embed_tokens")]
    )
    def test_a_packed_file_of_another_config_is_refused(
        self, changes: dict[str, Any], said: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        choose(kernel, monkeypatch)
        _, prepared = write(tmp_path)
        packed = pack(prepared, tmp_path / "packed.safetensors", "int8")
        edited = dataclasses.replace(packed, config={**packed.config, **changes})
        with pytest.raises(ModelUnavailable, match=rf"{said}\.q8 is .* where config\.json asks for"):
            load_runner(edited, "int8", threads=1)

    def test_norms_of_another_length_are_refused(self, tmp_path: Path) -> None:
        _, prepared = write(tmp_path)
        tensors = Tensors(prepared.float_files)
        made = {name: tensors.torch(name) for name in tensors}
        made["model.layers.1.input_layernorm.weight"] = torch.ones(47)
        save_file(made, tmp_path / "other.safetensors")
        with pytest.raises(ModelUnavailable, match=r"a norm is float32 \[47\]; float32 \[48\] is expected"):
            load(dataclasses.replace(prepared, float_files=(tmp_path / "other.safetensors",)))

    def test_weights_that_are_no_numbers_are_refused(self, tmp_path: Path) -> None:
        model, prepared = write(tmp_path)
        model.model.layers[0].mlp.up_proj.weight.data[3, 3] = float("nan")
        model.save_pretrained(tmp_path)
        with pytest.raises(LacliError, match="not a finite number"):
            load(prepared, "int8")


class TestCache:
    def test_what_lies_beyond_its_length_has_no_effect(self, tmp_path: Path) -> None:
        _, prepared = write(tmp_path)
        for quant in ("none", "int8"):
            runner = load(prepared, quant)
            ids = prompt_of(37)
            runner.prefill(ids[:21])
            tree = Rows(tuple(ids[21:26]), (-1, 0, 0, 2, 1), (0, 3, 4))
            expected = copied(runner.forward(tree))
            cache = runner._cache
            cache.values[:, :, 21:] = np.nan
            keys = stored(runner, 0, 21)[0].numpy()
            cache.keys[...] = np.nan
            for slot in range(21):
                cache.keys[:, :, slot // 16, :, slot % 16] = keys[:, :, slot]
            assert torch.equal(copied(runner.forward(tree)), expected)

    @pytest.mark.parametrize("context", [100, 600])
    def test_it_grows_no_further_than_the_context_and_some_guesses(self, context: int, tmp_path: Path) -> None:
        runner = load(write(tmp_path)[1], context=context)
        runner.prefill(prompt_of(context))
        capacity = runner._cache.capacity
        assert context <= capacity <= context + 64 + 16
        runner.forward(Rows(tuple(prompt_of(64)), tuple(range(-1, 63)), (0,)))
        assert runner._cache.capacity == capacity
        # More guesses than that still find room.
        runner.forward(Rows(tuple(prompt_of(200)), tuple(range(-1, 199)), (0,)))
        assert runner.length == context

    def test_a_path_is_moved_together(self, tmp_path: Path) -> None:
        runner, fresh = (load(write(tmp_path)[1], quant) for quant in ("int8", "int8"))
        ids = prompt_of(30)
        runner.prefill(ids[:20])
        runner.forward(Rows((ids[20], 5, ids[21], 6, 7, ids[22]), (-1, 0, 0, 1, 2, 2), (0,)))
        runner.keep([0, 2, 5])
        fresh.prefill(ids[:23])
        assert runner.length == fresh.length == 23
        for ours, theirs in zip(stored(runner, 0, 23), stored(fresh, 0, 23), strict=True):
            assert torch.equal(ours, theirs)

    def test_without_memory_for_it_nothing_changes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        runner = load(write(tmp_path)[1])
        ids = prompt_of(10)
        runner.prefill(ids)
        row = Rows((3,), (-1,), (0,))
        expected = copied(runner.forward(row))

        def full(self: Cache, *args: Any) -> None:
            raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr(Cache, "reserve", full)
            for attempt in (lambda: runner.forward(row), lambda: runner.prefill(ids)):
                with pytest.raises(OutOfMemory, match="no memory left") as caught:
                    attempt()
                assert caught.value.hint
        assert runner.length == 10
        assert torch.equal(copied(runner.forward(row)), expected)


class TestScores:
    def test_the_best_tokens_are_those_of_the_logits(self, tmp_path: Path) -> None:
        runner = load(write(tmp_path)[1], "int8")
        runner.prefill(prompt_of(9))
        scores = runner.forward(Rows(tuple(prompt_of(6, seed=2)), (-1, 0, 0, 2, 1, 4), (0, 3, 5)))
        logits = logits_of(scores).numpy()
        assert logits.shape == (3, VOCAB)
        assert scores.top_ids.tolist() == np.argsort(-logits, axis=1, kind="stable")[:, :8].tolist()
        assert np.array_equal(scores.top_logits, np.take_along_axis(logits, scores.top_ids, axis=1))
        before = scores.top_ids.copy()
        runner.forward(Rows((7,), (-1,), (0,)))
        assert np.array_equal(scores.top_ids, before)

    def test_a_vocabulary_of_few_has_no_more_of_them(self, tmp_path: Path) -> None:
        runner = load(write(tmp_path, vocab_size=5, bos_token_id=1, eos_token_id=2)[1])
        scores = runner.prefill([1, 2, 3])
        assert scores is not None
        assert sorted(scores.top_ids[0].tolist()) == [0, 1, 2, 3, 4]
        assert scores.top_logits.shape == (1, 5)

    @pytest.mark.parametrize(
        "rows", [Rows((3, VOCAB), (-1, 0), (0, 1)), Rows((3, 4), (-1, 1), (0,)), Rows((-1,), (-1,), (0,))]
    )
    def test_a_forward_that_cannot_be_leaves_the_length(self, rows: Rows, tmp_path: Path) -> None:
        runner = load(write(tmp_path)[1])
        runner.prefill(prompt_of(10))
        with pytest.raises(IndexError):
            runner.forward(rows)
        assert runner.length == 10


class TestSharing:
    """Several sequences of one model in one forward."""

    @pytest.mark.parametrize("quant", ["none", "int8", "int4"])
    def test_each_row_has_the_bits_it_has_where_its_sequence_runs_alone(self, quant: str, tmp_path: Path) -> None:
        first = load(write(tmp_path)[1], quant)
        others = [first.sibling() for _ in range(3)]
        prompts = [prompt_of(3), prompt_of(70), prompt_of(17), prompt_of(1)]
        trees = [
            Rows((1, 2, 3, 4), (-1, 0, 0, 2), (0, 1, 3)),
            Rows((5,), (-1,), (0,)),
            Rows((6, 7, 8), (-1, 0, 1), (0,)),
            Rows((9, 1, 2), (-1, 0, 1), ()),
        ]
        runners = [first, *others]
        for runner, prompt in zip(runners, prompts, strict=True):
            runner.prefill(prompt)
        alone, kept = [], []
        for runner, tree in zip(runners, trees, strict=True):
            scores = runner.forward(tree)  # good until the next forward
            alone.append((logits_of(scores).clone(), scores.top_ids.copy(), scores.top_logits.copy()))
            kept.append(stored(runner, 0, runner.length + len(tree.token_ids)))
        together = first.forward_many(list(zip(runners, trees, strict=True)))
        for (logits, top_ids, top_logits), scores in zip(alone, together, strict=True):
            assert torch.equal(logits_of(scores), logits)
            assert np.array_equal(scores.top_ids, top_ids)
            assert np.array_equal(scores.top_logits, top_logits)
        for runner, tree, (keys, values) in zip(runners, trees, kept, strict=True):
            again = stored(runner, 0, runner.length + len(tree.token_ids))
            assert torch.equal(again[0], keys)
            assert torch.equal(again[1], values)

    def test_what_is_adopted_goes_on_as_if_it_had_been_read(self, tmp_path: Path) -> None:
        first = load(write(tmp_path)[1], "int8")
        second, prompt = first.sibling(), prompt_of(40)
        first.prefill(prompt)
        second.prefill(prompt_of(5)[::-1])
        second.adopt(first, 23)
        assert second.length == 23
        scores = second.prefill(prompt[23:])
        assert scores is not None
        logits = logits_of(scores).clone()
        first.truncate(0)
        expected = first.prefill(prompt)
        assert expected is not None
        assert torch.equal(logits, logits_of(expected))

    def test_a_position_takes_what_the_cache_says(self, tmp_path: Path) -> None:
        runner = load(write(tmp_path)[1], "int8")
        runner.prefill(prompt_of(5))
        assert runner.cache_bytes == runner.position_bytes * runner._cache.capacity

    def test_no_memory_for_one_cache_leaves_all_as_they_were(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = load(write(tmp_path)[1], "int8")
        second = first.sibling()
        first.prefill(prompt_of(5))
        monkeypatch.setattr(Cache, "_allocate", lambda self, capacity: (_ for _ in ()).throw(MemoryError))
        row = Rows((1,), (-1,), (0,))
        with pytest.raises(OutOfMemory):
            first.forward_many([(first, row), (second, row)])
        assert (first.length, second.length) == (5, 0)
