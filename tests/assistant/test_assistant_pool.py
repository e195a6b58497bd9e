"""The assistant on the real default model: what it counts, and what its pool keeps."""

from __future__ import annotations

import dataclasses
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from lacli.errors import UsageError
from lacli.events import Counts, Notice, Piece, Place, Request
from tests.assistants import QUESTION, Make, ask, loaded, make, reply

__all__ = ["loaded", "make"]


class TestSaved:
    """What was saved is told against what plain decoding really takes."""

    @pytest.mark.parametrize(
        "options",
        [
            {"max_tokens": 9},
            {"max_tokens": 64, "text": "Say ok."},
            {"stops": ("two", "re")},
            {"stops": (" python function",)},
            {"stops": ("unction",)},
        ],
        ids=str,
    )
    @pytest.mark.default_cases(2)
    def test_steps_of_plain_decoding_are_counted_exactly_wherever_a_reply_ends(
        self, make: Make, options: dict[str, Any]
    ) -> None:
        options = {"text": "Repeat: here is a python function", **options}
        plain = reply(make(lookahead=False, pool=False), ask(**options))
        reply(make(), ask(**options))
        warm = reply(make(), ask(**options))
        assert warm.text == plain.text
        assert plain.stats.saved_n == 0
        assert plain.stats.saved_ms is None
        assert warm.stats.plain_steps == plain.stats.steps
        assert warm.stats.saved_n == plain.stats.steps - warm.stats.steps > 0

    def test_time_saved_is_by_what_plain_steps_would_have_taken_in_their_place_and_may_be_negative(
        self, make: Make
    ) -> None:
        from lacli.engine.cost import CostCurve

        for second_row_ms in (1e6, 2e6):  # for nothing, and too dear to be bought; the speed of the curve says nothing
            stats = reply(make(pool=False, curve=CostCurve({1: 1e6, 2: second_row_ms})), ask(QUESTION)).stats
            assert stats.plain_step_ms is not None
            assert 0 < stats.plain_step_ms * stats.steps <= 1.000001 * (stats.step_ms - stats.draft_ms)
            assert stats.saved_ms == stats.plain_steps * stats.plain_step_ms - stats.step_ms
            assert (stats.saved_ms > 0) == (second_row_ms == 1e6)
        assert reply(make(pool=False), ask(QUESTION, max_tokens=3)).stats.saved_ms is None


class TestFlags:
    """Every flag that bounds guessing is seen in the counts, and none of them in the text."""

    def test_each_changes_what_is_counted(self, make: Make) -> None:
        first = reply(make(), ask(QUESTION))
        usual = reply(make(), ask(QUESTION)).stats
        assert {"project", "window"} <= usual.drafted_by_source.keys()
        told = {}
        for name, settings in {
            "plain": {"lookahead": False},
            "no pool": {"pool": False},
            "no window": {"window": 0},
            "no chains": {"guesses": 0},
            "short n-grams": {"ngram": 2, "pool": False},
        }.items():
            finished = reply(make(learn=False, **settings), ask(QUESTION))
            assert finished.token_ids == first.token_ids
            told[name] = finished.stats
        assert told["plain"].rows_bought == told["plain"].draft_n == 0
        assert "project" not in told["no pool"].drafted_by_source
        assert "window" not in told["no window"].drafted_by_source
        assert "project" not in told["no chains"].drafted_by_source
        assert told["short n-grams"].rows != told["no pool"].rows


def files_below(folder: Path) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


class TestPool:
    @pytest.mark.parametrize("settings", [{"learn": False}, {"pool_mb": 0.0}, {"pools_mb": 0.0}], ids=str)
    @pytest.mark.default_cases(1)
    def test_no_learn_and_a_cap_of_nothing_read_and_write_nothing(
        self, make: Make, sandbox: Path, settings: dict[str, Any]
    ) -> None:
        reply(make(), ask(QUESTION, max_tokens=12))
        before = files_below(sandbox / "state")
        finished = reply(make(**settings), ask(QUESTION))
        assert finished.stats.accepted_by_source["project"] > 0
        assert finished.stats.pool_size == 12
        assert files_below(sandbox / "state") == before

    def test_no_pool_neither_reads_nor_makes_anything(self, make: Make, sandbox: Path) -> None:
        reply(make(), ask(QUESTION, max_tokens=4))
        before = files_below(sandbox / "state")
        finished = reply(make(pool=False), ask(QUESTION, max_tokens=8))
        assert "project" not in finished.stats.drafted_by_source
        assert finished.stats.pool_size == 0
        assert files_below(sandbox / "state") == before

    def test_another_project_is_helped_by_nothing_learned_here(self, make: Make, tmp_path: Path) -> None:
        reply(make(), ask(QUESTION))
        (tmp_path / "other" / ".git").mkdir(parents=True)
        (tmp_path / "other" / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
        other = make(project=tmp_path / "other")
        assert reply(other, ask(QUESTION)).stats.drafted_by_source.get("project", 0) == 0
        assert reply(make(), ask(QUESTION)).stats.accepted_by_source["project"] > 0

    def test_one_assistant_serves_projects_in_turn_and_mixes_none_of_them(self, make: Make, tmp_path: Path) -> None:
        here = dataclasses.replace(make()._settings)
        assistant = make()
        first = reply(assistant, ask(QUESTION))
        (tmp_path / "other" / ".git").mkdir(parents=True)
        (tmp_path / "other" / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
        assistant.enter(dataclasses.replace(here, folder=tmp_path / "other"))
        other = reply(assistant, ask(QUESTION))
        assert other.token_ids == first.token_ids
        assert other.stats.drafted_by_source.get("project", 0) == 0
        assert other.stats.pool_size == 16  # its own alone
        assistant.enter(here)
        assert assistant.loaded is not None
        assert assistant.loaded.pool is not None
        assert assistant.loaded.pool.key.root == tmp_path

    def test_projects_not_used_for_long_are_closed_and_come_back(self, make: Make, tmp_path: Path) -> None:
        assistant = make()
        here = assistant._settings
        reply(assistant, ask(QUESTION, max_tokens=8))
        for name in "abcd":
            (tmp_path / name).mkdir()
            assistant.enter(dataclasses.replace(here, folder=tmp_path / name, pool=False))
            reply(assistant, ask(QUESTION, max_tokens=2))
        assert len(assistant._projects) == 4
        assistant.enter(here)
        assert assistant.loaded is None
        assert reply(assistant, ask(QUESTION, max_tokens=8)).stats.pool_size == 8

    def test_settings_of_another_model_are_refused(self, make: Make) -> None:
        assistant = make()
        with pytest.raises(UsageError, match="another model"):
            assistant.enter(dataclasses.replace(assistant._settings, model="other"))

    def test_table_calibration_credits_and_totals_outlive_the_process(self, make: Make) -> None:
        from lacli.drafts.lookup import PromptSource
        from lacli.drafts.successor import SuccessorSource
        from lacli.pool.inventory import project_info

        first = make()
        told = [reply(first, ask(QUESTION)).stats]
        second = make()
        assert first.loaded is not None
        assert second.loaded is not None
        for kind in (PromptSource, SuccessorSource):
            old, new = first.loaded.source(kind), second.loaded.source(kind)
            assert new.numbers() == pytest.approx(old.numbers(), rel=1e-4)
            assert any(new.numbers())
        assert len(second.loaded.source(SuccessorSource)) == len(first.loaded.source(SuccessorSource)) > 16
        told.append(reply(second, ask(QUESTION)).stats)
        pool = second.loaded.pool
        assert pool is not None
        kept, summed = Counts.of_totals(pool.totals()), Counts() + told[0] + told[1]
        assert kept == dataclasses.replace(
            summed, draft_ms=pytest.approx(summed.draft_ms, abs=1), step_ms=pytest.approx(summed.step_ms, abs=1)
        )
        (shown,) = project_info(pool.path.parent.parent).pools
        assert shown.hits == 1
        assert shown.value >= told[1].accepted_by_source["project"]

    def test_a_prompt_with_a_secret_leaves_no_trace_in_the_successor_table(self, make: Make) -> None:
        from lacli.drafts.successor import SuccessorSource

        assistant = make()
        reply(assistant, ask("My key is AKIAIOSFODNN7QWERTYZ. Say hello.", max_tokens=6))
        assert assistant.loaded is not None
        pool, successors = assistant.loaded.pool, assistant.loaded.source(SuccessorSource)
        assert pool is not None
        assert pool.table() is None
        assert len(successors) == 0
        reply(assistant, ask(QUESTION, max_tokens=6))
        assert pool.table() is not None

    def test_a_value_of_the_project_s_own_env_file_is_not_stored(self, make: Make, tmp_path: Path) -> None:
        request = Request(place=Place("the gate opens for tulip-harbour-1907, "), max_tokens=4)
        assert reply(make(), request).stats.pool_size == 4
        (tmp_path / ".env").write_text("DB_PASSWORD=tulip-harbour-1907\n", encoding="utf-8")
        assert reply(make(), dataclasses.replace(request, max_tokens=6)).stats.pool_size == 4

    def test_a_reply_left_by_its_reader_teaches_only_what_was_shown(self, make: Make) -> None:
        whole = reply(make(pool=False), ask(QUESTION)).text
        start = len(whole) // 2
        assistant = make()
        events = assistant.reply(ask(QUESTION, stops=(whole[start : start + 12] + "\x00",)))
        shown = ""
        for event in events:
            if isinstance(event, Piece):
                shown += event.text
                if event.stats.predicted_n > 4 and not event.text:  # something is held back, as a stop may be coming
                    break
        events.close()  # type: ignore[attr-defined]
        assert assistant.loaded is not None
        assert assistant.loaded.pool is not None
        (stored,) = assistant.loaded.pool.segments()
        text = assistant.loaded.tokenizer.decode(stored.tolist())
        assert len(text) > 4
        assert whole.startswith(shown)
        assert shown.startswith(text)

    def test_a_reply_that_continues_a_secret_is_not_stored(self, make: Make) -> None:
        assistant = make()
        request = Request(place=Place('key, other = "AKIAIOSFODNN7QWERTYZ", '), max_tokens=8)
        finished = reply(assistant, request)
        assert finished.token_ids
        assert finished.stats.pool_size == 0

    def test_the_session_is_remembered_without_a_pool(self, make: Make) -> None:
        assistant = make(pool=False)
        reply(assistant, ask(QUESTION))
        again = reply(assistant, ask(QUESTION))
        assert again.stats.accepted_by_source["session"] > 0

    def test_a_full_disk_stops_learning_for_the_client_who_was_there_and_for_no_later_one(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assistant = make(keep_prompts=True)
        settings = assistant._settings

        def full(path: Path) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr("lacli.storage.files.make_private", full)
            events = list(assistant.reply(ask("Name a fruit. " * 20)))
        told = [event.text for event in events if isinstance(event, Notice)]
        assert any("nothing is learned" in text for text in told)
        assert any("is not kept" in text for text in told)
        assert reply(assistant, ask(QUESTION)).stats.pool_size == 0
        assistant.enter(settings)
        assert reply(assistant, ask(QUESTION)).stats.pool_size == 16
        kept = assistant.loaded.kept  # type: ignore[union-attr]
        assert kept is not None
        assert not kept.store.gave_up
        before = assistant.loaded
        assistant.enter(settings)
        assert assistant.loaded is before  # where nothing failed, nothing is opened again
