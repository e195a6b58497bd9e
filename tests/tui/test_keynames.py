"""Names of keys: those that no terminal can send are refused, with the nearest one."""

from __future__ import annotations

import pytest

from lacli.errors import UsageError
from lacli_tui.actions import ACTIONS, checked_keymap
from lacli_tui.keynames import key_problem


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("foo+bar", "a key like 'f12' or 'ctrl+x'"),
        ("control+x", "did you mean ctrl+x?"),
        ("crtl+x", "did you mean ctrl+x?"),
        ("esc", "did you mean escape?"),
        ("pgup", "did you mean pageup?"),
        ("f25", "did you mean f5?"),
    ],
)
def test_what_is_no_key_is_refused(key: str, near: str) -> None:
    with pytest.raises(UsageError) as raised:
        checked_keymap({"stop": f"f12,{key}"})
    assert (repr(key) in raised.value.message, raised.value.hint) == (True, near)


@pytest.mark.parametrize("key", ["f12", "ctrl+x", "alt+shift+up", "?", "question_mark", "+", "shift+enter", "ctrl+@"])
def test_what_is_one_is_taken(key: str) -> None:
    assert checked_keymap({"stop": key}) == {"stop": key}


def test_all_that_are_built_in_are_keys() -> None:
    assert not [key for action in ACTIONS for key in action.keys.split(",") if key and key_problem(key)]
