"""transformers' own `generate`, plain or with prompt lookup, on the same GGUF (which it turns into float32).

Runs in lacli's own virtual environment, as transformers is a dependency; started by `process`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from lacli.bench.peers.serve import Answer, serve

_LOOKUP_TOKENS = 10
_loaded: dict[str, Any] = {}


def load(gguf: str, threads: int) -> Answer:
    """Takes seconds: every block of the file is turned into floats."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(threads)
    file = Path(gguf)
    model: Any = AutoModelForCausalLM.from_pretrained(
        str(file.parent), gguf_file=file.name, local_files_only=True, dtype=torch.float32
    )
    _loaded["model"] = model.eval()
    return {"build": f"torch {torch.__version__}"}


def step_cost(rows: list[int], past: int, repeats: int) -> Answer:
    """As `llama.step_cost`."""
    import torch
    from transformers import DynamicCache

    model = _loaded["model"]
    cache = DynamicCache()
    spent: dict[str, list[float]] = {str(count): [] for count in rows}
    with torch.inference_mode():
        model(torch.arange(1, 1 + past)[None], past_key_values=cache, logits_to_keep=1)
        for attempt in range(repeats + 1):
            for count in rows:
                token_ids = torch.arange(count)[None] * 7 + attempt + 1
                started = time.perf_counter()
                int(model(token_ids, past_key_values=cache).logits[0, 0].argmax())
                if attempt:
                    spent[str(count)].append(1000 * (time.perf_counter() - started))
                cache.crop(-count)
    return {"ms": spent}


def generate(prompt: list[int], max_tokens: int, eos_ids: list[int], lookup: bool) -> Answer:
    """Greedy; `ms` is the time from the first delivered tokens to the last."""
    import torch
    from transformers import StoppingCriteria, StoppingCriteriaList

    class Clock(StoppingCriteria):  # asked after each step, and never stops
        marks: list[tuple[float, int]] = []  # noqa: RUF012

        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            self.marks.append((time.perf_counter(), input_ids.shape[1]))
            return torch.zeros(input_ids.shape[0], dtype=torch.bool)

    clock = Clock()
    ids = torch.tensor([prompt])
    options = {"prompt_lookup_num_tokens": _LOOKUP_TOKENS} if lookup else {}
    reply = _loaded["model"].generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=max_tokens,
        eos_token_id=eos_ids,
        pad_token_id=eos_ids[0],
        stopping_criteria=StoppingCriteriaList([clock]),
        **options,
    )
    first, last = clock.marks[0], clock.marks[-1]
    return {
        "token_ids": reply[0, len(prompt) :].tolist(),
        "tokens": 1 + last[1] - first[1],
        "ms": 1000 * (last[0] - first[0]),
    }


def read(prompt: list[int]) -> Answer:
    """Milliseconds to read a prompt of which nothing is in the cache."""
    import torch

    ids = torch.tensor([prompt])
    with torch.inference_mode():
        started = time.perf_counter()
        int(_loaded["model"](ids, logits_to_keep=1).logits[0, 0].argmax())
        return {"ms": 1000 * (time.perf_counter() - started)}


def main() -> None:
    """Serve."""
    serve({"load": load, "step_cost": step_cost, "generate": generate, "read": read})
