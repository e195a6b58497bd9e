"""A screen over the main one, opened as the main screen opens it, with what came of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import pytest
from textual.screen import Screen

from lacli_tui.widgets.choices import Choices
from lacli_tui.widgets.prompt import Prompt
from tests.tui.conftest import Play, Playing

NOTHING = object()


class Opened:
    """A screen at work."""

    def __init__(self, playing: Playing, screen: Screen[Any]) -> None:
        self.it = playing
        self.screen = screen
        self.result: Any = NOTHING

    async def press(self, *keys: str) -> None:
        await self.it.press(*keys)

    async def type(self, text: str) -> None:
        """Key by key, as a user would."""
        names = {
            " ": "space",
            "[": "left_square_bracket",
            "/": "slash",
            "]": "right_square_bracket",
            "%": "percent_sign",
        }
        await self.it.press(*(names.get(letter, letter) for letter in text))

    async def until(self, *words: str) -> str:
        """Wait until all of this is seen; returns the whole screen."""
        await self.it.until(lambda: all(word in self.it.text() for word in words))
        return self.it.text()

    @property
    def keys(self) -> list[str]:
        """Of the lines there are to choose from."""
        return [each.key for each in self.screen.query_one(Choices).choices]

    @property
    def marked(self) -> str:
        """The key of the marked line."""
        current = self.screen.query_one(Choices).current
        return current.key if current else ""


class Open(Protocol):
    """`opened(screen, size=(80, 24), **start)`."""

    def __call__(
        self, screen: Screen[Any], size: tuple[int, int] = (80, 24), **start: Any
    ) -> AbstractAsyncContextManager[Opened]: ...


@asynccontextmanager
async def over(it: Playing, screen: Screen[Any]) -> AsyncIterator[Opened]:
    """A screen over the main one; when it is left, the focus must be where it was."""
    found = Opened(it, screen)
    it.app.push_screen(screen, lambda result: setattr(found, "result", result))
    await it.until(lambda: it.app.screen is screen and screen.query("#frame"))
    await it.pilot.pause()
    yield found
    await it.pilot.pause()
    if found.result is not NOTHING:
        assert it.app.screen is it.main
        assert isinstance(it.app.focused, Prompt)


@pytest.fixture
def opened(pilot: Play) -> Open:
    """A screen in a program of its own."""

    @asynccontextmanager
    async def opening(screen: Screen[Any], size: tuple[int, int] = (80, 24), **start: Any) -> AsyncIterator[Opened]:
        async with pilot(size=size, **start) as it, over(it, screen) as found:
            yield found

    return opening
