"""What the samples say: medians, ratios within a round and prompt, bars; and the table of it in Markdown.

Pure: records in, lines and figures out.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lacli.bench.peers.field import SCENES, Entry
from lacli.bench.peers.rounds import ReadSample, Sample, StepSample, median_speed
from lacli.bench.step_cost import ROWS

OURS, OURS_PLAIN, OURS_8 = "lacli default", "lacli default plain", "lacli int8"
LLAMA_PLAIN, LLAMA_STEPS = "llama.cpp plain", "llama.cpp llama_decode"
BEGINNING = 8
"""Tokens of a reply that are compared between contestants, whose arithmetic differs."""
IDLE = 0.02
"""Cores; more would disturb the others."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of what must be shown."""

    name: str
    wanted: str
    found: float | None
    """None where it was not measured."""
    passed: bool
    note: str = ""

    @property
    def verdict(self) -> str:
        """For the table."""
        return "not measured" if self.found is None else "yes" if self.passed else "NO"


@dataclass(frozen=True, slots=True)
class Results:
    """Everything measured."""

    entries: Sequence[Entry]
    samples: Sequence[Sample]
    steps: Sequence[StepSample]
    shape: Mapping[str, Mapping[str, Any]]
    """By quantisation, what `shape.measure` gave."""
    starts: Sequence[tuple[float, float]]
    failures: Mapping[str, str]
    """By process."""
    builds: Mapping[str, str]
    """By process, what it says of itself."""
    idle: Mapping[str, float] = field(default_factory=dict)
    """By process, the cores it kept busy while others were asked."""
    reading: Sequence[ReadSample] = ()
    with_bars: bool = True
    """Whether everything that the bars judge is measured; they are set for the default model."""


def read_speed(reading: Sequence[ReadSample], process: str, tokens: int) -> float | None:
    """Tokens of the prompt a second, the median of all rounds."""
    found = [sample.tokens_per_second for sample in reading if (sample.process, sample.tokens) == (process, tokens)]
    return statistics.median(found) if found else None


def step_ms(steps: Sequence[StepSample], label: str, rows: int) -> float | None:
    """T(M), the median of all rounds."""
    found = [sample.ms[rows] for sample in steps if sample.label == label and rows in sample.ms]
    return statistics.median(found) if found else None


def step_ratio(steps: Sequence[StepSample], rows: int, label: str, against: str, against_rows: int) -> float | None:
    """Median over the rounds of one T(M) by another."""
    by_round = {sample.round: sample.ms for sample in steps if sample.label == against}
    found = [
        sample.ms[rows] / by_round[sample.round][against_rows]
        for sample in steps
        if sample.label == label and sample.round in by_round
    ]
    return statistics.median(found) if found else None


def speed_ratio(samples: Sequence[Sample], label: str, scene: str, against: str, against_scene: str) -> float | None:
    """Median over rounds and prompts of one speed by another of the same round and prompt."""
    others = {
        (sample.round, sample.case): speed
        for sample in samples
        if sample.label == against and sample.scene == against_scene and (speed := sample.tokens_per_second)
    }
    found = [
        speed / others[sample.round, sample.case]
        for sample in samples
        if sample.label == label
        and sample.scene == scene
        and (sample.round, sample.case) in others
        and (speed := sample.tokens_per_second)
    ]
    return statistics.median(found) if found else None


def best_peer(results: Results, scene: str, speculating: bool = True) -> str | None:
    """The peer that was fastest in a scene: of those with speculation of their own, or of all."""
    speeds = {
        entry.label: speed
        for entry in results.entries
        if entry.family != "lacli" and (entry.speculates or not speculating)
        if (speed := median_speed(results.samples, entry.label, scene_of(entry, scene)))
    }
    return max(speeds, key=speeds.__getitem__) if speeds else None


def scene_of(entry: Entry, scene: str) -> str:
    """Where the figure of a scene stands: who remembers nothing is as fast the second time."""
    return scene if scene in entry.ways else SCENES[scene]


def unequal(samples: Sequence[Sample], label: str) -> tuple[int, int]:
    """Replies of `label`, and those of them that differ from its plain ones."""
    plain = {
        (SCENES[sample.scene], sample.case): sample.token_ids for sample in samples if sample.label == f"{label} plain"
    }
    own = [sample for sample in samples if sample.label == label and (SCENES[sample.scene], sample.case) in plain]
    return len(own), sum(sample.token_ids != plain[SCENES[sample.scene], sample.case] for sample in own)


def agreeing(samples: Sequence[Sample], label: str) -> tuple[int, int]:
    """Replies of `label`, and those of them that begin as llama.cpp plain's do."""
    theirs = {
        (sample.scene, sample.case): sample.token_ids[:BEGINNING] for sample in samples if sample.label == LLAMA_PLAIN
    }
    own = [sample for sample in samples if sample.label == label and (sample.scene, sample.case) in theirs]
    return len(own), sum(sample.token_ids[:BEGINNING] == theirs[sample.scene, sample.case] for sample in own)


def bars(results: Results) -> list[Bar]:
    """The bars that lacli is held to, each with what was measured."""
    samples, steps = results.samples, results.steps
    found = [
        _at_most("T(1) by llama.cpp's", 1.0, step_ratio(steps, 1, OURS_PLAIN, LLAMA_STEPS, 1)),
        _at_most("T(8) / T(1)", 1.7, step_ratio(steps, 8, OURS_PLAIN, OURS_PLAIN, 1)),
        _at_most("T(16) / T(1)", 2.8, step_ratio(steps, 16, OURS_PLAIN, OURS_PLAIN, 1)),
    ]
    for name, wanted, scene in (
        ("code cold", 1.0, "code"),
        ("code warm-similar", 1.2, "similar"),
        ("edit-ref", 3.0, "edit-ref"),
        ("warm-replay", 4.5, "replay"),
    ):
        ratio = speed_ratio(samples, OURS, scene, LLAMA_PLAIN, SCENES[scene])
        found.append(_at_least(f"speed by llama.cpp plain: {name}", wanted, ratio))
    by_label = {entry.label: entry for entry in results.entries}
    for name, wanted, scene in (("edit", 2.0, "edit"), ("warm-replay", 4.0, "replay")):
        peer = best_peer(results, scene)
        ratio = speed_ratio(samples, OURS, scene, peer, scene_of(by_label[peer], scene)) if peer else None
        found.append(_at_least(f"speed by the best peer with its own speculation: {name}", wanted, ratio, peer or ""))
    for label in (OURS, OURS_8):
        count, different = unequal(samples, label)
        share = 100 * (1 - different / count) if count else None
        found.append(_at_least(f"replies equal to plain decoding, {label}, %", 100, share, f"{count} replies"))
    for quant in ("int4", "int8"):
        name = f"1.5B shape, {quant}: T(1) by bytes / bandwidth"
        if measured := results.shape.get(quant):
            read = statistics.median(measured["read_ms"])
            speed = f"{measured['bytes'] / 1e9:.2f} GB at {measured['bytes'] / read / 1e6:.1f} GB/s"
            found.append(_at_most(name, 1.3, statistics.median(measured["step_ms"]) / read, speed))
        else:
            found.append(_at_most(name, 1.3, None))
    beyond = [ask - torch for ask, torch in results.starts]
    seconds = statistics.median(beyond) if beyond else None
    found.append(_at_most("`lacli ask`: first token beyond `import torch`, s", 1.5, seconds))
    return found


def _at_most(name: str, wanted: float, found: float | None, note: str = "") -> Bar:
    return Bar(name, f"≤ {wanted:g}", found, found is not None and found <= wanted, note)


def _at_least(name: str, wanted: float, found: float | None, note: str = "") -> Bar:
    return Bar(name, f"≥ {wanted:g}", found, found is not None and found >= wanted, note)


def lines(results: Results) -> list[str]:
    """Markdown: T(M), speeds, bars, who failed."""
    found: list[str] = []
    if results.steps:
        found += ["Milliseconds of a step of M rows, context 200, logits of all rows:", "", *_steps(results), ""]
    found += ["Tokens a second after the first one (in brackets: by llama.cpp plain, same round and prompt):", ""]
    lengths = sorted({sample.tokens for sample in results.reading})
    rows_of = [
        [
            entry.label,
            *(_speed(results, entry, scene) for scene in SCENES),
            *(_cell(read_speed(results.reading, entry.process, tokens), ".0f") for tokens in lengths),
        ]
        for entry in results.entries
        if entry.ways
    ]
    reads = [f"reading {tokens:,}" for tokens in lengths]
    found += _table(["", "code cold", "code warm-similar", "warm-replay", "edit", "edit-ref", *reads], rows_of)
    if results.with_bars:
        found += ["", "Bars:", ""]
        rows_of = [[bar.name, bar.wanted, _cell(bar.found, ".2f"), bar.verdict, bar.note] for bar in bars(results)]
        found += _table(["", "wanted", "found", "met", ""], rows_of)
    fastest = [f"{scene}: {peer}" for scene in SCENES if (peer := best_peer(results, scene, speculating=False))]
    found += ["", "Fastest peer of all, with or without speculation: " + ", ".join(fastest)] if fastest else []
    beginnings = [
        f"{entry.label} {equal} of {count}"
        for entry in results.entries
        if entry.label != LLAMA_PLAIN and (pair := agreeing(results.samples, entry.label))[0]
        for count, equal in [pair]
    ]
    if beginnings:
        found += ["", f"Replies whose first {BEGINNING} tokens are llama.cpp plain's: " + ", ".join(beginnings)]
    found += ["", *(f"- {name}: {text}" for name, text in results.builds.items())]
    found += [f"- {name} failed: {reason}" for name, reason in results.failures.items()]
    busy = {name: cores for name, cores in results.idle.items() if cores > IDLE}
    found += [f"- {name} kept {cores:.2f} cores busy while others were measured" for name, cores in busy.items()]
    return found


def _steps(results: Results) -> list[str]:
    head = ["", *(f"M={rows}" for rows in ROWS), "T(8)/T(1)", "T(16)/T(1)"]
    rows_of = []
    for entry in results.entries:
        if entry.steps:
            times = [step_ms(results.steps, entry.label, rows) for rows in ROWS]
            ratios = [step_ratio(results.steps, rows, entry.label, entry.label, 1) for rows in (8, 16)]
            name = entry.label.removesuffix(" plain")
            rows_of.append([name, *(_cell(time, ".1f") for time in times), *(_cell(ratio, ".2f") for ratio in ratios)])
    return _table(head, rows_of)


def _speed(results: Results, entry: Entry, scene: str) -> str:
    where = scene_of(entry, scene)
    speed = median_speed(results.samples, entry.label, where)
    if speed is None:
        return "-"
    if entry.family == "lacli" and where != scene:
        return "as cold"
    ratio = speed_ratio(results.samples, entry.label, where, LLAMA_PLAIN, SCENES[scene])
    return f"{speed:.0f}" + (f" ({ratio:.2f})" if ratio is not None and entry.label != LLAMA_PLAIN else "")


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    line: Callable[[Sequence[str]], str] = lambda cells: "| " + " | ".join(cells) + " |"  # noqa: E731
    return [line(head), "|" + "---|" * len(head), *(line(row) for row in rows)]


def record(results: Results) -> dict[str, Any]:
    """For the file: the same, and every sample without its ids."""
    return {
        "steps": [{"round": step.round, "label": step.label, "ms": dict(step.ms)} for step in results.steps],
        "samples": [
            {
                "round": sample.round,
                "scene": sample.scene,
                "case": sample.case,
                "label": sample.label,
                "tokens": sample.tokens,
                "ms": round(sample.ms, 3),
                "drafted": sample.drafted,
                "accepted": sample.accepted,
            }
            for sample in results.samples
        ],
        "reading": [
            {"round": sample.round, "process": sample.process, "tokens": sample.tokens, "ms": round(sample.ms, 3)}
            for sample in results.reading
        ],
        "shape": dict(results.shape),
        "starts_s": [list(pair) for pair in results.starts],
        "failures": dict(results.failures),
        "builds": dict(results.builds),
        "idle_cores": dict(results.idle),
        "bars": [
            {"name": bar.name, "wanted": bar.wanted, "found": bar.found, "met": bar.verdict, "note": bar.note}
            for bar in (bars(results) if results.with_bars else ())
        ],
    }
