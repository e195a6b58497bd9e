"""Many replies of the real assistant side by side: their texts, counts, updates and ends are those of one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from lacli.assistant.assistant import Assistant
from lacli.drafts.successor import _pair_key
from lacli.events import Event, Failed, Finished, Message, Piece, Place, Prefill, Request
from tests.assistants import QUESTION, VARIED, Make, ask, checked, loaded, make, reply

__all__ = ["loaded", "make"]
pytestmark = pytest.mark.model

SYSTEM = Message("system", "Answer in one word.")
FUNCTION = "def add(a, b):\n    ret"
REQUESTS = [
    *VARIED,
    Request((SYSTEM, Message("user", "Red or blue?")), max_tokens=10),
    ask(QUESTION, max_tokens=24, repetition_penalty=1.3),
    ask("Write hello ten times.", max_tokens=40),
]


def together(
    assistant: Assistant, requests: Iterable[Request], cancel: Any = lambda: False
) -> dict[int, list[Event | Failed]]:
    """All events by request."""
    events: dict[int, list[Event | Failed]] = {}
    for index, event in assistant.replies(requests, cancel):
        events.setdefault(index, []).append(event)
    return events


def finished(events: dict[int, list[Any]]) -> list[Finished]:
    return [checked(events[index]) for index in sorted(events)]


def few_places(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("lacli.engine.batch.best_slots", lambda controller, cached: count)


class TestText:
    @pytest.mark.parametrize("lookahead", [True, False])
    @pytest.mark.default_cases(1)
    def test_each_is_the_reply_written_alone_cold_and_warm(
        self, lookahead: bool, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = make(lookahead=False, pool=False)
        expected = [(each.text, each.token_ids, each.reason) for each in (reply(alone, one) for one in REQUESTS)]
        few_places(monkeypatch, 4)
        for _ in range(2):  # the second finds what the first has put into the pool
            done = finished(together(make(lookahead=lookahead), iter(REQUESTS)))
            assert [(each.text, each.token_ids, each.reason) for each in done] == expected

    @pytest.mark.slow
    @pytest.mark.parametrize("quant", ["int4", "none"])
    def test_in_every_quantisation(self, quant: Any, loaded: Any, make: Make, prepared_as: Any) -> None:
        from lacli.engine.sequence import CachedSequence
        from lacli.models.runners.load import load_runner

        assistant = make(pool=False)
        runner = load_runner(prepared_as(quant), quant, threads=1, context=512)
        assert assistant.loaded is not None
        other = dataclasses.replace(assistant.loaded, cached=CachedSequence(runner))
        assistant._projects[assistant._settings] = other
        requests = [REQUESTS[index] for index in (0, 2, 3, 6)]
        expected = [reply(assistant, one).text for one in requests]
        assert [each.text for each in finished(together(assistant, requests))] == expected

    def test_the_one_sequence_of_a_conversation_goes_on_afterwards(self, make: Make) -> None:
        assistant = make(pool=False)
        expected = reply(assistant, REQUESTS[0]).text
        together(assistant, REQUESTS[1:4])
        assert reply(assistant, REQUESTS[0]).text == expected


class TestEvents:
    def test_they_are_those_of_a_single_reply(self, make: Make) -> None:
        events = together(make(pool=False), REQUESTS[:3])
        for each in events.values():
            kinds = [type(event) for event in each]
            read = kinds.count(Prefill)
            assert read
            assert kinds == [*[Prefill] * read, *[Piece] * (len(kinds) - read - 1), Finished]
        stats = finished(events)[0].stats
        assert stats.prompt_n + stats.reused_n == stats.ctx_used - stats.predicted_n

    def test_the_head_of_the_template_is_read_once(self, make: Make) -> None:
        assistant = make(pool=False)
        assistant.loaded.cached.begin((0,))  # type: ignore[union-attr]
        done = finished(together(assistant, [ask(f"{number} and", max_tokens=3) for number in range(5)]))
        assert [each.stats.reused_n > 10 for each in done] == [False, True, True, True, True]

    def test_shares_of_time_add_up_to_no_more_than_passed(self, make: Make) -> None:
        done = finished(together(make(pool=False), [ask("Count", max_tokens=12)] * 4))
        assert len({each.stats.steps for each in done}) == 1
        assert sum(each.stats.step_ms for each in done) < done[0].stats.ttft_ms + 1.5 * done[0].stats.predicted_ms

    def test_one_too_long_fails_and_the_others_are_written(self, make: Make) -> None:
        events = together(make(pool=False), [REQUESTS[0], ask("word " * 600), REQUESTS[2]])
        (failed,) = events.pop(1)
        assert isinstance(failed, Failed)
        assert failed.exit_code == 5
        assert "512" in failed.message
        assert [each.reason for each in finished(events)] == ["length", "length"]

    def test_requests_are_taken_as_there_is_room(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        few_places(monkeypatch, 2)
        taken = []

        def requests() -> Iterable[Request]:
            for number in range(50):
                taken.append(number)
                yield ask("Count", max_tokens=4)

        for _ in zip(make(pool=False).replies(requests()), range(3), strict=False):
            pass
        assert taken == [0, 1]


class TestEnds:
    def test_a_cancel_keeps_what_was_finished_and_marks_the_rest(self, make: Make) -> None:
        assistant = make()
        asked = iter([False] * 12 + [True] * 1000)
        events = together(assistant, [ask("Count", max_tokens=2), ask("Count", max_tokens=300)], lambda: next(asked))
        done = finished(events)
        assert [each.reason for each in done] == ["length", "cancelled"]
        assert done[1].token_ids

    def test_each_reply_is_a_lesson_once_also_where_the_reader_goes_away(self, make: Make) -> None:
        assistant = make()
        learned: list[tuple[int, ...]] = []
        pool = assistant.loaded.pool  # type: ignore[union-attr]
        before = pool.learn  # type: ignore[union-attr]

        def learn(update: Any) -> None:
            learned.append(update.token_ids)
            before(update)

        pool.learn = learn  # type: ignore[union-attr, method-assign]
        finished_ids: Sequence[int] = ()
        events = assistant.replies([ask("Count", max_tokens=2), ask("Count up", max_tokens=300)])
        for index, event in events:
            if index == 0 and isinstance(event, Finished):
                finished_ids = event.token_ids
                break
        events.close()  # type: ignore[attr-defined]
        assert learned[0] == tuple(finished_ids)
        assert len(learned) == 2
        assert learned[1]


def test_a_secret_in_one_prompt_leaves_no_trace_and_the_others_teach(make: Make) -> None:
    from lacli.drafts.successor import SuccessorSource

    assistant = make()
    secret = ask("aws_access_key_id = AKIAQ7ZXCVBNM2ASDFGH Repeat it", max_tokens=12)
    first, second = finished(together(assistant, [secret, ask("Count to three", max_tokens=12)]))
    learned = assistant.loaded.source(SuccessorSource)  # type: ignore[union-attr]
    pairs = set(pairwise(second.token_ids))
    assert all(learned._find(_pair_key(*pair)) is not None for pair in list(pairwise(second.token_ids))[:-1])
    assert all(learned._find(_pair_key(*pair)) is None for pair in set(pairwise(first.token_ids)) - pairs)


@pytest.mark.parametrize("beside_others", [True, False])
def test_a_completion_of_which_nothing_was_shown_leaves_nothing_for_the_next_reply_to_store(
    beside_others: bool, make: Make
) -> None:
    from lacli.drafts.successor import SuccessorSource

    assistant = make()
    place = Place('key = "AKIAQ7ZXCVBNM2ASDFGH"\n' + FUNCTION, "\n\n\ndef sub(a, b):\n    return a - b\n", "a.py")
    request = Request(place=place, max_tokens=40, begins_again=True)
    events: Any = assistant.replies([request]) if beside_others else assistant.reply(request)
    pieces: list[Piece] = []
    for event in events:
        came = event[1] if beside_others else event
        if isinstance(came, Piece):
            pieces.append(came)
        if len(pieces) == 2:
            events.close()
    assert not any(piece.text for piece in pieces)
    learned = assistant.loaded.source(SuccessorSource)  # type: ignore[union-attr]
    keys, _, _ = learned.changes()
    assert not len(keys)
