"""Diffs are judged by those who apply them: the real `patch -p0` and `git apply -p0`."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from lacli.edits.write.diff import label_of, quoted, target_of, unified

CASES = {
    "a changed line": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "far apart": (b"".join(b"%d\n" % n for n in range(40)), b"".join(b"%d\n" % (n % 17) for n in range(40))),
    "lines in front and behind": (b"a\nb\n", b"x\na\nb\ny\n"),
    "no newline at the end of both": (b"a\nb", b"a\nc"),
    "a newline more at the end": (b"a\nb", b"a\nb\n"),
    "a newline less at the end": (b"a\nb\n", b"a\nb"),
    "lines behind one without an end": (b"a", b"a\nb\n"),
    "crlf": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "mixed ends and a lone cr": (b"a\r\nb\nc\rd\ne\n", b"a\r\nB\nc\rD\ne\n"),
    "from an empty file": (b"", b"a\nb\n"),
    "no text": (b"\xff\xfea\n\x00\nb\n", b"\xff\xfea\n\x01\nb\n"),
    "lines that look like a diff": (b"--- a\n+++ b\n@@ -1 +1 @@\n", b"--- a\n+++ c\n@@ -1 +1 @@\n\\ No\n"),
    "repeated lines": (b"}\n" * 30, b"}\n" * 12 + b"x\n" + b"}\n" * 15),
}
NAMES = [
    "f.py",
    "with blank.py",
    "tab\there.py",
    'quote".py',
    "back\\slash.py",
    "é漢👩.py",
    "-dash.py",
    "sub/f.py",
    "a:b.py",
]


def patched(tool: str, folder: Path, name: str, before: bytes, diff: bytes) -> bytes:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(before)
    command = ["patch", "-p0", "--quiet"] if tool == "patch" else ["git", "apply", "-p0"]
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(command, cwd=folder, input=diff, check=True, capture_output=True, env=environment, timeout=20)
    assert not list(folder.rglob("*.orig")) + list(folder.rglob("*.rej"))
    return path.read_bytes()


@pytest.fixture(params=["patch", "git"])
def tool(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"there is no {request.param} here")
    return str(request.param)


class TestApplying:
    @pytest.mark.parametrize("case", CASES)
    def test_gives_the_new_bytes(self, tool: str, tmp_path: Path, case: str) -> None:
        before, after = CASES[case]
        if tool == "git" and case == "from an empty file":
            pytest.skip("git takes a file of no lines for one that is not there")
        assert patched(tool, tmp_path, "f.py", before, unified(before, after, "f.py")) == after

    @pytest.mark.parametrize("name", NAMES)
    def test_to_a_file_of_this_name(self, tool: str, tmp_path: Path, name: str) -> None:
        assert patched(tool, tmp_path, name, b"a\n", unified(b"a\n", b"b\n", name)) == b"b\n"

    def test_random_edits(self, tool: str, tmp_path: Path) -> None:
        chance = random.Random(3)
        for _ in range(8):
            lines = [chance.choice([b"a", b"b\r", b"", b"}", b" x"]) for _ in range(chance.randrange(1, 60))]
            new = [chance.choice([line, line, line, b"new", b""]) for line in lines if chance.random() < 0.9]
            ends = chance.choice([b"\n", b""]), chance.choice([b"\n", b""])
            before, after = (b"\n".join(each) + end for each, end in zip((lines, new), ends, strict=True))
            if before and before != after:
                assert patched(tool, tmp_path, "f.py", before, unified(before, after, "f.py")) == after


class TestForm:
    def test_equal_bytes_give_nothing(self) -> None:
        assert unified(b"a\n", b"a\n", "f") == b""

    def test_three_lines_of_context_and_counts(self) -> None:
        before = b"".join(b"%d\n" % n for n in range(9))
        assert unified(before, before.replace(b"4\n", b"four\n"), "f") == (
            b"--- f\n+++ f\n@@ -2,7 +2,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n"
        )

    def test_a_name_is_relative_where_it_can_be(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert label_of(str(tmp_path / "a" / "b.py")) == "a/b.py"
        assert label_of("./a.py") == "a.py"
        assert label_of("../a.py") == "../a.py"
        assert label_of("/elsewhere/a.py") == "/elsewhere/a.py"

    def test_a_link_is_followed_as_patch_would_not(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "a.py").write_bytes(b"")
        try:
            (tmp_path / "link.py").symlink_to(tmp_path / "sub" / "a.py")
            (tmp_path / "out.py").symlink_to(tmp_path.parent / "b.py")
        except OSError:
            pytest.skip("no links here")
        assert target_of("link.py") == "sub/a.py"
        assert target_of("out.py") == "out.py"
        assert target_of("stdin") == "stdin"

    def test_names_with_blanks_end_with_a_tab(self) -> None:
        assert quoted("a b") == b"a b\t"
        assert quoted("a\nb") == b'"a\\nb"'
