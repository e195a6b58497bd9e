"""How the terminal UI begins."""

from __future__ import annotations

import pytest

from lacli.errors import UsageError
from lacli_tui.actions import checked_keymap
from tests.tui.conftest import Play


async def test_typing_begins_at_once(pilot: Play) -> None:
    async with pilot(size=(80, 24)) as it:
        await it.press("h", "i")
        assert "hi" in it.text()


async def test_keys_are_given_to_actions_by_their_ids(pilot: Play) -> None:
    keymap = checked_keymap({"stop": "f12", "newline": "enter", "send": " ctrl+j , f9 "})
    async with pilot("ok", keymap=keymap) as it:
        await it.press("a", "enter", "b", "ctrl+j")
        await it.idle()
        assert it.assistant.requests[0].messages[-1].text == "a\nb"


@pytest.mark.parametrize(
    ("keymap", "names"), [({"stpo": "f12"}, "stop"), ({"stop": 3}, "stop"), ({"stop": "ctrl +x"}, "stop")]
)
def test_a_keymap_that_is_wrong_is_an_error_with_the_nearest(keymap: dict[str, object], names: str) -> None:
    with pytest.raises(UsageError) as error:
        checked_keymap(keymap)
    assert names in error.value.message + error.value.hint
