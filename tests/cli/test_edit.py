"""`lacli edit`: what is asked, what is done with the reply, and a file that nothing but a whole reply changes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.editing.target import EditTarget, parse_target
from lacli.events import Finished, Piece, ReplyStats
from lacli.models.registry.registry import load_registry
from tests.cli.conftest import Program, Scripted, Terminal

OLD = "def load(path):\n    return open(path).read()\n\n\nprint(load('x'))\n"
NEW = OLD.replace(".read()", ".readlines()")
DIFF = """\
--- a.py
+++ a.py
@@ -1,5 +1,5 @@
 def load(path):
-    return open(path).read()
+    return open(path).readlines()
 
 
 print(load('x'))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lacli.cli.terminal.confirm.open_terminal", lambda: None)
    (tmp_path / "a.py").write_text(OLD, encoding="utf-8")
    return tmp_path


PART = NEW[: NEW.index("\n\n") + 1]


def block(text: str) -> str:
    return f"Here it is:\n```python\n{text}```\n"


def cut(text: str) -> list[object]:
    stats = ReplyStats(predicted_n=9, finish_reason="length")
    return [Piece(text, ("",), stats), Finished(text, (1,), "length", stats)]


def asked(scripted: Scripted) -> str:
    message = scripted.assistants[-1].requests[-1].messages[-1]
    return message.text


class TestTarget:
    def test_a_range_is_read_from_the_right(self, folder: Path) -> None:
        assert parse_target("a.py") == EditTarget("a.py")
        assert parse_target("a.py:3") == EditTarget("a.py", ((3, 3),))
        assert parse_target("a.py:3-9") == EditTarget("a.py", ((3, 9),))
        assert parse_target("a.py:3-") == EditTarget("a.py", ((3, None),))
        assert parse_target("a.py:3-9,12,20-") == EditTarget("a.py", ((3, 9), (12, 12), (20, None)))
        assert parse_target("C:\\b.py:3-9") == EditTarget("C:\\b.py", ((3, 9),))
        assert parse_target("-:2-3") == EditTarget("-", ((2, 3),))
        assert parse_target("a.py:39x") == EditTarget("a.py:39x")

    def test_definitions_stand_behind_two_colons(self, folder: Path) -> None:
        assert parse_target("a.py::A.load") == EditTarget("a.py", (), ("A.load",))
        assert parse_target("a.py::load,save") == EditTarget("a.py", (), ("load", "save"))

    def test_an_existing_name_wins(self, folder: Path) -> None:
        (folder / "a.py:3-9").touch()
        assert parse_target("a.py:3-9") == EditTarget("a.py:3-9")
        assert parse_target("a.py:3-9:1-2") == EditTarget("a.py:3-9", ((1, 2),))


class TestOutput:
    def test_a_diff_by_default_and_the_file_untouched(self, folder: Path, scripted: Scripted) -> None:
        for arguments in ([], ["--diff"]):
            result = scripted.run(["edit", "a.py", "read", "lines", *arguments], [block(NEW)])
            assert (result.code, result.out, result.err) == (0, DIFF, "")
            assert (folder / "a.py").read_text() == OLD

    def test_full_prints_the_file_as_it_would_be(self, folder: Path, scripted: Scripted) -> None:
        (folder / "a.py").write_bytes(OLD.replace("\n", "\r\n").encode())
        result = scripted.run(["edit", "a.py", "read lines", "--full"], [block(NEW)])
        assert (result.code, result.out, result.err) == (0, NEW.replace("\n", "\r\n"), "")

    def test_in_place_changes_it_and_says_how_much(self, folder: Path, scripted: Scripted) -> None:
        (folder / "a.py").chmod(0o755)
        result = scripted.run(["edit", "a.py", "read lines", "--in-place", "--backup", ".bak"], [block(NEW)])
        assert (result.code, result.out, result.err) == (0, "", "lacli: a.py: 1 line in, 1 out\n")
        assert ((folder / "a.py").read_text(), (folder / "a.py.bak").read_text()) == (NEW, OLD)
        assert (folder / "a.py").stat().st_mode & 0o777 == 0o755

    def test_json_says_it_all(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["edit", "a.py:1-2", "read lines", "--json"], [block(PART)])
        found = json.loads(result.out)
        assert (result.code, result.err, found["file"], found["lines"]) == (0, "", "a.py", [1, 2])
        assert (found["changed"], found["written"], found["problem"]) == (True, False, None)
        assert found["diff"] == DIFF
        assert found["parts"] == [{"label": "lines 1-2", "kind": "lines", "lines": [1, 2]}]
        assert found["tries"] == [{"part": "lines 1-2", "form": "rewrite", "faults": []}]
        assert found["finish_reason"] == "stop"
        assert found["stats"]["predicted_n"] > 0
        result = scripted.run(["edit", "a.py", "read lines", "--json", "--in-place"], [block(NEW)])
        assert json.loads(result.out)["written"] is True
        assert (folder / "a.py").read_text() == NEW

    def test_nothing_changed_is_a_failure(self, folder: Path, scripted: Scripted) -> None:
        before = (folder / "a.py").stat()
        for arguments in ([], ["--in-place", "--backup", ".bak"], ["--full"], ["--force"]):
            result = scripted.run(["edit", "a.py", "read lines", *arguments], [block(OLD)] * 3)
            assert (result.code, result.out) == (1, "")
            assert result.err.startswith(
                "lacli: error: the model changes nothing, asked 3 times; a.py is as it was; say it differently"
            )
            assert result.err.count("\n") == 1
        after = (folder / "a.py").stat()
        assert (before.st_mtime_ns, before.st_ino, os.listdir(folder)) == (after.st_mtime_ns, after.st_ino, ["a.py"])

    def test_a_long_file_of_which_nothing_is_named_is_not_given_to_a_model(
        self, folder: Path, scripted: Scripted
    ) -> None:
        (folder / "long.py").write_text("".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(20)))
        result = scripted.run(["edit", "long.py", "make it faster"], [])
        assert (result.code, result.out) == (1, "")
        assert result.err == (
            "lacli: error: long.py has 80 lines, and the instruction names none of its parts; long.py is as it was; "
            "say it differently, or name the part: FILE::NAME, FILE:A-B\n"
        )
        assert not scripted.assistants

    def test_a_rename_says_that_other_files_have_the_name(self, folder: Path, scripted: Scripted) -> None:
        (folder / ".git").mkdir()
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / "b.py").write_text("from a import load\n")
        result = scripted.run(["edit", "a.py", "rename load to read_file"], [])
        assert result.err.endswith("lacli: 1 other file of this project has `load`, too, unchanged\n")
        assert (folder / "b.py").read_text() == "from a import load\n"
        (folder / "a.py").write_text(OLD.partition("\n\n\n")[0] + "\n\n\ndef keep(x):\n    return x\n")
        result = scripted.run(["edit", "a.py", "remove load"], [])
        assert result.err.endswith("lacli: 1 other file of this project has `load`, too, unchanged\n")
        assert "other file" not in scripted.run(["edit", "a.py", "remove keep"], []).err
        (folder / "a.py").write_text(OLD)
        assert "other file" not in scripted.run(["edit", "a.py", "rename path to name in load"], []).err
        assert "other file" not in scripted.run(["edit", "-", "rename load to read_file"], [], stdin=OLD.encode()).err

    def test_a_removal_says_where_the_name_is_still_used(self, folder: Path, scripted: Scripted) -> None:
        methods = (
            "class A:\n    def run(self):\n        return 1\n\n    def go(self):\n        return self.run(), self.run\n"
        )
        (folder / "a.py").write_text(methods)
        result = scripted.run(["edit", "a.py", "remove A.run"], [])
        assert (result.code, result.err) == (0, "lacli: a.py still has `run` in 2 places\n")
        (folder / "a.py").write_text(OLD + "print(load('y'))\n")
        result = scripted.run(["edit", "a.py", "remove load"], [])
        assert result.code == 1
        assert "`load` is used but not defined (lines 1, 2)" in result.err

    def test_stdin_is_a_filters_file(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["edit", "-", "read lines"], [block(NEW)], stdin=OLD.replace("\n", "\r\n").encode())
        assert (result.code, result.out) == (0, NEW.replace("\n", "\r\n"))
        result = scripted.run(["edit", "--diff", "--", "-:1-2", "read lines"], [block(PART)], stdin=OLD.encode())
        assert result.out == DIFF.replace("a.py", "stdin")

    def test_statistics_are_the_last_line(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["edit", "a.py", "read lines", "--in-place", "--usage"], [block(NEW)])
        note, line = result.err.splitlines()
        assert note == "lacli: a.py: 1 line in, 1 out"
        assert "tok/step" in line


class TestPrompt:
    def test_the_file_then_the_instruction(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["edit", "a.py", "read", "lines"], [block(NEW)])
        request = scripted.assistants[0].requests[0]
        message = request.messages[-1]
        assert [(each.label, each.text) for each in message.attachments] == [("a.py", OLD)]
        assert message.text.startswith("read lines\n\nRewrite a.py with this change. Return the complete new a.py, ")
        assert request.truncate == ""

    def test_a_range_with_what_is_around_it(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["edit", "a.py:2-2", "close it"], [block("    return Path(path).read_text()\n")])
        message = scripted.assistants[0].requests[0].messages[-1]
        assert [each.label for each in message.attachments] == [
            "a.py before line 2",
            "a.py after line 2",
            "lines 2-2 of a.py",
        ]
        assert message.attachments[2].text == "return open(path).read()\n"
        assert "lines 2-2 of a.py" in message.text

    def test_what_is_piped_in_is_content_or_without_words_the_instruction(
        self, folder: Path, scripted: Scripted
    ) -> None:
        scripted.run(["edit", "a.py", "apply this"], [block(NEW)], stdin=b"-load\n+read\n")
        message = scripted.assistants[-1].requests[0].messages[-1]
        assert [each.label for each in message.attachments] == ["stdin", "a.py"]
        scripted.run(["edit", "a.py"], [block(NEW)], stdin=b"read lines\n")
        assert asked(scripted).startswith("read lines\n\nRewrite")

    def test_an_instruction_may_begin_with_dashes(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["edit", "a.py", "--x is misspelt, fix it"], [block(NEW)])
        assert asked(scripted).startswith("--x is misspelt, fix it\n\nRewrite")

    def test_a_file_named_in_the_words_is_shown_too(self, folder: Path, scripted: Scripted) -> None:
        (folder / "b.py").write_text("b = 1\n")
        scripted.run(["edit", "a.py", "do it as in @b.py"], [block(NEW)])
        message = scripted.assistants[-1].requests[0].messages[-1]
        assert [each.label for each in message.attachments] == ["b.py", "a.py"]
        assert message.text.startswith("do it as in b.py\n")

    def test_other_files_come_before_it(self, folder: Path, scripted: Scripted) -> None:
        (folder / "b.py").write_text("b = 1\n")
        scripted.run(["edit", "a.py", "as in b", "-f", "b.py"], [block(NEW)])
        assert [each.label for each in scripted.assistants[-1].requests[0].messages[-1].attachments] == ["b.py", "a.py"]

    def test_a_longer_fence_is_asked_for_where_the_file_has_fences(self, folder: Path, scripted: Scripted) -> None:
        (folder / "r.md").write_text("# T\n````\n```\n````\n")
        scripted.run(["edit", "r.md", "say more"], ["`````\n# T\nmore\n````\n```\n````\n`````\n"])
        assert "begins and ends with `````" in asked(scripted)

    def test_as_many_tokens_as_the_part_needs(self, folder: Path, scripted: Scripted) -> None:
        (folder / "a.txt").write_text("x = 1 + 2\n" * 40)
        scripted.run(["edit", "a.txt", "say y"], [block("y = 1 + 2\n" * 40)])
        assert scripted.assistants[-1].requests[0].max_tokens == int(200 * 1.3) + 256
        scripted.run(["edit", "a.txt", "say y", "-n", "77"], [block("y = 1 + 2\n" * 40)])
        assert scripted.assistants[-1].requests[0].max_tokens == 77

    def test_more_tokens_where_the_model_thinks_first(
        self, folder: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        preview = ScriptedAssistant.preview
        monkeypatch.setattr(
            ScriptedAssistant,
            "preview",
            lambda self, request, report=None: replace(preview(self, request), ctx_size=9000, thinks=True),
        )
        (folder / "a.txt").write_text("x = 1 + 2\n" * 40)
        told = ScriptedAssistant(()).reply_events(block("y = 1 + 2\n" * 40), block("z = 1 + 2\n" * 40))
        result = scripted.run(["edit", "a.txt", "say y", "--in-place"], [told])
        assert scripted.assistants[-1].requests[0].max_tokens == int(200 * 1.3) + 256 + 4096
        assert result.code == 0
        assert (folder / "a.txt").read_text() == "y = 1 + 2\n" * 40

    def test_dry_run_prints_it_and_loads_nothing(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["edit", "a.py", "read lines", "--dry-run"], [])
        assert result.code == 0
        assert "read lines" in result.out
        assert scripted.assistants[0].requests == []

    def test_the_turn_is_kept_in_the_log(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["edit", "a.py", "read lines"], [block(NEW)])
        found = scripted.run(["sessions", "search", "lines", "--all"]).out
        assert "edit" in found


class TestStatistics:
    """Only the answers that the result holds are counted; in `lacli stats` as well."""

    BAD, GOOD = block("print('x')\n"), block(NEW)

    def test_an_answer_that_was_asked_for_again_is_given_up(self, folder: Path, scripted: Scripted) -> None:
        alone = scripted.run(["edit", "a.py", "read lines", "--json"], [self.GOOD])
        again = scripted.run(["edit", "a.py", "read lines", "--json"], [self.BAD, self.GOOD])
        expected, found = (json.loads(each.out)["stats"] for each in (alone, again))
        assert expected["given_up_n"] == 0
        assert found["given_up_n"] > 0
        for key in ("predicted_n", "steps", "saved_n", "saved_ms", "draft_n", "predicted_per_second"):
            assert found[key] == expected[key], key
        assert found["prompt_n"] == 2 * expected["prompt_n"]

    def test_a_refused_edit_saves_nothing(self, folder: Path, scripted: Scripted) -> None:
        refused = ["edit", "a.py", "make it faster", "--json"]
        found = json.loads(scripted.run(refused, [self.BAD] * 3).out)["stats"]
        assert (found["predicted_n"], found["steps"], found["saved_n"], found["saved_ms"]) == (0, 0, 0, None)
        weeks = json.loads(scripted.run(["stats", "--json", "--all"], []).out)["weeks"]
        assert sum(each["predicted_n"] + each["steps"] for each in weeks) == 0
        forced = json.loads(scripted.run([*refused, "--force"], [self.BAD] * 3).out)["stats"]
        assert forced["predicted_n"] == forced["given_up_n"] / 2


class TestSeveralBlocks:
    def test_the_reply_is_asked_to_end_with_the_part(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["edit", "a.py:1-2", "read lines"], [block(PART)])
        assert scripted.assistants[-1].requests[0].rewrites == OLD[: len(PART) - len("lines")]

    @pytest.mark.parametrize(
        "begin",
        [
            block("    return open(path).readlines()\n"),  # a piece of it, then all
            block(OLD),  # the old text, then the new one
        ],
    )
    def test_a_block_that_is_not_yet_it_is_passed(self, folder: Path, scripted: Scripted, begin: str) -> None:
        result = scripted.run(["edit", "a.py", "read lines"], [begin + "\n" + block(NEW) + "It reads lines now."])
        assert (result.code, result.out) == (0, DIFF)


class TestRefusals:
    @pytest.mark.parametrize("mode", [[], ["--in-place"], ["--full"], ["--json"]])
    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            ("I changed it for you.", "no code block"),
            (f"```python\n{NEW[:40]}", "unfinished"),
            (cut(f"```python\n{NEW[:40]}"), "unfinished after 9 tokens"),
            (block("def load(path):\n    # ... rest unchanged\n"), "does not parse"),
        ],
    )
    def test_the_file_stays_with_one_line_that_says_why(
        self, folder: Path, scripted: Scripted, mode: list[str], reply: object, why: str
    ) -> None:
        result = scripted.run(["edit", "a.py", "read lines", *mode], [reply] * 3)
        assert result.code == 1
        assert result.err.count("\n") == 1
        assert result.err.startswith("lacli: error: ")
        assert why in result.err
        assert "a.py is as it was" in result.err
        assert result.out == "" or json.loads(result.out)["problem"]
        assert ((folder / "a.py").read_text(), os.listdir(folder)) == (OLD, ["a.py"])

    @pytest.mark.parametrize("reply", [block(OLD), block("print('x')\n")])
    def test_a_coding_model_is_recommended_instead_of_the_demonstration_model_alone(
        self, folder: Path, scripted: Scripted, reply: str
    ) -> None:
        better = "; -m qwen2.5-coder-1.5b takes a real coding model\n"
        assert scripted.run(["edit", "a.py", "add hints"], [reply] * 3).err.endswith(better)
        assert "-m " not in scripted.run(["edit", "a.py", "add hints", "-m", "qwen2.5-coder-1.5b"], [reply] * 3).err
        assert load_registry().resolve("qwen2.5-coder-1.5b").sources

    def test_what_fails_a_check_is_taken_by_force_alone(self, folder: Path, scripted: Scripted) -> None:
        arguments = ["edit", "a.py", "make it faster", "--in-place"]
        bad = block("print('x')\n")
        result = scripted.run([*arguments, "--keep-reply", "bad.diff"], [bad, bad, bad])
        assert (result.code, (folder / "a.py").read_text()) == (1, OLD)
        assert "`load` is gone" in result.err
        assert "its diff is in bad.diff" in result.err
        assert "--force takes it anyway" in result.err
        assert "-def load(path):\n" in (folder / "bad.diff").read_text()
        result = scripted.run([*arguments, "--force"], [bad, bad, bad])
        assert (result.code, (folder / "a.py").read_text()) == (0, "print('x')\n")
        assert "warning: `load` is gone" in result.err

    def test_of_an_unusable_reply_the_reply_itself_is_kept(self, folder: Path, scripted: Scripted) -> None:
        arguments = ["edit", "a.py::load", "read lines", "--keep-reply", "bad.txt"]
        for reply in ("I would rather not.", block("def load(path):\n    return open(path).read()\n")):
            result = scripted.run(arguments, [reply] * 3)
            assert result.code == 1
            assert "a.py is as it was; the reply is in bad.txt; " in result.err
            assert reply in (folder / "bad.txt").read_text()

    def test_what_is_kept_of_a_refused_edit_never_takes_the_place_of_the_file(
        self, folder: Path, scripted: Scripted
    ) -> None:
        for path in ("a.py", "./a.py", "none/bad.diff"):
            result = scripted.run(["edit", "a.py", "x", "--keep-reply", path], [block("print('x')\n")] * 3)
            assert (result.code, (folder / "a.py").read_text()) == (2, OLD)
            assert "--keep-reply" in result.err

    def test_a_file_that_is_changed_while_the_model_writes_is_left_alone(
        self, folder: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = ScriptedAssistant.reply_events

        def meanwhile(self: ScriptedAssistant, text: str) -> object:
            (folder / "a.py").write_text("theirs\n")
            return told(self, text)

        monkeypatch.setattr(ScriptedAssistant, "reply_events", meanwhile)
        result = scripted.run(["edit", "a.py", "read lines", "--in-place"], [block(NEW)])
        assert (result.code, (folder / "a.py").read_text()) == (1, "theirs\n")
        assert "was changed meanwhile" in result.err

    @pytest.mark.parametrize(
        ("arguments", "code", "why"),
        [
            (["none.py", "x"], 2, "there is no file none.py"),
            (["."], 2, "is a directory"),
            (["bin", "x"], 2, "bin is a binary file"),
            (["a.py:3-99", "x"], 2, "a.py has 5 lines"),
            (["a.py:0", "x"], 2, "a.py has 5 lines"),
            (["a.py"], 2, "there is no instruction; say after the file what should become of it, or pipe that in"),
            (["-"], 2, "there is no instruction"),
            (["a.py", "x", "--diff", "--full"], 2, "exclude each other"),
            (["a.py", "x", "--backup", ".b"], 2, "--backup is for --in-place"),
            (["-", "x", "--in-place"], 2, "stdin cannot be edited in place"),
            (["locked.py", "x", "--in-place"], 2, "locked.py is read-only"),
            (["long.py", "x"], 5, "long.py is too long to be rewritten: prompt 2,0"),
            (["long.py:1-2000", "x"], 5, "give fewer lines"),
        ],
    )
    def test_before_anything_is_loaded(
        self, folder: Path, scripted: Scripted, arguments: list[str], code: int, why: str
    ) -> None:
        (folder / "bin").write_bytes(b"\x7fELF\0\0")
        (folder / "locked.py").write_text(OLD)
        (folder / "locked.py").chmod(0o444)
        (folder / "long.py").write_text("word\n" * 2020)
        result = scripted.run(["edit", *arguments], [block(NEW)])
        assert result.code == code
        assert why in result.err
        assert result.err.count("\n") == 1
        assert all(each.requests == [] for each in scripted.assistants)


class TestBytes:
    def test_lines_the_model_cannot_show_are_not_touched(
        self, folder: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        preview = ScriptedAssistant.preview
        monkeypatch.setattr(
            ScriptedAssistant, "preview", lambda self, *given: replace(preview(self, *given), unseen="\x1d\x04")
        )
        (folder / "s.py").write_bytes(b'SEP = "a\x1db\x04c"\nx = 1\n')
        scripted.run(["edit", "s.py", "rename x to total", "--in-place"], [block('SEP = "abc"\ntotal = 1\n')])
        assert (folder / "s.py").read_bytes() == b'SEP = "a\x1db\x04c"\ntotal = 1\n'

    @pytest.mark.parametrize(
        ("before", "reply", "after"),
        [
            (b"a\r\nb\r\n", "a\nc\nd\n", b"a\r\nc\r\nd\r\n"),
            (b"a\r\nb\nc\rd", "a\nb\nC\nd\n", b"a\r\nb\nC\rd"),
            (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
            (b"caf\xe9\nb\n", "café\nü\n", b"caf\xe9\n\xfc\n"),
        ],
    )
    def test_the_file_keeps_its_form(
        self, folder: Path, scripted: Scripted, before: bytes, reply: str, after: bytes
    ) -> None:
        (folder / "f f:é.txt").write_bytes(before)
        result = scripted.run(["edit", "f f:é.txt", "change it", "--in-place"], [block(reply)])
        assert (result.code, (folder / "f f:é.txt").read_bytes()) == (0, after)

    def test_git_with_autocrlf_sees_the_changed_line_only(self, folder: Path, scripted: Scripted) -> None:
        def git(*arguments: str) -> str:
            command = ["git", "-c", "core.autocrlf=true", "-c", "user.name=x", "-c", "user.email=x", *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout

        (folder / "a.py").write_bytes(OLD.replace("\n", "\r\n").encode())
        git("init", "-q")
        git("add", "a.py")
        git("commit", "-qm", "x")
        scripted.run(["edit", "a.py", "read lines", "--in-place"], [block(NEW)])
        assert "1 file changed, 1 insertion(+), 1 deletion(-)" in git("diff", "--stat")

    def test_a_link_is_followed(self, folder: Path, scripted: Scripted) -> None:
        (folder / "link.py").symlink_to("a.py")
        scripted.run(["edit", "link.py", "read lines", "--in-place"], [block(NEW)])
        assert (folder / "link.py").is_symlink()
        assert (folder / "a.py").read_text() == NEW


class TestOnATerminal:
    def test_a_diff_in_colours_and_the_statistics(
        self, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("SCRIPTS", json.dumps([block(NEW)]))
        terminal = Terminal(program.command("edit", "a.py", "read lines", "--no-stdin"))
        terminal.wait_for(b"\x1b[1m--- a.py\x1b[0m\r\n\x1b[1m+++ a.py\x1b[0m\r\n")
        terminal.wait_for(b"\x1b[32m+    return open(path).readlines()\x1b[0m\r\n")
        terminal.wait_for(b"tok/step")
        assert terminal.finish() == 0
        assert b"```" not in terminal.seen

    def test_text_of_any_encoding_is_shown(
        self, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "u.txt").write_bytes("\ufeffé\r\nb\r\n".encode("utf-16-le"))
        monkeypatch.setenv("SCRIPTS", json.dumps([block("é\nc\n")]))
        terminal = Terminal(program.command("edit", "u.txt", "change b", "--no-stdin", "--color", "never"))
        terminal.wait_for(" é\r\n-b\r\n+c\r\n".encode())
        assert terminal.finish() == 0


class TestInterrupting:
    @pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
    def test_ctrl_c_leaves_the_file_and_ends_with_130(
        self, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SCRIPTS", json.dumps([block(NEW)]))
        monkeypatch.setenv("PAUSE", "0.5")
        monkeypatch.setenv("SAY_BEGUN", "1")
        monkeypatch.setenv("SAY_CLOSED", "1")
        command = program.command("edit", "a.py", "read lines", "--in-place", "--no-stdin")
        process = subprocess.Popen(command, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        assert process.stderr is not None
        assert process.stderr.readline() == b"begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (130, b"")
        assert b"Traceback" not in err
        assert (folder / "a.py").read_text() == OLD

    @pytest.mark.slow
    def test_when_the_time_is_over_the_file_stays(
        self, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SCRIPTS", json.dumps([block(NEW)]))
        done = program.shell("lacli edit a.py 'read lines' --in-place --timeout 1 </dev/null", PAUSE="0.3")
        assert done.returncode == 6
        assert (folder / "a.py").read_text() == OLD
