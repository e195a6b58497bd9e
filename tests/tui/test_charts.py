"""What the charts of the Decode panel are made of: columns, bars, tallies, lines of a fixed width, colours."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from rich.cells import cell_len

from lacli_tui.decoding import Run, SourceTrace, StepStats, runs
from lacli_tui.glyphs import FINE, PLAIN, Glyphs, is_ascii_terminal
from lacli_tui.messages import Decoded
from lacli_tui.resources import memory_mb, pool_facts
from lacli_tui.themes import THEMES, theme_for, variables
from lacli_tui.widgets.histogram import bar, histogram
from lacli_tui.widgets.rows import apart, cut, flowed, joined, line
from lacli_tui.widgets.sparkline import sparkline

AWKWARD = ["漢字", "👩‍💻", "e\u0301", "⏺️", "ｱ", "ي", "\t", "\x1b[31m", "a\nb", "[/x]", "🇪🇺", "\u200b", "\ud800"]


class TestSparkline:
    def test_the_newest_step_is_at_the_right_and_nothing_kept_is_a_speck(self) -> None:
        assert sparkline([4, 0, 2], 5, FINE) == ["  █·▄"]

    def test_only_the_newest_steps_are_shown(self) -> None:
        assert sparkline([0, 0, 0, 1, 4], 2, FINE) == ["▂█"]

    def test_a_column_goes_on_in_the_row_above(self) -> None:
        assert sparkline([1, 4], 2, FINE, rows=2) == [" █", "▄█"]

    def test_the_scale_grows_with_the_highest_step(self) -> None:
        assert sparkline([4, 16], 2, FINE) == ["▂█"]

    def test_whatever_was_kept_is_seen(self) -> None:
        assert sparkline([1, 1000], 2, FINE) == ["▁█"]

    @pytest.mark.parametrize("width", [0, 1, 40])
    def test_lines_have_their_width(self, width: int) -> None:
        assert [len(each) for each in sparkline([1, 2, 3], width, PLAIN, rows=3)] == [width] * 3


class TestHistogram:
    def test_columns_stand_over_their_numbers(self) -> None:
        assert histogram([8, 4], 10, 1, FINE) == ["█ ▄       ", "0 1 2 3 + "]

    def test_all_that_is_higher_is_in_the_last_column(self) -> None:
        assert histogram([0], 10, 2, FINE)[:2] == [" " * 10, "· · · · · "]
        assert histogram([1, 0, 0, 2, 2, 4], 8, 1, FINE)[0] == "▁     █ "

    @pytest.mark.parametrize("glyphs", [FINE, PLAIN])
    def test_lines_have_their_width(self, glyphs: Glyphs) -> None:
        for width in range(4, 60):
            assert {len(each) for each in histogram([3, 1, 2], width, 4, glyphs)} == {width}

    def test_a_bar_is_as_long_as_its_share(self) -> None:
        assert [bar(share, 4, FINE) for share in (0.0, 0.001, 0.5, 1.0, 7.0)] == [
            "    ",
            "▏   ",
            "██  ",
            "████",
            "████",
        ]


class TestTally:
    def test_what_prefill_gave_is_no_step(self) -> None:
        tally = StepStats()
        tally.add([Decoded("a", ("",))], begins=True)
        assert (tally.steps, tally.now) == (0, None)
        tally.add([Decoded("b c", ("project", "")), Decoded("d", ("",))], begins=False)
        assert (tally.steps, tally.now, list(tally.accepted), tally.counts) == (2, 1.5, [1, 0], [1, 1])

    def test_now_is_the_last_sixteen_steps(self) -> None:
        tally = StepStats()
        tally.add([Decoded("", ("",))] + [Decoded("", ("",))] * 50 + [Decoded("", ("p", "p", ""))] * 16, begins=True)
        assert tally.now == 3

    def test_another_reply_begins_anew(self) -> None:
        tally = StepStats()
        tally.add([Decoded("", ("",)), Decoded("", ("files", ""))], begins=True)
        tally.add([], begins=True)
        tally.add([Decoded("", ("",)), Decoded("", ("",))], begins=False)
        assert (tally.steps, tally.counts) == (1, [1])

    def test_a_last_step_without_a_token_is_a_step(self) -> None:
        tally = StepStats()
        tally.add([Decoded("", ("",)), Decoded("", ())], begins=True)
        assert (tally.steps, tally.now) == (1, 0)


class TestRuns:
    def test_neighbours_of_one_source_and_step_are_one_run(self) -> None:
        steps = [
            Decoded("a", ("",), (1,)),
            Decoded("bcd", ("files", "files", ""), (1, 1, 1)),
            Decoded("e", ("",), (1,)),
            Decoded("fg", ("files", ""), (1, 1)),
        ]
        assert runs("abcdefg", SourceTrace(steps)) == [
            Run("a", ""),
            Run("bc", "files"),
            Run("de", ""),
            Run("f", "files"),
            Run("g", ""),
        ]

    def test_text_that_came_later_than_its_token_is_its_token_s_all_the_same(self) -> None:
        steps = [Decoded("", ("prompt", ""), (2, 1)), Decoded("abcd", ("",), (1,))]
        assert runs("abcd", SourceTrace(steps)) == [Run("ab", "prompt"), Run("cd", "")]

    def test_whatever_the_steps_say_the_text_is_whole(self) -> None:
        chance = random.Random(5)
        for _ in range(300):
            text = "".join(chance.choice("ab漢 \n") for _ in range(chance.randint(0, 12)))
            steps = [
                Decoded(
                    "", tuple(chance.choices(("", "window", "other"), k=n)), tuple(chance.choices((0, 1, 2, 3), k=n))
                )
                for n in chance.choices((0, 1, 3), k=chance.randint(0, 5))
            ]
            assert "".join(run.text for run in runs(text, SourceTrace(steps))) == text


class TestLines:
    @pytest.mark.parametrize("text", AWKWARD)
    def test_a_line_has_its_width_in_cells_whatever_is_in_it(self, text: str) -> None:
        for width in range(12):
            for content in (
                line([(cut(text * 3, width), "")], width),
                apart([(cut(text, 4), "")], [("12", "")], width),
            ):
                assert cell_len(content.plain) == width
                assert "\n" not in content.plain
                assert "\x1b" not in content.plain

    def test_what_does_not_fit_is_left_out_from_the_end(self) -> None:
        groups = [[("one", "")], [("two", "")], [("three", "")]]
        assert "".join(text for text, _ in joined(groups, (" · ", ""), 10)) == "one · two"

    def test_no_item_is_broken_where_lines_flow(self) -> None:
        lines = flowed([[("a b", "")], [("c d", "")], [("e f", "")]], 2, 8)
        assert ["".join(text for text, _ in each) for each in lines] == ["a b  c d", "e f"]


class TestSurroundings:
    def test_colours_follow_what_is_wanted_then_the_terminal(self) -> None:
        assert theme_for("nord", few_colours=True, environment={}) == "nord"
        assert theme_for("", few_colours=True, environment={}) == "ansi"
        assert theme_for("", few_colours=False, environment={"COLORFGBG": "0;15"}) == "light"
        assert theme_for("", few_colours=False, environment={"COLORFGBG": "15;0"}) == "dark"
        assert theme_for("", few_colours=False, environment={}) == "dark"

    def test_every_theme_of_ours_has_every_colour(self) -> None:
        assert len({frozenset(variables(theme)) for theme in THEMES}) == 1

    @pytest.mark.parametrize(
        ("term", "encoding", "plain"),
        [
            ("xterm-256color", "utf-8", False),
            ("xterm-256color", "UTF8", False),
            ("linux", "utf-8", True),
            ("xterm-256color", "ascii", True),
            ("xterm-256color", "latin-1", True),
        ],
    )
    def test_only_some_terminals_draw_more_than_ascii(self, term: str, encoding: str, plain: bool) -> None:
        assert is_ascii_terminal({"TERM": term}, encoding) == plain

    def test_the_memory_of_a_process_that_is_gone_is_not_known(self) -> None:
        assert memory_mb(None) is None
        assert memory_mb(2**22 + 1) is None
        assert (memory_mb(os.getpid()) or 0) > 1

    def test_a_project_without_a_pool_has_saved_nothing(self, tmp_path: Path, sandbox: Path) -> None:
        (tmp_path / "project").mkdir()
        facts = pool_facts(tmp_path / "project")
        assert facts is not None
        assert (facts.tokens, facts.counts.replies) == (0, 0)
