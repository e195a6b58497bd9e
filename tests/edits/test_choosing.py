"""Some hunks of a change: whatever is chosen, every byte outside of it is the old one."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from lacli.edits.write.choosing import Choosing, Decision, Edited, Group
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError

OLD = "".join(f"line {number}\n" for number in range(40))
NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 6\n", "").replace("line 30\n", "line 30\nand more\n")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252")


def choosing(old: bytes, new: bytes) -> Choosing:
    return Choosing(TextFile.of_bytes(old, "a.txt"), new)


def of_text(old: str = OLD, new: str = NEW) -> tuple[Choosing, list[Group]]:
    found = choosing(old.encode(), new.encode())
    return found, found.groups()


def some_text(draw: random.Random, lines: list[str]) -> str:
    """Lines with the ends of every system; the last one often has none."""
    text = "".join(line + draw.choice(("\n", "\r\n", "\r") if draw.random() < 0.3 else ("\n",)) for line in lines)
    return text.rstrip("\r\n") if draw.random() < 0.3 else text


def versions(draw: random.Random) -> tuple[bytes, bytes]:
    """Two texts with much in common, in an encoding that both have."""
    lines = [draw.choice(("a", "b", "caf\xe9", "", "x = 1", f"n{number}")) for number in range(draw.randrange(40))]
    old = some_text(draw, lines)
    kept = old.splitlines(keepends=True)
    for _ in range(draw.randrange(6)):
        at = draw.randrange(len(kept) + 1)
        kept[at : at + draw.randrange(4)] = [
            draw.choice(("new\n", "\xfc\r\n", "a\n")) for _ in range(draw.randrange(3))
        ]
    new = "".join(kept)
    encoding = draw.choice(ENCODINGS)
    if draw.random() < 0.2:
        return old.encode("utf-8") + b"# \xff\xfe\n", new.encode("utf-8") + b"# \xff\xfe\nx\n"
    return ("\u00e9" + old).encode(encoding), ("\u00e9" + new).encode(encoding)


def test_all_are_the_new_bytes_none_the_old_ones_and_some_only_theirs() -> None:
    for seed in range(400):
        draw = random.Random(seed)
        old, new = versions(draw)
        found = choosing(old, new)
        groups = found.groups()
        if draw.random() < 0.5:
            groups = [part for group in groups for part in found.split(group)]
        assert bool(groups) == (old != new), seed
        assert found.result((group, True) for group in groups) == new, seed
        assert found.result((group, False) for group in groups) == found.result([]) == old, seed
        for before, after in itertools.pairwise(groups):
            assert before.end <= after.start, seed
            assert before.new_end <= after.new_start, seed
        taken = [group for group in groups if draw.random() < 0.5]
        together = found.result((group, True) for group in draw.sample(taken, len(taken)))
        alone = [len(found.result([(group, True)])) - len(old) for group in taken]
        assert len(together) == len(old) + sum(alone), seed
        others = [(group, False) for group in groups if group not in taken]
        assert found.result([*others, *((group, True) for group in taken)]) == together, seed


def test_what_is_chosen_is_what_patch_makes_of_the_hunks_that_are_shown(tmp_path: Path) -> None:
    if shutil.which("patch") is None:
        pytest.skip("there is no patch here")
    for seed in range(25):
        draw = random.Random(seed)
        lines = [f"{draw.randrange(9)}-{number}" for number in range(draw.randrange(60, 90))]
        new = [line for line in lines if draw.random() > 0.05]
        new = [each for line in new for each in ((line, "new") if draw.random() < 0.07 else (line,))]
        old = "\n".join(lines) + "\n" * draw.randrange(2)
        found = choosing(old.encode(), ("\n".join(new) + "\n" * draw.randrange(2)).encode())
        taken = [group for group in found.groups() if draw.random() < 0.6]
        shown = [line + "\n" for group in taken for line in (found.header(group), *found.body(group))]
        path = tmp_path / "a"
        path.write_text(old)
        if taken:
            diff = "--- a\n+++ a\n" + "".join(shown)
            subprocess.run(["patch", "-p0", "-s"], cwd=tmp_path, input=diff.encode(), check=True, timeout=20)
        assert path.read_bytes() == found.result((group, True) for group in taken), seed


def test_an_edited_hunk_that_was_not_touched_is_the_hunk() -> None:
    for seed in range(200):
        draw = random.Random(seed)
        old, new = versions(draw)
        found = choosing(old, new)
        decided: list[tuple[Group, Decision]] = []
        for group in found.groups():
            edited = found.edited(group, found.to_edit(group).removesuffix("\n"))
            assert edited is not None
            decided.append((group, edited))
        assert found.result(decided) == new, seed


def test_a_hunk_says_where_it_is_and_in_what() -> None:
    old = "class A:\n    def f(self):\n" + "        pass\n" * 9 + "x = 1\n"
    found, (group,) = of_text(old, old.replace("x = 1", "x = 2"))
    assert found.header(group) == "@@ -9,4 +9,4 @@ def f(self):"
    assert found.body(group) == [*["         pass"] * 3, "-x = 1", "+x = 2"]
    found, (group,) = of_text("a", "b")
    assert found.header(group) == "@@ -1 +1 @@"
    assert found.body(group) == ["-a", "\\ No newline at end of file", "+b", "\\ No newline at end of file"]


def test_a_hunk_is_split_where_equal_lines_are_between() -> None:
    found, (near, far) = of_text()
    first, second = found.split(near)
    assert found.body(first) == [" line 0", " line 1", " line 2", "-line 3", "+LINE 3", " line 4"]
    assert found.body(second) == [" line 5", "-line 6", " line 7", " line 8", " line 9"]
    assert found.split(second) == [second]
    assert found.split(far) == [far]
    assert found.result([(second, True)]).decode() == OLD.replace("line 6\n", "")
    assert found.result([(first, False), (second, False), (far, True)]).decode() == OLD.replace(
        "line 30\n", "line 30\nand more\n"
    )


class TestEditing:
    def test_a_line_may_stay_another_may_go_and_a_third_be_typed(self) -> None:
        found, (near, _) = of_text()
        text = found.to_edit(near)
        text = text.replace("-line 6", " line 6").replace("+LINE 3", "+third\n+fourth").replace(" line 8", "-line 8")
        edited = found.edited(near, text)
        assert edited is not None
        made = OLD.replace("line 3\n", "third\nfourth\n").replace("line 8\n", "")
        assert found.result([(near, edited)]).decode() == made
        assert found.header(near, edited) == "@@ -1,10 +1,10 @@"
        assert "+fourth" in found.body(near, edited)
        assert found.edited(near, found.to_edit(near, edited)) == edited

    @pytest.mark.parametrize(
        ("old", "new", "typed", "made"),
        [
            (b"a\r\nb\r\n", b"a\r\nc\r\n", "+d\n+e", b"a\r\nd\r\ne\r\n"),
            (b"a\nb", b"a\nc", "+d\n+e", b"a\nd\ne"),
            (b"a\nb", b"a\nc\n", "+d\n+e", b"a\nd\ne\n"),
            (b"caf\xe9\nb\n", b"caf\xe9\nc\n", "+\xfc", b"caf\xe9\n\xfc\n"),
            (b"\xef\xbb\xbfb\n", b"\xef\xbb\xbfc\n", "+d", b"\xef\xbb\xbfd\n"),
            ("a\nb\n".encode("utf-16"), "a\nc\n".encode("utf-16"), "+d\n+e", "a\nd\ne\n".encode("utf-16")),
            (b"", b"c\n", "+d", b"d\n"),
            (b"b", b"c", "", b""),
        ],
    )
    def test_what_is_typed_gets_the_form_of_the_file(self, old: bytes, new: bytes, typed: str, made: bytes) -> None:
        found = choosing(old, new)
        (group,) = found.groups()
        edited = found.edited(group, found.to_edit(group).replace("+c", typed).replace("\n\n", "\n"))
        assert edited is not None
        assert found.result([(group, edited)]) == made

    def test_blanks_that_an_editor_takes_away_do_not_count(self) -> None:
        found, (group,) = of_text("a\n\nb  \n", "A\n\nb  \n")
        text = "\n".join(line.rstrip() for line in found.to_edit(group).split("\n"))
        assert found.edited(group, text) == Edited("A\n\nb  \n")

    @pytest.mark.parametrize("text", ["", "# only this\n", "\n\n", "@@ -1 +1 @@"])
    def test_nothing_left_of_it_means_to_leave_it(self, text: str) -> None:
        found, (group,) = of_text("a\n", "b\n")
        assert found.edited(group, text) is None

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("-b\n+c", "'b' is not there"),
            ("+c", "'a' is missing"),
            ("-a\n-z\n+c", "'z' is not there"),
            ("-a\n<<<<<<< ours", "begins with no blank, \\+ or -"),
            ("-a\n+\u20ac", "has no '\u20ac'"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, text: str, why: str) -> None:
        found = choosing("a\n\xe9\n".encode("latin-1") + b"\x81\n", "b\n\xe9\n".encode("latin-1") + b"\x81\n")
        (group,) = found.groups()
        with pytest.raises(UsageError, match=why):
            found.edited(group, text + ("" if "missing" in why else "\n \xe9\n \x81"))
