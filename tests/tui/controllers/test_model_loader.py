from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lacli.errors import LacliError
from lacli.events import Loading, Notice
from lacli_tui.controllers import model_loader
from lacli_tui.controllers.model_loader import ModelLoader
from lacli_tui.engine_session import Updates
from lacli_tui.screens import models
from lacli_tui.screens.models import Model

NO = LacliError("no network")


class Progress:
    """The widget that shows how far the model is."""

    is_here = False

    def __init__(self, name: str, first: str, back_to: str) -> None:
        self.name, self.first, self.back_to = name, first, back_to
        self.shown: list[Loading] = []
        self.notes: list[str] = []
        self.is_removed = False

    def show(self, loading: Loading) -> None:
        self.shown.append(loading)

    def note(self, text: str) -> None:
        self.notes.append(text)

    async def remove(self) -> None:
        self.is_removed = True


class Replies:
    busy = False
    stopped = False

    def is_busy(self) -> bool:
        return self.busy

    async def stop(self) -> None:
        self.stopped = True


class Parts:
    def __init__(self, screen: Any, engine: Any, notifications: Any) -> None:
        self.mounted: list[Progress] = []
        self.replies: Any = Replies()
        self.engine, self.screen = engine, screen

        async def mount(widget: Any) -> None:
            self.mounted.append(widget)

        self.loader = ModelLoader(screen, engine, "", self.replies, notifications, mount, lambda: None)


@pytest.fixture
def parts(screen: Any, engine: Any, notifications: Any, monkeypatch: pytest.MonkeyPatch) -> Parts:
    monkeypatch.setattr(model_loader, "ModelProgress", Progress)
    monkeypatch.setattr(models, "model_of", lambda name: Model(name, name, "1B", True))
    return Parts(screen, engine, notifications)


def loading(engine: Any, *stage: Any) -> None:
    engine.phase = "loading"
    engine.loading = Loading(*stage)


async def test_a_model_that_only_loads_shows_no_progress_below_the_chat(parts: Parts, engine: Any) -> None:
    loading(engine, "load", 1, 2)
    await parts.loader.show(Updates())
    assert not parts.loader.is_preparing
    assert parts.loader.shown_loading == Loading("load", 1, 2)


async def test_a_model_that_is_fetched_does_until_it_is_there(parts: Parts, engine: Any) -> None:
    loading(engine, "fetch", 1, 9)
    updates = Updates(notices=[Notice("from the hub")])
    await parts.loader.show(updates)
    (progress,) = parts.mounted
    assert (progress.first, progress.notes, progress.shown) == ("fetch", ["from the hub"], [Loading("fetch", 1, 9)])
    assert updates.notices == []
    assert parts.loader.shown_loading == Loading("fetch")
    engine.phase = "idle"
    await parts.loader.show(Updates())
    assert progress.is_removed
    assert not parts.loader.is_preparing


async def test_what_is_missing_is_shown_before_anything_is_loaded(parts: Parts) -> None:
    loader = replace(parts.loader, _missing="prepare")
    await loader.start()
    assert parts.mounted[0].first == "prepare"


async def test_not_waiting_stops_the_reply_and_the_engine(parts: Parts, engine: Any, notifications: Any) -> None:
    await parts.loader.stop_waiting()
    assert engine.did == []
    loading(engine, "fetch", 1, 9)
    await parts.loader.show(Updates())
    engine.chat.ask("a question")
    await parts.loader.stop_waiting()
    assert parts.replies.stopped
    assert engine.did == ["give_up"]
    assert notifications.shown == [
        "the model is not here yet; F5 goes on where this stopped, ctrl+t chooses another one"
    ]
    assert not parts.loader.is_preparing


async def test_a_model_that_cannot_be_had_is_gone_back_from(parts: Parts, engine: Any, notifications: Any) -> None:
    await parts.loader.show(Updates())  # the first one serves
    parts.loader.choose("big")
    await parts.screen.done()
    assert (engine.chat.model, engine.did) == ("big", ["restart"])
    loading(engine, "fetch", 1, 9)
    await parts.loader.show(Updates())
    assert parts.mounted[0].back_to == "small"
    engine.phase = "dead"
    await parts.loader.show(Updates(error=NO, failed="open"))
    assert await parts.loader.go_back()
    assert engine.chat.model == "small"
    assert notifications.in_chat == [
        "going on with big, which reads the conversation anew",
        "going on with small, the model before",
    ]
    assert not await parts.loader.go_back()


async def test_no_model_is_changed_and_nothing_restarted_while_a_reply_is_written(parts: Parts, engine: Any) -> None:
    parts.replies.busy = True
    parts.loader.choose("big")
    parts.loader.restart()
    assert parts.screen.workers == []
    assert engine.did == []
    engine.phase = "stopping"
    parts.loader.restart()
    assert engine.did == ["restart"]
