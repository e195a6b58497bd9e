"""OpenAI's API, by its own package and by the bodies that editors send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from lacli.errors import OutOfMemory, PromptTooLong
from lacli.events import Message, Preview
from tests.server.http.engines import REPLY, TOKEN, Doors

QUESTION = [{"role": "user", "content": "add two numbers"}]


@pytest.fixture(scope="module")
def client(shared_doors: Doors) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{shared_doors.url}/v1", api_key=TOKEN, max_retries=0) as client:
        yield client


class TestOpenaiPackage:
    def test_models(self, doors: Doors, client: openai.OpenAI) -> None:
        assert [model.id for model in client.models.list()] == ["small", "coder"]

    def test_a_chat(self, doors: Doors, client: openai.OpenAI) -> None:
        said = client.chat.completions.create(model="coder", messages=QUESTION)  # type: ignore[arg-type]
        assert said.choices[0].message.content == REPLY
        assert said.choices[0].finish_reason == "stop"
        assert said.usage is not None
        assert said.usage.prompt_tokens == 7
        assert said.usage.total_tokens == 7 + said.usage.completion_tokens
        assert doors.engine.request.messages == (Message("user", "add two numbers"),)
        assert doors.engine.request.temperature == 0.0
        assert doors.engine.settings.model == "coder"
        assert not doors.engine.asked[-1][2]

    def test_a_stream_with_usage(self, doors: Doors, client: openai.OpenAI) -> None:
        stream = client.chat.completions.create(
            model="small",
            messages=QUESTION,  # type: ignore[arg-type]
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
        assert chunks[0].choices[0].delta.role == "assistant"
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == REPLY
        assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
        assert chunks[-2].choices[0].finish_reason == "stop"

    def test_completions(self, doors: Doors, client: openai.OpenAI) -> None:
        said = client.completions.create(model="coder", prompt="<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>")
        assert said.choices[0].text == REPLY
        assert doors.engine.request.raw == "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>"
        assert doors.engine.asked[-1][2]
        pieces = client.completions.create(model="coder", prompt="x", stream=True)
        assert "".join(piece.choices[0].text for piece in pieces) == REPLY

    def test_a_suffix_is_for_the_models_own_form(self, doors: Doors, client: openai.OpenAI) -> None:
        client.completions.create(model="coder", prompt="def f(", suffix="\n", max_tokens=9)
        place = doors.engine.request.place
        assert (place.prefix, place.suffix) == ("def f(", "\n")
        assert doors.engine.request.max_tokens == 9
        assert not doors.engine.request.raw

    def test_a_prediction_is_a_draft(self, doors: Doors, client: openai.OpenAI) -> None:
        said = client.chat.completions.create(
            model="coder",
            messages=QUESTION,  # type: ignore[arg-type]
            prediction={"type": "content", "content": [{"type": "text", "text": "def add"}]},
        )
        assert doors.engine.request.prediction == "def add"
        assert said.usage is not None
        assert said.usage.completion_tokens_details is not None
        assert said.usage.completion_tokens_details.accepted_prediction_tokens == 0

    def test_errors_are_of_the_packages_classes(self, doors: Doors, client: openai.OpenAI) -> None:
        with pytest.raises(openai.NotFoundError, match=r"there are small, coder"):
            client.chat.completions.create(model="gpt-9", messages=QUESTION)  # type: ignore[arg-type]
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="small", messages=QUESTION, n=2)  # type: ignore[arg-type]
        assert caught.value.param == "n"
        stranger = client.with_options(api_key="wrong")
        with pytest.raises(openai.AuthenticationError):
            stranger.models.list()
        doors.engine.scripts[:] = [OutOfMemory("the reply does not fit into memory", "use a smaller model")]
        with pytest.raises(openai.InternalServerError, match="does not fit"):
            client.chat.completions.create(model="small", messages=QUESTION)  # type: ignore[arg-type]

    def test_a_failure_in_the_middle_of_a_stream_is_told(self, doors: Doors, client: openai.OpenAI) -> None:
        from lacli.events import Piece, ReplyStats

        class Breaks(list):  # type: ignore[type-arg]
            def __iter__(self) -> Any:
                yield Piece("so far", ("",), ReplyStats())
                raise OutOfMemory("the reply does not fit into memory", "use a smaller model")

        doors.engine.scripts[:] = [Breaks()]
        stream = client.chat.completions.create(model="small", messages=QUESTION, stream=True)  # type: ignore[arg-type]
        said = []
        with pytest.raises(openai.APIError, match="does not fit"):
            said.extend(chunk.choices[0].delta.content for chunk in stream)
        assert "so far" in said


class TestBodies:
    @pytest.mark.parametrize("base", ["", "/v1"])
    def test_served_with_and_without_v1(self, doors: Doors, base: str) -> None:
        assert doors.post(f"{base}/chat/completions", messages=QUESTION)["choices"][0]["message"]["content"] == REPLY
        assert doors.post(f"{base}/completions", prompt="x")["choices"][0]["text"] == REPLY
        assert doors.get(f"{base}/models")["object"] == "list"

    def test_null_is_absent(self, doors: Doors) -> None:
        names = ("model", "temperature", "top_p", "stop", "max_tokens", "max_completion_tokens", "n", "seed", "tools")
        more = ("stream", "stream_options", "response_format", "prediction", "logprobs", "tool_choice", "logit_bias")
        doors.post("/v1/chat/completions", messages=QUESTION, **dict.fromkeys((*names, *more)))
        assert doors.engine.settings.model == "small"
        assert doors.engine.request.stops == ()

    def test_system_texts_stand_in_front_wherever_they_are(self, doors: Doors) -> None:
        said = [
            {"role": "system", "content": "You are terse."},
            {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            {"role": "assistant", "content": None},
            {"role": "developer", "content": "Answer in German."},
            {"role": "user", "content": "three"},
        ]
        doors.post("/v1/chat/completions", messages=said)
        assert doors.engine.request.messages == (
            Message("system", "You are terse.\n\nAnswer in German."),
            Message("user", "one\ntwo"),
            Message("assistant", ""),
            Message("user", "three"),
        )

    def test_a_reply_that_has_been_begun_goes_on(self, doors: Doors) -> None:
        doors.post("/v1/chat/completions", messages=[*QUESTION, {"role": "assistant", "content": "def "}])
        assert doors.engine.request.begun == "def "
        assert doors.engine.request.messages[-1].role == "user"

    @pytest.mark.parametrize("names", [{"max_tokens": 5}, {"max_completion_tokens": 5}, {"n_predict": 5}])
    def test_the_bound_has_several_names(self, doors: Doors, names: dict[str, int]) -> None:
        doors.post("/v1/chat/completions", messages=QUESTION, **names)
        assert doors.engine.request.max_tokens == 5

    def test_what_shapes_a_reply(self, doors: Doors) -> None:
        stops = [f"<|{index}|>" for index in range(14)]
        doors.post(
            "/v1/chat/completions", messages=QUESTION, temperature=0.7, top_p=0.9, seed=3, stop=[*stops, "", "x"]
        )
        request = doors.engine.request
        assert (request.temperature, request.top_p, request.seed) == (0.7, 0.9, 3)
        assert request.stops == (*stops, "x")

    def test_statistics_in_vllms_names(self, doors: Doors) -> None:
        said = doors.post("/v1/chat/completions", messages=QUESTION)
        told = said["metrics"]["speculative_decoding"]
        assert told["num_spec_steps"] > 0
        assert told["mean_acceptance_length"] == (said["usage"]["completion_tokens"] - 1) / told["num_spec_steps"]
        assert told["draft_acceptance_rate"] == told["num_accepted_draft_tokens"] / told["num_draft_tokens"]
        *_, last, done = doors.events("/v1/chat/completions", messages=QUESTION, stream_options={"include_usage": True})
        assert done == "[DONE]"
        assert last["choices"] == []
        assert last["metrics"] == said["metrics"]

    def test_thoughts_are_apart(self, doors: Doors) -> None:
        doors.engine.thought = "hm"
        said = doors.post("/v1/chat/completions", messages=QUESTION)["choices"][0]["message"]
        assert (said["content"], said["reasoning_content"]) == (REPLY, "hm")
        chunks = doors.events("/v1/chat/completions", messages=QUESTION)[:-1]
        assert "hm" in [each["choices"][0]["delta"].get("reasoning_content") for each in chunks]

    def test_ids_as_a_prompt(self, doors: Doors) -> None:
        doors.post("/v1/completions", prompt=[1, 2, 3])
        assert doors.engine.request.raw_ids == (1, 2, 3)
        doors.post("/v1/completions", prompt=[[4, 5]])
        assert doors.engine.request.raw_ids == (4, 5)
        doors.post("/v1/completions", prompt=["only one"])
        assert doors.engine.request.raw == "only one"

    def test_no_tokens_means_to_read_ahead(self, doors: Doors) -> None:
        said = doors.post("/v1/chat/completions", messages=QUESTION, n_predict=0, samplers=[], id_slot=7)
        assert said["choices"][0]["finish_reason"] == "length"
        assert [request.messages for request in doors.engine.warmed] == [(Message("user", "add two numbers"),)]
        assert not doors.engine.asked

    def test_a_bound_that_does_not_fit_is_one_from_above(self, doors: Doors) -> None:
        doors.engine.scripts[:] = [PromptTooLong("prompt 9 + reply 9,999 > context 512 tokens"), REPLY]
        doors.engine.shown = Preview(tuple(range(12)), "", 512)
        assert doors.post("/v1/chat/completions", messages=QUESTION, max_tokens=9999)["choices"][0]["message"]
        assert doors.engine.request.max_tokens == 500

    def test_a_prompt_that_does_not_fit_at_all_is_refused(self, doors: Doors) -> None:
        long = PromptTooLong("prompt 600 + reply 1 > context 512 tokens", "shorten the prompt")
        doors.engine.scripts[:], doors.engine.shown = [long], long
        for stream in (False, True):
            status, told = doors.refusal("/v1/chat/completions", messages=QUESTION, stream=stream)
            assert (status, told["error"]["code"]) == (400, "context_length_exceeded")
            assert told["error"]["message"] == "prompt 600 + reply 1 > context 512 tokens"

    @pytest.mark.parametrize(
        ("path", "name", "value"),
        [
            ("chat/completions", "tools", [{"type": "function"}]),
            ("chat/completions", "functions", [{}]),
            ("chat/completions", "tool_choice", "required"),
            ("chat/completions", "n", 2),
            ("chat/completions", "logprobs", True),
            ("chat/completions", "top_logprobs", 3),
            ("chat/completions", "logit_bias", {"5": 1}),
            ("chat/completions", "response_format", {"type": "json_object"}),
            ("chat/completions", "frequency_penalty", 0.5),
            ("chat/completions", "audio", {"voice": "x"}),
            ("chat/completions", "modalities", ["text", "audio"]),
            ("completions", "echo", True),
            ("completions", "best_of", 2),
            ("completions", "logprobs", 1),
            ("completions", "logprobs", 0),
            ("completions", "n", 4),
            ("completions", "prompt", ["two", "prompts"]),
        ],
    )
    def test_what_is_not_served_is_named(self, doors: Doors, path: str, name: str, value: Any) -> None:
        body = {"messages": QUESTION, "prompt": "x"} | {name: value}
        status, told = doors.refusal(f"/v1/{path}", **body)
        assert status == 400
        assert told["error"]["param"] == name
        assert told["error"]["type"] == "invalid_request_error"
        assert not doors.engine.asked

    @pytest.mark.parametrize(
        ("messages", "param"),
        [
            ([], "messages"),
            ("hello", "messages"),
            (["hello"], "messages[0]"),
            ([{"role": "system", "content": "x"}], "messages"),
            ([{"role": "tool", "content": "x"}], "messages[0].role"),
            ([{"role": "user", "content": 7}], "messages[0].content"),
            ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "messages[0].content[0].type"),
            ([{"role": "user", "content": ["x"]}], "messages[0].content"),
            ([{"role": "assistant", "tool_calls": [{}]}], "messages[0].tool_calls"),
        ],
    )
    def test_messages_that_are_none_are_named(self, doors: Doors, messages: Any, param: str) -> None:
        status, told = doors.refusal("/v1/chat/completions", messages=messages)
        assert (status, told["error"]["param"]) == (400, param)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *[("temperature", each) for each in ("hot", -1, True, [], 10**400)],
            *[("top_p", each) for each in (2, -0.1, {})],
            *[("max_tokens", each) for each in (1.5, "many", 2**40, -7)],
            *[("seed", each) for each in (2**70, "x")],
            *[("stop", each) for each in (7, [7], {"a": 1})],
            *[("stream", each) for each in ("yes", 1)],
            *[("model", each) for each in (7, [])],
            ("stream_options", []),
            ("prediction", "text"),
        ],
    )
    def test_values_of_another_kind_are_named(self, doors: Doors, name: str, value: Any) -> None:
        status, told = doors.refusal("/v1/chat/completions", **({"messages": QUESTION} | {name: value}))
        assert (status, told["error"]["param"]) == (400, name)

    def test_names_are_not_paths(self, doors: Doors, tmp_path: Path) -> None:
        for name in (str(tmp_path), "./small", "../small", "default", "small:latest", "~"):
            assert doors.refusal("/v1/chat/completions", model=name, messages=QUESTION)[0] == 404

    def test_halves_of_characters_do_no_harm(self, doors: Doors) -> None:
        doors.send("POST", "/v1/chat/completions", b'{"messages": [{"role": "user", "content": "a\\ud83d"}]}')
        assert doors.engine.request.messages[0].text == "a?"


class TestEditors:
    """The bodies of editors, as their sources have them."""

    def test_zed_edit_prediction(self, doors: Doors) -> None:
        stops = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|endoftext|>", "<|file_sep|>"]
        prompt = "<|fim_prefix|>fn main() {<|fim_suffix|>}<|fim_middle|>"
        told = doors.post(
            "/v1/completions",
            **{"model": "coder", "prompt": prompt, "max_tokens": 64, "temperature": None, "stop": stops},
            environment=None,
        )
        assert told["id"].startswith("cmpl-")
        assert told["choices"][0]["text"] == REPLY
        assert doors.engine.request.stops == tuple(stops)

    def test_gptel(self, doors: Doors) -> None:
        chunks = doors.events(
            "/v1/chat/completions",
            model="small",
            messages=[{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
            temperature=1.0,
            max_tokens=100,
        )
        assert "".join(each["choices"][0]["delta"].get("content") or "" for each in chunks[:-1]) == REPLY
        assert chunks[-1] == "[DONE]"

    def test_continue_as_openai(self, doors: Doors) -> None:
        body = {"model": "coder", "messages": QUESTION, "stream_options": {"include_usage": True}, "stream": True}
        status, _, answer = doors.send("POST", "/v1/chat/completions", body, {"x-api-key": TOKEN}, token=TOKEN)
        assert status == 200
        assert b'"usage":{' in answer

    def test_llama_vim_edit(self, doors: Doors) -> None:
        chunks = doors.events(
            "/v1/chat/completions",
            **{"id_slot": 17, "messages": QUESTION, "min_p": 0.1, "temperature": 0.1, "samplers": ["min_p"]},
            **{"cache_prompt": True, "n_predict": -1, "response_fields": [""]},
        )
        assert "".join(each["choices"][0]["delta"].get("content") or "" for each in chunks[:-1]) == REPLY
