from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lacli.chat.suggestions import COMMAND, Partial
from lacli_tui.background import BackgroundResult
from lacli_tui.controllers.suggestion_finder import SuggestionFinder


class Node:
    """Waits for a message."""

    def __init__(self) -> None:
        self.posted: list[Any] = []
        self.came = threading.Event()

    def post_message(self, message: Any) -> None:
        self.posted.append(message)
        self.came.set()


class Prompt:
    region = SimpleNamespace(y=20)

    def __init__(self) -> None:
        self.suggested: list[Any] = []

    def suggest(self, partial: Any, suggestions: Any, room: int) -> None:
        self.suggested.append((partial, [each.text for each in suggestions], room))


def test_what_fits_is_found_in_a_thread_and_shown_above_the_prompt(tmp_path: Path) -> None:
    node, prompt, chips = Node(), Prompt(), SimpleNamespace(display=False, region=SimpleNamespace(y=18))
    finder = SuggestionFinder(node, tmp_path, lambda: ["dark"], prompt, chips)  # type: ignore[arg-type]
    wanted = Partial(COMMAND, "retr", 0, 0)
    finder.look_up(wanted)
    assert node.came.wait(10)
    finder.show(node.posted[0])
    assert prompt.suggested == [(wanted, ["/retry"], 20)]
    chips.display = True
    finder.show(BackgroundResult("suggestions names", None, OSError("gone")))
    assert prompt.suggested[1] == (None, [], 18)
    finder.show(BackgroundResult("something else", None))
    assert len(prompt.suggested) == 2
