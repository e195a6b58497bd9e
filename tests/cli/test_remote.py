"""Every command in front of a remote, and what is sent where none was named: nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lacli_tui.start import Start
from tests.cli.conftest import ROOT, Result, Scripted, run_main
from tests.remote.scripted import (
    ACCEPTED,
    PREDICTED_N,
    STEPS,
    TEXT,
    Answer,
    Asked,
    Server,
    chunks,
    ollama_lines,
    refusal,
    serving,
)
from tests.slow import slow

Run = Callable[..., Result]
MODEL = ("-m", "remote:gpu")
LINE = f"{TEXT}\n"


@pytest.fixture
def server(sandbox: Path) -> Iterator[Server]:
    """A vLLM that the user's configuration names."""
    with serving("vllm") as made:
        configure(sandbox, made.url)
        yield made


def configure(home: Path, url: str, more: str = "") -> None:
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "config.toml").write_text(f'[remotes.gpu]\nurl = "{url}"\n{more}', encoding="utf-8")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], project: Path) -> Run:
    """Runs a command as it is, in a project, with an empty stdin."""

    def made(*arguments: str, stdin: bytes = b"") -> Result:
        return run_main(arguments, stdin, monkeypatch, capfdbinary)

    return made


class TestCommands:
    def test_ask_prints_the_reply_and_says_where_it_came_from(self, run: Run, server: Server) -> None:
        result = run("ask", *MODEL, "hi")
        assert (result.code, result.out) == (0, LINE)
        where = server.url.removeprefix("http://")
        assert result.err == f"lacli: remote:gpu: vllm at {where}, m: what is asked is sent there\n"

    def test_its_statistics_have_the_usual_names(self, run: Run, server: Server) -> None:
        told = json.loads(run("ask", *MODEL, "-q", "--stats", "hi").err)
        assert (told["model"], told["predicted_n"], told["steps"]) == ("remote:gpu", PREDICTED_N, STEPS)
        assert told["tokens_per_step"] == (PREDICTED_N - 1) / STEPS
        assert told["accepted_by_source"] == {"remote": ACCEPTED}

    def test_chat_takes_a_turn(self, run: Run, server: Server) -> None:
        assert run("chat", *MODEL, "hi").out == LINE
        assert run("chat", *MODEL, "-c", "and now?").out == LINE
        assert [each["content"] for each in server.replies[1].body["messages"]] == ["hi", TEXT, "and now?"]

    def test_a_conversation_with_a_remote_does_not_go_there_again_by_itself(
        self, run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run("chat", *MODEL, "hi")
        server.asked.clear()
        result = run("chat", "-c", "and now?", "--offline")
        assert "was held with remote:gpu; the default model goes on" in result.err
        assert not server.asked

    def test_complete_sends_markers_that_the_server_has(self, run: Run, server: Server, project: Path) -> None:
        (project / "a.py").write_text("def add(a, b):\n    return \n\nprint(add(1, 2))\n", encoding="utf-8")
        known = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>", "<|repo_name|>"]

        def tokenize(asked: Asked) -> Answer:
            text = asked.body["prompt"]
            return Answer(body=json.dumps({"tokens": [known.index(text)] if text in known else [1, 2]}).encode())

        server.doors["/tokenize"] = tokenize
        server.answers = [Answer(parts=chunks("vllm", ["a", " + b", "\n"], chat=False))]
        result = run("complete", *MODEL, "a.py:2")
        assert (result.code, result.out) == (0, "a + b")
        sent = server.replies[0]
        assert sent.path == "/v1/completions"
        assert sent.body["prompt"].startswith("<|fim_prefix|>def add(a, b):\n    return")
        assert sent.body["prompt"].endswith("print(add(1, 2))\n<|fim_middle|>")

    @pytest.mark.parametrize(
        ("kind", "path", "member"),
        [("llama-server", "/infill", "input_suffix"), ("ollama", "/api/generate", "suffix")],
    )
    def test_complete_falls_back_to_what_the_server_has(
        self, run: Run, sandbox: Path, project: Path, kind: str, path: str, member: str
    ) -> None:
        (project / "a.txt").write_text("one\n\nthree\n", encoding="utf-8")
        with serving(kind) as server:
            configure(sandbox, server.url)
            assert run("complete", *MODEL, "a.txt:2").code == 0
            sent = server.replies[0]
        assert sent.path == path
        assert "three" in sent.body[member]

    @pytest.mark.parametrize("kind", ["llama-server", "ollama", "openai"])
    def test_a_model_that_knows_no_filling_in_continues_the_text(
        self, run: Run, sandbox: Path, project: Path, kind: str
    ) -> None:
        (project / "a.py").write_text("x = 1\ny = \nz = 3\n", encoding="utf-8")

        def plain(asked: Asked) -> Answer:
            if asked.path == "/infill" or "suffix" in asked.body:
                return refusal(501 if kind == "llama-server" else 400, "suffix is not supported by this model")
            if kind == "ollama":
                return Answer(parts=ollama_lines([" 2", "\n"]), headers={"Content-Type": "application/x-ndjson"})
            return Answer(parts=chunks(kind, [" 2", "\n"], chat=False))

        with serving(kind, plain) as server:
            configure(sandbox, server.url)
            result = run("complete", *MODEL, "a.py:2")
            assert (result.code, result.out) == (0, "2"), result.err
            assert "z = 3" in server.replies[-1].body["prompt"]

    def test_edit_changes_the_part_that_was_meant(self, run: Run, server: Server, project: Path) -> None:
        file = project / "a.py"
        file.write_text("def f(x):\n    return x\n\n\ndef g():\n    return 1\n", encoding="utf-8")
        server.answers = [Answer(parts=chunks("vllm", ["def f(x):\n", "    return 2 * x\n", "```\n"]))]
        result = run("edit", *MODEL, "a.py", "make f return twice x", "--in-place")
        assert result.code == 0, result.err
        assert file.read_text(encoding="utf-8") == "def f(x):\n    return 2 * x\n\n\ndef g():\n    return 1\n"

    def test_a_batch_is_resumed_behind_what_it_has(self, run: Run, server: Server, project: Path) -> None:
        (project / "p.jsonl").write_text("".join(f'"n{number}"\n' for number in range(12)), encoding="utf-8")
        good, bad = Answer(parts=chunks("vllm")), refusal(401, "key expired")
        server.answers = [*[good] * 5, bad]
        broken = run("ask", *MODEL, "--batch", "p.jsonl", "-o", "out.jsonl")
        assert broken.code == 3
        kept = (project / "out.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(kept) == 5
        server.answers, server.asked[:] = [good], []
        assert run("ask", *MODEL, "--batch", "p.jsonl", "-o", "out.jsonl").code == 0
        records = [json.loads(line) for line in (project / "out.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [each["index"] for each in records] == list(range(12))
        assert {each["text"] for each in records} == {TEXT}

    def test_the_terminal_ui_is_started_with_it(
        self, run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun: list[Start] = []
        monkeypatch.setattr("lacli.cli.tui.command._check_terminal", lambda inline: None)
        monkeypatch.setattr("lacli_tui.app.run", lambda start: begun.append(start) or ("", 0))
        assert run("tui", *MODEL, "--send-anyway").code == 0
        start = begun[0]
        assert (start.model, start.missing, list(start.remotes())) == ("remote:gpu", "", ["gpu"])
        assert start.settings.send_anyway
        start.remote(start.settings).open()
        assert server.asked[0].path == "/v1/models"
        assert run("tui", "-m", "remote:gp").code == 3

    def test_several_alternatives_are_refused_in_a_line(self, run: Run, server: Server, project: Path) -> None:
        (project / "a.py").write_text("x = \n", encoding="utf-8")
        result = run("complete", *MODEL, "--alternatives", "2", "a.py:1")
        assert result.code == 2
        assert result.err.splitlines()[-1].startswith("lacli: error: a remote does not write several completions")

    def test_nor_are_they_recommended(self, run: Run, server: Server, project: Path) -> None:
        (project / "a.py").write_text("x = \n", encoding="utf-8")
        server.answers = [Answer(parts=chunks("vllm", [""], chat=False))]
        result = run("complete", *MODEL, "a.py:1")
        assert "nothing to insert here; a comment before the cursor" in result.err

    def test_a_broken_reply_leaves_its_text_and_a_failure(self, run: Run, server: Server) -> None:
        server.answers = [Answer(parts=chunks("vllm")[:3])]
        result = run("ask", *MODEL, "hi")
        assert (result.code, result.out) == (1, "Use `os.replace`,")
        assert "did not end its reply" in result.err
        shown = run("sessions", "show")
        assert "Use `os.replace`," in shown.out

    def test_the_time_allowed_ends_a_reply_that_stalls(self, run: Run, server: Server) -> None:
        server.answers = [Answer(parts=[*chunks("vllm")[:3], 30.0])]
        result = run("ask", *MODEL, "--timeout", "0.6", "hi")
        assert (result.code, result.out) == (6, "Use `os.replace`,\n")
        assert server.gone.wait(5)

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            (refusal(401, "no"), 3),
            (refusal(404, "no model m"), 3),
            (refusal(400, "maximum context length"), 5),
            (refusal(429, "slow", Retry_After="99"), 1),
            (Answer(307, headers={"Location": "http://192.0.2.1/"}), 2),
        ],
    )
    def test_failures_have_the_exit_codes_of_all_commands(
        self, run: Run, server: Server, answer: Answer, code: int
    ) -> None:
        server.answers = [answer]
        result = run("ask", *MODEL, "hi")
        assert (result.code, result.out) == (code, "")
        assert "Traceback" not in result.err

    def test_a_secret_stays_here(self, run: Run, server: Server) -> None:
        asked = "why is AKIAIOSFODNN7ABCDEFG refused?"
        result = run("ask", *MODEL, asked)
        assert result.code == 2
        assert result.err.splitlines()[-1].endswith("take it out, or add --send-anyway")
        assert not server.replies
        assert run("ask", *MODEL, "--send-anyway", asked).out == LINE

    @pytest.mark.parametrize("arguments", [("lsp",), ("acp",), ("models", "show", "remote:gpu"), ("bench", *MODEL)])
    def test_other_commands_refuse_a_remote_in_a_line(self, run: Run, server: Server, arguments: Sequence[str]) -> None:
        more = MODEL if arguments in (("lsp",), ("acp",)) else ()
        result = run(*arguments, *more)
        assert result.code == 2
        assert "remote:gpu is an engine that others run" in result.err
        assert not server.asked


class TestConfiguration:
    def test_models_list_shows_it_and_asks_nothing(self, run: Run, server: Server) -> None:
        record = json.loads(run("models", "list", "--json").out)[-1]
        assert record["name"] == "remote:gpu"
        assert record["url"] == server.url
        assert not server.asked

    def test_it_may_be_the_default(self, run: Run, server: Server) -> None:
        assert run("models", "default", "remote:gpu").code == 0
        assert run("ask", "hi").out == LINE

    def test_a_default_that_is_not_there_is_refused(self, run: Run, server: Server) -> None:
        result = run("models", "default", "remote:gp")
        assert (result.code, result.err.splitlines()) == (
            3,
            ["lacli: error: no remote named 'gp' in your configuration; did you mean remote:gpu?"],
        )

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('[remotes.x]\nurl = "http://192.0.2.1"\n', "a project may not set [remotes]"),
            ('model = "remote:gpu"\n', "a project may not choose a remote"),
        ],
    )
    def test_a_project_says_nothing_of_remotes(
        self, run: Run, server: Server, project: Path, text: str, said: str
    ) -> None:
        (project / ".git").mkdir()
        (project / "lacli.toml").write_text(text, encoding="utf-8")
        result = run("ask", "hi")
        assert result.code == 2
        assert said in result.err
        assert not server.asked

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ('kind = "vlm"', "remotes.gpu.kind 'vlm' is unknown"),
            ('key-env = "sk-1234"', "is not the name of a variable"),
            ('modl = "x"', "there is no key 'modl'"),
            ('[remotes.other]\nmodel = "x"', "[remotes.other] has no url"),
            ('[remotes.w]\nurl = "localhost:8000"', "is not the address of a server"),
            ('[remotes.w]\nurl = "http://me:secret@host"', "has a user or password in it"),
        ],
    )
    def test_mistakes_are_named(self, run: Run, server: Server, sandbox: Path, more: str, said: str) -> None:
        configure(sandbox, server.url, more)
        for arguments in (("ask", *MODEL, "hi"), ("config", "validate")):
            result = run(*arguments)
            assert result.code == 2
            assert said in result.out + result.err
        assert not server.asked

    def test_its_keys_are_set_and_shown(self, run: Run, sandbox: Path) -> None:
        assert run("config", "set", "remotes.box.url", "http://box:8000").code == 0
        assert run("config", "set", "remotes.box.model", "coder").code == 0
        assert run("config", "get", "remotes.box.model").out == "coder\n"
        assert "remotes.box.url" in run("config", "show", "remotes", "box").out

    def test_doctor_asks_it(self, scripted: Scripted, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lacli.shared.health.probe_torch", lambda: {"version": "2.13.0+cpu", "cuda": False})
        checks = json.loads(scripted.run(["doctor", "--json"]).out)["checks"]
        here = next(each for each in checks if each["name"] == "remote:gpu")
        assert (here["state"], here["text"].partition(" at ")[0]) == ("ok", "vllm")
        server.close()
        checks = json.loads(scripted.run(["doctor", "--json"]).out)["checks"]
        assert next(each for each in checks if each["name"] == "remote:gpu")["state"] == "warn"


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("ask", "hi"),
    ("ask", "--dry-run", "hi"),
    ("chat", "hi"),
    ("complete", "a.py:1"),
    ("edit", "a.py", "make f return 2"),
    ("edit", "a.py", "rename f to g"),
    ("models", "list"),
    ("models", "default"),
    ("models", "show"),
    ("pool", "info"),
    ("pool", "list"),
    ("sessions", "list"),
    ("config", "show"),
    ("config", "validate"),
    ("stats",),
    ("templates", "list"),
    ("spec",),
    ("--help",),
    ("remote", "recipe", "vllm", "qwen2.5-coder-7b"),
    ("logs", "status"),
)


@pytest.mark.parametrize("rounds", [1, slow(10)])
def test_nothing_is_sent_without_a_named_remote(
    scripted: Scripted, server: Server, project: Path, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """All commands with a remote configured, whatever they come to: not one connection."""
    opened: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: opened.append(address))
    monkeypatch.setattr(socket, "create_connection", lambda *arguments, **more: opened.append(arguments))
    (project / "a.py").write_text("def f():\n    return 1\n", encoding="utf-8")
    for arguments in COMMANDS * rounds:
        scripted.run(list(arguments))
    assert opened == []
    assert server.asked == []


PROGRAM = """
import sys
from lacli.cli.main import main
code = main(sys.argv[1:])
print(",".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def test_no_torch_and_no_tokenizer_for_a_question(server: Server, project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "ask", "-q", *MODEL, "hi"],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.stdout == LINE
    heavy = {"torch", "transformers", "tokenizers", "rich", "textual", "pydantic", "httpx", "requests", "jinja2"}
    assert not heavy & set(done.stderr.split(","))


def test_ctrl_c_ends_the_connection_and_keeps_the_text(server: Server) -> None:
    server.answers = [Answer(parts=[*chunks("vllm")[:3], 30.0])]
    arguments = ["ask", "-q", *MODEL, "--no-stdin", "hi"]
    asking = subprocess.Popen(
        [sys.executable, "-c", "import sys; from lacli.cli.main import main; sys.exit(main())", *arguments],
        stdout=subprocess.PIPE,
        bufsize=0,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert asking.stdout is not None
    seen = b""
    while seen != b"Use `os.replace`,":
        seen += asking.stdout.read(1)
    asking.send_signal(2)
    started = time.monotonic()
    assert asking.wait(10) == 130
    assert server.gone.wait(5)
    assert time.monotonic() - started < 5
    asking.stdout.close()
