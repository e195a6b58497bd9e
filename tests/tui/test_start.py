"""How the terminal UI begins."""

from __future__ import annotations

import pytest

from lacli.errors import UsageError
from lacli_tui import keymap
from lacli_tui.actions import ACTIONS, checked_keymap
from tests.tui.conftest import Play


async def test_typing_begins_at_once(pilot: Play) -> None:
    async with pilot(size=(80, 24)) as it:
        await it.press("h", "i")
        assert "hi" in it.text()


async def test_keys_are_given_to_actions_by_their_ids(pilot: Play) -> None:
    keys = checked_keymap({"stop": "f12", "newline": "enter", "send": " ctrl+j , f9 "})
    async with pilot("ok", keymap=keys) as it:
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


def test_keys_that_are_built_in_are_no_clash_and_two_may_change_places() -> None:
    for action in ACTIONS:
        if action.keys and action.id != "message-block":
            assert keymap.checked({action.id: action.keys}) == {action.id: action.keys}
    swapped = {"send": "ctrl+j", "newline": "enter"}
    assert keymap.checked(swapped) == swapped
    assert set(keymap.PLACES) == {action.where for action in ACTIONS}


@pytest.mark.parametrize(
    ("keys", "other"),
    [
        ({"send": "ctrl+n"}, "new"),  # at the prompt, and in the chat around it
        ({"message-copy": "e"}, "message-edit"),
        ({"choose": "ctrl+d"}, "session-delete"),  # among the lists
        ({"diff-apply": "escape"}, "close"),
        ({"pool-clear": "ctrl+q"}, "leave"),  # which is heard everywhere
    ],
)
def test_a_key_that_another_action_has_at_that_place_is_an_error(keys: dict[str, str], other: str) -> None:
    with pytest.raises(UsageError, match=f"is the key of {other} "):
        keymap.checked(keys)


@pytest.mark.parametrize("keys", [{"message-copy": "c"}, {"diff-apply": "p"}, {"confirm-yes": "j"}, {"stop": "f12"}])
def test_keys_of_other_places_are_free(keys: dict[str, str]) -> None:
    assert keymap.checked(keys) == keys
