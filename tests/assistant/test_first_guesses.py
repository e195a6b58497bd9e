"""What a model starts to guess with: shipped, or learned once; an answer never waits for it twice."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacli import paths
from lacli.assistant import first_guesses, loading, ngram_table, primer
from lacli.bench.first_guesses import LIBRARY_OF
from lacli.config import Settings
from lacli.drafts.successor import SuccessorTable
from lacli.events import Event, Loading
from lacli.models.base import Quant
from lacli.models.prepare.prepare import PreparedModel
from lacli.text.tokenizer import Tokenizer
from tests.assistant.test_primer import LETTERS, VOCAB, runner


@pytest.fixture
def prepared(sandbox: Path) -> PreparedModel:
    """Some model of the user's own."""
    spec: Any = None
    return PreparedModel(paths.models_dir() / "some-0123456789ab-f3", spec, {}, (), None, (), (), None, "int4")


@pytest.fixture(autouse=True)
def text(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Little to learn, and less to count."""
    if request.node.get_closest_marker("model") is None:
        (tmp_path / "library.py").write_text("import os\n" * 9)
        monkeypatch.setattr(ngram_table, "library_files", lambda: [tmp_path / "library.py"])
        monkeypatch.setattr(primer, "text", lambda: "def one():\n    pass" * 200)


def made(prepared: PreparedModel, report: Callable[[Event], None] = lambda event: None) -> SuccessorTable | None:
    return first_guesses.known_or_made(prepared, runner(), LETTERS, report).primer


class TestMaking:
    def test_it_is_learned_once_with_progress_of_its_own_and_found_from_then_on(self, prepared: PreparedModel) -> None:
        events: list[Any] = []
        assert first_guesses.find(prepared, VOCAB) is None
        table = made(prepared, events.append)
        assert {event.stage for event in events} == {"prime"}
        ends = [event.total for event in events if event.done == event.total]
        assert ends == [primer.ENOUGH, 90]  # tokens, then bytes of the library
        assert ngram_table.find(LETTERS)
        assert equal(first_guesses.find(prepared, VOCAB), table)

    def test_ctrl_c_leaves_it_out_for_good(self, prepared: PreparedModel) -> None:
        def press(event: Event) -> None:
            raise KeyboardInterrupt

        assert equal(made(prepared, press), first_guesses.nothing())
        assert equal(first_guesses.find(prepared, VOCAB), first_guesses.nothing())

    def test_so_it_does_with_what_is_counted_after_what_was_learned(self, prepared: PreparedModel) -> None:
        def press(event: Event) -> None:
            if isinstance(event, Loading) and event.total == 90:
                raise KeyboardInterrupt

        table = made(prepared, press)
        assert table is not None
        assert len(table[0])
        found = ngram_table.find(LETTERS)
        assert found is not None
        assert len(found) == 0
        assert first_guesses.wanted(prepared, LETTERS)
        assert ngram_table.find(LETTERS) is None  # so that it is counted now

    def test_a_call_that_is_cancelled_does_not_find_it_in_its_way_again(self, prepared: PreparedModel) -> None:
        class Cancelled(BaseException):
            pass

        def cancel(event: Event) -> None:
            raise Cancelled

        with pytest.raises(Cancelled):
            made(prepared, cancel)
        assert equal(first_guesses.find(prepared, VOCAB), first_guesses.nothing())

    def test_a_model_that_fails_at_it_leaves_nothing(self, prepared: PreparedModel) -> None:
        def fail(event: Event) -> None:
            raise ValueError("bad")

        with pytest.raises(ValueError, match="bad"):
            made(prepared, fail)
        assert first_guesses.find(prepared, VOCAB) is None

    def test_where_it_cannot_be_kept_it_is_not_learned_at_each_start(self, prepared: PreparedModel) -> None:
        paths.cache_dir().mkdir(parents=True, exist_ok=True)
        (paths.cache_dir() / "primers").write_text("")
        assert made(prepared, lambda event: pytest.fail("learned")) is None


class TestFinding:
    def test_one_of_an_older_text_serves_until_there_is_a_newer(
        self, prepared: PreparedModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = made(prepared)
        monkeypatch.setattr(primer, "version", lambda: "newer")
        assert equal(first_guesses.find(prepared, VOCAB), old)
        assert first_guesses.wanted(prepared, LETTERS)

    def test_another_quantisation_is_another_model(self, prepared: PreparedModel) -> None:
        made(prepared)
        assert first_guesses.find(replace(prepared, quant="int8"), VOCAB) is None

    def test_folders_of_the_same_name_elsewhere_are_told_apart(self, prepared: PreparedModel, tmp_path: Path) -> None:
        made(replace(prepared, folder=tmp_path / "one" / "model"))
        assert first_guesses.find(replace(prepared, folder=tmp_path / "other" / "model"), VOCAB) is None
        assert first_guesses.find(replace(prepared, folder=tmp_path / "one" / "model"), VOCAB) is not None

    def test_a_damaged_one_is_made_anew(self, prepared: PreparedModel) -> None:
        made(prepared)
        (file,) = (paths.cache_dir() / "primers").glob("*.npz")
        file.write_bytes(file.read_bytes()[:100])
        assert first_guesses.find(prepared, VOCAB) is None


class TestWhatPullMakes:
    def test_what_is_not_there_and_what_was_left_out(self, prepared: PreparedModel) -> None:
        def press(event: Event) -> None:
            raise KeyboardInterrupt

        assert first_guesses.wanted(prepared, LETTERS)
        made(prepared, press)
        assert first_guesses.wanted(prepared, LETTERS)
        assert first_guesses.find(prepared, VOCAB) is None  # so that it is learned now
        made(prepared)
        assert not first_guesses.wanted(prepared, LETTERS)


def equal(one: SuccessorTable | None, other: SuccessorTable | None) -> bool:
    assert one is not None
    assert other is not None
    return all(np.array_equal(ours, theirs) for ours, theirs in zip(one, other, strict=True))


@pytest.mark.model
@pytest.mark.parametrize("quant", ["int4", "int8"])
def test_the_default_model_brings_its_own(quant: Quant, prepared_as: Callable[[Quant], PreparedModel]) -> None:
    """Made with another text, model or format they would have other names."""
    prepared = prepared_as(quant)
    assert first_guesses.shipped_file(prepared).is_file()
    tokenizer = Tokenizer.load(prepared.folder)
    assert not first_guesses.wanted(prepared, tokenizer)
    assert ngram_table.find(tokenizer)
    found = first_guesses.find(prepared, prepared.config["vocab_size"])
    assert found is not None
    assert len(found[0]) > 5000


@pytest.mark.model
@pytest.mark.slow
def test_what_ships_is_what_would_be_made(prepared_as: Callable[[Quant], PreparedModel]) -> None:
    from lacli.bench.first_guesses import learned

    prepared = prepared_as("int4")
    assert equal(first_guesses.find(prepared, prepared.config["vocab_size"]), learned(prepared))


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.skipif(platform.python_version() != LIBRARY_OF, reason="another library to count in")
def test_so_are_the_n_grams_that_ship(prepared_default: PreparedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    tokenizer = Tokenizer.load(prepared_default.folder)
    assert ngram_table.counted(tokenizer, lambda done, total: None) == ngram_table.shipped_file(tokenizer).read_bytes()


@pytest.mark.model
def test_nothing_is_learned_in_front_of_an_answer(sandbox_with_model: Path) -> None:
    events: list[Event] = []
    loaded = loading.load(Settings(pool=False, offline=True), events.append)
    assert loaded.primer is not None
    assert not [event for event in events if isinstance(event, Loading) and event.stage == "prime"]
