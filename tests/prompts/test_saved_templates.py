"""Templates as files: what they may say, what they refuse, and that nothing of them is lost."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lacli.errors import OutOfMemory, UsageError
from lacli.prompts import saved
from lacli.prompts.saved import Saved, named, save


def put(name: str, text: str | bytes) -> Path:
    path = saved.folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


class TestFilling:
    def test_input_parameters_defaults_and_dollars(self) -> None:
        template = Saved("t", "Say $input in ${lang}, $role! $$5", defaults={"role": "sir"})
        template.check({"lang": "Go"})
        assert template.filled("hi", {"lang": "Go"}) == "Say hi in Go, sir! $5"
        assert template.filled("$lang", {"lang": "$x", "role": "b"}) == "Say $lang in $x, b! $5"
        assert template.parameters == ("input", "lang", "role")

    def test_words_without_a_place_stand_behind_the_prompt(self) -> None:
        assert Saved("t", "Be brief.\n").filled("why?", {}) == "Be brief.\n\nwhy?"
        assert Saved("t", "Be brief.").filled(" ", {}) == "Be brief."
        assert Saved("t", system="s").filled("why?", {}) == "why?"

    def test_the_system_message_is_filled_in_too(self) -> None:
        assert Saved("t", "", "You are $who about $input").filled_system("x", {"who": "me"}) == "You are me about x"

    def test_missing_and_unknown_parameters_are_named(self) -> None:
        template = Saved("t", "$a and $b", defaults={"a": "1"})
        with pytest.raises(UsageError, match="template t needs the parameter b"):
            template.check({"a": "2"})
        with pytest.raises(UsageError, match="template t has no parameter c") as caught:
            template.check({"b": "2", "c": "3"})
        assert caught.value.hint == "it has a, b"
        with pytest.raises(UsageError, match="has no parameter input"):
            template.check({"b": "2", "input": "3"})

    @pytest.mark.parametrize("text", ["a $ b", "a $", "one\n$5", "${a b}", "${", "$é"])
    def test_a_lone_dollar_is_named_with_its_line(self, text: str) -> None:
        with pytest.raises(UsageError, match=rf"template t, line {1 + text.count(chr(10))} of its prompt: a lone \$"):
            Saved("t", text).check({})


class TestNamedInAChat:
    def test_what_stands_behind_the_name_is_parameters_and_then_words(self, sandbox: Path) -> None:
        save(Saved("t", "$a, $b: $input", defaults={"b": "2"}))
        assert named("t a=1 x=3 is it?").filled() == ("", "1, 2: x=3 is it?")
        assert named("t b=3 a= x").filled() == ("", ", 3: x")
        assert named("t a\nb").missing == ("a",)
        assert named("t a\nb").filled({"a": "1"}) == ("", "1, 2: a\nb")
        with pytest.raises(UsageError, match="needs the parameter a") as caught:
            named("t x").filled()
        assert "a=VALUE behind its name" in caught.value.hint


class TestKeeping:
    @pytest.mark.parametrize(
        "prompt",
        [
            "one line",
            "two\nlines\n",
            "\n\nlead",
            'quotes " "" """ """" \'\'\' end"',
            'x\n"""\n""',
            "back\\slash \\n \\",
            "a\\\nb",
            "tab\there\r\nand\x07bell",
            "漢 🚀 é",
            "# not a comment\n[table]\n",
        ],
    )
    def test_every_text_comes_back_as_it_was(self, prompt: str) -> None:
        before = Saved("t", prompt, prompt + "$who", {"who": prompt})
        saved.save(before)
        assert saved.load("t") == before

    def test_the_file_is_private_and_names_are_listed(self) -> None:
        path = saved.save(Saved("b", "x"))
        saved.save(Saved("a.1", "x"))
        put("c.md", "x")
        put(".hidden.toml", "x")
        put("notes.pdf", "x")
        assert saved.names() == ["a.1", "b", "c"]
        if os.name == "posix":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert not list(path.parent.glob("*.tmp"))

    def test_one_that_is_there_stays_unless_it_is_to_go(self) -> None:
        put("t.txt", "old")
        with pytest.raises(UsageError, match="there is a template t already"):
            saved.save(Saved("t", "new"))
        assert saved.load("t").prompt == "old"
        saved.save(Saved("t", "new"), replace=True)
        assert saved.load("t").prompt == "new"
        assert saved.names() == ["t"]

    @pytest.mark.parametrize(
        ("template", "words"),
        [
            (Saved("../x", "p"), "is no name of a template"),
            (Saved("a/b", "p"), "is no name of a template"),
            (Saved(".x", "p"), "is no name of a template"),
            (Saved("", "p"), "is no name of a template"),
            (Saved("x" * 65, "p"), "is no name of a template"),
            (Saved("t", " "), "would be empty"),
            (Saved("t", "a $ b"), "a lone \\$"),
            (Saved("t", "$a", defaults={"a": "1", "b": "2"}), "nothing in template t says \\$b"),
            (Saved("t", "$input", defaults={"input": "1"}), "is no name of a parameter"),
        ],
    )
    def test_what_cannot_be_a_template_is_not_kept(self, template: Saved, words: str) -> None:
        with pytest.raises(UsageError, match=words):
            saved.save(template)
        assert not saved.folder().exists()

    def test_a_full_disk_leaves_the_old_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        saved.save(Saved("t", "old"))

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OutOfMemory, match="cannot be written: No space left"):
                saved.save(Saved("t", "new"), replace=True)
        assert saved.load("t").prompt == "old"
        assert [path.name for path in saved.folder().iterdir()] == ["t.toml"]

    def test_removed_ones_are_gone(self) -> None:
        saved.save(Saved("t", "x"))
        saved.remove("t")
        assert saved.names() == []
        with pytest.raises(UsageError, match="there is no template t"):
            saved.remove("t")


class TestReading:
    def test_plain_text_is_a_prompt(self) -> None:
        put("a.txt", "Explain:\r\n$input\r\n")
        put("b.md", "# Do\n".encode("utf-16"))
        assert saved.load("a") == Saved("a", "Explain:\n$input")
        assert saved.load("b").prompt == "# Do"

    def test_a_byte_order_mark_is_no_mistake(self) -> None:
        put("t.toml", b'\xef\xbb\xbfprompt = "x"')
        assert saved.load("t").prompt == "x"

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("prompt = 'x'\nprmpt = 'y'", "t.toml:2: there is no key prmpt"),
            ("\nprompt = 3", "t.toml:2: prompt is not a text"),
            ("prompt = 'x'\ndefaults = 1", "t.toml:2: defaults is not a table"),
            ("prompt = '$a'\n[defaults]\na = 1", "t.toml:3: a is not a text"),
            ("prompt = 'x'\n[options]\ntemperture = 1", "t.toml:3: a template sets no temperture"),
            ("prompt = 'x", "t.toml:1: not valid TOML"),
            ("# nothing", "t.toml:1: neither prompt nor system says anything"),
        ],
    )
    def test_a_mistake_has_its_file_and_line(self, text: str, words: str) -> None:
        put("t.toml", text)
        with pytest.raises(UsageError) as caught:
            saved.load("t")
        assert words in caught.value.message
        assert caught.value.hint

    def test_the_nearest_name_is_offered(self) -> None:
        saved.save(Saved("review", "x"))
        with pytest.raises(UsageError) as caught:
            saved.load("reveiw")
        assert caught.value.hint == "did you mean review?"

    def test_what_is_no_file_is_one_line(self) -> None:
        (saved.folder() / "t.toml").mkdir(parents=True)
        with pytest.raises(UsageError, match=r"t\.toml cannot be read"):
            saved.load("t")
