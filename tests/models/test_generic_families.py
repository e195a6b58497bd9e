"""The generic runner on tiny random models of every family, in float64, against transformers' own `generate()`.

Rounding cannot excuse a difference here, so a wrong mask, position, window, rotary base or moved KV row shows.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence

import pytest
import torch
import transformers
from transformers import PreTrainedModel

from lacli.drafts.base import DraftSource, Sources
from lacli.drafts.lookup import ProjectSource, PromptSource, SessionSource
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Step
from lacli.engine.stop import Stops
from lacli.errors import LacliError
from lacli.models.base import Rows
from lacli.models.runners.generic.attention import FAST
from lacli.models.runners.generic.runner import GenericRunner
from tests.exact.reference import greedy
from tests.exact.sources import LiarSource, OracleSource
from tests.models.families import CONFIGS, DYNAMIC, FIXED, PLAIN, SWITCH, VOCAB, family, prompt_of

pytestmark = pytest.mark.usefixtures("one_thread")


def generated(model: PreTrainedModel, prompt: Sequence[int], count: int) -> list[int]:
    model.generation_config.max_length = None
    output = model.generate(
        torch.tensor([prompt]), max_new_tokens=count, do_sample=False, attention_mask=torch.ones(1, len(prompt))
    )
    return output[0, len(prompt) :].tolist()


def one_row_a_step(runner: GenericRunner, prompt: Sequence[int], token_ids: Sequence[int]) -> torch.Tensor:
    """Logits after the prompt and after each token, [1 + tokens, vocab]."""
    runner.truncate(0)
    first = runner.prefill(prompt)
    assert first is not None
    logits = [first.logits[0]]
    for token_id in token_ids:
        logits.append(runner.forward(Rows((token_id,), (-1,), (0,))).logits[0])
        runner.keep([0])
    return torch.stack(logits)


def scattered_tree(path_ids: Sequence[int], generator: random.Random) -> tuple[Rows, list[int]]:
    """A tree that holds `path_ids` on scattered rows among junk siblings; also the rows of the path."""
    ids, parents, path = [path_ids[0]], [-1], [0]
    for token_id in path_ids[1:]:
        for _ in range(generator.randrange(4)):
            ids.append(generator.randrange(2, VOCAB))
            parents.append(generator.randrange(len(ids) - 1))
        ids.append(token_id)
        parents.append(path[-1])
        path.append(len(ids) - 1)
    for _ in range(3):
        ids.append(generator.randrange(2, VOCAB))
        parents.append(generator.randrange(len(ids) - 1))
    return Rows(tuple(ids), tuple(parents), tuple(range(len(ids)))), path


def stored(runner: GenericRunner) -> list[torch.Tensor]:
    """Keys and values of the kept positions, layer by layer."""
    past = runner._pasts[runner._rope.regime(runner.length)]
    layers = past.cache.layers
    return [
        buffer[:, :, : runner.length].clone() for layer in layers for buffer in (layer._key_buffer, layer._value_buffer)
    ]


class TestEveryFamily:
    """The engine's text is that of `generate()`: windows shorter than it, each rotary scaling beyond its switch."""

    @pytest.mark.parametrize("name", CONFIGS)
    def test_lookahead_says_what_generate_says(self, name: str) -> None:
        assert len(set(check_lookahead(name, SWITCH - 6, 14))) > 3, "a model that repeats itself would show no mistake"

    @pytest.mark.slow
    @pytest.mark.parametrize("name", CONFIGS)
    @pytest.mark.parametrize("length", [1, SWITCH - 1, SWITCH, SWITCH + 1, 66])
    def test_also_from_one_token_on_at_the_switch_and_after_a_long_prompt(self, name: str, length: int) -> None:
        check_lookahead(name, length, 30)

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("name", PLAIN)
    def test_what_cannot_branch_is_decoded_plainly_with_a_note(self, name: str) -> None:
        model = family(name)
        prompt = prompt_of(9)
        reply = generated(model.stock, prompt, 12)
        assert len(set(reply)) > 1
        assert not model.runner.can_branch
        assert any("one token at a time" in note for note in model.runner.notes)
        text, steps = decoded(model.runner, prompt, 12, [OracleSource(len(prompt), reply)], window=3)
        assert text == reply
        assert all(step.rows <= 1 for step in steps)


def check_lookahead(name: str, length: int, count: int) -> list[int]:
    model = family(name)
    prompt = prompt_of(length)
    if name == "llama-longrope":  # `generate()` keeps keys of the other kind there, so its text hangs on the prompt
        reply = greedy(prompt, GenericRunner(copy.deepcopy(model.runner._model)), count)
    else:
        reply = generated(copy.deepcopy(model.stock), prompt, count)
    sources = [LiarSource(length, reply, VOCAB), OracleSource(length, reply), PromptSource()]
    assert decoded(model.runner, prompt, count, sources, window=3)[0] == reply
    return reply


class TestAgainstGenerate:
    @pytest.mark.default_cases(11)
    @pytest.mark.parametrize("name", FIXED)
    def test_plain_decoding_is_generate(self, name: str) -> None:
        model = family(name)
        assert model.runner.can_branch
        for length in (1, 9):
            prompt = prompt_of(length)
            assert greedy(prompt, model.runner, 20) == generated(model.stock, prompt, 20)

    @pytest.mark.parametrize("name", ["llama-dynamic", "phi3-longrope"])
    @pytest.mark.parametrize("length", [SWITCH - 6, SWITCH - 1, SWITCH, SWITCH + 1, SWITCH + 12])
    def test_also_across_the_length_where_rotary_frequencies_change(self, name: str, length: int) -> None:
        model = family(name)
        prompt = prompt_of(length)
        assert greedy(prompt, model.runner, 14) == generated(copy.deepcopy(model.stock), prompt, 14)

    def test_prompts_of_several_chunks_are_the_same_as_one_batch(self) -> None:
        model = family("gemma3")
        prompt = prompt_of(150)
        assert greedy(prompt, model.runner, 4) == generated(model.stock, prompt, 4)

    @pytest.mark.parametrize("name", ["llama", "gemma2", "mistral"])
    def test_the_attention_for_gpus_says_the_same(self, name: str) -> None:
        stock = family(name).stock
        ours = copy.deepcopy(stock)
        ours.set_attn_implementation(FAST)
        prompt = prompt_of(9)
        expected = generated(stock, prompt, 12)
        runner = GenericRunner(ours)
        assert greedy(prompt, runner, 12) == expected
        assert decoded(runner, prompt, 12, [OracleSource(len(prompt), expected)])[0] == expected


class TestTrees:
    """Guesses, junk and compaction change nothing."""

    @pytest.mark.default_cases(14)
    @pytest.mark.parametrize("name", CONFIGS)
    def test_rows_of_a_tree_have_the_logits_of_one_row_a_step(self, name: str) -> None:
        runner = family(name).runner
        generator = random.Random(name)
        prompt = prompt_of(7)
        token_ids = generator.choices(range(2, VOCAB), k=30)
        expected = one_row_a_step(runner, prompt, token_ids)
        runner.truncate(0)
        runner.prefill(prompt)
        done = 0
        while done < len(token_ids):
            rows, path = scattered_tree(token_ids[done : done + generator.randint(1, 9)], generator)
            logits = runner.forward(rows).logits
            assert runner.length == len(prompt) + done
            for depth, row in enumerate(path):
                torch.testing.assert_close(logits[row], expected[1 + done + depth], rtol=0, atol=1e-9)
                assert logits[row].argmax() == expected[1 + done + depth].argmax()
            accepted = path[: generator.randint(1, len(path))]
            runner.keep(accepted)
            done += len(accepted)
        assert runner.length == len(prompt) + done

    @pytest.mark.default_cases(11)
    @pytest.mark.parametrize("name", FIXED)
    def test_what_is_kept_is_what_a_fresh_prefill_stores(self, name: str) -> None:
        runner = family(name).runner
        generator = random.Random(name)
        prompt, token_ids = prompt_of(5), prompt_of(12, seed=1)
        runner.truncate(0)
        runner.prefill(prompt)
        rows, path = scattered_tree(token_ids, generator)
        runner.forward(rows)
        runner.keep(path)
        kept = stored(runner)
        runner.truncate(0)
        runner.prefill([*prompt, *token_ids])
        for ours, fresh in zip(kept, stored(runner), strict=True):
            torch.testing.assert_close(ours, fresh, rtol=0, atol=1e-9)

    @pytest.mark.default_cases(56)
    @pytest.mark.parametrize("name", CONFIGS)
    @pytest.mark.parametrize("turn", [(30, 9, 8), (12, 3, 5), (40, 20, 4), (40, 20, 30)])
    def test_going_back_leaves_no_trace(self, name: str, turn: tuple[int, int, int]) -> None:
        """(prompt, kept of it, length of the next turn): across the switch and back for length-dependent models."""
        length, kept, more = turn
        runner = family(name).runner
        first, second = prompt_of(length), prompt_of(more, seed=2)
        fresh = greedy([*first[:kept], *second], runner, 4)
        greedy(first, runner, 4)
        runner.truncate(kept)
        again = runner.prefill(second)
        assert again is not None
        token_ids = []
        for _ in fresh:
            token_ids.append(int(again.top_ids[0, 0]))
            again = runner.forward(Rows((token_ids[-1],), (-1,), (0,)))
            runner.keep([0])
        assert token_ids == fresh

    @pytest.mark.parametrize("name", DYNAMIC)
    def test_an_abandoned_forward_past_the_switch_leaves_no_trace(self, name: str) -> None:
        runner = family(name).runner
        prompt, token_ids = prompt_of(SWITCH - 4), prompt_of(3, seed=3)
        expected = one_row_a_step(runner, prompt, token_ids)
        runner.truncate(0)
        runner.prefill(prompt)
        rows, _ = scattered_tree(prompt_of(12, seed=4), random.Random(1))
        for step, token_id in enumerate(token_ids):
            runner.forward(rows)
            logits = runner.forward(Rows((token_id,), (-1,), (0,))).logits[0]
            torch.testing.assert_close(logits, expected[step + 1], rtol=0, atol=1e-9)
            runner.keep([0])


def decoded(
    runner: GenericRunner, prompt: Sequence[int], count: int, sources: Sequence[DraftSource], **limits: int
) -> tuple[list[int], list[Step]]:
    """A reply through the engine where rows cost nothing, so that every guess is verified."""
    runner.truncate(0)
    controller = Controller(CostCurve.flat(), Limits(max_rows=32, **limits))
    steps = list(
        decode(
            prompt, CachedSequence(runner), Sources(sources), Sampler(SamplingOptions()), Stops((), count), controller
        )
    )
    return [token_id for step in steps for token_id in step.token_ids], steps


def test_a_bug_of_ours_in_a_forward_is_not_called_a_failure_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = family(next(iter(CONFIGS))).runner
    runner.truncate(0)
    runner.prefill(prompt_of(5))
    monkeypatch.setattr(runner, "_masks", object())
    with pytest.raises(AttributeError):
        runner.forward(Rows((7,), (-1,), (0,)))


class TestLookahead:
    """The engine's text is the dumb loop's, whatever is guessed."""

    @pytest.mark.default_cases(6)
    @pytest.mark.parametrize("name", CONFIGS)
    @pytest.mark.default_cases(2)
    def test_no_pool_changes_a_token(self, name: str) -> None:
        runner = family(name).runner
        count = 40
        prompt = prompt_of(10)
        reply = greedy(prompt, runner, count)
        other = greedy(prompt_of(11), runner, count)
        stale = [other, prompt_of(200, seed=9), [*reply[5:20], *other, *reply[3:12]]]
        oracle = OracleSource(len(prompt), reply)
        pools: dict[str, list[DraftSource]] = {
            "empty": [PromptSource(), SessionSource()],
            "adversarial": [LiarSource(len(prompt), reply, VOCAB)],
            "maximal": [oracle],
            "all": [oracle, LiarSource(len(prompt), reply, VOCAB), PromptSource()],
            "stale": [ProjectSource(stale), PromptSource()],
        }
        for pool, sources in pools.items():
            for window in (0, 4):
                text, steps = decoded(runner, prompt, count, sources, window=window)
                assert text == reply, (pool, window)
                if pool == "maximal":
                    assert len(steps) <= 4

    def test_a_guess_may_be_the_first_row_past_the_switch(self) -> None:
        """Of a runner that has seen nothing there yet: its keys were once made for the length before the switch."""
        stock = family("phi3-longrope").stock
        prompt = prompt_of(SWITCH - 6)
        reply = generated(copy.deepcopy(stock), prompt, 14)
        fresh = GenericRunner(copy.deepcopy(stock))
        assert decoded(fresh, prompt, 14, [OracleSource(len(prompt), reply)])[0] == reply

    @pytest.mark.parametrize("name", DYNAMIC)
    @pytest.mark.default_cases(1)
    def test_guesses_past_the_switch_change_no_token_before_it(self, name: str) -> None:
        runner = family(name).runner
        for length in range(SWITCH - 8, SWITCH + 3):
            prompt = prompt_of(length)
            reply = greedy(prompt, runner, 16)
            sources = [OracleSource(length, [*reply[:12], 5, 6, 7]), LiarSource(length, reply, VOCAB)]
            assert decoded(runner, prompt, 16, sources, window=3)[0] == reply


class TestPrefill:
    @pytest.mark.parametrize("name", ["llama", *DYNAMIC])
    def test_a_cancelled_prefill_goes_on_where_it_stopped(self, name: str) -> None:
        runner = family(name).runner
        prompt = prompt_of(90)
        expected = greedy(prompt, runner, 2)
        runner.truncate(0)
        seen: list[int] = []

        def stop(done: int) -> bool:
            seen.append(done)
            return False

        assert runner.prefill(prompt, stop) is None
        assert seen == [runner.length] == [64]
        scores = runner.prefill(prompt[64:])
        assert scores is not None
        assert scores.top_ids[0, 0] == expected[0]

    @pytest.mark.parametrize("name", DYNAMIC)
    def test_a_cancelled_second_turn_loses_nothing_of_the_first(self, name: str) -> None:
        runner = family(name).runner
        first, second = prompt_of(80), prompt_of(8, seed=7)
        expected = greedy([*first, *second], runner, 3)
        runner.truncate(0)
        runner.prefill(first)
        runner.prefill(second, lambda done: False)
        assert runner.length >= len(first)
        runner.truncate(len(first))
        scores = runner.prefill(second)
        assert scores is not None
        assert scores.top_ids[0, 0] == expected[0]


class TestModelsThatCannotBranch:
    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("name", ["mamba", "rwkv", "qwen3.5"])
    def test_a_state_that_moved_is_made_anew_to_go_back(self, name: str) -> None:
        model = family(name)
        runner = model.runner
        prompt = prompt_of(9)
        expected = generated(model.stock, prompt, 12)
        assert greedy(prompt, runner, 12) == expected
        with pytest.raises(LacliError, match="several guesses"):
            runner.forward(Rows((3, 4), (-1, 0), (0,)))
        runner.truncate(9)
        scores = runner.forward(Rows((expected[0],), (-1,), (0,)))
        assert scores.top_ids[0, 0] == expected[1]
        scores = runner.forward(Rows((expected[0],), (-1,), (0,)))  # the last one's row was not kept
        assert scores.top_ids[0, 0] == expected[1]

    def test_an_encoder_decoder_is_refused(self) -> None:
        config = transformers.T5Config(vocab_size=VOCAB, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
        with pytest.raises(LacliError, match="no decoder"):
            GenericRunner(transformers.T5ForConditionalGeneration(config))
