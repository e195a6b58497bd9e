"""ollama's API, by its own client and by the bodies that editors send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import ollama
import pytest

from lacli.events import Message
from lacli.server.base import Health
from tests.server.http.engines import REPLY, TOKEN, Doors, ScriptedEngine, serving


@pytest.fixture(scope="module")
def client(shared_doors: Doors) -> Iterator[ollama.Client]:
    with ollama.Client(host=shared_doors.url, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client


class TestOllamaPackage:
    def test_generate(self, doors: Doors, client: ollama.Client) -> None:
        said = client.generate(model="coder", prompt="q", system="s", keep_alive="5m", options={"num_predict": 9})
        assert said.response == REPLY
        assert said.done_reason == "stop"
        assert said.eval_count
        request = doors.engine.request
        assert request.messages == (Message("system", "s"), Message("user", "q"))
        assert request.max_tokens == 9

    def test_a_stream(self, doors: Doors, client: ollama.Client) -> None:
        parts = list(client.generate(model="coder:latest", prompt="q", stream=True))
        assert "".join(part.response for part in parts) == REPLY
        assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
        assert doors.engine.settings.model == "coder"

    def test_a_suffix_and_a_raw_prompt(self, doors: Doors, client: ollama.Client) -> None:
        assert client.generate(model="coder", prompt="def f(", suffix="\n").response == REPLY
        assert doors.engine.request.place.suffix == "\n"
        client.generate(model="coder", prompt="<|fim_prefix|>", raw=True)
        assert doors.engine.request.raw == "<|fim_prefix|>"

    def test_chat(self, doors: Doors, client: ollama.Client) -> None:
        said = client.chat(model="small", messages=[{"role": "user", "content": "q"}])
        assert said.message.content == REPLY
        parts = list(client.chat(model="small", messages=[{"role": "user", "content": "q"}], stream=True))
        assert "".join(part.message.content or "" for part in parts) == REPLY

    def test_listings(self, doors: Doors, client: ollama.Client) -> None:
        assert [model.model for model in client.list().models] == ["small:latest", "coder:latest"]
        doors.engine.state = Health(("coder",))
        assert [model.model for model in client.ps().models] == ["coder:latest"]
        shown = client.show("coder")
        assert ".Suffix" in (shown.template or "")
        assert shown.modelinfo is not None
        assert shown.modelinfo["lacli.context_length"] == 32768
        assert shown.capabilities == ["completion", "insert"]
        assert ".Suffix" not in (client.show("small:latest").template or "")

    def test_no_prompt_loads(self, doors: Doors, client: ollama.Client) -> None:
        assert client.generate(model="coder").done_reason == "load"
        assert len(doors.engine.warmed) == 1
        assert client.generate(model="coder", keep_alive=0).done_reason == "unload"
        assert len(doors.engine.warmed) == 1

    def test_errors(self, doors: Doors, client: ollama.Client) -> None:
        with pytest.raises(ollama.ResponseError, match="there are small, coder") as caught:
            client.generate(model="llama9", prompt="q")
        assert caught.value.status_code == 404
        with pytest.raises(ollama.ResponseError, match="format: is not served"):
            client.generate(model="coder", prompt="q", format="json")
        with ollama.Client(host=doors.url) as stranger, pytest.raises(ollama.ResponseError):
            stranger.list()


class TestBodies:
    def test_zed_edit_prediction(self, doors: Doors) -> None:
        told = doors.post(
            "/api/generate",
            **{"model": "coder", "prompt": "<|fim_prefix|>a", "raw": True, "stream": False},
            options={"num_predict": 64, "temperature": 0.2, "stop": ["<|endoftext|>"]},
        )
        assert told["response"] == REPLY
        assert told["created_at"].endswith("Z")

    def test_continue(self, doors: Doors) -> None:
        doors.post(
            "/api/generate",
            **{"model": "coder", "prompt": "a", "suffix": "b", "raw": False, "keep_alive": 1800, "stream": False},
            options={"num_predict": 32, "stop": ["x"], "num_ctx": 8192, "mirostat": None, "repeat_penalty": None},
        )
        assert doors.engine.request.stops == ("x",)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("images", ["x"]), ("format", {"a": 1}), ("template", "x"), ("context", [1]), ("tools", [{}])],
    )
    def test_what_is_not_served_is_named(self, doors: Doors, name: str, value: Any) -> None:
        status, told = doors.refusal("/api/generate", model="coder", prompt="q", **{name: value})
        assert (status, told) == (400, {"error": f"{name}: is not served"})

    def test_the_model_must_be_named(self, doors: Doors) -> None:
        assert doors.refusal("/api/generate", prompt="q") == (400, {"error": "model: is missing"})

    def test_only_where_asked_for(self) -> None:
        with serving(ScriptedEngine(), ollama=False) as doors:
            status, _, answer = doors.send("GET", "/api/tags")
            assert status == 404
            assert json.loads(answer)["error"]
