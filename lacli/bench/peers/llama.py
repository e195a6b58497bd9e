"""llama.cpp and its fork ik_llama.cpp through `llama_decode`: T(M), and plain decoding where there is no server.

Lives here: the few functions of their C interface that this takes, by ctypes. Runs in the contestant's own virtual
environment, so it imports nothing but the standard library and numpy; started by
`process`.

Structures whose fields change from month to month are passed as plain memory, of which two or three numbers are known;
what they must hold by default is checked first, so another version is refused rather than misread.
"""

from __future__ import annotations

import ctypes
import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy

from lacli.bench.peers.serve import Answer, serve

_CONTEXT = 4096
_BATCH = 512
_DEFAULT_SIZES = (512, 2048, 512, 1)  # n_ctx, n_batch, n_ubatch, n_seq_max
_DEFAULT_THREADS = 4


class Opaque(ctypes.Structure):
    """Parameters passed by value; longer than any version's, which is harmless for a last argument."""

    _fields_ = [("words", ctypes.c_uint32 * 128)]


class Batch(ctypes.Structure):
    """`llama_batch`; the last three exist in ik_llama.cpp only."""

    _fields_ = [
        ("count", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embedding", ctypes.c_void_p),
        ("position", ctypes.POINTER(ctypes.c_int32)),
        ("sequences", ctypes.POINTER(ctypes.c_int32)),
        ("sequence", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("wanted", ctypes.POINTER(ctypes.c_int8)),
        ("all", ctypes.c_int32 * 3),
    ]


class Llama:
    """A model with one sequence."""

    def __init__(self, package: str, gguf: str, threads: int) -> None:
        self._fork = package == "ik_llama_cpp"
        self._c = _opened(package)
        self._c.llama_backend_init()
        model = self._c.llama_model_load_from_file(gguf.encode(), self._c.llama_model_default_params())
        if not model:
            raise RuntimeError("the model could not be loaded")
        self._vocab = self._c.llama_vocab_n_tokens(self._c.llama_model_get_vocab(model))
        parameters = self._c.llama_context_default_params()
        words = parameters.words
        first, where = (1, 5) if self._fork else (0, 7)
        if tuple(words[first : first + 4]) != _DEFAULT_SIZES or set(words[where : where + 2]) != {_DEFAULT_THREADS}:
            raise RuntimeError(f"llama_context_params of this version are laid out differently: {words[:12]}")
        words[first] = _CONTEXT
        words[where] = words[where + 1] = threads
        self._context = self._c.llama_init_from_model(model, parameters)
        if not self._context:
            raise RuntimeError("no context could be made")
        self._memory = None if self._fork else self._c.llama_get_memory(self._context)
        self._batch = self._c.llama_batch_init(_BATCH, 0, 1)

    @property
    def build(self) -> str:
        """The instruction sets it was compiled for, as it says itself."""
        parts = self._c.llama_print_system_info().decode().replace("CPU :", "").split("|")
        pairs = [part.partition("=") for part in parts]
        return " ".join(name.strip() for name, _, value in pairs if value.strip() == "1")

    def truncate(self, length: int) -> None:
        """Forget positions from `length` on."""
        if self._fork:
            self._c.llama_kv_cache_seq_rm(self._context, 0, length, -1)
        else:
            self._c.llama_memory_seq_rm(self._memory, 0, length, -1)

    def decode(self, token_ids: list[int], position: int, all_rows: bool) -> int:
        """Feed ids; the likeliest token after the first row (all_rows) or the last. All rows have logits, or the last
        one."""
        batch = self._batch
        for start in range(0, len(token_ids), _BATCH):
            part = token_ids[start : start + _BATCH]
            batch.count = len(part)
            for row, token_id in enumerate(part):
                batch.token[row] = token_id
                batch.position[row] = position + start + row
                batch.sequences[row] = 1
                batch.sequence[row][0] = 0
                batch.wanted[row] = all_rows or row == len(part) - 1
            code = self._c.llama_decode(self._context, batch)
            if code:
                raise RuntimeError(f"llama_decode gives {code}")
        return self._best(0 if all_rows else -1)

    def _best(self, row: int) -> int:
        logits = self._c.llama_get_logits_ith(self._context, row)
        row_logits = (ctypes.c_float * self._vocab).from_address(ctypes.addressof(logits.contents))
        return int(numpy.frombuffer(row_logits, dtype=numpy.float32).argmax())


def _opened(package: str) -> Any:
    spec = importlib.util.find_spec(package)
    folder = Path((spec.submodule_search_locations or [""])[0]) if spec else Path()
    names = ["lib/libllama.so", "lib/libllama.dylib", "xllamacpp.abi3.so"]
    found = next((folder / name for name in names if (folder / name).exists()), None)
    if found is None:
        raise RuntimeError(f"{package} has no library that is known")
    c: Any = ctypes.CDLL(str(found))
    pointer, int32 = ctypes.c_void_p, ctypes.c_int32
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "llama_model_default_params": (Opaque, []),
        "llama_context_default_params": (Opaque, []),
        "llama_model_load_from_file": (pointer, [ctypes.c_char_p, Opaque]),
        "llama_model_get_vocab": (pointer, [pointer]),
        "llama_vocab_n_tokens": (int32, [pointer]),
        "llama_init_from_model": (pointer, [pointer, Opaque]),
        "llama_batch_init": (Batch, [int32, int32, int32]),
        "llama_decode": (int32, [pointer, Batch]),
        "llama_get_logits_ith": (ctypes.POINTER(ctypes.c_float), [pointer, int32]),
        "llama_print_system_info": (ctypes.c_char_p, []),
    }
    if package == "ik_llama_cpp":
        signatures["llama_kv_cache_seq_rm"] = (ctypes.c_bool, [pointer, int32, int32, int32])
    else:
        signatures["llama_get_memory"] = (pointer, [pointer])
        signatures["llama_memory_seq_rm"] = (ctypes.c_bool, [pointer, int32, int32, int32])
    for name, (result, arguments) in signatures.items():
        function = getattr(c, name)
        function.restype, function.argtypes = result, arguments
    return c


_loaded: dict[str, Llama] = {}


def load(package: str, gguf: str, threads: int) -> Answer:
    """package: ik_llama_cpp or xllamacpp."""
    _loaded["model"] = Llama(package, gguf, threads)
    return {"build": _loaded["model"].build}


def step_cost(rows: list[int], past: int, repeats: int) -> Answer:
    """Milliseconds of steps of so many rows, all with logits, by the number of rows; the first round warms up."""
    model = _loaded["model"]
    model.truncate(0)
    model.decode([1 + index for index in range(past)], 0, all_rows=False)
    spent: dict[str, list[float]] = {str(count): [] for count in rows}
    for attempt in range(repeats + 1):
        for count in rows:
            model.truncate(past)
            token_ids = [1 + 7 * index + attempt for index in range(count)]
            started = time.perf_counter()
            model.decode(token_ids, past, all_rows=True)
            if attempt:
                spent[str(count)].append(1000 * (time.perf_counter() - started))
    return {"ms": spent}


def generate(prompt: list[int], max_tokens: int, eos_ids: list[int]) -> Answer:
    """Plain greedy decoding of so many tokens, past an end of sequence too: ik_llama.cpp 0.1.5 reads prompts of the
    default model wrongly and ends at once, and a token costs the same whatever it says. `ms` is the time from the first
    token to the last."""
    model = _loaded["model"]
    model.truncate(0)
    token_ids = [model.decode(prompt, 0, all_rows=False)]
    started = time.perf_counter()
    while len(token_ids) < max_tokens:
        token_ids.append(model.decode(token_ids[-1:], len(prompt) + len(token_ids) - 1, all_rows=False))
    return {"token_ids": token_ids, "ms": 1000 * (time.perf_counter() - started)}


def read(prompt: list[int]) -> Answer:
    """Milliseconds to read a prompt of which nothing is in the cache."""
    model = _loaded["model"]
    model.truncate(0)
    started = time.perf_counter()
    model.decode(prompt, 0, all_rows=False)
    return {"ms": 1000 * (time.perf_counter() - started)}


def main() -> None:
    """Serve."""
    serve({"load": load, "step_cost": step_cost, "generate": generate, "read": read})
