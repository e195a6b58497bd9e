"""Replies of small models that go round: in a line, in lines that grow, up to a limit that leaves half a block."""

from __future__ import annotations

import pytest

from tests.completions import completed

PY = "def f(a):\n    x = 1\n|\n    return x\n"
GO = "func f() int {\n\tx := 1\n|\n\treturn x\n}\n"


class TestWithinALine:
    @pytest.mark.parametrize(
        ("file", "reply", "inserted"),
        [
            (PY, "    return " + "text + blanks + " * 9, "    return text + blanks"),
            (PY, "    y = 2\n    return " + "text + blanks + " * 9, "    y = 2"),
            (PY, "    y = 2\n    if y:\n        y = " + "max(y, " * 30, "    y = 2"),
            ("x = w|\n", "*w" * 60, "*w"),
            ('def f():\n    """Widths a|\n    """\n', "nd heights" + " and heights" * 20, "nd heights"),
        ],
    )
    def test_it_ends_after_the_first_round(self, file: str, reply: str, inserted: str) -> None:
        assert completed(file, reply) == inserted

    @pytest.mark.parametrize(
        "line",
        [
            "    table = [" + "0x00, " * 16 + "]",
            "    zeros = b'" + "\\x00" * 32 + "'",
            "    row = [" + "0.0, " * 24 + "]",
            "    # " + "-" * 90,
            "    a = [None, None, None, None, None, None]",
            "    crossing = a.x + (point.y - a.y) * (b.x - a.x) / (b.y - a.y)",
        ],
    )
    def test_tables_and_rulers_are_no_rounds(self, line: str) -> None:
        assert completed(PY, line + "\n    y = 2") == line + "\n    y = 2"


class TestLinesThatGrow:
    def test_names_that_repeat_their_parts(self) -> None:
        reply = "".join(f"    record{'_field' * count} = make()\n" for count in range(1, 9))
        assert completed(PY, reply) == "    record_field = make()"

    def test_blocks_in_themselves(self) -> None:
        reply = "".join(f"{'    ' * count}for cell in row:\n" for count in range(1, 9))
        assert completed(PY, "    y = 2\n" + reply) == "    y = 2"
        reply = "".join("{0}<Item>\n{0}  {{...(\n".format("    " * count) for count in range(1, 9))
        file = "function f() {\n  return (|\n  );\n}\n"
        assert completed(file, "\n" + reply, "a.js").count("<Item>") == 1

    def test_series_and_closings_are_none(self) -> None:
        for reply in (
            "    left = width(a)\n    right = width(b)\n    top = width(c)\n    low = width(d)",
            "    big(100)\n    big(1000)\n    big(10000)\n    big(100000)\n    big(1000000)",
        ):
            assert completed(PY, reply) == reply
        reply = "<a>\n        <b>\n          <c>\n            <d />\n" + "".join(
            f"{'  ' * (7 - count)}</div>\n" for count in range(1, 6)
        )
        assert completed("const x = (\n      |\n", reply, "a.jsx", scope="file").count("</div>") == 5


class TestTheLastLine:
    @pytest.mark.parametrize(
        ("file", "reply", "inserted", "path"),
        [
            (PY, "    y = 2\n    if y:\n        z", "    y = 2", "a.py"),
            (PY, "    y = 2\n    for y in z:\n        if y:\n            z", "    y = 2", "a.py"),
            (PY, "    if y:\n        z", "    if y:", "a.py"),
            (GO, "\ty := 2\n\tif y > 1 {\n\t\tz", "\ty := 2", "a.go"),
            ("# A\n|", "Of these:\n\nthere", "Of these:\n", "a.md"),
            (
                "func f() {\n\tx := 1\n|\n\t\tg(x)\n\t}\n}\n",
                "\ty := 2\n\tfor y > 1 {\n\t\tz",
                "\ty := 2\n\tfor y > 1 {",
                "a.go",
            ),
        ],
    )
    def test_at_a_limit_it_opens_nothing_but_what_the_file_closes(
        self, file: str, reply: str, inserted: str, path: str
    ) -> None:
        assert completed(file, reply, path, early=True) == inserted


class TestAlikeLines:
    @pytest.mark.parametrize(
        ("line", "below"),
        [
            ("xs = [p.x for p in points]", "ys = [p.y for p in points]"),
            ("client.get(url, headers=self.headers)", "client.put(url, headers=self.headers)"),
            ("assert is_valid(name, 'some long words')", "assert not is_valid(name, 'some long words')"),
            ("self.minX = min(self.minX, other.minX)", "self.maxX = max(self.maxX, other.maxX)"),
        ],
    )
    def test_another_word_is_another_line(self, line: str, below: str) -> None:
        assert completed(f"a = 1\n|\n{below}\n", f"{line}\nb = 2") == f"{line}\nb = 2"

    def test_other_marks_are_the_same_line(self) -> None:
        file = "a\n|\ncall_it(first_argument, 'second argument', third)\n"
        assert completed(file, 'b = 1\ncall_it(first_argument, "second argument", third);\nq') == "b = 1"
