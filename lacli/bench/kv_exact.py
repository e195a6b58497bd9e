"""`python -m lacli.bench.kv_exact`: texts with the KV store on disk against texts without it, token for token.

Each prompt is one of the suites' behind the beginning of a file, answered greedily and with a seed, each time with
nothing in memory: without a store, with an empty one, with what that has stored, and from there with the others side by
side. Everything lies in a temporary folder. Ends with 1 where a text differs.

--quick is for large models: short prompts and replies, and the sampled text only from the store that the greedy one has
filled.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from lacli.assistant.base import ignore, never
from lacli.assistant.batch import replies
from lacli.assistant.kept_prompts import KeptPrompts, arithmetic
from lacli.assistant.loaded import Loaded
from lacli.assistant.loading import load
from lacli.assistant.reply import Reply
from lacli.bench.edits.tasks import project
from lacli.bench.machine import machine, machine_line
from lacli.bench.suites import load_suites
from lacli.config import Settings
from lacli.events import Attachment, Finished, Message, Request
from lacli.kv import store
from lacli.kv.store import KvStore
from lacli.pool.evict import Caps
from lacli.pool.store import Pool
from lacli.project.root import PoolKey

_LINES, _FEW_LINES = 40, 12
"""Of a file before each prompt: some hundred tokens, a few blocks; and with --quick."""
_SHORT = 200
"""Characters of a suite's prompt that --quick takes."""
_TOKENS, _FEW_TOKENS = 24, 6


@dataclass(frozen=True, slots=True)
class Difference:
    """A text that the store changed."""

    prompt: str
    way: str
    expected: tuple[int, ...]
    found: tuple[int, ...]


@dataclass(slots=True)
class Comparison:
    """What was compared and what differed."""

    prompts: int = 0
    texts: int = 0
    tokens: int = 0
    restored: int = 0
    """Prompt tokens that came from the store."""
    differences: list[Difference] = field(default_factory=list)

    def add(self, prompt: str, way: str, expected: Finished, found: Finished) -> None:
        """Compare one text."""
        self.texts += 1
        self.tokens += len(found.token_ids)
        self.restored += found.stats.reused_n
        if found.token_ids != expected.token_ids:
            self.differences.append(Difference(prompt, way, expected.token_ids, found.token_ids))


def prompts(quick: bool = False) -> Iterator[tuple[str, Message]]:
    """Prompts without an end, those of all suites again and again, each time behind another file; with their names."""
    lines = _FEW_LINES if quick else _LINES
    beginnings = [Attachment(name, "\n".join(text.split("\n")[:lines])) for name, text in sorted(project().items())]
    cases = [case for case in load_suites("all") if not quick or len(case.prompt) <= _SHORT]
    for number in itertools.count():
        case, shown = cases[number % len(cases)], beginnings[(number + number // len(cases)) % len(beginnings)]
        yield f"{case.suite} {case.name} behind {shown.label}", Message("user", case.prompt, attachments=(shown,))


def compare(loaded: Loaded, folder: Path, count: int, max_tokens: int, quick: bool = False) -> Comparison:
    """So many prompts, each in all ways, or with `quick` in fewer; the store lies below `folder`."""
    done = Comparison()
    kept_in = folder / "kv" / "bench"
    key = PoolKey("bench", folder, loaded.tokenizer.fingerprint)
    for name, message in itertools.islice(prompts(quick), count):
        done.prompts += 1
        print(f"{done.prompts}/{count} {name}", file=sys.stderr)
        asked = Request((message,), max_tokens=max_tokens)
        sampled = replace(asked, temperature=0.7, top_p=0.95, seed=done.prompts)
        requests = {"greedy": asked, "sampled": sampled}
        plain: dict[str, Finished] = {}
        for way, request in requests.items():
            is_filled = quick and bool(plain)  # by the way before
            if not is_filled:
                store.clear(kept_in)
            pool = Pool(folder, key, "read", loaded.cached.runner.vocab_size, "bench", Caps())
            stored = KvStore(kept_in, arithmetic(loaded.prepared), store.Caps())
            storing = replace(loaded, kept=KeptPrompts(stored, pool))
            plain[way] = _answered(replace(loaded, kept=None), request)
            if not is_filled:
                done.add(name, f"{way}, empty store", plain[way], _answered(storing, request))
            done.add(name, f"{way}, filled store", plain[way], _answered(storing, request))
        _forget(loaded)
        beside = dict(replies(storing, list(requests.values()), set(), never))
        for place, way in enumerate(requests):
            found = beside[place]
            assert isinstance(found, Finished)
            done.add(name, f"{way}, side by side", plain[way], found)
    return done


def _answered(loaded: Loaded, request: Request) -> Finished:
    """The reply of a process that has just started."""
    _forget(loaded)
    *_, last = Reply(loaded, request, set()).events(never)
    assert isinstance(last, Finished)
    return last


def _forget(loaded: Loaded) -> None:
    loaded.cached.begin((0,))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; 1 where a text differs."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.kv_exact")
    parser.add_argument("-m", "--model", help="the default one is taken otherwise")
    parser.add_argument("--limit", type=int, default=200, help="so many prompts")
    parser.add_argument("-n", "--tokens", type=int, help="most tokens of a reply")
    parser.add_argument("--quick", action="store_true", help="short prompts and replies, one text less of each")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(arguments)
    loaded = load(Settings(model=given.model, pool=False), ignore)
    if loaded.cached.runner.kernel == "torch":
        print("the store serves our own kernels only", file=sys.stderr)
        return 2
    tokens = given.tokens or (_FEW_TOKENS if given.quick else _TOKENS)
    with tempfile.TemporaryDirectory(prefix="lacli-kv-") as folder:
        done = compare(loaded, Path(folder), given.limit, tokens, given.quick)
    loaded.close()
    if given.json:
        model = {"name": loaded.prepared.spec.alias, "quant": loaded.quant, "kernel": loaded.cached.runner.kernel}
        print(json.dumps({"machine": machine(), "model": model, **asdict(done), "equal": not done.differences}))
    else:
        print(machine_line(machine()))
        for line in _lines(loaded, done):
            print(line)
    return 1 if done.differences else 0


def _lines(loaded: Loaded, done: Comparison) -> Iterator[str]:
    for found in done.differences:
        yield f"DIFFERENT: {found.prompt}, {found.way}: without {list(found.expected)}, found {list(found.found)}"
    equal = done.texts - len(done.differences)
    yield (
        f"{loaded.prepared.spec.alias} {loaded.quant}: {equal} of {done.texts} texts ({done.tokens:,} tokens, "
        f"{done.prompts} prompts) equal those without a store; {done.restored:,} prompt tokens came from it"
    )


if __name__ == "__main__":
    sys.exit(main())
