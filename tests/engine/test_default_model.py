"""The default model, int8 and float32: lookahead gives the plain text, and plain text is transformers' own.

Short prompts and few rows, as it is a real model on few cores; the bench compares many more (`lacli bench --exact`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest
import torch

from lacli.drafts.base import DraftSource
from lacli.drafts.lookup import ProjectSource, PromptSource, SessionSource
from lacli.drafts.successor import SuccessorSource
from lacli.engine.controller import Limits
from lacli.engine.sampler import SamplingOptions
from lacli.models.prepare.prepare import PreparedModel
from lacli.models.runners.fused.runner import FusedRunner
from lacli.text.tokenizer import Tokenizer
from tests.engine.replies import PLAIN, reply
from tests.exact.sources import LiarSource, OracleSource
from tests.slow import slow

COUNT = 24
PROMPTS = ("Write hello ten times.", "def add(a, b):\n    return", "The days are Monday, Tuesday,")
MODES = {
    "greedy": SamplingOptions(),
    "sampling": SamplingOptions(0.8, top_p=0.95, seed=5),
    "penalty": SamplingOptions(repetition_penalty=1.6),
    "sampling-with-penalty": SamplingOptions(0.8, top_k=20, repetition_penalty=1.6, seed=5),
}


@dataclass
class Plain:
    """What one mode says without guesses."""

    prompt: list[int]
    ids: list[int]


ON_TORCH = {"torch-int8": ("greedy", "sampling-with-penalty"), "torch-none": ("sampling",)}
"""The modes for PyTorch's kernels, which are slow: between them every kind of guess and of sampling."""

PlainOf = Callable[[str], Plain]


@pytest.fixture(scope="module")
def plain(default_runner: FusedRunner, prepared_default: PreparedModel) -> PlainOf:
    """What a mode says, written once for each runner."""
    torch.set_num_threads(1)
    made: dict[str, Plain] = {}
    texts = dict(zip(MODES, (PROMPTS[0], PROMPTS[1], PROMPTS[0], PROMPTS[2]), strict=True))

    def of(mode: str) -> Plain:
        if mode not in made:
            prompt = Tokenizer.load(prepared_default.folder).encode(texts[mode])
            ids = reply(default_runner, prompt, COUNT, options=MODES[mode], limits=PLAIN).ids
            assert len(ids) == COUNT
            made[mode] = Plain(prompt, ids)
        return made[mode]

    return of


def pools(plain: PlainOf, mode: str) -> Iterator[tuple[str, list[DraftSource], Limits]]:
    """Name, sources and limits; costly ones for one mode each."""
    prompt, ids = len(plain(mode).prompt), plain(mode).ids
    wrong = [token if place % 4 else token + 1 for place, token in enumerate(ids)]
    yield "warm", [ProjectSource([ids]), SessionSource()], Limits(window=0, max_rows=16)
    yield "poisoned", [ProjectSource([wrong]), LiarSource(prompt, ids, 49_152)], Limits(window=0, max_rows=8)
    if mode in ("greedy", "sampling"):
        yield "cold", [PromptSource(), SuccessorSource()], Limits(window=3, ngram=3, max_rows=12)
    if mode in ("greedy", "sampling-with-penalty"):
        yield "maximal", [OracleSource(prompt, ids)], Limits(window=0, max_rows=32)
    if mode == "penalty":
        noise = random.Random(0).choices(range(49_152), k=500)
        others = [plain(other).ids for other in MODES if other != mode]
        yield "stale", [ProjectSource([*others, noise]), PromptSource()], Limits(window=2, ngram=4, max_rows=10)


@pytest.mark.parametrize(
    ("default_runner", "mode"),
    [
        *((quant, mode) for quant in ("int4", "int8") for mode in MODES),
        *(("none", mode) for mode in ("greedy", "sampling-with-penalty")),
        *(slow("none", mode) for mode in ("sampling", "penalty")),
        *(slow(runner, mode) for runner, modes in ON_TORCH.items() for mode in modes),
    ],
    indirect=["default_runner"],
)
@pytest.mark.default_cases(4)
def test_no_pool_changes_the_text(default_runner: FusedRunner, plain: PlainOf, mode: str) -> None:
    torch.set_num_threads(1)
    for name, sources, limits in pools(plain, mode):
        done = reply(default_runner, plain(mode).prompt, COUNT, sources, options=MODES[mode], limits=limits)
        assert done.ids == plain(mode).ids, name
        if name in ("warm", "maximal"):
            assert done.forwards <= 5, name
        if name == "poisoned":
            assert any(step.rows > 1 for step in done.steps)


@pytest.mark.parametrize("default_runner", ["int4", "int8", slow("none")], indirect=True)
def test_a_penalty_changes_the_text(plain: PlainOf) -> None:
    assert plain("penalty").prompt == plain("greedy").prompt
    assert plain("penalty").ids != plain("greedy").ids


class TestAgainstTransformers:
    """A split is allowed only where transformers' own margin between its two best tokens is below 1e-3."""

    TEXTS = (
        "import os\n\ndef read_lines(path):\n    with open(path) as f:\n",
        "The quick brown fox jumps over the lazy dog, and then it goes",
        "To sort a list of numbers in Python, use the function called",
        "class Stack:\n    def __init__(self):\n        self.items = []\n",
    )
    LENGTH, STEPS = 12, 32

    @pytest.mark.slow
    @pytest.mark.parametrize("default_runner", ["none"], indirect=True)
    def test_plain_float32_is_generate(self, prepared_float: PreparedModel, default_runner: FusedRunner) -> None:
        from transformers import LlamaForCausalLM

        torch.set_num_threads(1)
        tokenizer = Tokenizer.load(prepared_float.folder)
        prompts = [tokenizer.encode(text)[: self.LENGTH] for text in self.TEXTS]
        assert {len(prompt) for prompt in prompts} == {self.LENGTH}
        stock = LlamaForCausalLM.from_pretrained(prepared_float.folder, dtype=torch.float32).eval()
        stock.generation_config.max_length = None
        # One batch of equal lengths: nothing is padded, and it costs a quarter.
        output = stock.generate(
            torch.tensor(prompts),
            attention_mask=torch.ones(len(prompts), self.LENGTH, dtype=torch.long),
            max_new_tokens=self.STEPS,
            do_sample=False,
            eos_token_id=[-1],
            pad_token_id=0,
        )
        theirs: Sequence[Sequence[int]] = output[:, self.LENGTH :].tolist()
        splits = 0
        for prompt, text in zip(prompts, theirs, strict=True):
            ours = reply(default_runner, prompt, self.STEPS, limits=PLAIN).ids
            if ours == list(text):
                continue
            splits += 1
            first = next(place for place in range(self.STEPS) if ours[place] != text[place])
            with torch.inference_mode():
                logits = stock(torch.tensor([[*prompt, *text[:first]]])).logits[0, -1]
            best = logits.topk(2).values
            assert float(best[0] - best[1]) < 1e-3, (prompt, first)
        assert splits <= 1
