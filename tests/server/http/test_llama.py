"""llama-server's API, by the bodies that llama.vim, llama.vscode and Continue send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lacli.events import Attachment, Preview
from lacli.server.base import Health
from tests.server.http.engines import REPLY, Doors

EXTRA = [{"text": "import os\n", "filename": "a.py"}, {"text": "x = 1\n"}]
FIELDS = [
    "content",
    *("timings/prompt_n", "timings/prompt_ms", "timings/prompt_per_token_ms", "timings/prompt_per_second"),
    *("timings/predicted_n", "timings/predicted_ms", "timings/predicted_per_token_ms", "timings/predicted_per_second"),
    *("truncated", "tokens_cached"),
]
VIM = {
    **{"id_slot": 0, "input_prefix": "def add(a, b):\n", "input_suffix": "\nprint(add(1, 2))\n", "input_extra": EXTRA},
    **{"prompt": "    ret", "n_predict": 128, "stop": [], "n_indent": 4, "top_k": 40, "top_p": 0.90, "stream": False},
    **{"samplers": ["top_k", "top_p", "infill"], "cache_prompt": True, "t_max_prompt_ms": 500},
    **{"t_max_predict_ms": 250, "response_fields": FIELDS},
}
VIM_WARM_UP = {
    **{"id_slot": 0, "input_prefix": "", "input_suffix": "", "input_extra": EXTRA, "prompt": "", "n_predict": 0},
    **{"temperature": 0.0, "samplers": [], "cache_prompt": True, "t_max_prompt_ms": 1, "t_max_predict_ms": 1},
    **{"stream": False, "response_fields": [""]},
}
VSCODE = {
    **{"input_prefix": "a", "input_suffix": "b", "input_extra": EXTRA, "prompt": "c", "n_predict": 256, "top_k": 40},
    **{"top_p": 0.99, "stream": False, "samplers": ["top_k", "top_p", "infill"], "cache_prompt": True},
    **{"t_max_prompt_ms": 500, "t_max_predict_ms": 2500, "n_cmpl": 1, "lora": [{"id": 0, "scale": 0.5}]},
}


class TestInfill:
    def test_llama_vim(self, doors: Doors) -> None:
        told = doors.post("/infill", **VIM)
        assert set(told) == set(FIELDS)
        assert told["content"] == REPLY
        assert told["timings/predicted_n"] > 0
        request, settings, urgent = doors.engine.asked[-1]
        assert request.place.prefix == "def add(a, b):\n    ret"
        assert request.place.suffix == "\nprint(add(1, 2))\n"
        assert request.place.context == (Attachment("a.py", "import os\n"), Attachment("tmp", "x = 1\n"))
        assert request.place.read_ms > 0  # bounded, with a beginning that stays while a person types
        assert (request.max_tokens, request.top_k, request.temperature) == (128, 40, 0.0)
        assert settings.model == "small"
        assert urgent

    def test_a_warm_up_warms_whatever_time_it_allows(self, doors: Doors) -> None:
        assert doors.post("/infill", **VIM_WARM_UP) == {}
        (warmed,) = doors.engine.warmed
        assert warmed.max_tokens == 0
        assert [piece.text for piece in warmed.place.context] == ["import os\n", "x = 1\n"]
        assert not doors.engine.asked

    def test_nothing_at_all_warms_nothing(self, doors: Doors) -> None:
        doors.post("/infill", **{**VIM_WARM_UP, "input_extra": []})
        assert not doors.engine.warmed

    def test_llama_vscode(self, doors: Doors) -> None:
        told = doors.post("/infill", **VSCODE)
        assert told["content"] == REPLY
        assert told["stop"] is True
        assert told["stop_type"] == "eos"
        assert told["model"] == "small"
        assert told["tokens_predicted"] == told["timings"]["predicted_n"] > 0
        assert told["timings"]["draft_n"] >= told["timings"]["draft_n_accepted"] > 0
        assert told["generation_settings"]["top_p"] == 0.99
        assert told["has_new_line"] is True

    def test_several_choices_are_a_list_and_begin_differently(self, doors: Doors) -> None:
        told = doors.post("/infill", **{**VSCODE, "n_cmpl": 3})
        assert [each["index"] for each in told] == [0, 1, 2]
        assert [request.beginning for request, _, _ in doors.engine.asked] == [0, 1, 2]

    def test_time_is_up_behind_a_line_and_not_before(self, doors: Doors) -> None:
        doors.engine.scripts[:] = ["one two three\nfour five six\n" + "seven " * 200]
        doors.engine.step_s = 0.02
        told = doors.post("/infill", **{**VSCODE, "t_max_predict_ms": 1})
        assert told["content"].split("\n")[0] == "one two three"
        assert "seven" not in told["content"]
        assert told["stop_type"] == "limit"
        assert doors.engine.ended == ["cancelled"]

    def test_slots_there_are_not_are_taken(self, doors: Doors) -> None:
        assert doors.post("/infill", **{**VSCODE, "id_slot": 99})["id_slot"] == 99

    @pytest.mark.parametrize("extra", ["x", [1], [{"text": 1}], {"text": "x"}])
    def test_pieces_that_are_none(self, doors: Doors, extra: Any) -> None:
        status, told = doors.refusal("/infill", **{**VIM, "input_extra": extra})
        assert (status, told["error"]["code"]) == (400, 400)
        assert "input_extra" in told["error"]["message"]

    @pytest.mark.parametrize("name", ["grammar", "json_schema", "n_probs", "mirostat"])
    def test_what_is_not_served_is_named(self, doors: Doors, name: str) -> None:
        status, told = doors.refusal("/infill", **{**VIM, name: 1})
        assert status == 400
        assert told["error"]["message"].startswith(name)

    def test_another_model(self, doors: Doors) -> None:
        doors.post("/infill", **{**VIM, "model": "coder"})
        assert doors.engine.settings.model == "coder"
        assert doors.refusal("/infill", **{**VIM, "model": "no"})[0] == 404


class TestCompletion:
    def test_continue_streams(self, doors: Doors) -> None:
        chunks = doors.events(
            "/completion",
            **{"prompt": "<|fim_prefix|>a<|fim_middle|>", "n_predict": 50, "stop": ["\n\n"], "top_k": 40, "top_p": 0.9},
            **{"min_p": 0.05, "temperature": 0.2, "mirostat": 0, "frequency_penalty": 0.0, "repeat_penalty": 1.1},
        )
        assert "".join(each["content"] for each in chunks) == REPLY
        assert [each["stop"] for each in chunks] == [False] * (len(chunks) - 1) + [True]
        request = doors.engine.request
        assert (request.raw, request.repetition_penalty) == ("<|fim_prefix|>a<|fim_middle|>", 1.1)

    def test_at_once(self, doors: Doors) -> None:
        told = doors.post("/completion", prompt="x", n_predict=5, return_tokens=True, seed=-1)
        assert told["content"] == REPLY
        assert told["tokens"]
        assert doors.engine.request.seed is None

    def test_a_warm_up(self, doors: Doors) -> None:
        assert doors.post("/completion", prompt="some text", n_predict=0)["content"] == ""
        assert [each.raw for each in doors.engine.warmed] == ["some text"]

    def test_nothing_to_go_on_from(self, doors: Doors) -> None:
        assert doors.refusal("/completion", prompt="")[0] == 400
        assert doors.refusal("/completion")[0] == 400


class TestTokens:
    def test_tokenize(self, doors: Doors) -> None:
        doors.engine.shown = Preview((1, 5, 6), "", 100, has_bos=True)
        assert doors.post("/tokenize", content="a b") == {"tokens": [5, 6]}
        assert doors.post("/tokenize", content="a b", add_special=True) == {"tokens": [1, 5, 6]}
        assert doors.engine.previewed[-1].raw == "a b"
        assert doors.post("/tokenize", content="") == {"tokens": []}
        assert doors.refusal("/tokenize", content="a", with_pieces=True)[0] == 400

    def test_detokenize(self, doors: Doors) -> None:
        doors.engine.shown = Preview((5, 6), "a b", 100)
        assert doors.post("/detokenize", tokens=[5, 6]) == {"content": "a b"}
        assert doors.engine.previewed[-1].raw_ids == (5, 6)
        assert doors.post("/detokenize", tokens=[]) == {"content": ""}
        for wrong in (["a"], [1.5], "a", [-1], [[1], [2]]):
            assert doors.refusal("/detokenize", tokens=wrong)[0] == 400

    def test_apply_template(self, doors: Doors) -> None:
        doors.engine.shown = Preview((5, 6), "<user>hi", 100)
        said = [{"role": "user", "content": "hi"}]
        assert doors.post("/apply-template", messages=said) == {"prompt": "<user>hi"}


class TestState:
    def test_health(self, doors: Doors) -> None:
        for path in ("/health", "/v1/health"):
            status, _, answer = doors.send("GET", path, token=None)
            assert (status, json.loads(answer)["status"]) == (200, "ok")

    def test_an_engine_that_is_stuck_is_not_healthy(self, doors: Doors) -> None:
        doors.engine.state = Health(("small",), running=1, quiet_s=59)
        assert doors.send("GET", "/health", token=None)[0] == 200
        doors.engine.state = Health(("small",), running=1, quiet_s=61)
        status, _, answer = doors.send("GET", "/health", token=None)
        assert status == 503
        assert "nothing for 61 s" in json.loads(answer)["error"]["message"]

    def test_props(self, doors: Doors) -> None:
        told = doors.get("/props")
        assert told["default_generation_settings"]["n_ctx"] == 8192
        assert told["model_path"] == "small"

    def test_metrics_count_what_was_written(self, doors: Doors) -> None:
        def counted() -> dict[str, float]:
            _, headers, answer = doors.send("GET", "/metrics")
            assert headers["content-type"].startswith("text/plain")
            lines = [line for line in answer.decode().splitlines() if not line.startswith("#")]
            return {name: float(value) for name, _, value in (line.partition(" ") for line in lines)}

        before = counted()
        told = doors.post("/infill", **VSCODE)
        after = counted()
        name = "llamacpp:tokens_predicted_total"
        assert after[name] - before[name] == told["tokens_predicted"]
        name = "vllm:spec_decode_num_accepted_tokens_total"
        assert after[name] - before[name] == told["timings"]["draft_n_accepted"]
