"""The forward for devices against the generic runner in float64 and the native one, on CPU tensors.

Everything but CUDA's own kernels and graphs runs here as it does there: buckets, rows that fill them up, both ways of
attention.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lacli.engine.controller import Limits
from lacli.errors import LacliError
from lacli.models.base import BucketedRunner, Rows, Runner, Scores
from lacli.models.prepare.folder import PreparedModel
from lacli.models.registry.registry import spec_of_path
from lacli.models.runners import load as load_module
from lacli.models.runners.fused.device.buckets import ROWS, slot_buckets
from lacli.models.runners.fused.device.graphs import Calls, Step
from lacli.models.runners.fused.device.runner import DeviceRunner
from lacli.models.runners.load import load_runner
from tests.engine.replies import PLAIN, reply
from tests.exact.reference import greedy
from tests.exact.sources import LiarSource, OracleSource
from tests.models.device import CONTEXT, FAMILIES, SCALED, Made, chain_of, ids_of, make, tree_of
from tests.models.families import SWITCH, VOCAB
from tests.slow import slow

pytestmark = pytest.mark.usefixtures("one_thread")

SIZES = (1, 2, 3, 7, 16, 33, 64)
LENGTHS = (509,)
FURTHER = (1, 40, 511, 512, 700, 1023, 1030)

_made: dict[str, Made] = {}


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    name = str(request.param)
    if name not in _made:
        _made[name] = make(name, tmp_path_factory.mktemp(name))
    return _made[name]


def logits(scores: Scores | None) -> torch.Tensor:
    assert scores is not None
    return torch.as_tensor(scores.logits).double()


def agree(found: Scores | None, expected: Scores | None) -> None:
    """Equal argmax everywhere, and every row of logits within 1e-4 of its norm."""
    ours, theirs = logits(found), logits(expected)
    assert ours.shape == theirs.shape
    assert torch.equal(ours.argmax(dim=1), theirs.argmax(dim=1))
    assert bool(((ours - theirs).norm(dim=1) <= 1e-4 * theirs.norm(dim=1)).all())


def compare(runner: DeviceRunner, others: list[Runner], length: int) -> None:
    """A prompt of this length, then trees of all sizes, of which each time a path is kept, then one row."""
    everyone = [runner, *others]
    for each in everyone:
        each.truncate(0)
    first = [each.prefill(ids_of(length)) for each in everyone]
    for other in first[1:]:
        agree(first[0], other)
    for size in SIZES:
        rows = tree_of(size, seed=size)
        found, *expected = [each.forward(rows) for each in everyone]
        for other in expected:
            agree(found, other)
        deepest = max(range(size), key=lambda row: rows.depths()[row])
        path = [deepest]
        while rows.parents[path[0]] >= 0:
            path.insert(0, rows.parents[path[0]])
        for each in everyone:
            each.keep(path)
    found, *expected = [each.forward(Rows((5,), (-1,), (0,))) for each in everyone]
    for other in expected:
        agree(found, other)


class TestAgainstOthers:
    @pytest.mark.parametrize("merged", [False, True], ids=["masked", "merged"])
    @pytest.mark.parametrize("length", [*LENGTHS, *(slow(length) for length in FURTHER)])
    @pytest.mark.parametrize("made", FAMILIES, indirect=True)
    def test_trees_of_1_to_64_rows_across_kv_buckets(self, made: Made, length: int, merged: bool) -> None:
        compare(made.device(merged=merged), [made.generic, *([made.native] if made.native else [])], length)

    @pytest.mark.parametrize("length", [5, SWITCH - 3, SWITCH, SWITCH + 9])
    @pytest.mark.parametrize("made", SCALED, indirect=True)
    def test_scaled_rotations_around_their_switch(self, made: Made, length: int) -> None:
        runner = made.device()
        for each in (runner, made.generic):
            each.truncate(0)
        agree(runner.prefill(ids_of(length)), made.generic.prefill(ids_of(length)))
        for size in (1, 5, 9):
            rows = tree_of(size, seed=size)
            agree(runner.forward(rows), made.generic.forward(rows))
            for each in (runner, made.generic):
                each.keep([0])
        for each in (runner, made.generic):
            each.truncate(SWITCH - 4)
        chain = chain_of(ids_of(9, seed=4))
        agree(runner.forward(chain), made.generic.forward(chain))

    @pytest.mark.parametrize("made", ["phi3-longrope"], indirect=True)
    def test_rows_on_both_sides_of_the_switch_where_results_are_good_until_the_next_run(self, made: Made) -> None:
        """As with CUDA graphs, which share their memory."""

        class Overwriting(Calls):
            last: tuple[torch.Tensor, ...] = ()

            def run(self, shape: Hashable, step: Step) -> tuple[torch.Tensor, ...]:
                for each in self.last:
                    each.fill_(-1)
                self.last = step()
                return self.last

        runner = made.device()
        runner.use(replays=Overwriting())
        for each in (runner, made.generic):
            each.truncate(0)
            each.prefill(ids_of(SWITCH - 4))
        chain = chain_of(ids_of(9, seed=4))
        agree(runner.forward(chain), made.generic.forward(chain))

    @pytest.mark.parametrize("made", ["llama", "gemma2"], indirect=True)
    def test_a_prompt_reads_the_same_in_chunks_of_any_size(self, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
        """Steps of a bucket for what is left, one chunk, and many."""
        ids = ids_of(700)
        made.generic.truncate(0)
        expected = made.generic.prefill(ids)
        for chunk in (65, 100, 512, 2048):
            monkeypatch.setattr("lacli.models.runners.fused.device.load._CHUNKS", (chunk,))
            agree(made.device().prefill(ids), expected)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, slow(torch.float16)])
    @pytest.mark.parametrize("merged", [False, True], ids=["masked", "merged"])
    @pytest.mark.parametrize("made", ["qwen3", "gemma2", slow("qwen2"), slow("gemma3"), slow("phi3")], indirect=True)
    def test_what_a_gpu_computes_in_is_near(self, made: Made, merged: bool, dtype: torch.dtype) -> None:
        """About as near as transformers' own forward in that dtype: how much rounding shows depends on the weights."""
        runner = made.device(merged=merged, dtype=dtype)
        made.generic.truncate(0)
        exact = logits(made.generic.forward(chain_of(ids_of(20))))
        with torch.inference_mode():
            stock = made.stock_in(dtype)(torch.tensor([ids_of(20)])).logits[0].double()
        apart = 2 * float((stock - exact).norm() / exact.norm())
        assert 0 < apart < (0.1 if dtype == torch.bfloat16 else 0.02)
        made.generic.truncate(0)
        for found, expected in (
            (runner.prefill(ids_of(20)), made.generic.prefill(ids_of(20))),
            (runner.forward(tree_of(9)), made.generic.forward(tree_of(9))),
        ):
            assert (logits(found) - logits(expected)).norm() <= apart * logits(expected).norm()

    @pytest.mark.parametrize("made", ["llama"], indirect=True)
    def test_a_model_whose_head_is_its_embedding(self, made: Made, tmp_path: Path) -> None:
        tied = make("llama", tmp_path, tie_word_embeddings=True)
        compare(tied.device(), [tied.generic], 3)


@pytest.mark.parametrize("made", ["llama", "mistral"], indirect=True)
class TestBuckets:
    def test_rows_that_fill_up_a_bucket_change_no_real_row(self, made: Made) -> None:
        """The same five rows in a bucket of 8 and in one of 64: what is filled up is different, the past is not."""
        runner = made.device(merged=True)
        runner.prefill(ids_of(30))
        rows = tree_of(5)
        narrow = runner.forward(rows)
        wide = runner.forward(Rows((*rows.token_ids, *ids_of(40, 3)), (*rows.parents, *([0] * 40)), rows.wanted))
        agree(narrow, wide)

    def test_a_cache_that_grows_keeps_what_it_had(self, made: Made) -> None:
        runner, fresh = made.device(), made.device()
        ids = ids_of(1100)
        runner.prefill(ids[:20])
        before = runner.cache_bytes
        whole = runner.prefill(ids[20:])
        assert runner.cache_bytes > before
        agree(whole, fresh.prefill(ids))

    def test_forwards_of_one_bucket_read_only_what_was_written(self, made: Made) -> None:
        """A text cut back, with other text behind it in the buffers."""
        runner, fresh = made.device(), made.device()
        runner.prefill(ids_of(400, seed=1))
        runner.truncate(10)
        expected = fresh.prefill([*ids_of(400, seed=1)[:10], *ids_of(20, seed=2)])
        agree(runner.prefill(ids_of(20, seed=2)), expected)

    def test_numbers_that_are_not_finite_spoil_no_later_reply(self, made: Made) -> None:
        runner = made.device()
        runner.prefill(ids_of(10))
        expected = logits(runner.forward(chain_of([3]))).clone()
        embedding = runner._model.weights.embedding
        with torch.inference_mode():
            kept = embedding[7].clone()
            embedding[7] = np.nan
            assert np.isnan(runner.forward(chain_of([3, 7])).top_logits[1, 0])
            embedding[7] = kept
        assert torch.equal(logits(runner.forward(chain_of([3]))), expected)

    def test_only_the_rows_asked_for_are_answered(self, made: Made) -> None:
        runner = made.device()
        runner.prefill(ids_of(6))
        rows = tree_of(6)
        every = logits(runner.forward(rows))
        for wanted in ((0,), (0, 3), (0, 2, 5), (0, 1, 2, 4)):
            found = logits(runner.forward(Rows(rows.token_ids, rows.parents, wanted)))
            torch.testing.assert_close(found, every[list(wanted)], rtol=1e-4, atol=1e-5)

    def test_a_prefill_that_is_stopped_is_taken_up_again(self, made: Made) -> None:
        runner, fresh = made.device(), made.device()
        ids = ids_of(1200)
        assert runner.prefill(ids, lambda done: False) is None
        assert 0 < runner.length < 1200
        agree(runner.prefill(ids[runner.length :]), fresh.prefill(ids))

    def test_an_empty_prompt_is_refused(self, made: Made) -> None:
        with pytest.raises(LacliError, match="nothing to prefill"):
            made.device().prefill([])


def test_the_buckets_end_where_the_context_does() -> None:
    assert slot_buckets(CONTEXT + ROWS[-1]) == (512, 1024, 2048, 2112)
    assert slot_buckets(100) == (128,)
    assert slot_buckets(512) == (512,)


@pytest.mark.parametrize("made", ["qwen2", "gemma3"], indirect=True)
class TestReplies:
    @pytest.mark.parametrize("room", [1, 20])
    def test_a_nearly_full_context_ends_a_reply(self, made: Made, room: int) -> None:
        runner = made.device()
        prompt = ids_of(CONTEXT - room)
        done = reply(runner, prompt, 60, limits=PLAIN)
        assert len(done.ids) == room + 1
        assert runner.length == CONTEXT

    def test_a_greedy_reply_with_guesses_is_the_one_without(self, made: Made) -> None:
        """In float32 the rounding of a tiny model is far below the margins of this text."""
        runner = made.device(merged=True)
        prompt = ids_of(12)
        plain = greedy(prompt, runner, 50)
        sources = [LiarSource(12, plain, VOCAB), OracleSource(12, plain[::2])]
        assert reply(runner, prompt, 50, sources, limits=Limits(window=4, ngram=4)).ids == plain


class TestLoadRunner:
    @pytest.fixture(autouse=True)
    def pretended_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(load_module, "ON_DEVICE", "cpu")

    @pytest.mark.parametrize("made", FAMILIES, indirect=True)
    @pytest.mark.parametrize("strict", [False, True])
    def test_cuda_takes_the_forward_for_devices(self, made: Made, strict: bool) -> None:
        folder = made.file.parent
        prepared = PreparedModel(folder, spec_of_path(folder), made.config, (made.file,), None, (), ())
        runner = load_runner(prepared, "none", "cuda", threads=1, context=600, strict=strict)
        assert isinstance(runner, DeviceRunner)
        assert isinstance(runner, BucketedRunner)
        assert (runner.context_size, runner.chains_only) == (600, strict)
        ids = ids_of(20)
        made.generic.truncate(0)
        agree(runner.prefill(ids), made.generic.prefill(ids))

    @pytest.mark.parametrize("made", ["llama"], indirect=True)
    def test_models_it_is_not_for_go_to_transformers(self, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Any] = []
        monkeypatch.setattr(
            "lacli.models.runners.generic.runner.load_generic", lambda *given, **options: asked.append(options)
        )
        folder = made.file.parent
        config = {**made.config, "hidden_act": "gelu"}
        load_runner(PreparedModel(folder, spec_of_path(folder), config, (made.file,), None, (), ()), "nf4", "cuda")
        assert asked == [{"quant": "nf4", "device": "cuda", "context": None, "spread": False}]

    @pytest.mark.parametrize("made", ["llama"], indirect=True)
    def test_one_too_large_for_a_card_goes_there_too_and_is_spread(
        self, made: Made, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[Any] = []
        monkeypatch.setattr(load_module, "needs_more_cards", lambda spec, context, quant: context == 600)
        monkeypatch.setattr(
            "lacli.models.runners.generic.runner.load_generic", lambda *given, **options: asked.append(options)
        )
        folder = made.file.parent
        prepared = PreparedModel(folder, spec_of_path(folder), made.config, (made.file,), None, (), ())
        load_runner(prepared, "none", "cuda", context=600)
        assert asked == [{"quant": "none", "device": "cuda", "context": 600, "spread": True}]
        assert isinstance(load_runner(prepared, "none", "cuda", context=500), DeviceRunner)


class TestStrict:
    """One shape for every forward, chains only: the bits of a row do not depend on how it was come by."""

    @pytest.mark.parametrize("made", FAMILIES, indirect=True)
    def test_chains_of_any_length_have_the_bits_of_one_row_a_step(self, made: Made) -> None:
        runner = made.device(strict=True)
        ids = ids_of(150)
        runner.prefill(ids[:30])
        expected = {}
        for place in range(30, 60):
            expected[place] = logits(runner.forward(chain_of(ids[place : place + 1])))[0].clone()
            runner.keep([0])
        for size in (2, 7, 30):
            runner.truncate(30)
            found = logits(runner.forward(chain_of(ids[30 : 30 + size])))
            for row in range(size):
                assert torch.equal(found[row], expected[30 + row]), (size, row)
        for start in (1, 13, 29):  # and a prompt, wherever its chunks begin
            runner.truncate(start)
            found = logits(runner.prefill(ids[start:60]))
            assert torch.equal(found[0], expected[59]), start

    @pytest.mark.parametrize("made", ["llama"], indirect=True)
    def test_the_engine_then_builds_chains(self, made: Made) -> None:
        runner = made.device(strict=True)
        seen: list[Rows] = []
        forward = runner.forward
        runner.forward = lambda rows: seen.append(rows) or forward(rows)  # type: ignore[method-assign,func-returns-value]
        prompt = ids_of(12)
        plain = greedy(prompt, runner, 40)
        seen.clear()
        sources = [OracleSource(12, plain), LiarSource(12, plain, VOCAB)]
        done = reply(runner, prompt, 40, sources, limits=Limits(window=4, ngram=4))
        assert done.ids == plain
        assert any(len(rows.token_ids) > 1 for rows in seen)
        assert all(rows.parents == tuple(range(-1, len(rows.parents) - 1)) for rows in seen)
