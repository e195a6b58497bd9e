"""Decode panel, its line and the header on the main screen: numbers, room, states, sources, colours."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.cells import cell_len

from lacli.assistant.base import Cancel, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.events import Counts, Event, Finished, Loading, Piece, Prefill, ReplyStats, Request
from lacli_tui.decoding import SourceTrace
from lacli_tui.messages import About, Decoded, Stats
from lacli_tui.resources import PoolFacts
from lacli_tui.widgets.decode_panel import DecodePanel
from lacli_tui.widgets.header import Header
from lacli_tui.widgets.source_view import SourceView, coloured_by_source
from lacli_tui.widgets.stats_widget import StatsWidget
from lacli_tui.widgets.status_line import StatusLine
from tests.slow import slow
from tests.tui.conftest import Play, Playing

WORDS = "one two three four five six seven eight nine ten"
SIZES = [(2, 1), (20, 5), (1, 1), (40, 9), (80, 24), (99, 40), (100, 29), (120, 40), (200, 60), (500, 200), (20, 60)]

REPLY = ReplyStats(
    model="coder",
    quant="int4",
    predicted_n=101,
    predicted_ms=2000.0,
    steps=40,
    plain_steps=100,
    draft_n=120,
    draft_n_accepted=60,
    drafted_by_source={"project": 90, "window": 20, "files": 10},
    accepted_by_source={"project": 50, "window": 10},
    rows=200,
    draft_ms=100.0,
    step_ms=1900.0,
    saved_ms=1900.0,
    plain_step_ms=38.0,
    pool_size=12_345,
    ctx_used=400,
    ctx_size=2048,
    resting=("files", "window"),
)


def told(widget: StatsWidget, stats: ReplyStats | None = REPLY, **about: object) -> StatsWidget:
    """A widget outside any screen that was told of a reply."""
    widget.reply, widget.chat = stats, Counts()
    widget.about = About(phase="decoding", **about)  # type: ignore[arg-type]
    widget.tally.add([Decoded("", ("",)), *[Decoded("", ("project", "project", ""))] * 5], begins=True)
    return widget


def seen(widget: StatsWidget, width: int = 23, height: int = 60) -> str:
    lines = [line.plain for line in widget.view(width, height)]
    assert {cell_len(line) for line in lines} <= {width}
    assert len(lines) <= height
    return "\n".join(lines)


def tell(it: Playing, **values: object) -> None:
    """What the main screen would tell of the engine."""
    for widget in it.main.query(StatsWidget):
        widget.post_message(About(**values))  # type: ignore[arg-type]


class TestNumbers:
    def test_all_of_a_reply_is_there(self) -> None:
        panel = told(DecodePanel())
        panel.pool = PoolFacts(1, Counts(replies=9, predicted_n=5009, steps=2000, plain_steps=5000, saved_ms=90_000.0))
        text = " ".join(seen(panel).split())
        for expected in (
            "50.0 tok/s",
            "× 2.00",
            "≈ 26.3 plain",
            "3.00 now",
            "2.50 mean",
            "most 2",
            "who guessed 59% of text",
            "j project ███ 50%",
            "w window paused 10%",
            "f files paused 0%",
            "p prompt -",
            "files paused: guessed wrong too often",
            "window paused: would cost more than it saves",
            "guesses 4.0, kept 1.5",
            "takes 45.0 ms",
            "without guesses 38.0 ms",
            "learned 12,345 tokens",
            "tokens 5,009, 2.50/step",
            "steps saved 3,000",
            "time saved 90.0 s",
        ):
            assert expected in text

    def test_plain_speed_is_told_only_where_it_was_measured(self) -> None:
        unmeasured = replace(REPLY, plain_step_ms=None, saved_ms=None)
        for widget in (DecodePanel(), StatusLine()):
            assert "plain" in seen(told(widget), 100)
            assert "plain" not in seen(told(widget, unmeasured), 100)
        assert "×" not in seen(told(DecodePanel(), unmeasured))

    def test_a_loss_is_told_as_one(self) -> None:
        panel = told(DecodePanel(), replace(REPLY, saved_ms=-950.0))
        panel.chat = Counts(replies=2, predicted_n=12, steps=12, plain_steps=10, saved_ms=-2_000.0)
        text = " ".join(seen(panel).split())
        assert "× 0.50" in text
        assert "steps lost 2" in text
        assert "time lost 2.0 s" in text

    @pytest.mark.parametrize("kind", [DecodePanel, StatusLine, Header])
    def test_nothing_moves_when_numbers_grow(self, kind: type[StatsWidget]) -> None:
        def places(text: str) -> list[list[int]]:
            marks = ("tok/s", "tok/step", "now", "mean", "%", "guessed", "context", "GB", "learned")
            return [[line.find(mark) for mark in marks] for line in text.splitlines()]

        def view(stats: ReplyStats, memory: float) -> str:
            widget = told(kind(), stats, project="p")
            widget.memory_mb = memory
            return seen(widget, 100 if kind is not DecodePanel else 23)

        small = replace(REPLY, predicted_ms=50_000.0, ctx_used=9, draft_n_accepted=2, resting=())
        large = replace(REPLY, predicted_ms=150.0, ctx_used=2000, draft_n_accepted=99, resting=())
        assert places(view(small, 1030.0)) == places(view(large, 99_000.0))

    @pytest.mark.parametrize("kind", [DecodePanel, StatusLine, Header])
    def test_any_room_is_used_and_none_is_needed(self, kind: type[StatsWidget]) -> None:
        for width in (*range(1, 40), 97, 300):
            for height in (1, 2, 5, 12, 27, 90):
                seen(told(kind(), project="漢字 👩‍💻 [/x]", model="m" * 30), width, height)
                seen(told(kind(), None), width, height)


class TestStates:
    @pytest.mark.parametrize("size", [(80, 24), (120, 40)])
    async def test_loading_reading_and_death_are_told(self, pilot: Play, size: tuple[int, int]) -> None:
        async with pilot(size=size) as it:
            assert "ready" in it.text()
            for values, expected in (
                ({"phase": "loading", "loading": Loading("fetch", 300_000_000, 900_000_000)}, "300/900 MB"),
                ({"phase": "loading", "loading": Loading("load")}, "loading model"),
                ({"phase": "prefill", "prefill": Prefill(512, 2048, 0)}, "512/2,048"),
                ({"phase": "dead"}, "engine stopped"),
                ({"phase": "idle"}, "ready"),
            ):
                tell(it, **values)
                await it.pilot.pause()
                assert expected in it.text()

    async def test_names_are_never_markup_and_control_characters_do_nothing(self, pilot: Play) -> None:
        async with pilot(size=(120, 40)) as it:
            tell(it, project="[/x] [bold", model="[red]m\x1b[31m\n", quant="[dim]", phase="idle")
            await it.pilot.pause()
            for expected in ("[/x] [bold", "[red]m", "[dim]"):
                assert expected in it.text()
            assert "\x1b" not in it.text()

    async def test_borders_are_straight_beside_wide_and_joined_characters(self, pilot: Play) -> None:
        wide = "漢字 👩‍💻 e\u0301 ⏺️ ｱ ي 🇪🇺 \tx\n\n" * 4
        async with pilot(wide, size=(120, 40)) as it:
            await it.ask("漢字 👩‍💻 ⏺️")
            tell(it, project="漢字 👩‍💻", phase="idle")
            await it.pilot.pause()
            left = it.main.query_one(DecodePanel).region.x
            rows = [row for row in it.text().splitlines() if "│" in row]
            assert len(rows) >= 36
            assert {cell_len(row[: row.rindex("│")]) for row in rows} == {left}
            assert max(cell_len(row.rstrip()) for row in rows) <= 120

    async def test_memory_and_pool_are_shown_once_they_are_known(self, pilot: Play) -> None:
        async with pilot(size=(120, 40)) as it:
            it.main.resources.show(2048.0, PoolFacts(777, Counts(replies=1, predicted_n=9, steps=4)))
            await it.pilot.pause()
            await it.pilot.pause()
            assert "2.1 GB" in it.text()
            assert "777 tok" in it.text()

    async def test_statistics_that_came_too_soon_are_shown_while_nothing_else_comes(self, pilot: Play) -> None:
        class Stalls(ScriptedAssistant):
            def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
                for count, event in enumerate(super().reply(request, cancel)):
                    if count == 4:
                        while not cancel():
                            time.sleep(0.01)
                    yield event

        async with pilot(replier=Stalls([WORDS]), size=(120, 40)) as it:
            await it.type("hi")
            await it.press("enter")
            await it.until(lambda: "2.00 mean" in it.text())
            await it.press("escape")
            await it.idle()


class TestRoom:
    async def test_the_panel_gives_way_to_its_line_where_there_is_no_room(self, pilot: Play) -> None:
        async with pilot(size=(100, 30)) as it:
            panel, line = it.main.query_one(DecodePanel), it.main.query_one(StatusLine)
            for size in ((99, 30), (100, 29)):
                await it.pilot.resize_terminal(*size)
                assert (panel.display, line.display) == (False, True)
                await it.press("f2")
                assert (panel.display, line.display) == (True, False)
                await it.press("f2")
            await it.pilot.resize_terminal(100, 30)
            assert (panel.display, line.display) == (True, False)
            await it.press("f2")
            assert (panel.display, line.display) == (False, True)
            await it.press("f2")
            assert (panel.display, line.display) == (True, False)
            assert it.main.focused is it.main.prompt

    @pytest.mark.slow
    async def test_any_size_will_do_also_while_a_reply_is_written(self, pilot: Play) -> None:
        class Slow(ScriptedAssistant):
            def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
                for event in super().reply(request, cancel):
                    time.sleep(0.01)
                    yield event

        async with pilot(replier=Slow([WORDS * 20]), size=(80, 24)) as it:
            await it.type("hi")
            await it.press("enter")
            await it.type("the next")
            for size in SIZES:
                await it.pilot.resize_terminal(*size)
                await it.pilot.pause(0.03)
            await it.pilot.resize_terminal(100, 40)
            await it.press("escape")
            await it.idle()
            assert it.main.prompt.text == "the next"
            assert it.main.focused is it.main.prompt
            assert "one two" in it.text()

    async def test_words_and_prompt_are_left_where_there_is_hardly_any_room(self, pilot: Play) -> None:
        async with pilot("hello there", size=(20, 5)) as it:
            await it.ask("hi")
            assert "hello there" in it.text()
            assert "ctx" not in it.text()


class TestSources:
    async def test_tokens_are_coloured_by_who_guessed_them_and_back(self, pilot: Play) -> None:
        async with pilot(WORDS, size=(120, 40)) as it:
            await it.ask("hi")
            await it.press("ctrl+g")
            await it.until(lambda: "the model alone" in it.text())
            assert " j  project" in it.text()
            assert WORDS in it.text()
            assert "┌" not in it.text()
            await it.press("ctrl+g")
            assert not it.main.query(SourceView)
            assert it.text().count(WORDS) == 1

    async def test_g_does_it_on_a_message(self, pilot: Play) -> None:
        async with pilot(WORDS, size=(120, 40)) as it:
            await it.ask("hi")
            await it.press("shift+tab", "g")
            await it.until(lambda: "the model alone" in it.text())

    async def test_an_answer_of_which_no_sources_are_known_stays_as_it_is(self, pilot: Play) -> None:
        script = [Piece("word", ("",), REPLY), Finished("word", (1,), "stop", REPLY)]
        async with pilot(script, size=(120, 40)) as it:
            await it.press("ctrl+g")
            await it.ask("hi")
            await it.press("ctrl+g")
            assert not it.main.query(SourceView)
            assert "word" in it.text()

    def test_where_colours_are_not_seen_letters_tell_who_guessed(self) -> None:
        steps = [Decoded("a", ("",), (1,)), Decoded("bc[/x]", ("files", "window", ""), (1, 1, 4))]
        plain = coloured_by_source("abc[/x]", SourceTrace(steps), letters=True, width=100).plain
        assert plain.startswith("afbwc[/x]\n")
        assert coloured_by_source("abc[/x]", SourceTrace(steps), letters=False, width=100).plain.startswith("abc[/x]\n")
        assert " f  files 25%" in plain

    def test_every_guessed_token_is_underlined_too(self) -> None:
        content = coloured_by_source("ab", SourceTrace([Decoded("ab", ("files", ""), (1, 1))]), letters=False)
        assert [span.style for span in content.spans if span.start == 0] == ["underline $source-files"]


class TestColours:
    @pytest.mark.parametrize("theme", ["dark", slow("light"), "ansi", slow("nord"), slow("textual-light")])
    async def test_every_theme_shows_everything(self, pilot: Play, theme: str) -> None:
        async with pilot(WORDS, size=(120, 40), theme=theme) as it:
            await it.ask("hi")
            await it.press("ctrl+g")
            await it.until(lambda: "the model alone" in it.text())
            assert it.app.theme == theme

    async def test_without_colours_the_terminal_s_own_are_kept(
        self, pilot: Play, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        async with pilot(WORDS, size=(120, 40)) as it:
            await it.ask("hi")
            assert it.app.theme == "ansi"
            await it.press("ctrl+g")
            await it.until(lambda: "the model alone" in it.text())
            assert "one twoj three" in it.text()

    async def test_a_bare_console_is_given_what_its_font_has(
        self, pilot: Play, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with pilot(WORDS, size=(120, 40)) as fine:
            await fine.ask("hi")
            assert "│" in fine.text()
        for place in ("widgets.stats_widget", "screens.main", "app"):
            monkeypatch.setattr(f"lacli_tui.{place}.is_ascii_terminal", lambda: True)
        async with pilot(WORDS + "\n" * 50 + WORDS, size=(120, 40)) as it:
            await it.ask("hi")
            await it.press("shift+tab")
            panel = it.main.query_one(DecodePanel).region
            drawn = [row[panel.x :] for row in it.text().splitlines()[panel.y : panel.bottom]]
            assert all(row.isascii() for row in drawn)
            assert all(row.startswith("|") for row in drawn)
            it.text().encode("cp437")


async def test_the_numbers_of_a_chat_that_was_left_are_gone(pilot: Play) -> None:
    async with pilot(WORDS, size=(120, 40)) as it:
        await it.ask("hi")
        assert "no reply yet" not in it.text()
        for widget in it.main.query(StatsWidget):
            widget.post_message(Stats(None, Counts()))
        await it.pilot.pause()
        assert "no reply yet" in it.text()
