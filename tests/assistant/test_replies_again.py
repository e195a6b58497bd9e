"""Completions begun once more, and several of one place: on the real default model, plainly, guessed and batched."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from lacli.edits.tree.syntax import is_sound
from lacli.events import Finished, Piece, Place, Request
from tests.assistant.test_replies import few_places
from tests.assistants import Make, loaded, make

__all__ = ["loaded", "make"]
pytestmark = pytest.mark.model

PLACE = Place("def add(a, b):\n    return ", "\n", "a.py")
REQUEST = Request(place=PLACE, max_tokens=12)
SAMPLED = dataclasses.replace(REQUEST, temperature=0.9, seed=7)


def last(events: Any) -> Finished:
    *_, finished = events
    assert isinstance(finished, Finished)
    return finished


def emptied(make: Make, request: Request) -> Request:
    """The same request, with a stop that leaves nothing of its text."""
    text = last(make(pool=False).reply(request)).text
    assert text.strip()
    return dataclasses.replace(request, stops=(text.lstrip()[:2],))


class TestBeginsAgain:
    @pytest.mark.parametrize("request_", [REQUEST, SAMPLED])
    @pytest.mark.default_cases(1)
    def test_what_the_rules_emptied_is_begun_with_another_token_and_the_text_is_that_of_plain_decoding(
        self, request_: Request, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = emptied(make, request_)
        alone = last(make(lookahead=False, pool=False).reply(asked))
        assert (alone.text, alone.token_ids) == ("", ())
        asked = dataclasses.replace(asked, begins_again=True)
        expected = last(make(lookahead=False, pool=False).reply(asked))
        assert expected.text.strip()
        assert expected.stats.predicted_n == len(expected.token_ids) > 0
        few_places(monkeypatch, 3)
        for _ in range(2):  # the second finds what the first has put into the pool
            found = [last(make().reply(asked))]
            found += [
                event for _, event in make().replies([REQUEST, asked, asked, SAMPLED]) if isinstance(event, Finished)
            ]
            texts = [(each.text, each.token_ids, each.reason) for each in found]
            assert texts.count((expected.text, expected.token_ids, expected.reason)) == 3

    def test_it_costs_one_row_of_the_prompt(self, make: Make) -> None:
        asked = dataclasses.replace(emptied(make, REQUEST), begins_again=True)
        assistant = make(lookahead=False, pool=False)
        assistant.loaded.cached.begin((0,))  # type: ignore[union-attr]
        stats = last(assistant.reply(asked)).stats
        assert stats.reused_n == 0
        assert stats.prompt_n == stats.ctx_used - stats.predicted_n

    def test_what_was_given_up_is_in_no_count(self, make: Make) -> None:
        """Nor does plain decoding, against which savings are told, save anything against itself."""
        asked = dataclasses.replace(emptied(make, REQUEST), begins_again=True)
        plain = last(make(lookahead=False, pool=False).reply(asked)).stats
        assert plain.given_up_n > 0
        assert (plain.saved_n, plain.steps) == (0, plain.plain_steps)
        assistant = make()
        stats = last(assistant.reply(asked)).stats
        assert (stats.plain_steps, stats.given_up_n) == (plain.plain_steps, plain.given_up_n)
        totals = assistant.loaded.pool.totals()  # type: ignore[union-attr]
        assert (totals["tokens"], totals["steps"], totals["saved_steps"]) == (
            stats.predicted_n, stats.steps, stats.saved_n,
        )  # fmt: skip

    def test_of_what_may_be_refused_nothing_counts_as_saved(self, make: Make) -> None:
        assistant = make()
        stats = last(assistant.reply(dataclasses.replace(REQUEST, may_be_refused=True))).stats
        totals = assistant.loaded.pool.totals()  # type: ignore[union-attr]
        assert (totals["tokens"], totals["saved_steps"], totals.get("saved_ms")) == (stats.predicted_n, 0, None)

    def test_a_reply_that_says_something_is_left_as_it_is(self, make: Make) -> None:
        plain = last(make(pool=False).reply(REQUEST))
        again = last(make(pool=False).reply(dataclasses.replace(REQUEST, begins_again=True)))
        assert (again.text, again.token_ids) == (plain.text, plain.token_ids)

    def test_where_nothing_need_be_missing_nothing_is_believed(self, make: Make) -> None:
        place = Place("def add(a, b):\n    return a + b", "\n", "a.py")
        asked = emptied(make, dataclasses.replace(REQUEST, place=place))
        again = last(make(pool=False).reply(dataclasses.replace(asked, begins_again=True)))
        assert not again.text.strip()
        assert again.text == last(make(pool=False).reply(asked)).text

    def test_it_is_tried_once(self, make: Make) -> None:
        never = dataclasses.replace(REQUEST, stops=tuple(map(chr, range(1, 256))), begins_again=True)
        finished = last(make(pool=False).reply(never))
        assert (finished.text, finished.token_ids, finished.reason) == ("", (), "stop")


class TestJudgedByTheFilesGrammar:
    """Whatever is tried: what is delivered is the same in every way of decoding, and is what was shown."""

    PLACES = (
        Place("def add(a, b):\n    ", "\n        return a\n    return b\n", "a.py"),
        Place("x = [\n    1,\n    ", "\n}\n", "a.py"),
        Place("def add(a, b):\n    if ", "\n        return a\n    return b\n", "a.py", scope="line"),
        Place("[tool.", "]\nx = 1\n", "a.toml"),
    )

    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("temperature", [0.0, 0.9])
    @pytest.mark.default_cases(2)
    def test_the_text_is_that_of_plain_decoding(
        self, place: Place, temperature: float, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = Request(place=place, max_tokens=24, temperature=temperature, seed=3, begins_again=True)
        events = list(make(lookahead=False, pool=False).reply(asked))
        expected = last(iter(events))
        pieces = [event.text for event in events if isinstance(event, Piece)]
        assert "".join(pieces) == expected.text
        assert expected.stats.predicted_n == len(expected.token_ids)
        assert bool(expected.token_ids) is bool(expected.text)
        few_places(monkeypatch, 2)
        found = [last(make().reply(asked))]
        found += [event for _, event in make().replies([asked, REQUEST, asked]) if isinstance(event, Finished)]
        texts = [(each.text, each.token_ids, each.reason) for each in found]
        assert texts.count((expected.text, expected.token_ids, expected.reason)) == 3

    def test_it_parses_where_the_first_text_does_not(self, make: Make) -> None:
        request = Request(place=self.PLACES[0], max_tokens=24)
        alone = last(make(pool=False).reply(request)).text
        mended = last(make(pool=False).reply(dataclasses.replace(request, begins_again=True))).text
        place = self.PLACES[0]
        sound = [is_sound(place.prefix + text + place.suffix, "python") for text in (alone, mended)]
        assert sound == [False, True]


class TestBeginning:
    def test_each_has_a_first_token_of_its_own_by_the_models_ranking(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        requests = [dataclasses.replace(REQUEST, beginning=rank) for rank in range(4)]
        plain = [last(make(lookahead=False, pool=False).reply(each)) for each in requests]
        assert len({each.token_ids[0] for each in plain if each.token_ids}) == len([p for p in plain if p.token_ids])
        assert plain[0].text == last(make(pool=False).reply(REQUEST)).text
        few_places(monkeypatch, 4)
        together = {index: event for index, event in make().replies(requests) if isinstance(event, Finished)}
        assert [together[index].text for index in range(4)] == [each.text for each in plain]
        for index, each in enumerate(plain):
            assert each.likelihood is None if not each.token_ids else each.likelihood < 0
            assert together[index].likelihood == pytest.approx(each.likelihood)
        assert sum(each.stats.reused_n > 0 for each in together.values()) >= 3

    def test_an_ordinary_reply_is_not_weighed(self, make: Make) -> None:
        assert last(make(pool=False).reply(REQUEST)).likelihood is None
