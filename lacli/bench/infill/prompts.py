"""Which prompt serves a model without fill-in-the-middle best: `python -m lacli.bench.infill.prompts FOLDER -m MODEL`.

Lines in the middle of functions are taken out of source files, and the model is to write them. Each form of the prompt
is scored by how often the first line comes back, how alike the texts are, and how often the suffix is repeated.
"""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lacli.assistant.base import ignore
from lacli.assistant.loaded import Loaded
from lacli.assistant.loading import load
from lacli.bench.infill.forms import FORMS, Form
from lacli.completion.cursor import cursor_of
from lacli.completion.fim import rules
from lacli.config import Settings
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.stop import Stops
from lacli.events import Place
from lacli.prompts.template import load_template
from lacli.text.stops import StopStrings

_TOKENS = 96
_BODY = re.compile(r"^(?:\t+|    +|  +)\S")


@dataclass(frozen=True, slots=True)
class Hole:
    """Lines taken out of a file."""

    place: Place
    middle: str
    kind: str
    """Where the cursor stands: at the end of the line above, at the left, in the indentation, or within a line."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a form of the prompt made of one hole."""

    first: bool
    """Whether the first line is the one that was taken out."""
    alike: float
    repeats: bool
    """Whether the next line of the file was written once more."""
    empty: bool


def holes(path: Path, each: int, number: int) -> Iterator[Hole]:
    """Places in a file: every `each` lines one, of one to eight lines inside a function, in four ways.

    `number` says which size and way is the first.
    """
    lines = path.read_text("utf-8").split("\n")
    for at in range(8, len(lines) - 4, each):
        count = 1 + number % 8
        part = lines[at : at + count]
        if not all(_BODY.match(line) for line in part) or not _BODY.match(lines[at - 1]):
            continue
        before, after, middle = "\n".join(lines[:at]), "\n".join(lines[at + count :]), "\n".join(part)
        indent = part[0][: len(part[0]) - len(part[0].lstrip())]
        word = len(indent) + len(part[0].strip()) // 2
        kinds = {
            "end": (before, "\n" + after, "\n" + middle),
            "left": (before + "\n", "\n" + after, middle),
            "indent": (before + "\n" + indent, "\n" + after, middle[len(indent) :]),
            "within": (f"{before}\n{part[0][:word]}", "\n" + after, middle[word:]),
        }
        kind = list(kinds)[number % 4]
        prefix, suffix, wanted = kinds[kind]
        yield Hole(Place(prefix, suffix, path.name, scope="block"), wanted, kind)
        number += 1


def written(form: Form, hole: Hole, loaded: Loaded) -> str:
    """The completion by this form."""
    place = hole.place
    made = form(place, loaded.tokenizer, load_template(loaded.prepared.folder, loaded.prepared.spec.chat_template))
    rule = StopStrings(loaded.tokenizer, (), [rules(place, cursor_of(place), made.hidden, goes_on=True)])
    text, early = "", False
    for step in decode(
        made.token_ids,
        loaded.cached,
        loaded.sources,
        Sampler(SamplingOptions(), made.token_ids),
        Stops(loaded.prepared.eos_ids, _TOKENS, rule),
        loaded.controller,
    ):
        text += rule.take()
        early = step.finish != "stop"
    return text + rule.finish(early)


def score(text: str, hole: Hole) -> Score:
    """Compare a completion with the lines that were taken out."""
    wanted, got = hole.middle.strip("\n"), text.strip("\n")
    below = next((line.strip() for line in hole.place.suffix.split("\n") if re.search(r"\w", line)), "")
    last = got.rstrip().rpartition("\n")[2].strip()
    return Score(
        first=bool(got.strip()) and got.split("\n")[0].rstrip() == wanted.split("\n")[0].rstrip(),
        alike=difflib.SequenceMatcher(None, wanted, got, autojunk=False).ratio(),
        repeats=bool(below) and last == below,
        empty=not got.strip(),
    )


def table(scores: dict[str, list[tuple[Hole, Score]]]) -> list[str]:
    """A line for each form, over all holes and by where the cursor stood."""
    lines = [f"{'form':<22}{'cursor':<8}{'holes':>6}{'first line':>12}{'alike':>8}{'repeats':>9}{'empty':>7}"]
    for form, found in scores.items():
        for kind in ("all", "end", "left", "indent", "within"):
            some = [each for hole, each in found if kind in ("all", hole.kind)]
            count = max(1, len(some))
            lines.append(
                f"{form:<22}{kind:<8}{len(some):>6}{sum(each.first for each in some) / count:>12.1%}"
                f"{sum(each.alike for each in some) / count:>8.3f}{sum(each.repeats for each in some):>9}"
                f"{sum(each.empty for each in some):>7}"
            )
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Score every form on all files of a folder."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.infill.prompts", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-m", "--model")
    parser.add_argument("--each", type=int, default=24, help="a place every so many lines")
    parser.add_argument("--forms", nargs="*", default=list(FORMS))
    parser.add_argument("--show", action="store_true", help="print the completions")
    asked = parser.parse_args(arguments)
    loaded = load(Settings(model=asked.model, pool=False, offline=True), ignore)
    found: list[Hole] = []
    for path in sorted(path for path in asked.folder.iterdir() if path.is_file()):
        found += holes(path, asked.each, len(found))
    scores: dict[str, list[tuple[Hole, Score]]] = {name: [] for name in asked.forms}
    for hole in found:
        for name in asked.forms:
            text = written(FORMS[name], hole, loaded)
            scores[name].append((hole, score(text, hole)))
            if asked.show:
                print(f"--- {hole.place.path} {hole.kind} {name}\n{hole.place.prefix[-120:]}⟨{text}⟩")
                print(f"    not {hole.middle!r}")
    for line in table(scores):
        print(line)


if __name__ == "__main__":
    main()
