"""Stop strings completed anywhere in an accepted run: the text is cut where plain decoding cuts it (cases D6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from lacli.drafts.base import DraftSource, Sources
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Finish
from lacli.engine.stop import Stops
from lacli.text.stops import StopStrings
from tests.engine.replies import PLAIN
from tests.exact.sources import LiarSource, OracleSource
from tests.fakes import TableRunner

WOMAN = "👩‍💻".encode()
PIECES = [
    b"<s>",
    b" one",
    b",",
    b" tw",
    b"o",
    b", thr",
    b"ee",
    b", ",
    b"fo",
    b"ur, fi",
    b"ve\n",
    WOMAN[:5],
    WOMAN[5:],
    b" end",
]
REPLY = list(range(1, len(PIECES)))
WHOLE = b"".join(PIECES[1:]).decode()
END = len(PIECES)


class Spelling:
    def token_bytes(self, token_id: int) -> bytes:
        return PIECES[token_id]


@dataclass(frozen=True)
class Said:
    text: str
    ids: list[int]
    finish: Finish | None


def say(stops: Sequence[str], limits: Limits, sources: Sequence[DraftSource] = (), budget: int = 99) -> Said:
    """The reply as the assistant puts it together: text released step by step."""
    runner = TableRunner(lambda context: context[-1] + 1, vocab_size=END + 1)
    rule = StopStrings(Spelling(), stops)  # type: ignore[arg-type]
    text, ids, finish = "", [], None
    for step in decode(
        (0,),
        CachedSequence(runner),
        Sources(sources),
        Sampler(SamplingOptions()),
        Stops((END,), budget, rule),
        Controller(CostCurve.flat(), limits),
    ):
        piece = rule.take()
        assert not any(stop in text + piece for stop in stops)
        text += piece
        ids += step.token_ids
        finish = step.finish
    return Said(text + rule.finish(), ids[: rule.delivered], finish)


CASES: list[list[str]] = [
    [" five"],
    [", five"],
    ["r, fi"],
    ["two"],
    [" tw"],
    ["\n"],
    ["👩‍💻"],
    ["o, t", "o, three"],
    [" end."],
    ["never", ", thr"],
    [","],
    [" one"],
]


@pytest.mark.parametrize("stops", CASES, ids="|".join)
@pytest.mark.parametrize("budget", [3, 7, 99])
def test_the_text_is_cut_just_before_the_stop_whatever_was_accepted_with_it(stops: list[str], budget: int) -> None:
    plain = say(stops, PLAIN, budget=budget)
    ends = [WHOLE.find(stop) for stop in stops if stop in WHOLE]
    if budget == 99:
        assert plain.text == (WHOLE[: min(ends)] if ends else WHOLE)
        assert plain.finish is Finish.STOP
    for sources in ([OracleSource(1, REPLY)], [OracleSource(1, REPLY[:4])], [LiarSource(1, REPLY, END)]):
        for limits in (Limits(window=0), Limits(window=3, ngram=3), Limits(window=0, max_rows=3)):
            assert say(stops, limits, sources, budget) == plain


def test_two_stops_in_one_run_the_earlier_ends_it() -> None:
    assert say(["three", "one, two"], Limits(window=0), [OracleSource(1, REPLY)]).text == " "
