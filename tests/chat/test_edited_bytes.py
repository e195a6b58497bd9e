"""A reply applied to a file: what is taken, what is refused, what is asked about."""

from __future__ import annotations

import random

import pytest

from lacli.editing.edit import Edit
from lacli.editing.source import parts_of
from lacli.edits.find.find import Part
from lacli.edits.reply.answer import as_block
from lacli.edits.reply.doubts import doubts
from lacli.edits.write.apply import EditResult
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Finished, ReplyStats
from lacli.text.fences import longer_than_any

CLASS = """class A:
    def one(self):
        return 1

    def two(self):
        return 2

    def three(self):
        return 3
"""
LONG = "".join(f"line {number} of the file\n" for number in range(40))


def file_of(text: str | bytes) -> TextFile:
    return TextFile.of_bytes(text if isinstance(text, bytes) else text.encode(), "f.txt")


def whole(file: TextFile) -> Part:
    return Part(0, file.line_count, "", "file")


def edited(
    file: TextFile, part: Part, reply: str, instruction: str = "", ended: bool = True, unseen: str = ""
) -> EditResult:
    """What a model that always says this makes of the part."""
    finished = Finished(reply, (1,), "stop" if ended else "length", ReplyStats())
    return Edit(file, instruction, "f.txt", (part,), (), unseen).run(lambda question: finished).result


def given(text: str, new: str, lines: tuple[int, int] | None = None, instruction: str = "rename it") -> EditResult:
    file = file_of(text)
    part = parts_of(file, [lines], [])[0] if lines else whole(file)
    return edited(file, part, as_block(new), instruction)


class TestSpan:
    def test_lines_count_from_one(self) -> None:
        assert parts_of(file_of(CLASS), [(2, 3)], []) == (Part(1, 3, "lines 2-3", "lines"),)

    @pytest.mark.parametrize("lines", [(0, 1), (1, 10), (10, 10), (5, 4)])
    def test_outside_is_a_usage_error(self, lines: tuple[int, int]) -> None:
        with pytest.raises(UsageError, match=r"f\.txt has 9 lines"):
            parts_of(file_of(CLASS), [lines], [])

    def test_an_empty_file_has_no_lines_but_can_be_written(self) -> None:
        file = file_of("")
        assert edited(file, whole(file), "```\nx = 1\n```").data == b"x = 1\n"
        with pytest.raises(UsageError):
            parts_of(file, [(1, 1)], [])


class TestWholeFile:
    def test_the_diff_says_what_the_bytes_do(self) -> None:
        file = file_of(b"a = 1\r\nb = 2\r\n")
        result = edited(file, whole(file), "Sure:\n```python\na = 1\nc = 2\n```\nDone.")
        assert result == EditResult(
            b"a = 1\r\nc = 2\r\n", b"--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n a = 1\r\n-b = 2\r\n+c = 2\r\n"
        )

    def test_nothing_changed(self) -> None:
        file = file_of("a\nb")
        result = edited(file, whole(file), "```\na\nb\n```")
        assert (result.data, result.diff) == (b"a\nb", b"")
        assert [problem.text for problem in result.problems] == ["the model changes nothing, asked 3 times"]

    @pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
    def test_the_end_of_the_file_stays(self, end: str) -> None:
        assert given(f"a\nb{end}", "a\nc\n").data == f"a\nc{end}".encode()

    def test_what_the_model_cannot_see_is_not_touched(self) -> None:
        file = file_of('s = "a\x1db\x04"\nx = 1\n')
        result = edited(file, whole(file), '```\ns = "ab"\ntotal = 1\n```', unseen="\x1d\x04")
        assert result.data == b's = "a\x1db\x04"\ntotal = 1\n'

    def test_losing_it_with_its_line_is_asked_about(self) -> None:
        file = file_of('s = "a\x1db\x04"\nx = 1\n')
        assert "2 characters" in edited(file, whole(file), "```\ntotal = 1\n```", unseen="\x1d\x04").problems[0].text
        assert not edited(file, whole(file), "```\nx = 1\n```", "remove s", unseen="\x1d\x04").problems


class TestRefusals:
    @pytest.mark.parametrize(
        ("reply", "ended", "why"),
        [
            ("I renamed it.", True, "no code block"),
            ("", True, "no code block"),
            ("```\nclass A:\n    def", False, "unfinished"),
            ("```\nclass A:\n    def", True, "unfinished"),
            (CLASS[:60], False, "unfinished"),
            ("```\n```\n", True, "is empty"),
        ],
    )
    def test_what_is_no_whole_text(self, reply: str, ended: bool, why: str) -> None:
        file = file_of(CLASS)
        result = edited(file, whole(file), reply, ended=ended)
        assert (result.data, result.diff, result.problems[0].final) == (file.data, b"", True)
        assert why in result.problems[0].text

    def test_a_letter_the_file_cannot_hold(self) -> None:
        file = file_of(b"caf\xe9\n")
        with pytest.raises(UsageError, match="latin-1"):
            edited(file, whole(file), "```\ncafé 漢\n```")


class TestRange:
    def test_only_its_lines_change(self) -> None:
        assert (
            given(CLASS, "    def uno(self):\n        return 1\n", (2, 3)).data == CLASS.replace("one", "uno").encode()
        )

    def test_indentation_that_was_dropped_comes_back(self) -> None:
        wanted = CLASS.replace("one", "uno").encode()
        assert given(CLASS, "def uno(self):\n    return 1\n", (2, 3)).data == wanted
        assert given(CLASS, "  def uno(self):\n      return 1\n", (2, 3)).data == wanted
        assert given(CLASS, "        def uno(self):\n            return 1\n", (2, 3)).data == wanted

    def test_tabs_come_back_as_tabs(self) -> None:
        assert given("x\n\tif a:\n\t\tb\n", "if c:\n\tb\n", (2, 3)).data == b"x\n\tif c:\n\t\tb\n"

    def test_a_part_that_is_to_be_less_deep_stays_so(self) -> None:
        text = "if a:\n    b()\n    c()\nd\n"
        assert given(text, "    b()\nc()\n", (2, 3)).data == b"if a:\n    b()\nc()\nd\n"

    def test_blank_lines_around_it_stay(self) -> None:
        text = "a\n\nb\n\nc\n"
        assert given(text, "x\n", (2, 4)).data == b"a\n\nx\n\nc\n"

    def test_the_last_line_without_an_end(self) -> None:
        assert given("a\nb", "c\n", (2, 2)).data == b"a\nc"

    def test_a_reply_of_the_whole_file_changes_the_range_only(self) -> None:
        reply = CLASS.replace("one", "uno").replace("return 3", "return 4")
        result = given(CLASS, reply, (2, 3))
        assert result.data == CLASS.replace("one", "uno").encode()
        assert result.notes

    def test_lines_it_adds_at_its_end_are_its_own(self) -> None:
        reply = CLASS.replace("return 1\n", "return 1\n\n    def more(self):\n        return 0\n")
        assert given(CLASS, reply, (2, 3)).data == reply.encode()

    def test_a_rewriting_across_its_bounds_is_refused(self) -> None:
        reply = CLASS.replace("class A:\n    def one", "class B:\n    def uno")
        result = given(CLASS, reply, (2, 3))
        assert (result.data, result.problems[0].final) == (CLASS.encode(), True)
        assert "lines 2 to 3" in result.problems[0].text


class TestDoubts:
    @pytest.mark.parametrize(
        "line",
        [
            "# ... rest unchanged",
            "// ...existing code...",
            "# ...",
            "/* ... */",
            "<!-- ... -->",
            "        # ... (rest of the code remains the same)",
            "// The rest of the file is unchanged",
            "# other methods here",
            "... rest of code ...",
            "[...]",
            "{/* ... existing code ... */}",
            "# (unchanged)",
            "# existing code",
            "-- … rest …",
            "...",
        ],
    )
    def test_a_line_in_the_place_of_others(self, line: str) -> None:
        new = LONG.replace("".join(f"line {number} of the file\n" for number in range(5, 9)), f"{line}\n")
        assert "leaves out" in doubts(LONG, new)
        assert doubts(LONG, LONG + f"{line}\n") == ""

    @pytest.mark.parametrize(
        "line", ["# the other side of the file", "x = [...]", "# Remaining time", "    ...", "* text"]
    )
    def test_lines_that_only_look_so(self, line: str) -> None:
        assert doubts(LONG, LONG.replace("line 5 of the file\n", f"{line}\n")) == ""

    def test_far_less_than_there_was(self) -> None:
        assert doubts(LONG, LONG[:100])
        assert doubts(LONG, "\n")

    def test_a_long_run_of_lines_gone(self) -> None:
        lines = LONG.splitlines(keepends=True)
        assert "lacks 14 lines from line 11" in doubts(LONG, "".join(lines[:10] + lines[24:]))
        assert not doubts(LONG, "".join(lines[:10] + lines[20:]))

    def test_a_few_lines_may_become_fewer(self) -> None:
        assert not doubts("a\nb\nc\n", "d\n")


def test_random_parts_of_random_files_are_rewritten_and_all_else_stays_byte_for_byte() -> None:
    chance = random.Random(11)
    contents = ["", "a = 1", "    b(c)", "\td", "é漢", "}", "```", "~~~ x", "# ... f", "x" * 40]
    for _ in range(800):
        ends = chance.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
        lines = [f"{chance.choice(contents)}{chance.choice(ends)}".encode() for _ in range(chance.randrange(1, 15))]
        if chance.random() < 0.3:
            lines[-1] = lines[-1].rstrip(b"\r\n") or b"x"
        file = file_of(b"\xef\xbb\xbf" * chance.randrange(2) + b"".join(lines))
        first = chance.randrange(1, file.line_count + 1)
        span = parts_of(file, [(first, chance.randrange(first, file.line_count + 1))], [])[0]
        part = file.text[file.starts[span.start] : file.starts[span.end]].removesuffix("\n").split("\n")
        new = [_renewed(line, chance) if line.strip() and chance.random() < 0.3 else line for line in part]
        fence = longer_than_any("\n".join(part))
        result = edited(file, span, f"{fence}py\n{chr(10).join(new)}\n{fence}\n", "change it")
        assert any(problem.final for problem in result.problems) == (new == part)
        wanted = [
            file.raw(line) + file.ends[line] if part[index] == new[index] else new[index] + file.ends[line]
            for index, line in enumerate(range(span.start, span.end))
        ]
        before, after = file.data[: file.byte_starts[span.start]], file.data[file.byte_starts[span.end] :]
        assert result.data == before + "".join(wanted).encode() + after


def _renewed(line: str, chance: random.Random) -> str:
    return line[: len(line) - len(line.lstrip())] + f"new {chance.randrange(99)}"
