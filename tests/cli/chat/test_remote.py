"""A conversation on the terminal with a remote: what arrived of a broken reply stays, and models may be changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lacli.assistant.base import Replier
from lacli.cli.framework.options import Common
from lacli.config import Settings
from lacli.configuration.remotes import Remote, named
from lacli.remote.assistant import RemoteAssistant
from lacli.remote.exchange import Limits
from tests.cli.chat.talking import loop_with
from tests.cli.conftest import ROOT, Terminal
from tests.remote.scripted import TEXT, Answer, chunks, refusal, serving

QUICK = Limits(connect_s=2.0, idle_s=0.3, first_s=2.0, pause_s=0.01)
Captured = pytest.CaptureFixture[str]


def test_a_broken_reply_is_kept_as_an_interrupted_turn(capfd: Captured) -> None:
    with serving("vllm", Answer(parts=chunks("vllm")[:3]), Answer(parts=chunks("vllm"))) as server:
        remote = Remote("gpu", server.url)
        loop = loop_with(lambda settings: RemoteAssistant(settings, lambda: remote, QUICK), Common(model="remote:gpu"))
        assert loop.handle("first")
        assert "did not end its reply" in capfd.readouterr().err
        assert [turn.answer.text for turn in loop.chat.conversation.turns] == ["Use `os.replace`,"]
        assert loop.chat.conversation.turns[0].interrupted
        assert loop.draft == ""
        assert loop.handle("and now?")
        sent = [each["content"] for each in server.replies[1].body["messages"]]
    assert sent == ["first", "Use `os.replace`,", "and now?"]
    assert loop.chat.conversation.turns[1].answer.text == TEXT


def test_a_refused_question_comes_back_to_the_prompt(capfd: Captured) -> None:
    with serving("vllm", refusal(400, "maximum context length is 5 tokens")) as server:
        remote = Remote("gpu", server.url)
        loop = loop_with(lambda settings: RemoteAssistant(settings, lambda: remote, QUICK), Common(model="remote:gpu"))
        assert loop.handle("first")
    assert "does not fit" in capfd.readouterr().err
    assert loop.draft == "first"
    assert not loop.chat.conversation.turns


def test_a_remote_that_is_not_there_leaves_the_one_before(capfd: Captured) -> None:
    with serving("vllm", Answer(parts=chunks("vllm"))) as server:
        known = {"gpu": Remote("gpu", server.url)}

        def make(settings: Settings) -> Replier:
            return RemoteAssistant(settings, lambda: named(settings.model or "", known), QUICK)

        loop = loop_with(make, Common(model="remote:gpu"))
        loop.handle("first")
        loop.handle("/model remote:cpu")
        loop.handle("second")
        said = capfd.readouterr().err
        assert "no remote named 'cpu'" in said
        assert "going on with remote:gpu, the model before" in said
        loop.handle("second")
        assert loop.chat.model == "remote:gpu"
        assert len(loop.chat.conversation.turns) == 2
        loop.close()


@pytest.mark.slow
def test_the_prompt_names_the_remote_as_long_as_it_is_asked(
    sandbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    with serving("vllm", Answer(parts=chunks("vllm"))) as server:
        (sandbox / "config").mkdir()
        (sandbox / "config" / "config.toml").write_text(f'[remotes.gpu]\nurl = "{server.url}"\n', encoding="utf-8")
        program = "import sys; from lacli.cli.main import main; sys.exit(main())"
        terminal = Terminal([sys.executable, "-c", program, "chat", "-m", "remote:gpu"])
        terminal.wait_for(b"remote:gpu>")
        terminal.send(b"hi\r")
        terminal.wait_for(b"atomic")
        terminal.wait_for(b"remote:gpu>")
        terminal.send(b"/exit\r")
        assert terminal.finish() == 0
