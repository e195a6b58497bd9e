"""What stands on the screen is so: numbers of summaries and of replies taken back, system messages, models left."""

from __future__ import annotations

import threading

import pytest
from rich.cells import cell_len

from lacli.assistant.base import Report, ignore
from lacli.assistant.scripted import ScriptedAssistant
from lacli.events import Finished, Loading, Notice, Prefill, ReplyStats
from lacli_tui.resources import PoolFacts
from lacli_tui.screens import models
from lacli_tui.screens.confirm import ConfirmScreen
from lacli_tui.screens.models import Model, ModelsScreen
from lacli_tui.widgets.decode_panel import DecodePanel
from lacli_tui.widgets.header import Header
from lacli_tui.widgets.model_progress import ModelProgress
from tests.tui.conftest import Play

BIG = Model("big-7b", "Big", "7B", False, download=14_000_000_000, comes_from="the hub, some/big")


def reply(text: str, used: int, reason: str = "stop") -> list[object]:
    """An answer after which the context holds so many tokens."""
    events: list[object] = list(ScriptedAssistant(()).reply_events(text))
    stats = ReplyStats(predicted_n=1, replies=1, ctx_used=used, ctx_size=1000)
    events[-1] = Finished(text, (1,), reason, stats)  # type: ignore[arg-type]
    return events


async def test_a_summary_that_failed_leaves_no_trace(pilot: Play) -> None:
    async with pilot(reply("one", 70), reply("two", 80), reply("sum", 154, "length"), size=(120, 40)) as it:
        await it.ask("a")
        await it.ask("b")
        before = it.main.query_one(DecodePanel).tally.steps, it.main.chat.stats, it.main.chat.counts
        it.app.perform("compact")
        await it.until(lambda: len(it.assistant.requests) == 3)
        await it.idle()
        assert "80/1.0k" in it.main.query_one(Header).render().plain
        assert "being summed up" not in it.text()
        assert "the conversation is as it was" in it.text()
        assert (it.main.query_one(DecodePanel).tally.steps, it.main.chat.stats, it.main.chat.counts) == before


async def test_numbers_of_a_reply_that_is_taken_back_are_gone(pilot: Play) -> None:
    async with pilot(reply("one", 70), reply("two", 80), reply("three", 90), size=(120, 40)) as it:
        await it.ask("a")
        await it.ask("b")
        await it.ask("/retry")
        used = [it.main.chat.stats.ctx_used if it.main.chat.stats else None]
        for _ in range(3):
            await it.ask("/undo")
            used.append(it.main.chat.stats.ctx_used if it.main.chat.stats else None)
        assert used == [90, 80, 70, None]
        assert it.main.query_one(DecodePanel).tally.steps == 0


class TestTheSystemMessage:
    async def test_of_the_start_is_that_of_each_new_chat(self, pilot: Play) -> None:
        async with pilot("one", "two", system="be brief", keep=True, size=(120, 40)) as it:
            await it.ask("/system be French")
            await it.ask("a")
            await it.press("ctrl+n")
            assert it.main.chat.conversation.system == "be brief"
            await it.ask("b")
            assert it.assistant.requests[-1].messages[0].text == "be brief"

    async def test_is_seen_while_one_is_set_and_none_empties_it(self, pilot: Play) -> None:
        async with pilot(size=(120, 40)) as it:
            await it.idle()
            header = it.main.query_one(Header)
            assert "system message" not in header.render().plain
            await it.ask("/system be French")
            assert "system message" in header.render().plain
            await it.ask("/system none")
            assert it.main.chat.conversation.system == ""
            assert "system message" not in header.render().plain


async def test_a_model_that_is_here_is_not_said_to_be_missing(pilot: Play) -> None:
    ended = threading.Event()

    class Learning(ScriptedAssistant):
        def open(self, report: Report = ignore) -> None:
            report(Loading("prepare", 1, 2))
            report(Loading("prime", 1, 2))
            ended.wait(20)

    try:
        async with pilot(replier=Learning(["x"]), model="m", missing="prepare") as it:
            await it.until(lambda: it.main.query(ModelProgress) and it.main.query_one(ModelProgress).is_here)
            await it.press("escape")
            assert "the model is here, but not loaded; F5 loads it" in it.text()
            ended.set()
    finally:
        ended.set()


async def test_no_to_fetching_a_model_goes_back_to_the_others(pilot: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "model_of", lambda name: BIG)
    monkeypatch.setattr(models.ModelsScreen.__init__, "__defaults__", ("", lambda tell: [BIG], ""))
    async with pilot("hello", model="old-1b") as it:
        await it.idle()
        it.app.perform("models")
        for _ in range(2):
            await it.until(lambda: isinstance(it.app.screen, ModelsScreen) and it.app.screen.choices.current)
            await it.press("enter")
            await it.until(lambda: isinstance(it.app.screen, ConfirmScreen))
            await it.press("enter")  # no is marked
        await it.until(lambda: isinstance(it.app.screen, ModelsScreen))
        await it.press("escape")
        await it.until(lambda: it.app.screen is it.main)
        assert it.main.chat.model == "old-1b"


async def test_a_warning_is_said_once_and_goes_with_its_chat(pilot: Play) -> None:
    stats = ReplyStats(predicted_n=1)
    script = [Notice("guessing is off", "warning"), Prefill(1, 1, 0), Finished("ok", (1,), "stop", stats)]
    async with pilot(script, size=(120, 40)) as it:
        await it.ask("a")
        assert it.text().count("guessing is off") == 1
        await it.press("ctrl+n")
        assert "guessing is off" not in it.text()


class TestWhereThereIsLittleRoom:
    @pytest.mark.parametrize("number", [20_342, 1_234_567, 987_654_321])
    def test_no_number_of_the_panel_is_cut(self, number: int) -> None:
        many = ReplyStats(predicted_n=number, replies=9, steps=number // 6, plain_steps=number, saved_ms=1e9)
        panel = DecodePanel()
        panel.reply = ReplyStats(predicted_n=5, steps=4, plain_step_ms=1234.5, step_ms=1e4, pool_size=number)
        panel.chat = many
        panel.pool = PoolFacts(number, many)
        lines = [line.plain.rstrip() for line in panel.view(23, 90)]
        assert all(line.endswith("/step") for line in lines if line.startswith("tokens ") and "per" not in line)
        assert all(line.endswith(" tokens") for line in lines if line.startswith("learned"))
        assert all(line.endswith(" ms") for line in lines if line.startswith("without guesses"))
        assert sum(line.startswith(("tokens ", "learned", "without")) for line in lines) == 5  # one is a heading

    @pytest.mark.parametrize("width", [38, 40, 50, 118])
    def test_the_header_tells_the_context_before_the_memory(self, width: int) -> None:
        header = Header()
        header.reply = ReplyStats(ctx_used=154, ctx_size=8192)
        header.memory_mb = 1234.0
        (line,) = header.view(width, 1)
        assert "context" in line.plain
        assert cell_len(line.plain) == width
