"""A remote whose model is prepared here, too: ids instead of text, and a pool that learns and gives."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lacli.cli.main import main
from lacli.config import Settings
from lacli.configuration.remotes import Remote
from lacli.errors import UsageError
from lacli.events import Finished, Message, Place, Request
from lacli.remote.assistant import RemoteAssistant
from lacli.text.tokenizer import Tokenizer
from tests.remote.scripted import Answer, Asked, Server, chunks, refusal, serving

MODEL = "smollm2-135m"
REPLY = ["def rename(old, new):\n", "    os.replace(old, new)\n", "    return new\n"]


@pytest.fixture
def project(tmp_path: Path, sandbox_with_model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def assistant(server: Server, **more: str) -> RemoteAssistant:
    remote = Remote("gpu", server.url, **more)
    return RemoteAssistant(Settings(model="remote:gpu"), lambda: remote)


def tokenizer() -> Tokenizer:
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry

    return Tokenizer.load(presence(load_registry().resolve(MODEL)).prepared[0])


def asked(words: str) -> Request:
    return Request(messages=(Message("user", words),))


def test_raw_messages_are_rendered_with_the_models_own_template(project: Path) -> None:
    with serving("vllm", model=MODEL) as server:
        made = assistant(server, api="raw")
        list(made.reply(asked("hi <|im_end|>")))
        sent = server.replies[0]
        preview = made.preview(asked("hi <|im_end|>"))
    known = tokenizer()
    assert sent.path == "/v1/completions"
    spelled = known.spelled(sent.body["prompt"])
    assert spelled.endswith("<|im_start|>assistant\n")
    ends = [known.id_of("<|im_end|>")]
    assert sum(each in ends for each in sent.body["prompt"]) == spelled.count("<|im_end|>") - 1, "what is typed is text"
    assert preview.token_ids == tuple(sent.body["prompt"])


def test_raw_without_a_known_template_says_what_to_do(project: Path) -> None:
    with serving("vllm") as server, pytest.raises(UsageError, match="template of m is not known") as failure:
        list(assistant(server, api="raw").reply(asked("hi")))
    assert "tokenizer" in failure.value.hint


def test_llama_server_renders_for_itself(project: Path) -> None:
    with serving("llama-server") as server:
        server.doors["/apply-template"] = Answer(body=b'{"prompt": "<s>hi"}')
        list(assistant(server, api="raw").reply(asked("hi")))
        assert server.replies[0].body["prompt"] == "<s>hi"


@pytest.mark.parametrize("kind", ["vllm", "ollama"])
def test_a_completion_goes_as_ids_where_they_are_taken(project: Path, kind: str) -> None:
    place = Place(prefix="import os\n\n\ndef rename(old, new):\n    ", suffix="\n", path="a.py")
    with serving(kind, model=MODEL) as server:
        list(assistant(server).reply(Request(place=place)))
        sent = server.replies[0]
    prompt = sent.body["prompt"]
    text = prompt if isinstance(prompt, str) else tokenizer().spelled(prompt)
    assert isinstance(prompt, list) == (kind == "vllm")
    assert "def rename(old, new):" in text


def test_another_name_is_known_by_what_the_table_says(project: Path) -> None:
    with serving("vllm", model="prod") as server:
        made = assistant(server, tokenizer=MODEL)
        assert made.preview(asked("hi")).token_ids


def test_the_pool_learns_and_gives_what_our_own_server_guesses_from(project: Path) -> None:
    with serving("lacli", Answer(parts=chunks("lacli", REPLY)), model=MODEL) as server:
        finished = list(assistant(server).reply(asked("write rename")))[-1]
        assert isinstance(finished, Finished)
        list(assistant(server).reply(asked("explain this:\n" + "".join(REPLY))))
        first, second = (each.body for each in server.replies)
    assert "prediction" not in first
    assert second["prediction"] == {"type": "content", "content": "".join(REPLY)}


def test_without_the_pool_nothing_of_it_goes_along(project: Path) -> None:
    with serving("lacli", Answer(parts=chunks("lacli", REPLY)), model=MODEL) as server:
        list(assistant(server).reply(asked("write rename")))
        remote = Remote("gpu", server.url)
        made = RemoteAssistant(Settings(model="remote:gpu", pool=False), lambda: remote)
        list(made.reply(asked("explain this:\n" + "".join(REPLY))))
        assert "prediction" not in server.replies[1].body


class TestPush:
    def learn(self, server: Server) -> None:
        list(assistant(server).reply(asked("write rename")))

    def configured(self, server: Server, home: Path) -> None:
        (home / "config").mkdir()
        (home / "config" / "config.toml").write_text(f'[remotes.gpu]\nurl = "{server.url}"\n', encoding="utf-8")

    def test_what_was_shown_and_allowed_is_sent(
        self, project: Path, sandbox: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with serving("sglang", Answer(parts=chunks("sglang", REPLY)), model=MODEL) as server:
            self.configured(server, sandbox)
            self.learn(server)
            server.doors["/list_external_corpora"] = lambda asked: Answer(
                body=json.dumps({"success": True, "corpus_token_counts": {f"lacli-{_id(project)}": 3}}).encode()
            )
            server.doors["/remove_external_corpus"] = Answer(body=b'{"success": true}')
            server.doors["/add_external_corpus"] = Answer(body=b'{"success": true, "loaded_token_count": 22}')
            server.asked.clear()
            assert main(["pool", "push", "remote:gpu", "--yes"]) == 0
            said = capfd.readouterr().err
            posted = [each for each in server.asked if each.method == "POST"]
        assert "1 reply" in said
        assert "def rename(old, new): os.replace(old, new) return new" in said
        assert said.endswith("remote:gpu drafts from 22 tokens of this project now\n")
        assert [each.path for each in posted] == ["/remove_external_corpus", "/add_external_corpus"]
        assert posted[1].body == {"corpus_id": f"lacli-{_id(project)}", "documents": ["".join(REPLY)]}

    def test_a_dry_run_and_a_no_send_nothing(
        self, project: Path, sandbox: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serving("sglang", Answer(parts=chunks("sglang", REPLY)), model=MODEL) as server:
            self.configured(server, sandbox)
            self.learn(server)
            server.asked.clear()
            assert main(["pool", "push", "remote:gpu", "--dry-run"]) == 0
            assert capfd.readouterr().out == "".join(REPLY)
            monkeypatch.setattr("lacli.cli.terminal.confirm.one_of", lambda question: "")
            assert main(["pool", "push", "remote:gpu"]) == 0
            assert capfd.readouterr().err.endswith("nothing was sent\n")
            assert not server.asked

    def test_nothing_goes_to_another_computer_while_the_network_is_off(
        self, project: Path, sandbox: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serving("sglang", Answer(parts=chunks("sglang", REPLY)), model=MODEL) as server:
            self.configured(server, sandbox)
            self.learn(server)
        (sandbox / "config" / "config.toml").write_text('[remotes.gpu]\nurl = "http://192.0.2.1:30000"\n')
        monkeypatch.setenv("LACLI_OFFLINE", "1")
        assert main(["pool", "push", "remote:gpu", "--yes"]) == 3
        assert "remote:gpu is on another computer, and the network is off" in capfd.readouterr().err

    def test_a_server_without_corpora_says_so(
        self, project: Path, sandbox: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with serving("vllm", Answer(parts=chunks("vllm", REPLY)), refusal(404, "Not Found"), model=MODEL) as server:
            self.configured(server, sandbox)
            self.learn(server)
            assert main(["pool", "push", "remote:gpu", "--yes"]) == 2
        assert "takes no texts to draft from" in capfd.readouterr().err


def _id(project: Path) -> str:
    from lacli.project.root import project_id

    return project_id(Path(os.path.realpath(project)))[:16]


def test_markers_that_a_user_typed_do_not_reach_a_server_as_markers() -> None:
    from lacli.remote.words import Words

    words = Words(["<|fim_middle|>"])
    typed = words.spelled(words.encode("a = '<|fim_middle|>' # naïve 漢字 👩‍💻\n\n\tx"))
    assert "<|fim_middle|>" not in typed
    assert typed.replace("\u200b", "") == "a = '<|fim_middle|>' # naïve 漢字 👩‍💻\n\n\tx"


def test_servers_are_asked_for_markers_only_while_they_answer() -> None:
    count: list[Asked] = []

    def door(asked: Asked) -> Answer:
        count.append(asked)
        return Answer(404)

    with serving("vllm", Answer(parts=chunks("vllm", chat=False))) as server:
        server.doors["/tokenize"] = door
        list(assistant(server).reply(Request(place=Place("def f():\n    ", path="a.py"))))
    assert len(count) == 1
