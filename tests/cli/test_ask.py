"""`lacli ask`: content and instruction, streams, statistics and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lacli.errors import ModelUnavailable, PromptTooLong
from lacli.events import Finished, Loading, Notice, Piece, Prefill, ReplyStats
from lacli.prompts.content import composed
from tests.cli.conftest import Scripted

KEYS = """
prompt_n prompt_ms predicted_n predicted_ms predicted_per_second draft_n draft_n_accepted steps tokens_per_step
pool_hits pool_size load_ms ctx_used ctx_size vram_peak_mb finish_reason model quant kernel accepted_by_source rows
ttft_ms
"""


def prompt_of(scripted: Scripted) -> str:
    (message,) = scripted.assistants[-1].requests[0].messages
    assert message.role == "user"
    return composed(message.text, message.attachments)


def test_the_reply_alone_is_on_stdout_with_one_final_newline(scripted: Scripted) -> None:
    result = scripted.run(["ask", "hi"], ["Hello there.\nBye"])
    assert (result.code, result.out, result.err) == (0, "Hello there.\nBye\n", "")


def test_the_assistant_is_closed(scripted: Scripted) -> None:
    scripted.run(["ask", "hi"])
    assert scripted.assistants[0].closed


class TestPrompt:
    def test_piped_stdin_is_content_in_a_fence_and_the_argument_the_last_line(self, scripted: Scripted) -> None:
        scripted.run(["ask", "write a commit message"], stdin=b"+new ``` line\n")
        assert prompt_of(scripted) == "````stdin\n+new ``` line\n````\n\nwrite a commit message"

    def test_stdin_alone_is_the_prompt(self, scripted: Scripted) -> None:
        scripted.run(["ask"], stdin=b"what is 1+1?\n")
        assert prompt_of(scripted) == "what is 1+1?\n"

    def test_empty_stdin_is_no_content(self, scripted: Scripted) -> None:
        scripted.run(["ask", "hi"], stdin=b"\n")
        assert prompt_of(scripted) == "hi"

    def test_no_stdin_leaves_it_unread(self, scripted: Scripted) -> None:
        scripted.run(["ask", "hi", "--no-stdin"], stdin=b"content")
        assert prompt_of(scripted) == "hi"

    def test_a_dash_reads_stdin_whatever_no_stdin_says(self, scripted: Scripted) -> None:
        scripted.run(["ask", "-", "--no-stdin"], stdin=b"question")
        assert prompt_of(scripted) == "question"

    def test_words_are_joined_and_after_two_dashes_all_is_text(self, scripted: Scripted) -> None:
        scripted.run(["ask", "two", "words"])
        assert prompt_of(scripted) == "two words"
        scripted.run(["ask", "--", "--answer briefly: why?"])
        assert prompt_of(scripted) == "--answer briefly: why?"

    @pytest.mark.parametrize("text", ["- name two sorting methods", "--x is misspelt, fix it", "-1 is wrong here"])
    def test_a_dash_before_a_text_with_blanks_makes_no_option_of_it(self, scripted: Scripted, text: str) -> None:
        assert scripted.run(["ask", text]).code == 0
        assert prompt_of(scripted) == text

    @pytest.mark.parametrize("text", ["--x=3 is wrong", "-n is no option", "--tempreature"])
    def test_what_may_be_an_option_is_refused_with_the_remedy(self, scripted: Scripted, text: str) -> None:
        result = scripted.run(["ask", text])
        assert result.code == 2
        assert "goes after --" in result.err

    @pytest.mark.parametrize("arguments", [["ask"], ["ask", "  "], ["ask", "--no-stdin"]])
    def test_nothing_to_ask_is_exit_2(self, scripted: Scripted, arguments: list[str]) -> None:
        result = scripted.run(arguments, stdin=b"")
        assert result.code == 2
        assert "nothing to ask" in result.err
        assert scripted.assistants[-1].requests == []

    def test_bytes_that_are_not_utf8_are_read_with_one_note(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "list names"], stdin=b"# caf\xe9\n")
        assert "café" in prompt_of(scripted)
        assert result.err.count("stdin is not all UTF-8") == 1

    def test_an_argument_with_bad_bytes_has_no_surrogates(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "--no-stdin", "what is \udcff\udcfe?"])
        assert prompt_of(scripted) == "what is ÿþ?"
        assert "the prompt is not all UTF-8" in result.err


class TestStreams:
    def test_notices_go_to_stderr_and_loading_is_silent_in_a_pipe(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "hi"], ["x"], opening=[Loading("fetch", 1, 2), Notice("fetching y")])
        assert result.err == "lacli: fetching y\n"

    def test_a_notice_within_the_reply_waits_for_its_end(self, scripted: Scripted) -> None:
        stats = ReplyStats(predicted_n=1)
        script = [
            Piece("a", ("",), stats),
            Notice("late"),
            Piece("b", ("",), stats),
            Finished("ab", (1, 2), "stop", stats),
        ]
        result = scripted.run(["ask", "hi"], [script])
        assert (result.out, result.err) == ("ab\n", "lacli: late\n")

    def test_quiet_drops_notices(self, scripted: Scripted) -> None:
        assert scripted.run(["ask", "hi", "-q"], ["x"], opening=[Notice("fetching y")]).err == ""

    def test_json_is_one_object_and_no_text(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "hi", "--json"], ["a b 漢"])
        assert result.out.count("\n") == 1
        document = json.loads(result.out)
        assert document["text"] == "a b 漢"
        assert document["finish_reason"] == "stop"
        assert document["stats"]["predicted_n"] == 3


class TestStatistics:
    def test_stats_is_one_json_line_with_the_agreed_keys(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "hi", "--stats"], ["one two three four five"])
        assert result.err.count("\n") == 1
        stats = json.loads(result.err)
        assert set(stats) >= set(KEYS.split())
        assert stats["tokens_per_step"] == (stats["predicted_n"] - 1) / stats["steps"]
        assert stats["draft_n_accepted"] <= stats["draft_n"]
        assert stats["accepted_by_source"] == {"project": stats["draft_n_accepted"]}

    def test_one_token_has_no_rate_and_no_infinity(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "hi", "--stats"], ["one"])
        stats = json.loads(result.err, parse_constant=lambda name: pytest.fail(name))
        assert stats["tokens_per_step"] is None
        assert stats["predicted_per_second"] is None

    def test_verbose_gives_the_line_for_people(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "hi", "-v"], ["one two three four five"])
        assert result.err == (
            "5 tok in 2 steps · 2.00 tok/step · 200.0 tok/s · saved 2 steps, 20 ms · guessed 40% (project 40%)"
            " · pool 1,000 tok · first token 10 ms\n"
        )

    @pytest.mark.parametrize(("arguments", "words"), [([], "no pool here"), (["--no-pool"], "pool off")])
    def test_where_nothing_is_learned_it_says_so(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
    ) -> None:
        script = [Finished("x", (1,), "stop", ReplyStats(predicted_n=1))]
        assert "pool 0 tok" in scripted.run(["ask", "hi", "-v"], [script]).err
        monkeypatch.chdir("/")
        result = scripted.run(["ask", "hi", "-v", *arguments], [script])
        assert f" · {words} · " in result.err
        assert result.err.count("nothing is learned here") == (0 if arguments else 1)
        assert scripted.run(["ask", "hi", *arguments], [script]).err == ""

    def test_a_pipe_gets_no_statistics_unasked(self, scripted: Scripted) -> None:
        assert scripted.run(["ask", "hi"]).err == ""


class TestCut:
    @pytest.mark.parametrize(
        ("reason", "words"), [("length", "cut at 7 tokens; -n N for more"), ("context", "the context of 64 tokens")]
    )
    @pytest.mark.parametrize("command", ["ask", "complete"])
    def test_is_said_once_on_stderr(
        self, scripted: Scripted, tmp_path: Path, command: str, reason: str, words: str
    ) -> None:
        (tmp_path / "a.py").touch()
        arguments = [command, str(tmp_path / "a.py"), "-n", "7"]
        stats = ReplyStats(predicted_n=1, ctx_size=64, finish_reason=reason)
        script = [Piece("part", ("",), stats), Finished("part", (1,), reason, stats)]
        result = scripted.run(arguments, [script])
        assert (result.code, result.out.strip()) == (0, "part")
        assert result.err.count("\n") == 1
        assert words in result.err
        assert scripted.run([*arguments, "-q"], [script]).err == ""
        assert scripted.run([*arguments, "--json"], [script]).err == ""
        assert json.loads(scripted.run([*arguments, "--stats"], [script]).err)["finish_reason"] == reason
        shown = scripted.run([*arguments, "-v"], [script]).err.splitlines()
        assert len(shown) == 2
        assert reason not in shown[1]

    def test_is_no_news_to_whoever_asked_for_nothing(self, scripted: Scripted) -> None:
        stats = ReplyStats(finish_reason="length")
        assert scripted.run(["ask", "hi", "-n", "0"], [[Finished("", (), "length", stats)]]).err == ""


class TestFailures:
    def test_a_failure_has_its_code_and_one_line(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "hi"], [PromptTooLong("prompt 9 + reply 9 > context 10 tokens", "use -n 1")])
        assert result.code == 5
        assert result.err == "lacli: error: prompt 9 + reply 9 > context 10 tokens; use -n 1\n"
        assert scripted.run(["ask", "hi"], [ModelUnavailable("m", "h")]).code == 3

    def test_a_cancelled_reply_is_kept_and_exits_130(self, scripted: Scripted) -> None:
        stats = ReplyStats(predicted_n=1, finish_reason="cancelled")
        script = [Prefill(1, 1, 0), Piece("part", ("",), stats), Finished("part", (1,), "cancelled", stats)]
        result = scripted.run(["ask", "hi", "--stats"], [script])
        assert (result.code, result.out) == (130, "part\n")
        assert json.loads(result.err)["finish_reason"] == "cancelled"
