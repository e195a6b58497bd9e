"""The double behaves as the real assistant does where front ends could tell the difference."""

from __future__ import annotations

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.errors import LacliError, ModelUnavailable
from lacli.events import Failed, Finished, Loading, Piece, Place, ReplyStats, Request


def test_a_text_is_told_in_pieces_that_join_to_it_with_counts_that_agree() -> None:
    events = list(ScriptedAssistant(["one two\nthree four five"]).reply(Request()))
    pieces = [event for event in events if isinstance(event, Piece)]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert "".join(piece.text for piece in pieces) == finished.text == "one two\nthree four five"
    assert sum(len(piece.sources) for piece in pieces) == finished.stats.predicted_n == len(finished.token_ids)
    assert finished.stats.steps == len(pieces) - 1
    assert finished.stats.draft_n_accepted <= finished.stats.draft_n


def test_a_cancel_ends_it_with_what_was_told() -> None:
    asked = iter([False, False, True])
    events = list(ScriptedAssistant(["one two three four"]).reply(Request(), lambda: next(asked)))
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert (finished.reason, finished.text) == ("cancelled", "one")
    assert finished.stats.predicted_n == 1


def test_scripts_are_played_in_order_and_an_error_is_raised() -> None:
    assistant = ScriptedAssistant(["a", ModelUnavailable("gone"), [Finished("b", (), "stop", ReplyStats())]])
    assert isinstance(list(assistant.reply(Request(place=Place("1"))))[-1], Finished)
    with pytest.raises(LacliError):
        list(assistant.reply(Request(place=Place("2"))))
    assert len(list(assistant.reply(Request(place=Place("3"))))) == 1
    assert [request.place.prefix for request in assistant.requests] == ["1", "2", "3"]


def test_opening_reports_its_events() -> None:
    reported: list[object] = []
    ScriptedAssistant([], opening=[Loading("load")]).open(reported.append)
    assert reported == [Loading("load")]


def test_many_replies_come_in_turns_each_with_its_place() -> None:
    assistant = ScriptedAssistant(["one two three", ModelUnavailable("gone"), "four"])
    heard = list(assistant.replies(Request(place=Place(str(number))) for number in range(3)))
    assert {index: event.text for index, event in heard if isinstance(event, Finished)} == {
        0: "one two three",
        2: "four",
    }
    assert [(index, event.exit_code) for index, event in heard if isinstance(event, Failed)] == [(1, 3)]
    assert [index for index, _ in heard][:2] == [0, 1]
