"""How the terminal UI begins."""

from __future__ import annotations

from tests.tui.conftest import Play


async def test_typing_begins_at_once(pilot: Play) -> None:
    async with pilot(size=(80, 24)) as it:
        await it.press("h", "i")
        assert "hi" in it.text()
