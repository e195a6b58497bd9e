"""`python -m lacli.bench.reference`: own plain decoding beside transformers, and int4 and int8 beside float32.

Prints tokens a second of own int4, int8 and float32 and of transformers' float32 `generate()` on the same prompts, in
one process, taken in turn; where own float32 text leaves transformers' (allowed only where the two best logits lie
closer than 1e-3); and the perplexity of each on a fixed Python text.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lacli.assistant.base import ignore
from lacli.assistant.loaded import Loaded
from lacli.assistant.loading import load
from lacli.bench.machine import machine, machine_line
from lacli.bench.modes import PLAIN
from lacli.bench.runner import Bench, Task
from lacli.bench.suites import load_suites, python_sources
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.models.base import Rows, Runner

TEXT_TOKENS = 2048
_CHUNK = 64
_CLOSE = 1e-3  # logits of another summation order differ by far less


@dataclass(frozen=True, slots=True)
class Split:
    """Where two greedy texts part."""

    prompt: str
    position: int
    margin: float
    """Between the two best logits there, as own decoding sees them."""


def perplexity(runner: Runner, token_ids: Sequence[int]) -> float:
    """Of these ids, the first one given. Rows are run as chains, as decoding runs them."""
    runner.truncate(0)
    total = 0.0
    for start in range(0, len(token_ids) - 1, _CHUNK):
        chunk = token_ids[start : min(start + _CHUNK, len(token_ids) - 1)]
        count = len(chunk)
        scores = runner.forward(Rows(tuple(chunk), tuple(range(-1, count - 1)), tuple(range(count))))
        runner.keep(range(count))
        following = torch.tensor(token_ids[start + 1 : start + 1 + count])
        total += float(
            torch.nn.functional.cross_entropy(torch.as_tensor(scores.logits).double(), following, reduction="sum")
        )
    runner.truncate(0)
    return math.exp(total / (len(token_ids) - 1))


def first_split(runner: Runner, task: Task, ours: Sequence[int], theirs: Sequence[int]) -> Split | None:
    """The first difference between two replies to a task, None where there is none."""
    position = next(
        (index for index, (own, other) in enumerate(zip(ours, theirs, strict=False)) if own != other),
        min(len(ours), len(theirs)),
    )
    if position == len(ours) == len(theirs):
        return None
    runner.truncate(0)
    scores = runner.prefill((*task.prompt, *ours[:position]))
    runner.truncate(0)
    assert scores is not None  # nobody cancels
    best = scores.top_logits[0]
    return Split(task.case.name, position, float(best[0] - best[1]))


class _Stopwatch:
    """A transformers streamer that only notes when the first and the last token came."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def put(self, value: Any) -> None:
        """Called with the prompt, then with each token."""
        self.times.append(time.perf_counter())

    def end(self) -> None:
        """Called after the last token."""

    @property
    def decode_ms(self) -> float:
        """From the first token to the last."""
        return 1000 * (self.times[-1] - self.times[1])


def _generate(model: Any, task: Task, count: int) -> tuple[list[int], float]:
    """transformers' own greedy reply without its end token, and its tokens a second after the first."""
    watch = _Stopwatch()
    prompt = torch.tensor([task.prompt])
    made = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=count,
        do_sample=False,
        eos_token_id=list(task.eos_ids),
        pad_token_id=task.eos_ids[0],
        streamer=watch,
    )
    token_ids = made[0, len(task.prompt) :].tolist()
    speed = 1000 * (len(token_ids) - 1) / max(watch.decode_ms, 1e-9)
    return [token_id for token_id in token_ids if token_id not in task.eos_ids], speed


def _load(model: str | None, quant: str, threads: int | None) -> Loaded:
    return load(Settings(model=model, quant=quant, device="cpu", threads=threads, lookahead=False, pool=False), ignore)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.reference", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-m", "--model", help="as for lacli; the default model where it is left away")
    parser.add_argument("-n", type=int, default=64, help="tokens of a reply (%(default)s)")
    parser.add_argument("--limit", type=int, default=5, help="prompts of each of the four suites (%(default)s)")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args(arguments)

    import transformers

    quantised = {quant: _load(options.model, quant, options.threads) for quant in ("int4", "int8")}
    full = _load(options.model, "none", options.threads)
    theirs: Any = transformers.AutoModelForCausalLM.from_pretrained(full.prepared.folder, dtype=torch.float32)
    theirs.eval()
    print(machine_line(machine()))
    _compare_speed(quantised, full, theirs, options.n, options.limit)
    token_ids = full.tokenizer.encode(python_sources())[:TEXT_TOKENS]
    exact = perplexity(full.cached.runner, token_ids)
    print(f"perplexity on {len(token_ids):,} tokens of Python: float32 {exact:.4f}")
    for quant, loaded in quantised.items():
        rounded = perplexity(loaded.cached.runner, token_ids)
        print(f"  {quant} ({loaded.cached.runner.kernel}) {rounded:.4f} ({rounded / exact - 1:+.2%})")


def _compare_speed(quantised: dict[str, Loaded], full: Loaded, theirs: Any, count: int, limit: int) -> None:
    benches = {f"own {quant}": Bench(loaded, count, forced=False) for quant, loaded in quantised.items()}
    benches["own float32"] = Bench(full, count, forced=False)
    speeds: dict[str, list[float]] = {name: [] for name in (*benches, "transformers float32")}
    splits, prompts = [], 0
    for case in load_suites("all", limit):
        replies = {}
        for name, bench in benches.items():
            task = bench.task(case)
            run = bench.play(task, PLAIN, bench.cached(task), stop_loops=False)
            replies[name] = run.token_ids
            speeds[name].append(run.tokens_per_second or 0.0)
        reply, speed = _generate(theirs, task, count)
        speeds["transformers float32"].append(speed)
        prompts += 1
        split = first_split(full.cached.runner, task, replies["own float32"], reply)
        splits += [split] if split is not None else []
    means = {name: sum(values) / len(values) for name, values in speeds.items()}
    for name, mean in means.items():
        print(f"{name}: {mean:.1f} tok/s ({mean / means['transformers float32']:.2f}x)")
    wide = [split for split in splits if split.margin >= _CLOSE]
    print(
        f"own float32 text against generate(): {prompts - len(splits)} of {prompts} equal, "
        f"{len(splits) - len(wide)} part at a tie, {len(wide)} elsewhere"
    )
    for split in splits:
        print(f"  {split.prompt}: token {split.position}, margin {split.margin:.2e}")
    if wide:
        raise LacliError("own float32 text differs from transformers' where no tie explains it")


if __name__ == "__main__":
    main()
