"""The picker of files: the project's, fuzzy, fast, and never what may hold secrets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lacli.chat.fuzzy import Lines
from lacli.project.offered import offered_names
from lacli_tui.screens.files import FilesScreen
from tests.tui.screens.conftest import NOTHING, Open


def repository(folder: Path, *names: str, add: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    if add:
        subprocess.run(["git", "-C", str(folder), "add", "-A"], check=True)
    return folder


class TestOfferedNames:
    def test_those_of_git_and_new_ones_but_not_what_is_ignored_secret_or_binary(self, tmp_path: Path) -> None:
        top = repository(tmp_path / "p", "a.py", "src/b c.py", ".env", "key.pem", "logo.png", "[/a].py", ".gitignore")
        (top / ".gitignore").write_text("build/\n")
        (top / "build").mkdir()
        (top / "build" / "out.py").write_text("x")
        (top / "new.py").write_text("x")
        assert offered_names(top) == [".gitignore", "[/a].py", "a.py", "new.py", "src/b c.py"]

    def test_from_a_folder_inside_all_of_the_project_is_offered_that_folder_first(self, tmp_path: Path) -> None:
        top = repository(tmp_path / "p", "a.py", "src/b.py", "src/z/c.py", "srcs/d.py")
        assert offered_names(top / "src") == ["b.py", "z/c.py", "../a.py", "../srcs/d.py"]

    def test_without_git_the_folders_are_walked(self, tmp_path: Path) -> None:
        (tmp_path / "q").mkdir()
        for name in ("a.py", "id_rsa", ".gitignore", "old.tmp"):
            (tmp_path / "q" / name).write_text("*.tmp\n")
        assert offered_names(tmp_path / "q") == [".gitignore", "a.py"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_only_files_are_offered(self, tmp_path: Path) -> None:
        (tmp_path / "q").mkdir()
        (tmp_path / "q" / "a.py").write_text("x")
        os.mkfifo(tmp_path / "q" / "pipe.py")
        (tmp_path / "q" / "gone.py").symlink_to("nowhere")
        assert offered_names(tmp_path / "q") == ["a.py"]

    def test_a_name_that_cannot_be_typed_is_not_offered(self, tmp_path: Path) -> None:
        top = repository(tmp_path / "p", "a.py", "b\nc.py", "d\x1b.py")
        (top / "e\udcff.py").write_text("x")
        assert offered_names(top) == ["a.py"]


class TestFuzzy:
    def test_letters_in_order_fit_and_the_closest_is_first(self) -> None:
        found, count = Lines(["tests/data/x.py", "lacli_tui/screens/dialog.py", "lacli/edits/disk.py"]).search("disk")
        assert [each.text for each in found] == ["lacli/edits/disk.py"]
        assert count == 1
        assert found[0].marks == (12, 13, 14, 15)

    def test_the_last_part_of_a_path_counts_for_more(self) -> None:
        found, _ = Lines(["models/fit_all/readme.md", "lacli/models/registry/fit.py"]).search("fit")
        assert found[0].text == "lacli/models/registry/fit.py"

    def test_all_words_must_fit_in_any_order(self) -> None:
        assert [each.text for each in Lines(["a/test_x.py", "b/x.py"]).search("x test")[0]] == ["a/test_x.py"]

    def test_capital_letters_fit_only_themselves(self) -> None:
        assert [each.text for each in Lines(["README.md", "readers.py"]).search("READ")[0]] == ["README.md"]

    def test_going_on_finds_what_beginning_anew_finds(self) -> None:
        names = [f"pkg{n % 7}/mod_{n}.py" for n in range(500)]
        lines = Lines(names)
        for query in ("p", "pk", "pkm", "pkm4", "m4", "m4 pkg3", "m4 pkg", "", "M"):
            assert lines.search(query) == Lines(names).search(query)

    def test_signs_of_patterns_are_letters_like_any_other(self) -> None:
        assert [each.text for each in Lines(["[/a].py", "b.py", "a^b$.py"]).search("[/]")[0]] == ["[/a].py"]
        assert [each.text for each in Lines(["[/a].py", "b.py", "a^b$.py"]).search("^$")[0]] == ["a^b$.py"]


async def test_a_few_letters_and_enter_choose_a_file(opened: Open, tmp_path: Path) -> None:
    top = repository(tmp_path / "p", "src/main.py", "src/[/a].py", "tests/test_main.py")
    async with opened(FilesScreen(top, "zzz")) as it:
        await it.until("no file fits")
        await it.press("enter", "down", "pageup", "ctrl+end")
        assert it.result is NOTHING
        await it.press("backspace", "backspace", "backspace")
        await it.until("1 of 3", "src/[/a].py")
        await it.type("stma")
        await it.it.until(lambda: it.keys == ["tests/test_main.py"])
        await it.press("enter")
        assert it.result == "tests/test_main.py"


async def test_enter_right_behind_the_letters_waits_for_what_they_find(opened: Open, tmp_path: Path) -> None:
    top = repository(tmp_path / "p", "a.py", "b.py", "c.py")
    screen = FilesScreen(top)
    async with opened(screen) as it:
        await it.until("1 of 3")
        screen.query_one("#search").insert_text_at_cursor("c")  # type: ignore[attr-defined]
        screen.action_choose()
        assert it.result is NOTHING
        await it.it.until(lambda: it.result == "c.py")


async def test_keys_move_the_mark_through_twenty_thousand_files(opened: Open, tmp_path: Path) -> None:
    names = [f"pkg{n % 97}/module_{n}.py" for n in range(20_000)]
    screen = FilesScreen(tmp_path)
    screen._lines = Lines(names)
    async with opened(screen) as it:
        await it.until("1 of 200, best of 20,000")
        await it.press("pagedown", "down")
        assert names.index(it.marked) > 10
        await it.press("ctrl+end")
        await it.until("200 of 200")
        await it.press("ctrl+home", "up")
        await it.type("19999")
        await it.it.until(lambda: it.keys == ["pkg17/module_19999.py"])


async def test_a_list_that_cannot_be_made_is_one_line(opened: Open) -> None:
    def broken(folder: Path) -> list[str]:
        raise OSError("no [/disk]")

    screen = FilesScreen(Path("."))
    screen._search = lambda query: broken(Path("."))  # type: ignore[method-assign, assignment, return-value]
    async with opened(screen) as it:
        await it.until("no [/disk]", "the files cannot be listed")
