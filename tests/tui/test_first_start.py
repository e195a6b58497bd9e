"""A model that is not here yet: how far it is, who may type meanwhile, and what becomes of those that cannot be had."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.errors import ModelUnavailable
from lacli.events import Event, Loading, Notice
from lacli.models.registry.fit import Fit
from lacli_tui.screens import models
from lacli_tui.screens.confirm import ConfirmScreen
from lacli_tui.screens.models import Model, to_fetch
from lacli_tui.widgets.model_progress import FETCH, ModelProgress
from lacli_tui.widgets.prompt import Prompt
from tests.tui.conftest import Play


class Fetching(ScriptedAssistant):
    """Says how far it is, and has its model when it may go on."""

    def __init__(self, *told: Event, replies: Any = ("hello",)) -> None:
        super().__init__(list(replies))
        self.says = told or (Loading("fetch", 5_000_000, 50_000_000),)
        self.go_on = threading.Event()
        self.closed = threading.Event()

    def open(self, report: Any = None) -> None:
        for event in self.says:
            report(event)
        while not self.go_on.wait(0.01):
            if self.closed.is_set():
                raise ModelUnavailable("closed")

    def close(self) -> None:
        self.closed.set()


async def test_it_is_told_how_far_it_is_and_goes_by_itself(pilot: Play) -> None:
    assistant = Fetching()
    async with pilot(replier=assistant) as it:
        await it.until(lambda: "10%" in it.text())
        assert "works offline" in it.text()
        assistant.go_on.set()
        await it.until(lambda: not it.main.loader.is_preparing)
        assert "Getting ready" not in it.text()
        await it.ask("hi")
        assert "hello" in it.text()


async def test_no_key_that_is_typed_is_lost(pilot: Play) -> None:
    async with pilot(replier=Fetching()) as it:
        await it.pilot.press(*"what does")
        await it.until(lambda: it.main.loader.is_preparing)
        await it.press(*"it do")
        assert it.main.query_one(Prompt).text == "what doesit do"


async def test_what_is_news_of_it_stands_in_one_place(pilot: Play) -> None:
    note = Notice("fetching Tiny once: tiny 1.0, 50 MB, from the Python package index")
    async with pilot(replier=Fetching(note, Loading("fetch", 5_000_000, 50_000_000)), size=(140, 40)) as it:
        await it.until(lambda: "10%" in it.text())
        await it.pilot.pause()
        assert it.text().count("50 MB, from the Python") == 1
        assert it.text().count("10%") == 1
        assert "5/50 MB" not in it.text()


class TestItNeedNotBeWaitedFor:
    async def test_escape_at_an_empty_prompt(self, pilot: Play) -> None:
        assistant = Fetching()
        async with pilot(replier=assistant) as it:
            await it.until(lambda: it.main.loader.is_preparing)
            assert "esc stops it, or f4 while you type; what is fetched stays" in it.text()
            await it.press("escape")
            await it.until(lambda: it.main.engine.phase == "dead")
            assert "F5 goes on" in it.text()
            assert not it.main.loader.is_preparing
            assert assistant.closed.wait(1)  # its next word was its last

    async def test_another_key_where_something_is_typed(self, pilot: Play) -> None:
        async with pilot(replier=Fetching()) as it:
            await it.until(lambda: it.main.loader.is_preparing)
            await it.press("h", "escape")
            assert it.main.loader.is_preparing
            await it.press("f4")
            await it.until(lambda: it.main.engine.phase == "dead")
            assert it.main.query_one(Prompt).text == "h"

    async def test_a_question_that_waits_for_it_is_back_at_the_prompt(self, pilot: Play) -> None:
        async with pilot(replier=Fetching()) as it:
            await it.until(lambda: it.main.loader.is_preparing)
            await it.type("hi")
            await it.press("enter")
            await it.until(lambda: it.main.engine.is_replying)
            await it.press("f4")
            await it.until(lambda: it.main.engine.phase == "dead")
            assert it.main.query_one(Prompt).text == "hi"


async def test_it_says_why_there_is_no_model(pilot: Play) -> None:
    class Missing(ScriptedAssistant):
        def open(self, report: Any = None) -> None:
            raise ModelUnavailable("there is no model [x]", "lacli models pull")

    async with pilot(replier=Missing([ModelUnavailable("still none")])) as it:
        await it.until(lambda: "there is no model [x]" in it.text())
        assert "lacli models pull" in it.text()
        await it.ask("hi")
        assert it.main.query_one(Prompt).text == "hi"


async def test_each_stage_has_its_words(pilot: Play) -> None:
    now = [0.0]
    async with pilot(size=(100, 40)) as it:
        panel = ModelProgress("smollm2-135m", FETCH, now=lambda: now[0])
        await it.main.query_one("#chat").mount(panel)
        await it.until(lambda: "› fetch the model" in it.text())
        panel.show(Loading("load"))  # of the program: nothing is fetched yet
        panel.show(Loading("fetch", 40_000_000, 98_000_000))  # there already
        now[0] = 10.0
        panel.show(Loading("fetch", 49_000_000, 98_000_000))
        await it.until(lambda: "49.0 MB of 98.0 MB · 900 kB/s · 54.4 s left" in it.text())
        assert "› fetch the model" in it.text()
        assert "· prepare it" in it.text()
        panel.show(Loading("fetch", 97_999_999, 98_000_000))
        await it.until(lambda: "100%" in it.text())
        assert "left" not in it.text()
        panel.show(Loading("check", 1_000_000, 98_000_000))
        await it.until(lambda: "checking 1.0 MB of 98.0 MB" in it.text())
        panel.show(Loading("unpack", 2_000_000, 98_000_000))
        await it.until(lambda: "unpacking 2.0 MB of 98.0 MB" in it.text())
        assert "› check and unpack what came" in it.text()
        panel.show(Loading("prepare", 1, 30))
        await it.until(lambda: "✓ fetch the model" in it.text())
        assert "› prepare it" in it.text()
        assert "1 of 30" in it.text()
        panel.show(Loading("wait"))
        await it.until(lambda: "another lacli is at it" in it.text())


class TestAnotherModel:
    MODEL = Model(
        "big-7b",
        "Big",
        "7.0B",
        False,
        download=14_000_000_000,
        is_estimate=True,
        comes_from="the hub, some/big",
        fit=Fit("int8", "cpu", 4096, 7_500_000_000, False, 0, 500_000_000, 6_000_000_000, 16_000_000_000),
    )

    def test_is_fetched_only_after_a_question_with_its_sizes(self) -> None:
        asked = to_fetch(self.MODEL)
        assert "about 14.0 GB are fetched from the hub, some/big" in asked
        assert "about 8.0 GB of memory; 6.0 GB are free: it does not fit" in asked

    async def test_is_left_where_the_answer_is_no(self, pilot: Play, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "model_of", lambda name: self.MODEL)
        async with pilot("hello", model="old-1b") as it:
            await it.idle()
            await it.type("/model big-7b")
            await it.press("enter")
            await it.until(lambda: isinstance(it.app.screen, ConfirmScreen))
            assert "14.0 GB" in it.text()
            await it.press("enter")  # no is marked
            await it.until(lambda: it.app.screen is it.main)
            assert it.main.chat.model == "old-1b"
            await it.ask("hi")
            assert "hello" in it.text()

    async def test_that_cannot_be_had_is_gone_back_from(self, pilot: Play, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "model_of", lambda name: self.MODEL)

        class Unreachable(ScriptedAssistant):
            opened = 0

            def open(self, report: Any = None) -> None:
                self.opened += 1
                if self.opened == 2:
                    raise ModelUnavailable("huggingface.co cannot be reached", "check the network")

        async with pilot(replier=Unreachable(["hello"]), model="old-1b") as it:
            await it.idle()
            await it.type("/model big-7b")
            await it.press("enter")
            await it.until(lambda: isinstance(it.app.screen, ConfirmScreen))
            await it.press("y")
            await it.until(lambda: "cannot be reached" in it.text())
            await it.until(lambda: "going on with old-1b, the model before" in it.text())
            assert "F5 tries again" not in it.text()
            await it.idle()
            await it.ask("hi")
            assert "hello" in it.text()


async def test_what_is_missing_is_said_before_anything_is_loaded(pilot: Play) -> None:
    async with pilot(replier=Fetching(Loading("load")), missing="prepare", model="some-model") as it:
        assert "some-model is here, and is prepared for this computer once" in it.text()


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (40, 10)])
async def test_prompt_bar_and_the_way_out_are_seen_at_every_size(pilot: Play, size: tuple[int, int]) -> None:
    async with pilot(replier=Fetching(Notice("a long note " * 20), Loading("fetch", 5, 50)), size=size) as it:
        await it.until(lambda: "10%" in it.text())
        await it.pilot.press("h", "i")
        await it.until(lambda: "hi" in it.text().splitlines()[-2])
        assert "esc stops it" in " ".join(it.text().split())
