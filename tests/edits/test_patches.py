"""Replies that say what to change: SEARCH/REPLACE blocks and diffs are applied as what they are, or not at all."""

from __future__ import annotations

import pytest

from lacli.edits.reply.patches import NotFound, diff_hunks, has_marks, is_diff, replaced, search_blocks
from lacli.text.fences import blocks

TEXT = "def load(path):\n    return open(path)\n\n\ndef save(path):\n    pass\n"


def search(old: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


class TestSearchBlocks:
    def test_each_is_made_in_order(self) -> None:
        reply = search("def load(path):", "def fetch(path):") + "and\n" + search("    pass", "    return 1")
        assert replaced(TEXT, search_blocks(reply)) == TEXT.replace("load", "fetch").replace("pass", "return 1")

    def test_indentation_may_differ_and_is_kept(self) -> None:
        assert "\n    x = 1\n    return x\n" in replaced(
            TEXT, search_blocks(search("return open(path)", "x = 1\nreturn x"))
        )

    def test_a_fence_inside_the_marks_is_no_text(self) -> None:
        reply = search("```python\n    pass\n```", "```python\n    return 1\n```")
        assert replaced(TEXT, search_blocks(reply)) == TEXT.replace("pass", "return 1")

    @pytest.mark.parametrize(
        ("old", "why"), [("def gone():", "not there"), ("(path)", "not there"), ("", "does not say which lines")]
    )
    def test_what_cannot_be_found_changes_nothing(self, old: str, why: str) -> None:
        with pytest.raises(NotFound, match=why):
            replaced(TEXT, search_blocks(search(old, "x")))

    def test_what_fits_twice_changes_nothing(self) -> None:
        with pytest.raises(NotFound, match="2 places"):
            replaced("a\nb\na\n", search_blocks(search("a", "c")))

    def test_half_a_block_has_marks_and_no_change(self) -> None:
        assert has_marks("<<<<<<< SEARCH\ndef load\n=======\n")
        assert search_blocks("<<<<<<< SEARCH\ndef load\n=======\n") == []
        assert not has_marks("x << 7\n=======\nTitle\n")


class TestDiffs:
    DIFF = "--- a.py\n+++ a.py\n@@ -9,2 +9,2 @@\n-def load(path):\n+def fetch(path):\n     return open(path)\n"

    def test_a_diff_is_made_by_its_lines_not_its_numbers(self) -> None:
        assert replaced(TEXT, diff_hunks(self.DIFF)) == TEXT.replace("load", "fetch")

    def test_a_diff_is_told_from_code(self) -> None:
        assert is_diff(blocks(f"```\n{self.DIFF}```\n")[0])
        assert is_diff(blocks("```diff\n-a\n+b\n c\n```\n")[0])
        assert not is_diff(blocks("```\n- one\n- two\n```\n")[0])
        assert not is_diff(blocks(f"```python\n{TEXT}```\n")[0])
