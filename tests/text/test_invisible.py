"""What is not seen is marked where text is shown, and stays where it is kept."""

from __future__ import annotations

import json

import pytest

from lacli.text.invisible import escaped, marked


@pytest.mark.parametrize(
    "code", [0x061C, 0x200E, 0x200F, 0x202A, 0x202E, 0x2028, 0x2029, 0x2060, 0x2066, 0x2069, 0xFEFF]
)
def test_what_turns_text_around_or_ends_a_line_unseen_is_marked(code: int) -> None:
    assert marked(f"if x:{chr(code)} # y") == f"if x:<U+{code:04X}> # y"


def test_a_second_unseen_alphabet_is_marked() -> None:
    assert marked("a\U000e0041b") == "a<U+E0041>b"


@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦 ❤️", "می‌خواهم", "क्‍ष", "עברית", "汉字", "é"])
def test_scripts_and_emoji_stay_as_they_are(text: str) -> None:
    assert marked(text) == text


def test_json_with_escapes_means_the_same() -> None:
    text = "a\u202eb\u2028c\U000e0041d👩‍👩‍👧"
    document = escaped(json.dumps(text, ensure_ascii=False))
    assert "\\u202e" in document
    assert "\\udb40\\udc41" in document
    assert json.loads(document) == text
