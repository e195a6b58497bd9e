"""Markdown on a terminal, streamed: what stands on the screen is what the whole text gives at once."""

from __future__ import annotations

import random
import re

import pytest

from lacli.cli.terminal.markdown.page import Page
from tests.cli.screen import Screen
from tests.slow import TEN


class Terminal:
    """A page on a screen, with a clock that the test moves."""

    def __init__(self, width: int = 80, height: int = 24, coloured: bool = True) -> None:
        self.now = 0.0
        self.size = width, height
        self.screen = Screen(width, height)
        self.written: list[str] = []
        self.page = Page(lambda: self.size, coloured, lambda: self.now)

    def push(self, text: str, after: float = 0.2) -> None:
        self.now += after
        self._write(self.page.push(text).text)

    def finish(self) -> list[str]:
        self._write(self.page.finish().text)
        return self.lines()

    def lines(self) -> list[str]:
        """The rows, without the empty one the cursor stands in."""
        lines = self.screen.lines()
        return lines if lines[-1] else lines[:-1]

    def _write(self, text: str) -> None:
        self.written.append(text)
        self.screen.write(text)


def shown(text: str, width: int = 80, coloured: bool = True) -> list[str]:
    terminal = Terminal(width, coloured=coloured)
    terminal.push(text)
    return terminal.finish()


WORDS = (
    *("foo", "**bold", "words**", "*it*", "`code span`", "a_b_c", "__init__", "x[0](y)", "[link](http://a.b/c)"),
    *(
        "漢字漢字",
        "e\u0301",
        "👩‍💻",
        "*",
        "_",
        "`",
        "**",
        "a|b",
        "\\*",
        "~~gone~~",
        "long" * 8,
        "2*3*4",
        "-",
        "1.",
        "#",
    ),
)
BEGINNINGS = (
    "",
    "",
    "# ",
    "## ",
    "- ",
    "  - ",
    "1. ",
    "> ",
    "    ",
    "| ",
    "---",
    "```py",
    "~~~",
    "|a|b|",
    "\t",
    "* ",
    "=",
)
CODE = ("def f(x):\t# hi", "  return 'a'*3", "/* open", "close */", 'x = """doc', 'end"""', "", "y" * 90, "  ```inner")


def document(chance: random.Random) -> str:
    """Anything a model may write."""
    lines: list[str] = []
    for _ in range(chance.randint(1, 20)):
        kind = chance.random()
        if kind < 0.1:
            lines += ["```" + chance.choice(["python", "", "js", "c++ x", "nosuch"])]
            lines += [*chance.choices(CODE, k=chance.randint(0, 8)), *["```"] * (chance.random() < 0.9)]
        elif kind < 0.2:
            lines += ["| h1 | h **2** |", "|:--|--:|"]
            lines += [f"| {' '.join(chance.choices(WORDS[:10], k=chance.randint(0, 6)))} | 3 |"] * chance.randint(0, 4)
        else:
            words = chance.choices(WORDS, k=chance.choice([0, 1, 3, 8, 30]))
            lines.append(chance.choice(BEGINNINGS) + " ".join(words))
    return "\n".join(lines) + chance.choice(["", "\n"])


class TestStream:
    @pytest.mark.default_cases(TEN)
    @pytest.mark.parametrize("seed", range(60))
    def test_shows_in_any_pieces_what_the_whole_text_shows_at_once(self, seed: int) -> None:
        chance = random.Random(seed)
        text, width, coloured = document(chance), chance.choice([20, 40, 80, 120]), chance.random() < 0.8
        terminal = Terminal(width, 60, coloured)
        rest = text
        while rest:
            count = chance.choice([1, 2, 3, 5, 20])
            terminal.push(rest[:count], chance.choice([0.0, 0.01, 0.05, 0.2]))
            rest = rest[count:]
        whole = Terminal(width, 60, coloured)
        whole.push(text.removesuffix("\n") + "\n")
        assert "".join("".join(terminal.finish()).split()) == "".join("".join(whole.finish()).split())

    def test_prints_each_finished_line_once(self) -> None:
        terminal = Terminal()
        for word in ("one ", "two\n", "three\n", "```py\n", "x = 1\n", "y = 2\n", "```\n", "end"):
            terminal.push(word)
        terminal.finish()
        written = re.sub(r"\x1b\[[0-9;]*m", "", "".join(terminal.written))
        assert [written.count(line) for line in ("one", "three", "x = 1", "y = 2", "end")] == [1] * 5

    def test_draws_an_open_line_anew_ten_times_a_second_at_most(self) -> None:
        terminal = Terminal(40)
        for _ in range(500):  # five seconds of a paragraph whose wrapping changes with every few letters
            terminal.push("wo rd, *a* ", 0.01)
        assert sum("\r" in text for text in terminal.written) <= 51
        assert sum(map(bool, terminal.written)) <= 126

    def test_never_touches_rows_that_have_left_the_screen(self) -> None:
        terminal = Terminal(20, 6)
        text = " ".join(f"word{number}" for number in range(200))
        for start in range(0, len(text), 7):
            terminal.push(text[start : start + 7])
        assert " ".join(terminal.finish()).split() == text.split()

    def test_a_table_longer_than_the_screen_is_complete(self) -> None:
        terminal = Terminal(30, 8)
        terminal.push("| a | b |\n|---|---|\n")
        for number in range(40):
            terminal.push(f"| row{number} | x |\n")
        assert [line.split() for line in terminal.finish()[2:]] == [[f"row{number}", "x"] for number in range(40)]

    @pytest.mark.parametrize("width", [30, 60, 200])
    def test_goes_on_after_a_resize_without_losing_or_doubling_a_word(self, width: int) -> None:
        terminal = Terminal(60, 24)
        text = "\n".join(" ".join(f"w{line}x{word}" for word in range(20)) for line in range(4))
        for start in range(0, len(text), 5):
            if start == 40:
                terminal.size = width, 24
                # What a terminal that does not reflow shows; one that does has more rows, which are then left alone.
                terminal.screen.width = width
            terminal.push(text[start : start + 5])
        assert "".join("".join(terminal.finish()).split()) == "".join(text.split())


class TestLook:
    def test_words_are_wrapped_at_blanks_and_a_long_one_is_left_to_the_terminal(self) -> None:
        lines = shown("some words and anextraordinarilylongwordthatfitsnowhere at all", 24)
        assert lines == ["some words and", "anextraordinarilylongwor", "dthatfitsnowhere", "at all"]

    def test_items_hang_and_code_keeps_its_lines_and_blanks(self) -> None:
        text = "- an item of more words than fit\n  - inner\n1. one\n\n```\n\tif x:\n\n    y  \n```\n"
        assert shown(text, 20) == [
            *("• an item of more", "  words than fit", "  • inner", "1. one", ""),
            *("```", "        if x:", "", "    y  ", "```"),
        ]

    def test_tables_are_aligned_without_borders_and_blanks_at_the_end(self) -> None:
        lines = shown("| Name | n |\n|:--|--:|\n| `漢字` | 1 |\n| e\u0301x | 200 |\n\nend")
        assert lines == ["Name    n", "────  ───", "漢字    1", "e\u0301x    200", "", "end"]

    @pytest.mark.parametrize(
        "text",
        ["a[0] = b[/x]", "[bold]x[/bold]", "f[0](y)", "snake_case", "__init__", "2 * 3 * 4", "a ** b", "`open"],
    )
    def test_what_is_no_markdown_stays_as_it_is(self, text: str) -> None:
        assert shown(text) == [text]

    def test_marks_become_styles_and_stay_where_none_are_wanted(self) -> None:
        text = "# Title\n**bold** `code` [x](http://y/z)"
        assert shown(text) == ["Title", "bold code x (http://y/z)"]
        terminal = Terminal(coloured=False)
        terminal.push(text)
        assert terminal.finish() == text.split("\n")
        assert not terminal.screen.styles

    def test_control_sequences_of_the_model_do_nothing_split_between_pieces_too(self) -> None:
        terminal = Terminal()
        for piece in ("a\x1b[", "2Jb\x1b]0;ti", "tle\x07c\r\x08", "\x9b31md\n"):
            terminal.push(piece)
        assert terminal.finish() == ["abcd"]


class TestCode:
    def coloured(self, *lines: str, language: str = "python") -> list[list[tuple[str, str]]]:
        from lacli.cli.terminal.markdown.code import highlighter

        code = highlighter(language)
        assert code is not None
        return [[(part.sgr, part.text) for part in code.line(line) if part.text.strip()] for line in lines]

    def test_a_string_over_several_lines_is_one_in_each(self) -> None:
        rows = self.coloured('x = """one', "def two", 'three"""; y = 1')
        assert rows[1] == [("32", "def two")]
        assert ("32", 'three"""') in [(sgr, text) for sgr, text in rows[2]] or rows[2][0][0] == "32"
        assert ("36", "1") in rows[2]

    @pytest.mark.parametrize("language", ["js", "c", "go", "java", "rust", "css"])
    def test_a_comment_over_several_lines_is_one_in_each(self, language: str) -> None:
        rows = self.coloured("/* if one", "for two", "*/ x", language=language)
        assert {sgr for row in rows[:2] for sgr, _ in row} == {"2"}
        assert rows[2][-1][0] != "2"

    def test_the_text_is_never_changed(self) -> None:
        from lacli.cli.terminal.markdown.code import highlighter

        for language in (
            "python",
            "js",
            "json",
            "yaml",
            "html",
            "bash",
            "diff",
            "php",
            "console",
            "toml",
            "sql",
            "c++",
        ):
            code = highlighter(language)
            assert code is not None
            for line in ('{"a": [1, "x\\', "<?php $x = `y` /* z", "  \tif a < b: # é 漢字", "+- @@ $ ls | x 'unclosed"):
                assert "".join(part.text for part in code.line(line)) == line

    def test_an_unknown_language_has_no_colours(self) -> None:
        from lacli.cli.terminal.markdown.code import highlighter

        assert highlighter("nosuch") is None
        assert highlighter("text") is None
