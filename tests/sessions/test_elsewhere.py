"""Two programs that go on with the same session: each keeps what it said, and nothing is mixed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lacli.events import Counts
from lacli.sessions.recorder import Recorder
from lacli.sessions.records import Turn
from lacli.sessions.store import SessionStore, path
from tests.sessions.turns import turn

HERE = Path("/home/me/site")


def said(store: SessionStore, id_: str) -> list[str]:
    return [each.question.text for each in store.session(id_).turns]


@pytest.fixture
def begun(store: SessionStore) -> str:
    id_ = store.begin("chat", HERE, "m", "Be terse.")
    store.append(id_, turn("first", at=1.0))
    return id_


@pytest.fixture
def other(store: SessionStore, file: Path, begun: str) -> SessionStore:
    """Another process that goes on with the same session."""
    found = SessionStore(file, store._report)
    found.session(begun)
    return found


def test_the_second_one_who_writes_goes_on_in_a_session_of_its_own(
    store: SessionStore, other: SessionStore, begun: str, told: list[str]
) -> None:
    assert store.append(begun, turn("mine", at=2.0)) == begun
    own = other.append(begun, turn("theirs", at=3.0), "m")
    assert own != begun
    (line,) = told
    assert line.startswith(f"session {begun[:8]} was continued elsewhere")
    assert own[:8] in line
    assert other.append(own, turn("theirs again", at=4.0), "m") == own
    assert store.append(begun, turn("mine again", at=5.0)) == begun
    assert said(store, begun) == ["first", "mine", "mine again"]
    assert said(store, own) == ["first", "theirs", "theirs again"]
    session = store.session(own)
    assert (session.kind, session.project, session.system, session.title) == ("chat", HERE, "Be terse.", "first")
    assert session.turns[0].answer.token_ids
    assert len(told) == 1
    assert sum(store.days(everywhere=True).values(), Counts()).replies == 5


@pytest.mark.parametrize("change", ["asked again", "taken back", "told otherwise"])
def test_whatever_else_was_changed_there_is_not_changed_here(
    store: SessionStore, other: SessionStore, begun: str, change: str
) -> None:
    store.append(begun, turn("second", at=2.0))
    other.session(begun)
    if change == "asked again":  # SQLite gives the new turn the number of the old one
        store.replace_last(begun, turn("second", "another answer", at=3.0))
    elif change == "taken back":
        store.replace_last(begun, None)
    else:
        store.describe(begun, "Be long.")
    before = store.session(begun)
    own = other.append(begun, turn("third", at=4.0))
    assert store.session(begun) == before
    assert said(store, own) == ["first", "second", "third"]
    assert store.session(own).turns[1].answer.text == "a test"
    assert store.session(own).system == "Be terse."


def test_taking_back_here_takes_nothing_away_there(store: SessionStore, other: SessionStore, begun: str) -> None:
    store.append(begun, turn("second", at=2.0))
    other.session(begun)
    store.append(begun, turn("mine", at=3.0))
    own = other.replace_last(begun, None)
    assert said(store, begun) == ["first", "second", "mine"]
    assert said(store, own) == ["first"]
    assert other.describe(own, "Be long.") == own
    assert store.session(begun).system == "Be terse."


def test_what_was_deleted_stays_deleted_and_is_not_added_to(
    store: SessionStore, other: SessionStore, begun: str, told: list[str]
) -> None:
    SessionStore(store.path).remove([begun])
    assert store.append(begun, turn("mine", at=2.0)) == begun
    own = other.append(begun, turn("theirs", at=3.0))
    assert said(store, begun) == ["mine"]
    assert said(store, own) == ["theirs"]
    assert told[0].startswith("the earlier turns are gone")
    assert "was deleted elsewhere" in told[1]


def test_ids_of_another_model_are_forgotten_in_the_own_session_too(
    store: SessionStore, other: SessionStore, begun: str
) -> None:
    other.append(begun, turn("theirs", at=2.0), "large")
    store.append(begun, turn("mine", at=3.0), "m")
    own = other.append(begun, turn("more", at=4.0), "large")
    assert own == begun
    SessionStore(store.path).append(begun, turn("a third", at=5.0), "large")
    own = other.append(begun, turn("even more", at=6.0), "large")
    ids = [bool(each.answer.token_ids) for each in store.session(own).turns]
    assert ids == [False, True, True, True]


@pytest.mark.parametrize("seed", range(8))
def test_two_recorders_each_keep_what_they_said_whatever_the_order(seed: int, file: Path) -> None:
    dice = random.Random(seed)
    first = Recorder("chat", lambda notice: None)
    turns = [turn(str(number), at=float(number + 1)) for number in range(3)]
    for each in turns:
        first.keep(each, "m")
    second = Recorder("chat", lambda notice: None)
    second.resume(SessionStore(path()).session(first.id))
    kept = len(turns)
    known: list[tuple[Recorder, list[Turn]]] = [(first, list(turns)), (second, list(turns))]
    for step in range(10):
        recorder, own = dice.choice(known)
        new = turn(f"step {step}", at=100.0 + step)
        does = dice.choice(("keep", "keep", "again", "undo", "describe"))
        if does == "keep":
            recorder.keep(new, "m")
            own.append(new)
            kept += 1
        elif does == "again":
            recorder.keep(new, "m", replaces=True)
            own[-1] = new
            kept += 1
        elif does == "undo" and len(own) > 1:
            recorder.undo()
            own.pop()
        else:
            recorder.describe(f"system {step}")
    log = SessionStore(path())
    for recorder, own in known:
        assert [each.question for each in log.session(recorder.id).turns] == [each.question for each in own]
    assert sum(log.days(everywhere=True).values(), Counts()).replies == kept
