"""Completions of real files: `python -m lacli.bench.infill [FOLDER] [-m MODEL] [--out FILE]`.

Places are cut out of the files (`infill_cut`), and each is filled twice in the same run: by lacli, and by the model's
own fill-in-the-middle as it stands, greedily to its end token or 128 tokens, one line of it where one line was cut.
Reported for each form of place: how many are what stood there letter for letter, leave a file that parses, are empty.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lacli.assistant.base import ignore, never
from lacli.assistant.loaded import Loaded
from lacli.assistant.loading import load
from lacli.assistant.reply import Reply
from lacli.bench.infill.cut import FORMS, Cut, cuts
from lacli.bench.machine import machine, machine_line
from lacli.completion import window
from lacli.config import Settings
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.stop import Stops
from lacli.errors import LacliError, UsageError
from lacli.events import Finished, Request
from lacli.models.registry.registry import load_registry
from lacli.prompts.chat import with_bos
from lacli.storage import atomic
from lacli.text.stream import TextStream

_TOKENS = 128
FILES = Path(__file__).parents[1] / "suites" / "edits" / "files"


@dataclass(frozen=True, slots=True)
class Answer:
    """A completion, and what it is worth."""

    text: str
    equal: bool
    parses: bool | None
    """None where the file itself does not."""
    empty: bool
    ms: float


@dataclass(frozen=True, slots=True)
class Result:
    """One place filled in all ways."""

    path: str
    language: str
    form: str
    line: int
    wanted: str
    lacli: Answer
    raw: Answer
    first: Answer
    """lacli's without another try, and not judged by the file's grammar."""


def judged(text: str, cut: Cut, started: float) -> Answer:
    """Compare a completion with what was cut out. Blanks at its ends do not count."""
    parses = cut.parses(text) if cut.sound else None
    ms = 1000 * (time.perf_counter() - started)
    return Answer(text, text.strip() == cut.wanted.strip(), parses, not text.strip(), round(ms, 1))


def filled(cut: Cut, loaded: Loaded, begins_again: bool) -> Answer:
    """By lacli."""
    started = time.perf_counter()
    request = Request(place=cut.place, max_tokens=_TOKENS, drop_oldest=True, begins_again=begins_again)
    *_, finished = Reply(loaded, request, set()).events(never)
    assert isinstance(finished, Finished)
    return judged(finished.text, cut, started)


def raw(cut: Cut, loaded: Loaded) -> Answer:
    """By the model's own form of prompt, and nothing else."""
    started = time.perf_counter()
    spec, tokenizer = loaded.prepared.spec, loaded.tokenizer
    markers = load_registry().fim_of(spec, tokenizer.id_of, loaded.prepared.fim)
    if markers is None:
        raise UsageError(f"{spec.alias} knows no fill-in-the-middle", "give a model that does")
    before, after = window.shown(cut.place)
    before_ids, after_ids, _ = window.nearest(before, after or "\n", tokenizer.encode, tokenizer.encode, None)
    marks = {text: tokenizer.id_of(text) for text in (*markers.needed, *markers.stop)}
    prefix, suffix = [marks[markers.prefix], *before_ids], [marks[markers.suffix], *after_ids]
    middle = [marks[markers.middle]] if markers.middle else []
    parts = [*prefix, *suffix, *middle] if markers.order == "psm" else [*suffix, *prefix, *middle]
    prompt = with_bos([index for index in parts if index is not None], tokenizer)
    ends = {*loaded.prepared.eos_ids, *(index for index in marks.values() if index is not None)}
    stream, text = TextStream(tokenizer), ""
    one_line = cut.place.scope == "line"
    for step in decode(
        prompt,
        loaded.cached,
        loaded.sources,
        Sampler(SamplingOptions(), prompt),
        Stops(ends, _TOKENS),
        loaded.controller,
    ):
        text += stream.push(step.token_ids)
        if one_line and "\n" in text:
            break
    return judged(text.partition("\n")[0] if one_line else text, cut, started)


def measured(cut: Cut, loaded: Loaded) -> Result:
    """One place."""
    first = filled(cut, loaded, False)
    ours = filled(cut, loaded, True) if first.empty or first.parses is False else first
    line = cut.place.prefix.count("\n") + 1
    return Result(cut.place.path, cut.language, cut.form, line, cut.wanted, ours, raw(cut, loaded), first)


def table(results: Sequence[Result]) -> list[str]:
    """A line for each form of place and way of filling it; the controls, where nothing is wanted, apart."""
    lines = [f"{'form':<10}{'by':<16}{'places':>7}{'equal':>9}{'parses':>9}{'empty':>9}"]
    wanted = [result for result in results if result.form != "nothing"]
    groups: dict[str, list[Result]] = {form: [result for result in results if result.form == form] for form in FORMS}
    for name, some in [("all", wanted), *groups.items()]:
        for by in ("lacli", "first", "raw") if some else ():
            answers = [getattr(result, by) for result in some]
            label = "lacli, one try" if by == "first" else by
            lines.append(
                f"{name:<10}{label:<16}{len(some):>7}{_share(each.equal for each in answers):>9}"
                f"{_share(each.parses for each in answers if each.parses is not None):>9}"
                f"{_share(each.empty for each in answers):>9}"
            )
    return lines


def _share(found: Iterable[bool]) -> str:
    values = list(found)
    return f"{sum(values) / len(values):.1%}" if values else "-"


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill the places and report."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.infill", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FILES)
    parser.add_argument("-m", "--model")
    parser.add_argument("--places", type=int, default=100, help="so many lines, spans and blocks")
    parser.add_argument("--each", type=int, default=40, help="a hole every so many lines besides; 0 for none")
    parser.add_argument("--forms", nargs="*", choices=FORMS, default=list(FORMS), help="only these")
    parser.add_argument("--out", type=Path, help="write every place and answer as it is found, as JSON")
    asked = parser.parse_args(arguments)
    try:
        results, head = _run(asked)
    except LacliError as error:
        sys.exit(f"{error.message}; {error.hint}")
    print("\n".join(["", *head, "", *table(results)]))


def _run(asked: argparse.Namespace) -> tuple[list[Result], list[str]]:
    found = [cut for cut in cuts(asked.folder, asked.places, asked.each) if cut.form in asked.forms]
    random.Random(0).shuffle(found)  # a run that is cut off has seen something of every file
    loaded = load(Settings(model=asked.model, pool=False, offline=True), ignore)
    facts, model = machine(), loaded.prepared.spec.alias
    results: list[Result] = []
    for cut in found:
        results.append(measured(cut, loaded))
        latest = results[-1]
        told = " ".join(f"{by}:{_mark(getattr(latest, by))}" for by in ("lacli", "first", "raw"))
        print(f"{len(results)}/{len(found)} {latest.path}:{latest.line} {latest.form} {told}", file=sys.stderr)
        if asked.out is not None:  # as it is found, so that a run that is cut off is not lost
            runs = [dataclasses.asdict(result) for result in results]
            of = {"suite": "infill", "model": model, "machine": facts, "planned": len(found)}
            document = {**of, "table": table(results), "runs": runs}
            text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
            atomic.replace(str(asked.out), text.encode(), 0o644)
    loaded.close()
    return results, [machine_line(facts), f"model {model}"]


def _mark(answer: Answer) -> str:
    return "empty" if answer.empty else "equal" if answer.equal else "breaks" if answer.parses is False else "other"
