"""The rounds: every contestant once on every prompt, in turn, all within minutes of each other.

Ratios are taken within a round and prompt (`table`), so that a machine that slows down for a minute slows both
sides.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lacli.bench.loops import loop_start
from lacli.bench.peers.field import SCENES, Entry, Field
from lacli.bench.step_cost import PAST, ROWS

RECORDER = "llama.cpp"
"""The process whose plain replies say how long replies are before they loop; also what others are compared with."""
_SLOW = "transformers"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    cases: Mapping[str, int]
    """Prompts of each suite."""
    max_tokens: int
    rounds: int
    step_rounds: int
    step_repeats: int
    slow_cases: int
    """Prompts a suite that transformers is asked, in the first round only."""
    read_rounds: int = 1


@dataclass(frozen=True, slots=True)
class Sample:
    """One reply."""

    round: int
    scene: str
    case: str
    label: str
    tokens: int
    """Of the time below, the first one included, which came before it."""
    ms: float
    token_ids: tuple[int, ...]
    drafted: int
    accepted: int

    @property
    def tokens_per_second(self) -> float | None:
        """After the first token; None for a reply too short to tell."""
        return 1000 * (self.tokens - 1) / self.ms if self.tokens > 1 and self.ms > 0 else None


@dataclass(frozen=True, slots=True)
class StepSample:
    """Median milliseconds of a step of so many rows in one round."""

    round: int
    label: str
    ms: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class ReadSample:
    """The reading of one prompt that nothing was known of."""

    round: int
    process: str
    tokens: int
    ms: float

    @property
    def tokens_per_second(self) -> float:
        """Of the prompt."""
        return 1000 * self.tokens / self.ms


def measure_reading(
    field: Field,
    taking: Sequence[Entry],
    prompts: Sequence[Sequence[int]],
    plan: Plan,
    progress: Callable[[str], None],
) -> list[ReadSample]:
    """Prompts as ids, read by all that are measured so."""
    samples = []
    reading = [entry for entry in taking if entry.reads]
    for number in range(plan.read_rounds):
        for entry in _turned(reading, number):
            if entry.family == _SLOW and number:
                continue
            progress(f"reading, round {number + 1}/{plan.read_rounds}: {entry.process}")
            for prompt in prompts:
                answer = field.ask(entry.process, "read", prompt=list(prompt))
                if answer:
                    samples.append(ReadSample(number, entry.process, len(prompt), answer["ms"]))
    return samples


def measure_steps(
    field: Field, taking: Sequence[Entry], plan: Plan, progress: Callable[[str], None]
) -> list[StepSample]:
    """T(M) of all that have one."""
    samples = []
    with_steps = [entry for entry in taking if entry.steps]
    for number in range(plan.step_rounds):
        for entry in _turned(with_steps, number):
            if entry.family == _SLOW and number:
                continue
            progress(f"steps, round {number + 1}/{plan.step_rounds}: {entry.label}")
            answer = field.ask(entry.process, "step_cost", rows=list(ROWS), past=PAST, repeats=plan.step_repeats)
            if answer:
                medians = {int(rows): statistics.median(spent) for rows, spent in answer["ms"].items()}
                samples.append(StepSample(number, entry.label, medians))
    return samples


def measure_replies(
    field: Field,
    taking: Sequence[Entry],
    tasks: Mapping[str, Sequence[Mapping[str, Any]]],
    plan: Plan,
    progress: Callable[[str], None],
) -> list[Sample]:
    """All replies. tasks: by suite, prompts as ids, of `lacli.load`.

    The first round takes all; later ones leave out transformers and llama.cpp's speculations that were best nowhere.
    """
    samples: list[Sample] = []
    for suite in tasks:
        for name in ("lacli default", "lacli int8"):
            progress(f"learning {suite}: {name}")
            field.ask(name, "learn", suite=suite)
    room = _room(field, tasks, plan, progress)
    for number in range(plan.rounds):
        if number:
            taking = [entry for entry in _without_beaten(taking, samples) if entry.family != _SLOW]
            field.renew({entry.process for entry in taking})
        for suite, own in tasks.items():
            for scenes in (("code", "similar"), ("replay",)) if suite == "code" else ((suite,),):
                for place, task in enumerate(own):
                    progress(f"round {number + 1}/{plan.rounds}, {scenes[-1]} {place + 1}/{len(own)}")
                    for entry in _turned(taking, number + place):
                        if entry.family == _SLOW and place >= plan.slow_cases:
                            continue
                        for scene in scenes:
                            if scene in entry.ways:
                                order = _order(entry, scene, task, room[suite, task["case"]])
                                answer = field.ask(entry.process, "generate", **order)
                                if answer:
                                    samples.append(_sample(number, scene, task["case"], entry.label, answer))
    return samples


def _room(
    field: Field, tasks: Mapping[str, Sequence[Mapping[str, Any]]], plan: Plan, progress: Callable[[str], None]
) -> dict[tuple[str, str], int]:
    """Most tokens of each reply: up to where llama.cpp's own begins to loop. lacli's are cut where they loop, too."""
    room = {}
    for suite, own in tasks.items():
        for task in own:
            progress(f"recording {suite}: {RECORDER}")
            arguments = {"prompt": task["prompt"], "eos_ids": task["eos_ids"], "max_tokens": plan.max_tokens}
            answer = field.ask(RECORDER, "generate", **arguments)
            reply = answer["token_ids"] if answer else ()
            room[suite, task["case"]] = max(2, loop_start(reply)) if reply else plan.max_tokens
    return room


def _order(entry: Entry, scene: str, task: Mapping[str, Any], room: int) -> dict[str, Any]:
    if entry.family == "lacli":
        return {"suite": SCENES[scene], "case": task["case"], **entry.ways[scene]}
    return {"prompt": task["prompt"], "eos_ids": task["eos_ids"], "max_tokens": room, **entry.ways[scene]}


def _sample(number: int, scene: str, case: str, label: str, answer: Mapping[str, Any]) -> Sample:
    token_ids = tuple(answer["token_ids"])
    return Sample(
        round=number,
        scene=scene,
        case=case,
        label=label,
        tokens=answer.get("tokens", len(token_ids)),
        ms=answer["ms"],
        token_ids=token_ids,
        drafted=answer.get("drafted", 0),
        accepted=answer.get("accepted", 0),
    )


def _turned(taking: Sequence[Entry], number: int) -> list[Entry]:
    """Another one first each time, so that nobody always runs behind the same neighbour."""
    shift = number % len(taking) if taking else 0
    return [*taking[shift:], *taking[:shift]]


def _without_beaten(taking: Sequence[Entry], samples: Sequence[Sample]) -> list[Entry]:
    """All but those of llama.cpp's speculations that were the best of them in no scene."""
    rivals = [entry for entry in taking if entry.family == "llama.cpp" and entry.speculates]
    best = set()
    for scene in SCENES:
        speeds = {entry.label: speed for entry in rivals if (speed := median_speed(samples, entry.label, scene))}
        if speeds:
            best.add(max(speeds, key=speeds.__getitem__))
    return [entry for entry in taking if entry not in rivals or entry.label in best]


def median_speed(samples: Sequence[Sample], label: str, scene: str) -> float | None:
    """Of all rounds and prompts; None where there is none."""
    speeds = [
        speed
        for sample in samples
        if sample.label == label and sample.scene == scene and (speed := sample.tokens_per_second)
    ]
    return statistics.median(speeds) if speeds else None
