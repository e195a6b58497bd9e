from __future__ import annotations

from typing import Any

import pytest

from lacli.events import Counts, Loading
from lacli_tui.controllers.decode_panel_controller import DecodePanelController
from lacli_tui.controllers.resource_monitor import ResourceMonitor
from lacli_tui.messages import About, Decoded, Resources, Stats
from lacli_tui.resources import PoolFacts

STEP = Decoded("a", ("",))


class Widget:
    """Keeps what was posted to it."""

    def __init__(self) -> None:
        self.posted: list[Any] = []

    def post_message(self, message: Any) -> None:
        self.posted.append(message)

    def of(self, kind: type) -> list[Any]:
        return [each for each in self.posted if isinstance(each, kind)]


@pytest.fixture
def widget(screen: Any) -> Widget:
    screen.widgets = [Widget()]
    return screen.widgets[0]


@pytest.fixture
def panel(screen: Any, engine: Any, widget: Widget) -> DecodePanelController:
    return DecodePanelController(screen, engine, "project", lambda: Loading("load"))


def test_what_is_known_is_posted_once(panel: DecodePanelController, widget: Widget, engine: Any) -> None:
    panel.refresh()
    panel.refresh()
    (about,) = widget.of(About)
    assert (about.project, about.model, about.phase, about.loading) == ("project", "small", "idle", None)
    engine.phase = "loading"
    panel.refresh()
    assert widget.of(About)[-1].loading == Loading("load")


async def test_while_a_reply_is_written_numbers_come_a_few_times_a_second(
    panel: DecodePanelController, widget: Widget, engine: Any, screen: Any
) -> None:
    engine.chat.ask("a question")
    panel.start_reply(is_summary=False)
    panel.add_steps([STEP])
    panel.refresh()
    (first,) = widget.of(Stats)
    assert (len(first.steps), first.begins) == (1, True)
    for _ in range(3):
        panel.add_steps([STEP])
        panel.refresh()
    assert len(widget.of(Stats)) == 1
    assert len(screen.timers) == 1
    panel.refresh(at_once=True)
    assert (len(widget.of(Stats)[-1].steps), widget.of(Stats)[-1].begins) == (3, False)


def test_the_steps_of_a_summary_start_no_chart(panel: DecodePanelController, widget: Widget, engine: Any) -> None:
    panel.start_reply(is_summary=True)
    panel.refresh(at_once=True)
    assert not widget.of(Stats)[-1].begins
    panel.restart_charts()
    panel.refresh(at_once=True)
    assert widget.of(Stats)[-1].begins


@pytest.mark.parametrize(("crowded", "shown"), [(set(), "-no-panel"), ({"-narrow"}, "-panel"), ({"-low"}, "-panel")])
def test_the_panel_is_hidden_where_there_is_room_and_asked_for_where_there_is_none(
    panel: DecodePanelController, screen: Any, crowded: set[str], shown: str
) -> None:
    screen.classes = set(crowded)
    panel.toggle()
    assert shown in screen.classes
    panel.toggle()
    assert screen.classes == crowded


async def test_resources_are_posted_only_when_they_have_changed(screen: Any, widget: Widget, tmp_path: Any) -> None:
    monitor = ResourceMonitor(screen, tmp_path, lambda: None, lambda: screen.widgets)
    facts = PoolFacts(7, Counts())
    monitor.show(1.0, facts)
    monitor.show(1.0, facts)
    monitor.show(2.0, facts)
    assert [each.memory_mb for each in widget.of(Resources)] == [1.0, 2.0]
    monitor.read_pool()
    await screen.done()
    assert widget.of(Resources)[-1].memory_mb is None
