"""llama.cpp's own server out of xllamacpp, plain or with one of its n-gram speculations.

Runs in xllamacpp's own virtual environment; started by `process`. Ids go in and come back through the server's
`/completion`; the time is the server's own, from the first token to the last.
"""

from __future__ import annotations

import json
import os
import urllib.parse
import urllib.request
from typing import Any

from lacli.bench.peers.serve import Answer, serve

_CONTEXT = 4096
_loaded: dict[str, Any] = {}


def load(gguf: str, threads: int, speculation: str, editor: bool = False) -> Answer:
    """speculation: "" or a name as `ngram-cache`; editor: with the options that llama.vim recommends."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = gguf
    parameters.n_ctx = _CONTEXT
    parameters.n_parallel = 1
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    if speculation:
        name = "COMMON_SPECULATIVE_TYPE_" + speculation.upper().replace("-", "_")
        parameters.speculative.types = [getattr(xllamacpp.common_speculative_type, name)]
    if editor:
        parameters.n_batch = parameters.n_ubatch = 1024
        parameters.n_cache_reuse = 256
    _loaded["server"] = xllamacpp.Server(parameters)
    address = urllib.parse.urlsplit(_loaded["server"].listening_address)
    return {"port": address.port, "pid": os.getpid()}


def generate(prompt: list[int], max_tokens: int, eos_ids: list[int]) -> Answer:
    """Greedy; the server knows its own end-of-sequence tokens."""
    reply = _completion(prompt, max_tokens)
    timings = reply["timings"]
    return {
        "token_ids": reply["tokens"],
        "tokens": timings["predicted_n"],
        "ms": timings["predicted_ms"],
        "drafted": timings.get("draft_n", 0),
        "accepted": timings.get("draft_n_accepted", 0),
    }


def read(prompt: list[int]) -> Answer:
    """Milliseconds to read a prompt of which nothing is in the cache."""
    timings = _completion(prompt, 1)["timings"]
    if timings["prompt_n"] != len(prompt):
        raise RuntimeError(f"of {len(prompt)} tokens it read {timings['prompt_n']}")
    return {"ms": timings["prompt_ms"]}


def _completion(prompt: list[int], max_tokens: int) -> Answer:
    # top-k 1 leaves no other sampler anything to do.
    order = {
        "prompt": prompt,
        "n_predict": max_tokens,
        "temperature": 0,
        "samplers": ["top_k"],
        "top_k": 1,
        "cache_prompt": False,
        "return_tokens": True,
    }
    request = urllib.request.Request(
        _loaded["server"].listening_address + "/completion",
        json.dumps(order).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        reply: Answer = json.load(response)
    return reply


def main() -> None:
    """Serve."""
    serve({"load": load, "generate": generate, "read": read})
