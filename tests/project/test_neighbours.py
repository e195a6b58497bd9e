"""Other files for a completion: what a file imports, what was changed last, what the user names; never a secret."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lacli.project import neighbours as module
from lacli.project.imports import imported_files
from lacli.project.neighbours import neighbours
from lacli.project.snippets import LINES, Snippet, select, split
from lacli.text.languages import language_of
from tests.project.conftest import git, needs_git, write


def names(text: str, name: str, root: Path) -> list[str]:
    return imported_files(text, name, root, language_of(name))


class TestImports:
    def test_python(self, tmp_path: Path) -> None:
        files = ["pkg/__init__.py", "pkg/a.py", "pkg/sub/b.py", "src/lib/c.py", "pkg/sub/d.py", "top.py"]
        write(tmp_path, dict.fromkeys(files, ""))
        text = (
            "import os, top as t\nimport lib.c\nfrom . import d\nfrom ..a import x  # y\nfrom pkg import (a, nothing)\n"
            "from .gone import z\n"
        )
        assert names(text, "pkg/sub/b.py", tmp_path) == [
            "top.py",
            "src/lib/c.py",
            "pkg/sub/d.py",
            "pkg/a.py",
            "pkg/__init__.py",
        ]

    def test_javascript_and_typescript(self, tmp_path: Path) -> None:
        write(tmp_path, dict.fromkeys(["web/a.ts", "web/ui/index.tsx", "web/b.js", "src/deep/c.ts", "web/e.mjs"], ""))
        text = (
            'import {x} from "./a.js";\nexport * from "./ui";\nconst b = require("./b");\nimport "react";\n'
            'import c from "@/deep/c";\nconst e = await import("./e.mjs");\nimport "../../../etc/passwd";\n'
        )
        found = ["web/a.ts", "web/ui/index.tsx", "web/b.js", "src/deep/c.ts", "web/e.mjs"]
        assert names(text, "web/main.ts", tmp_path) == found

    def test_go(self, tmp_path: Path) -> None:
        write(tmp_path, dict.fromkeys(["cmd/main.go", "cmd/flags.go", "cmd/main_test.go", "store/a.go"], ""))
        write(tmp_path, {"go.mod": "module example.com/app\n\ngo 1.22\n"})
        text = 'package main\n\nimport (\n\t"fmt"\n\ts "example.com/app/store"\n)\n'
        assert names(text, "cmd/main.go", tmp_path) == ["store/a.go", "cmd/flags.go"]

    def test_rust(self, tmp_path: Path) -> None:
        write(tmp_path, dict.fromkeys(["src/lib.rs", "src/io.rs", "src/net/mod.rs", "src/net/tcp.rs"], ""))
        text = "mod io;\npub mod net;\nuse crate::net::tcp::Stream;\nuse std::fmt;\n"
        assert names(text, "src/lib.rs", tmp_path) == ["src/io.rs", "src/net/mod.rs", "src/net/tcp.rs"]

    def test_c(self, tmp_path: Path) -> None:
        write(tmp_path, dict.fromkeys(["src/a.c", "src/a.h", "include/b.h"], ""))
        assert names('#include <stdio.h>\n#include "b.h"\n', "src/a.c", tmp_path) == ["include/b.h", "src/a.h"]


class TestPieces:
    def test_a_file_is_cut_at_blank_lines(self) -> None:
        text = "\n".join("" if number % 50 == 49 else f"line {number}" for number in range(160))
        found = split("a", text)
        assert [piece.start for piece in found] == [0, 50, 100]
        assert all(piece.text.count("\n") < LINES for piece in found)

    def test_twins_and_what_stands_at_the_cursor_are_left_out(self) -> None:
        body = "\n".join(f"value_{number}" for number in range(20))
        files = [[Snippet("a", 0, body)], [Snippet("b", 0, body + "\nmore")], [Snippet("c", 0, "other()")]]
        assert [piece.name for piece in select(files, "here", 10_000)] == ["b", "c"]
        assert [piece.name for piece in select(files, body, 10_000)] == ["c"]

    def test_the_pieces_that_share_words_with_the_cursor_come_in_the_files_order(self) -> None:
        file = [Snippet("a", number, f"unused_{number}" if number % 2 else f"wanted_{number}") for number in range(6)]
        assert [piece.start for piece in select([file], "wanted_4 + wanted_2", 10_000)] == [2, 4]

    def test_there_is_room_for_so_many(self) -> None:
        files = [[Snippet(str(number), 0, f"{number}" * 100)] for number in range(9)]
        assert len(select(files, "", 250)) == 2


def found(root: Path, text: str, name: str = "a.py", **more: object) -> list[str]:
    return [each.label for each in neighbours(text, text, name, root, language_of(name), **more)]  # type: ignore[arg-type]


class TestNeighbours:
    def test_imported_files_without_git(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.py": "import b\n", "b.py": "def b(): pass\n"})
        assert found(tmp_path, "import b\n") == ["b.py"]
        assert found(tmp_path, "import b\n", searched=False) == []

    @needs_git
    def test_then_what_git_says_was_changed_last_in_a_stable_order(self, repo: Path) -> None:
        write(repo, {f"{name}.py": f"def {name}(): pass\n" for name in "abcdef"} | {"g.go": "package g\n"})
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", "x")
        write(repo, {"d.py": "def dd(): pass\n", "e.py": "def ee(): pass\n", "g.go": "package h\n"})
        git(repo, "rm", "-q", "f.py")
        expected = ["c.py", "d.py", "e.py", "b.py"]
        assert found(repo, "import c\n") == found(repo, "import c\n") == expected

    def test_secrets_generated_ignored_and_foreign_files_are_left_out(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        root = tmp_path / "root"
        write(out, {"e.py": "E = 1\n"})
        write(
            root,
            {
                "secrets.py": "KEY = 1\n",
                "made_pb2.py": "x = 1\n",
                "b.py": "# @generated by x\n",
                "c.py": "x = '" + "a" * 3_000 + "'\n",
                "d.py": "D = 1\n",
                ".gitignore": "d.py\n",
                "ok.py": "OK = 1\n",
                "bin.py": b"\0\1",
            },
        )
        (root / "e.py").symlink_to(out / "e.py")
        text = "import secrets, made_pb2, b, c, d, e, bin, ok\n"
        assert found(root, text) == ["ok.py"]

    def test_what_is_named_comes_first_and_what_must_not_be_shown_is_noted(self, tmp_path: Path) -> None:
        write(tmp_path, {"b.py": "B = 1\n", "docs/x.md": "# X\n", "docs/.env": "K=1\n", ".env": "K=1\n"})
        notes: list[str] = []
        named = [tmp_path / "docs", tmp_path / ".env"]
        assert found(tmp_path, "import b\n", named=named, note=notes.append) == ["docs/x.md", "b.py"]
        assert notes == [f"{tmp_path / '.env'} is not shown: such files hold secrets"]

    @needs_git
    def test_a_git_that_hangs_is_not_waited_for(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Case S7."""
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "git").write_text("#!/bin/sh\nsleep 60\n")
        (tmp_path / "bin" / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        monkeypatch.setattr(module, "_GIT_WAIT_S", 0.05)
        write(tmp_path / "p", {"b.py": "B = 1\n"})
        started = time.monotonic()
        assert found(tmp_path / "p", "import b\n") == ["b.py"]
        assert time.monotonic() - started < 30
