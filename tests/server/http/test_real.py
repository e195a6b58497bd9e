"""The doors over the real assistant and the default model: what comes through each is what the engine writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest

from lacli.events import Attachment, Message, Place, Request
from tests.assistants import Make, loaded, make, reply
from tests.server.http.engines import TOKEN, AssistantEngine, Doors, serving

__all__ = ["loaded", "make"]

pytestmark = pytest.mark.model

QUESTIONS = ("Write a python function that adds two numbers", "What is 2+2?", "Repeat exactly: naïve 漢字 ok")
FUNCTION = """\
def mean(values):
    total = 0
    for value in values:
        total += value
    return total / len(values)
"""


@pytest.fixture
def real(make: Make) -> Iterator[Doors]:
    engine = AssistantEngine(make())
    with serving(engine) as doors:
        yield doors
    engine.close()


def text_of(chunks: list[Any]) -> str:
    return "".join(each["choices"][0]["delta"].get("content") or "" for each in chunks[:-1])


class TestTexts:
    @pytest.mark.default_cases(1)
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_a_chat_is_what_ask_says(self, make: Make, real: Doors, question: str) -> None:
        said = [{"role": "user", "content": question}]
        expected = reply(make(lookahead=False), Request((Message("user", question),), max_tokens=24))
        whole = real.post("/v1/chat/completions", messages=said, max_tokens=24)
        assert whole["choices"][0]["message"]["content"] == expected.text
        assert whole["choices"][0]["finish_reason"] == ("stop" if expected.reason == "stop" else "length")
        assert whole["usage"]["completion_tokens"] == len(expected.token_ids)
        assert text_of(real.events("/v1/chat/completions", messages=said, max_tokens=24)) == expected.text
        told = real.post("/api/chat", model="small", messages=said, stream=False, options={"num_predict": 24})
        assert told["message"]["content"] == expected.text

    def test_a_template_applied_by_the_client_makes_the_same_prompt(self, make: Make, real: Doors) -> None:
        said = [{"role": "user", "content": QUESTIONS[0]}]
        expected = reply(make(lookahead=False), Request((Message("user", QUESTIONS[0]),), max_tokens=16))
        prompt = real.post("/apply-template", messages=said)["prompt"]
        assert "<|im_start|>user" in prompt
        raw = {"model": "small", "raw": True, "stream": False, "options": {"num_predict": 16}}
        for told in (
            real.post("/v1/completions", prompt=prompt, max_tokens=16)["choices"][0]["text"],
            real.post("/completion", prompt=prompt, n_predict=16)["content"],
            real.post("/api/generate", prompt=prompt, **raw)["response"],
        ):
            assert told == expected.text
        ids = real.post("/tokenize", content=prompt)["tokens"]
        assert real.post("/detokenize", tokens=ids)["content"] == prompt
        assert real.post("/completion", prompt=ids, n_predict=16)["content"] == expected.text
        assert real.post("/completion", prompt=ids, n_predict=16)["timings"]["cache_n"] == len(ids) - 1

    def test_an_insertion_is_what_complete_says(self, make: Make, real: Doors) -> None:
        before, after = "def add(a, b):\n    ", "\n\nprint(add(1, 2))\n"
        place = Place(before, after, scope="block", context=(Attachment("a.py", "import os\n"),))
        asked = Request(place=place, max_tokens=24, drop_oldest=True, begins_again=True, tried_once=True)
        expected = reply(make(lookahead=False), asked).text
        assert expected
        extra = [{"filename": "a.py", "text": "import os\n"}]
        body = {"input_prefix": "def add(a, b):\n", "prompt": "    ", "input_suffix": after, "n_predict": 24}
        assert real.post("/infill", **body, input_extra=extra)["content"] == expected
        expected = reply(make(lookahead=False), replace(asked, place=replace(place, context=()))).text
        told = real.post("/v1/completions", prompt=before, suffix=after, max_tokens=24)
        assert told["choices"][0]["text"] == expected

    def test_ids_beyond_the_vocabulary(self, real: Doors) -> None:
        status, told = real.refusal("/detokenize", tokens=[10**6])
        assert status == 400
        assert "no tokens of this model" in told["error"]["message"]

    def test_longer_than_the_context(self, real: Doors) -> None:
        status, told = real.refusal("/v1/completions", prompt="word " * 600)
        assert (status, told["error"]["code"]) == (400, "context_length_exceeded")

    @pytest.mark.slow
    def test_more_tokens_than_the_context_has_left(self, real: Doors) -> None:
        whole = real.post("/v1/completions", prompt="word " * 490, max_tokens=9999)
        assert whole["choices"][0]["finish_reason"] in ("length", "stop")
        assert whole["usage"]["total_tokens"] <= 512


class TestPredictions:
    def test_one_that_is_right_saves_steps_and_changes_nothing(self, make: Make, real: Doors) -> None:
        said = [{"role": "user", "content": QUESTIONS[0]}]
        plain = reply(make(lookahead=False), Request((Message("user", QUESTIONS[0]),), max_tokens=40))
        with openai.OpenAI(base_url=f"{real.url}/v1", api_key=TOKEN, max_retries=0) as client:
            counted = {}
            for name, content in (("wrong", FUNCTION), ("right", plain.text)):
                told = client.chat.completions.create(
                    model="small",
                    messages=said,  # type: ignore[arg-type]
                    max_tokens=40,
                    prediction={"type": "content", "content": content},
                )
                assert told.choices[0].message.content == plain.text
                assert told.usage is not None
                details = told.usage.completion_tokens_details
                assert details is not None
                counted[name] = details.accepted_prediction_tokens or 0
        assert counted["right"] > 20
        assert counted["right"] > counted["wrong"]


class TestReadingAhead:
    def test_a_warm_up_leaves_little_to_read(self, real: Doors) -> None:
        prompt = FUNCTION * 3
        assert real.post("/completion", prompt=prompt, n_predict=0)["content"] == ""
        timings = real.post("/completion", prompt=prompt, n_predict=1)["timings"]
        assert timings["prompt_n"] == 1
        assert timings["cache_n"] > 80

    def test_the_ring_of_llama_vim_is_read_before_anything_is_typed(self, real: Doors) -> None:
        extra = [{"filename": "mean.py", "text": FUNCTION}, {"filename": "b.py", "text": "import os\n"}]
        empty = {"input_prefix": "", "input_suffix": "", "prompt": ""}
        real.post("/infill", **empty, input_extra=extra, n_predict=0, t_max_prompt_ms=1)
        timings = real.post("/infill", input_prefix="x = 1\n", prompt="y = ", input_extra=extra, n_predict=2)["timings"]
        assert timings["cache_n"] > 40
        assert timings["cache_n"] > timings["prompt_n"]

    def test_a_chat_is_read_to_its_end(self, real: Doors) -> None:
        said = [{"role": "user", "content": FUNCTION}]
        real.post("/v1/chat/completions", messages=said, n_predict=0)
        assert real.post("/v1/chat/completions", messages=said, max_tokens=1)["timings"]["prompt_n"] == 1


def test_leaving_ends_a_reply_within_a_step(real: Doors) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", real.port, timeout=20)
    body = {"messages": [{"role": "user", "content": "Count to a thousand"}], "max_tokens": 300, "stream": True}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"authorization": f"Bearer {TOKEN}"})
    connection.getresponse().read(200)
    connection.close()
    told = real.post("/v1/chat/completions", messages=[{"role": "user", "content": "Hi"}], max_tokens=2)
    assert told["usage"]["completion_tokens"] <= 2
    assert real.engine.written < 250
