"""Case S1: what is searched for is text, never a query."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.events import Attachment
from lacli.sessions.store import SessionStore
from tests.sessions.turns import turn

HERE = Path("/home/me/site")
TEXTS = (
    "the wrong-book list",
    "we don't know",
    'she said "half of it',
    "a:b and C++ and *args",
    "NEAR( is a word AND so is OR NOT",
    "on ubuntu 20.04 it fails",
    "写一个错题本",
    "100%_done \\ ^col {x} ;--",
    "Straße und ÉCOLE",
)


@pytest.fixture
def filled(store: SessionStore) -> SessionStore:
    for at, text in enumerate(TEXTS):
        store.append(store.begin("ask", HERE, "m"), turn(text, "fine", at=float(at)))
    return store


def found(store: SessionStore, text: str) -> list[str]:
    return [hit.session.title for hit in store.search(text, HERE)]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("wrong-book", 0),
        ("don't", 1),
        ('"half', 2),
        ("a:b", 3),
        ("C++", 3),
        ("*", 3),
        ("NEAR(", 4),
        ("AND so is OR NOT", 4),
        ("ubuntu 20.04", 5),
        ("错题", 6),
        ("%_", 7),
        ("\\ ^col {x} ;--", 7),
        ("STRASSE", 8),
        ("e\u0301cole", 8),
    ],
)
def test_a_text_is_found_as_it_stands_and_no_other_with_it(filled: SessionStore, text: str, where: int) -> None:
    assert found(filled, text) == [TEXTS[where]]


def test_no_beginning_of_any_text_is_an_error_and_each_finds_it(filled: SessionStore) -> None:
    for text in (*TEXTS, "'); DROP TABLE turns; --", "\udcff", "\0", "🇪🇺👩‍💻"):
        for end in range(len(text) + 1):
            hits = found(filled, text[:end])
            assert text in hits or text not in TEXTS


def test_no_text_finds_every_session(filled: SessionStore) -> None:
    assert found(filled, "") == list(reversed(TEXTS))


def test_questions_answers_attachments_and_their_names_are_searched(store: SessionStore) -> None:
    id_ = store.begin("chat", HERE, "m")
    attached = (Attachment("src/Walk.py", "import os\n"), Attachment("b.txt", "needle in it"))
    store.append(id_, turn("one", "two"))
    store.append(id_, turn("three", "four", attachments=attached))
    store.append(id_, turn("one", "five"))
    hits = {text: store.search(text, HERE)[0] for text in ("one", "FOUR", "needle", "walk.py")}
    assert [(hit.turn, hit.where, hit.matches) for hit in hits.values()] == [
        (3, "question", 2),
        (2, "answer", 1),
        (2, "b.txt", 1),
        (2, "src/Walk.py", 1),
    ]
    assert store.search("seven", HERE) == []


def test_other_projects_are_searched_only_where_asked(store: SessionStore) -> None:
    store.append(store.begin("ask", Path("/other"), "m"), turn("needle"))
    store.append(store.begin("ask", None, "m"), turn("needle"))
    assert store.search("needle", HERE) == []
    assert len(store.search("needle")) == 1
    assert len(store.search("needle", everywhere=True)) == 2


@pytest.mark.parametrize("before", ["", "x" * 500, "ß\n" * 300, "İ" * 300, "e\u0301" * 300])
def test_an_excerpt_shows_the_text_on_one_line(store: SessionStore, before: str) -> None:
    store.append(store.begin("ask", HERE, "m"), turn(f"{before} the\nNEEDLE here {'y' * 500}"))
    excerpt = store.search("needle HERE", HERE)[0].excerpt
    assert "the NEEDLE here" in excerpt
    assert len(excerpt) < 160
    assert excerpt.endswith("...")
    assert excerpt.startswith("...") == bool(before)
