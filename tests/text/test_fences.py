"""Fenced blocks by the rules of CommonMark, in the ways that replies really have them."""

from __future__ import annotations

import pytest

from lacli.text.fences import blocks, fence_of, first, last, longer_than_any


def texts(reply: str) -> list[str]:
    return [block.text for block in blocks(reply)]


class TestBlocks:
    def test_text_language_and_place(self) -> None:
        reply = "Here:\n\n```python title=x\na = 1\n  b\n```\nDone.\n"
        block = blocks(reply)[0]
        assert (block.language, block.text, block.closed, block.fence) == ("python", "a = 1\n  b\n", True, "```")
        assert reply[block.start : block.end] == "```python title=x\na = 1\n  b\n```\n"

    def test_both_kinds_and_any_length(self) -> None:
        assert texts("~~~\na\n~~~\n`````\nb\n`````\n") == ["a\n", "b\n"]

    def test_a_shorter_fence_or_one_of_the_other_kind_is_content(self) -> None:
        assert texts("````\n```\na\n```\n~~~~\n````\n") == ["```\na\n```\n~~~~\n"]

    def test_a_longer_fence_closes_and_one_with_a_word_behind_it_does_not(self) -> None:
        assert texts("```\na\n```x\nb\n`````\n") == ["a\n```x\nb\n"]

    def test_a_block_without_its_end_goes_to_the_end_of_the_text(self) -> None:
        block = blocks("```c\nint a;\nint")[0]
        assert (block.text, block.closed, block.end) == ("int a;\nint", False, 15)

    def test_the_opening_fences_indentation_is_taken_off_and_no_more(self) -> None:
        assert texts("  ```\n    a\n b\n\n  ```\n") == ["  a\nb\n\n"]

    def test_four_blanks_are_indented_code(self) -> None:
        assert texts("    ```\n    a\n    ```\n") == []
        assert texts("```\na\n    ```\nb\n```\n") == ["a\n    ```\nb\n"]

    @pytest.mark.parametrize("marker", ["- ", "* ", "+ ", "1. ", "10) ", "-   "])
    def test_in_a_list_item(self, marker: str) -> None:
        inside = " " * len(marker)
        reply = f"{marker}do this:\n\n{inside}```sh\n{inside}ls\n{inside}  x\n{inside}```\n{marker}then\n"
        assert [(block.text, block.closed) for block in blocks(reply)] == [("ls\n  x\n", True)]

    def test_behind_a_list_marker_and_in_a_nested_list(self) -> None:
        assert texts("- ```\n  a\n  ```\n") == ["a\n"]
        assert texts("1. x\n   - y\n\n     ```\n     a\n     ```\n") == ["a\n"]

    def test_code_in_a_list_item_that_forgot_its_indentation_ends_at_its_fence(self) -> None:
        assert texts("1. x\n   ```py\na = 1\n   ```\n2. y\n") == ["a = 1\n"]

    def test_a_block_left_open_in_a_list_item_ends_with_the_item(self) -> None:
        found = blocks("- ```\n  a\n\nout\n- ```\n  b\n  ```\n")
        assert [(block.text, block.closed) for block in found] == [("a\n\n", False), ("b\n", True)]

    def test_tabs_are_four_columns(self) -> None:
        assert texts("-\t```\n\ta\n\t```\n") == ["a\n"]
        assert texts("\t```\n\ta\n") == []

    def test_backticks_in_the_info_are_inline_code(self) -> None:
        assert texts("```a`b\nx\n```\n") == [""]
        assert texts("~~~a`b\nx\n~~~\n") == ["x\n"]

    def test_carriage_returns_belong_to_the_line_end(self) -> None:
        assert texts("```py\r\na\r\n```\r\n") == ["a\r\n"]

    @pytest.mark.parametrize("reply", ["", "\n", "no block", "``\na\n``\n", "a ``` b\n"])
    def test_none(self, reply: str) -> None:
        assert blocks(reply) == []
        assert first(reply) is last(reply) is None

    def test_only_fences_of_a_huge_list_are_found_in_no_time(self) -> None:
        """Each block left open once made a search to the end of the text."""
        assert len(blocks("- ```x\nout\n" * 20_000)) == 20_000


def test_first_and_last() -> None:
    reply = "```\na\n```\n```\nb\n```\n"
    found = first(reply), last(reply)
    assert [block.text for block in found if block] == ["a\n", "b\n"]


def test_a_fence_longer_than_any() -> None:
    assert [longer_than_any(text) for text in ("", "``", "```", "x ````` y\n```")] == ["```", "```", "````", "``````"]


def test_a_line_that_is_a_fence() -> None:
    assert fence_of("  ~~~~ a b\n") is not None
    assert fence_of("x ```\n") is None
