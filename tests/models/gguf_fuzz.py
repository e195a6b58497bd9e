"""Mutated GGUF files: each is read or refused in one line, within the file's bounds and some megabytes.

    python tests/models/gguf_fuzz.py [SEED] [COUNT]

Bytes of the header are flipped, cut, doubled and put in, and its lengths, counts and types, whose places are known from
reading the valid file, get values that tempt a reader: 0, the file's size, 2**31, 2**63 and what lies next to them.
"""

from __future__ import annotations

import contextlib
import json
import random
import resource
import signal
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiny_models import write_gguf

from lacli.errors import LacliError
from lacli.models.gguf import read
from lacli.models.gguf.config import OWN, plan, read_config
from lacli.models.gguf.read import GgufFile, load_tensor, read_gguf
from lacli.models.gguf.tokenizer import build_tokenizer
from lacli.models.gguf.weights import gguf_weights
from lacli.models.hf.eos import vocabulary_of
from lacli.models.registry.fim_markers import named_by

_MEMORY = 1 << 30
"""Bytes of addresses beyond what the process has at its start."""
_SECONDS = 20
"""After so long a file hangs the reader."""
_TEMPTING = (0, 1, 2, 7, 8, 9, 32, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
_LOADED = 1 << 20
_MOST_SAID = 1000
_RARE = (
    *(
        "tokenizer.ggml.scores",
        "tokenizer.ggml.merges",
        "tokenizer.ggml.add_bos_token",
        "tokenizer.ggml.unknown_token_id",
    ),
    *("llama.rope.scaling.type", "llama.rope.scaling.factor", "llama.attention.key_length", "qwen2.expert_count"),
    *("general.base_model.0.name", "general.type", "tokenizer.ggml.fim_pre_token_id", "qwen3.attention.head_count_kv"),
)
_ODD: tuple[Any, ...] = (
    *(0, 1, -1, 3, 2**31, 2**63, 2**64 - 1, 0.5, float("nan"), float("inf"), 1e300, -0.0, True, False),
    *("", "x", "a b", "\0", "\ufffd" * 50, "linear", "llama", "{% for"),
    *(
        [],
        [1],
        [-1] * 40,
        [0.5, "x"],
        [float("nan")] * 40,
        ["t1"] * 40,
        ["a b", " ", ""],
        [[1], ["x"]],
        [True] * 40,
        [None],
    ),
)
"""Values that metadata may have instead of those that are expected."""


class Fuzz:
    """Mutations of some valid files."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._chance = random.Random(seed)
        self._path = folder / "mutated.gguf"
        self._valid = [_Valid(path) for path in _files(folder)]

    def mutate(self) -> Path:
        """Write the next one."""
        valid = self._chance.choice(self._valid)
        data = bytearray(valid.data)
        for _ in range(self._chance.choice((1, 1, 1, 2, 4))):
            self._once(data, valid)
        self._path.write_bytes(data)
        return self._path

    def odd_fields(self) -> GgufFile:
        """A valid file as it is read, but for some of its metadata."""
        file = self._chance.choice(self._valid).file
        fields = dict(file.fields)
        for _ in range(self._chance.randint(1, 3)):
            name = self._chance.choice((*fields, *_RARE))
            if self._chance.random() < 0.2:
                fields.pop(name, None)
            else:
                fields[name] = self._chance.choice(_ODD)
        return replace(file, fields=fields)

    def _once(self, data: bytearray, valid: _Valid) -> None:
        chance, at = self._chance, self._chance.randrange(valid.header)
        kind = chance.randrange(16)
        if kind == 0:
            del data[at : at + chance.choice([1, 4, 8, 100, len(data)])]
        elif kind == 1:
            data[at:at] = chance.randbytes(chance.choice([1, 4, 8, 100]))
        elif kind == 2:
            data[at:at] = data[at : at + chance.choice([8, 40, 1000])]
        elif kind < 8 and at < len(data):
            data[at] = chance.choice((data[at] ^ 1 << chance.randrange(8), chance.randrange(256)))
        else:
            begin, size = chance.choice(valid.numbers)
            near = chance.choice((*_TEMPTING, len(data), len(data) // 8, begin)) + chance.choice((-1, 0, 0, 1))
            data[begin : begin + size] = struct.pack("<Q", near % 2**64)[:size]


class _Valid:
    """A valid file, and where its numbers stand."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.numbers: list[tuple[int, int]] = []
        noted = self.numbers

        class Noting(read._Cursor):
            def scalar(self, code: str) -> Any:
                noted.append((self.at, struct.calcsize("<" + code)))
                return super().scalar(code)

        whole, read._Cursor = read._Cursor, Noting  # type: ignore[misc]
        try:
            self.file = read_gguf(path)
        finally:
            read._Cursor = whole  # type: ignore[misc]
        self.header = max(begin + size for begin, size in self.numbers)


def check(given: Path | GgufFile) -> str:
    """What becomes of a file: `read`, or the line with which it is refused. Raises what must not happen."""
    try:
        with _within(_SECONDS):
            file = read_gguf(given) if isinstance(given, Path) else given
            read._refuse_wrong_kind(file.paths[0], file.fields, file.tensors)
            _use(file, file.paths[0].stat().st_size)
    except LacliError as error:
        refused = error
    else:
        return "read"
    assert refused.hint
    assert "\n" not in refused.message
    assert len(refused.message) < _MOST_SAID
    return refused.message


def _use(file: GgufFile, size: int) -> None:
    """All that is done with a file while it is prepared, but for writing; small tensors are decoded."""
    for tensor in file.tensors.values():
        assert 0 <= tensor.offset <= tensor.offset + tensor.nbytes <= size
    if file.architecture in OWN:
        config, _ = read_config(file)
        for item in plan(file, config):
            if file.tensors[item.source].nbytes <= _LOADED:
                load_tensor(file.tensors[item.source])
        for weight in gguf_weights(file, config):
            assert weight.load().shape == weight.shape
    built = build_tokenizer(file.fields)
    named_by(file.fields, vocabulary_of(json.loads(built.tokenizer_json)))


@contextlib.contextmanager
def _within(seconds: int) -> Iterator[None]:
    def hangs(number: int, frame: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Memory is bounded while the block runs: what asks for more raises MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _files(folder: Path) -> Sequence[Path]:
    small = {"tokenizer.ggml.tokens": [f"t{each}" for each in range(40)], "tokenizer.ggml.token_type": [1] * 40}
    pieces = {**small, "tokenizer.ggml.model": "llama", "tokenizer.ggml.scores": [0.5] * 40}
    return [
        write_gguf(folder / "llama.gguf", fields=pieces | {"llama.rope.scaling.type": "linear"}),
        write_gguf(folder / "qwen2.gguf", "qwen2", stored_as=lambda name: "Q4_1"),
        write_gguf(folder / "split.gguf", "qwen3", fields={"split.count": 1, "general.alignment": 64}),
    ]


def run(folder: Path, seed: int, count: int) -> dict[str, int]:
    """Read so many, and count what became of them: `read`, `refused`, or what should not have been."""
    fuzz, outcomes = Fuzz(folder, seed), dict[str, int]()
    with bounded():
        for number in range(count):
            given = fuzz.odd_fields() if number % 4 == 3 else fuzz.mutate()
            try:
                found = "read" if check(given) == "read" else "refused"
            except Exception as error:
                found = f"{type(error).__name__}: {str(error)[:100]}"
                if found not in outcomes:
                    print(f"number {number} of seed {seed}: {found}\n{traceback.format_exc(limit=-3)}")
            outcomes[found] = outcomes.get(found, 0) + 1
    return outcomes


def main() -> int:
    """Read so many and say what became of them."""
    seed, count = (int(each) for each in (sys.argv[1:] + ["1", "1000"][len(sys.argv) - 1 :])[:2])
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        outcomes = run(Path(folder), seed, count)
    for found, times in sorted(outcomes.items(), key=lambda each: -each[1]):
        print(f"{times:8,} {found}")
    return 0 if outcomes.keys() <= {"read", "refused"} else 1


if __name__ == "__main__":
    sys.exit(main())
