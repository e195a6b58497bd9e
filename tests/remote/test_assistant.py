"""Replies of scripted servers of each kind: text, statistics, cancels, retries, what is sent, and what goes wrong."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lacli.assistant.cancel import CancelToken
from lacli.config import Settings
from lacli.configuration.remotes import Remote
from lacli.errors import LacliError, ModelUnavailable, PromptTooLong, UsageError
from lacli.events import Attachment, Failed, Finished, Message, Notice, Piece, Place, Request
from lacli.remote.assistant import RemoteAssistant
from lacli.remote.exchange import Limits
from lacli.shared.wording import stats_line, stats_record
from tests.remote.scripted import (
    ACCEPTED,
    CACHED_N,
    DONE,
    DRAFTED,
    PREDICTED_N,
    PROMPT_N,
    STEPS,
    TEXT,
    WORDS,
    Answer,
    Asked,
    Server,
    chunks,
    event,
    refusal,
    serving,
    until,
)

QUICK = Limits(connect_s=2.0, idle_s=0.3, first_s=2.0, pause_s=0.01, patience_s=0.5)
KINDS = ("vllm", "sglang", "llama-server", "ollama", "openai", "lacli")


def assistant(server: Server, limits: Limits = QUICK, settings: Settings | None = None, **more: Any) -> RemoteAssistant:
    remote = Remote("gpu", server.url, **more)
    return RemoteAssistant(settings or Settings(model="remote:gpu"), lambda: remote, limits)


def asked(words: str = "how do I rename a file", **more: Any) -> Request:
    return Request(messages=(Message("user", words),), **more)


def reply(
    made: RemoteAssistant, request: Request | None = None, cancel: Callable[[], bool] = lambda: False
) -> Finished:
    events = list(made.reply(request or asked(), cancel))
    finished = events[-1]
    assert isinstance(finished, Finished)
    pieces = [each for each in events if isinstance(each, Piece)]
    assert "".join(each.text for each in pieces) == finished.text
    assert finished.stats.finish_reason == finished.reason
    return finished


class TestReplies:
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_chat_of_each_kind_is_read_and_counted(self, kind: str) -> None:
        with serving(kind) as server:
            finished = reply(assistant(server))
        assert (finished.text, finished.reason) == (TEXT, "stop")
        stats = finished.stats
        assert (stats.model, stats.predicted_n) == ("remote:gpu", PREDICTED_N)
        assert (stats.prompt_n, stats.reused_n) == (PROMPT_N - CACHED_N, CACHED_N)
        assert stats.predicted_per_second is not None

    @pytest.mark.parametrize("kind", ["vllm", "sglang", "llama-server", "lacli"])
    def test_steps_are_those_that_the_server_tells(self, kind: str) -> None:
        with serving(kind) as server:
            stats = reply(assistant(server)).stats
        assert (stats.steps, stats.draft_n, stats.draft_n_accepted) == (STEPS, DRAFTED, ACCEPTED)
        assert stats.tokens_per_step == (PREDICTED_N - 1) / STEPS
        assert stats.untold == ()

    @pytest.mark.parametrize("kind", ["openai", "ollama"])
    def test_what_nobody_tells_is_not_made_up(self, kind: str) -> None:
        with serving(kind) as server:
            stats = reply(assistant(server)).stats
        assert stats.tokens_per_step is None
        record = stats_record(stats)
        assert record["predicted_n"] == PREDICTED_N
        assert record["steps"] is record["draft_n"] is record["draft_n_accepted"] is record["saved_n"] is None
        assert "n/a tok/step" in stats_line(stats)

    def test_untold_steps_do_not_spoil_the_sum_of_a_chat(self) -> None:
        with serving("openai") as one, serving("vllm") as other:
            both = reply(assistant(one)).stats + reply(assistant(other)).stats
        assert both.tokens_per_step == (PREDICTED_N - 1) / STEPS
        assert type(both).of_totals(both.totals()).tokens_per_step == both.tokens_per_step

    def test_a_stream_without_usage_says_so(self) -> None:
        parts = [part for part in chunks("openai") if b'"usage": {' not in part]
        with serving("openai", Answer(parts=parts)) as server:
            stats = reply(assistant(server)).stats
        assert stats_record(stats)["predicted_n"] is None
        assert stats_line(stats).startswith("n/a tok · n/a tok/step")

    def test_counters_stand_in_where_only_one_reply_changed_them(self) -> None:
        with serving("vllm", Answer(parts=chunks("vllm", told=False))) as server:
            readings = iter([(0, 5, 10, 40, 20), (0, 6, 13, 49, 23), (0, 8, 20, 60, 30)])
            server.doors["/metrics"] = lambda asked: Answer(body=_prometheus(*next(readings)))
            made = assistant(server)
            alone, crowded = reply(made).stats, reply(made).stats
        assert (alone.steps, alone.draft_n, alone.draft_n_accepted) == (3, 9, 3)
        assert "steps" in crowded.untold

    def test_a_cancel_while_the_counters_are_read_loses_no_reply(self) -> None:
        left = threading.Event()

        def leave(asked: Asked) -> Answer:
            left.set()
            return Answer(parts=[5.0])

        with serving("vllm", Answer(parts=chunks("vllm", told=False))) as server:
            server.doors["/metrics"] = Answer(body=_prometheus(0, 5, 10, 40, 20))
            made = assistant(server)
            made.open()
            server.doors["/metrics"] = leave
            assert reply(made, cancel=left.is_set).text == TEXT

    def test_thoughts_are_told_apart(self) -> None:
        said = [{"reasoning_content": "hmm"}, {"content": "Yes."}]
        parts = [event({"choices": [{"delta": each}]}) for each in said]
        ended = event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        with serving("vllm", Answer(parts=[*parts, ended, DONE])) as server:
            finished = reply(assistant(server))
        assert (finished.text, finished.thought) == ("Yes.", "hmm")

    def test_thoughts_within_the_text_are_told_apart_too(self) -> None:
        with serving(
            "openai", Answer(parts=chunks("openai", ["<thi", "nk>hmm</th", "ink>", "\n\nYes", "."]))
        ) as server:
            finished = reply(assistant(server))
        assert (finished.text, finished.thought) == ("Yes.", "hmm")

    def test_a_server_that_does_not_stream_is_understood(self) -> None:
        whole = {
            "choices": [{"message": {"content": TEXT}, "finish_reason": "length"}],
            "usage": {"completion_tokens": 7},
        }
        with serving("openai", Answer(body=json.dumps(whole).encode())) as server:
            finished = reply(assistant(server))
        assert (finished.text, finished.reason) == (TEXT, "length")

    def test_a_stop_string_ends_the_reply_wherever_chunks_begin(self) -> None:
        with serving("vllm", Answer(parts=[*chunks("vllm")[:-3], 30.0])) as server:
            finished = reply(assistant(server), asked(stops=("which is",)))
            until(server.gone.is_set)
        assert (finished.text, finished.reason) == ("Use `os.replace`, ", "stop")

    def test_no_tokens_ask_nothing(self) -> None:
        with serving() as server:
            assert reply(assistant(server), asked(max_tokens=0)).reason == "length"
            assert not server.asked


class TestWhatIsSent:
    @pytest.mark.parametrize("kind", KINDS)
    def test_messages_with_their_attachments(self, kind: str) -> None:
        question = Message("user", "what is this?", attachments=(Attachment("a.py", "x = 1\n"),))
        with serving(kind) as server:
            reply(assistant(server), Request(messages=(Message("system", "be brief"), question), max_tokens=33))
            sent = server.replies[0]
        assert sent.path == "/v1/chat/completions"
        assert [each["role"] for each in sent.body["messages"]] == ["system", "user"]
        assert "x = 1" in sent.body["messages"][1]["content"]
        assert (sent.body["max_tokens"], sent.body["temperature"], sent.body["model"]) == (33, 0.0, "m")

    @pytest.mark.parametrize(("kind", "name"), [("vllm", "repetition_penalty"), ("llama-server", "repeat_penalty")])
    def test_sampling_by_the_names_of_the_kind(self, kind: str, name: str) -> None:
        with serving(kind) as server:
            reply(assistant(server), asked(top_k=5, repetition_penalty=1.1, seed=3, top_p=0.5, temperature=0.7))
            body = server.replies[0].body
        assert (body["top_k"], body[name], body["seed"], body["top_p"]) == (5, 1.1, 3, 0.5)

    def test_sampling_that_a_server_lacks_is_said_once(self) -> None:
        with serving("openai") as server:
            made = assistant(server)
            notes = [each.text for _ in range(2) for each in made.reply(asked(top_k=5)) if isinstance(each, Notice)]
            assert "top_k" not in server.replies[0].body
        assert [note for note in notes if "--top-k" in note] == ["remote:gpu takes no --top-k: it is ignored"]

    @pytest.mark.parametrize("kind", ["vllm", "sglang", "llama-server", "lacli"])
    def test_a_reply_that_is_begun_goes_on(self, kind: str) -> None:
        with serving(kind) as server:
            reply(assistant(server), asked(begun="```python\n"))
            body = server.replies[0].body
        assert body["messages"][-1] == {"role": "assistant", "content": "```python\n"}
        assert ("continue_final_message" in body) == (kind in ("vllm", "sglang"))

    def test_where_it_cannot_be_begun_more_room_is_left(self) -> None:
        with serving("openai") as server:
            made = assistant(server)
            assert made.preview(asked()).thinks
            reply(made, asked(begun="```python\n"))
            assert server.replies[0].body["messages"][-1]["role"] == "user"

    def test_the_key_goes_as_a_bearer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GPU_KEY", "s3cret")
        with serving() as server:
            reply(assistant(server, key_env="GPU_KEY"))
            assert {each.headers["authorization"] for each in server.asked} == {"Bearer s3cret"}

    def test_a_key_that_is_not_set_is_missed_before_anything_is_sent(self) -> None:
        with serving() as server:
            with pytest.raises(UsageError, match="GPU_KEY is not set"):
                reply(assistant(server, key_env="GPU_KEY"))
            assert not server.asked

    @pytest.mark.parametrize(("kind", "goes"), [("openai", True), ("lacli", True), ("vllm", False)])
    def test_a_prediction_goes_where_it_is_taken(self, kind: str, goes: bool) -> None:
        with serving(kind) as server:
            reply(assistant(server), asked(prediction="def f(): ..."))
            assert ("prediction" in server.replies[0].body) == goes

    def test_a_member_that_a_server_refuses_is_left_out_from_then_on(self) -> None:
        def picky(asked: Asked) -> Answer:
            if "prediction" in asked.body:
                return refusal(400, "Unsupported parameter: 'prediction'")
            return Answer(parts=chunks("openai"))

        with serving("openai", picky) as server:
            made = assistant(server)
            assert reply(made, asked(prediction="x = 1")).text == TEXT
            assert reply(made, asked(prediction="x = 1")).text == TEXT
            assert len(server.replies) == 3

    def test_an_option_that_no_server_has_is_said_to_be_ignored(self) -> None:
        with serving() as server:
            events = list(assistant(server).reply(asked(truncate="middle")))
        notices = [each.text for each in events if isinstance(each, Notice)]
        assert "remote:gpu takes no --truncate: it is ignored" in notices

    def test_the_newer_name_of_a_budget_is_found(self) -> None:
        def newer(asked: Asked) -> Answer:
            if "max_tokens" in asked.body:
                return refusal(
                    400, "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
                )
            return Answer(parts=chunks("openai"))

        with serving("openai", newer) as server:
            made = assistant(server)
            assert reply(made, asked(max_tokens=44)).text == TEXT
            assert reply(made, asked(max_tokens=33)).text == TEXT
            assert [each.body.get("max_completion_tokens") for each in server.replies] == [None, 44, 33]

    def test_replies_of_a_batch_find_it_out_at_the_same_time(self) -> None:
        both_asked = threading.Barrier(2)

        def picky(asked: Asked) -> Answer:
            if "seed" in asked.body:
                both_asked.wait(5)
                return refusal(400, "Unsupported parameter: 'seed'")
            return Answer(parts=chunks("openai"))

        with serving("openai", picky) as server:
            events = [event for _, event in assistant(server).replies([asked("a", seed=1), asked("b", seed=1)])]
        assert [each.text for each in events if isinstance(each, Finished)] == [TEXT, TEXT]


class TestSecrets:
    KEY = "my key is AKIAIOSFODNN7ABCDEFG, what is wrong with it?"

    def test_text_with_a_key_is_not_sent(self) -> None:
        with serving() as server:
            with pytest.raises(UsageError, match=r"nothing was sent to remote:gpu.*AWS") as failure:
                reply(assistant(server), asked(self.KEY))
            assert "--send-anyway" in failure.value.hint
            assert not server.replies

    def test_nor_to_be_rendered(self) -> None:
        with serving("llama-server") as server:
            server.doors["/apply-template"] = Answer(body=b'{"prompt": "x"}')
            with pytest.raises(UsageError, match="nothing was sent"):
                reply(assistant(server, api="raw"), asked(self.KEY))
            assert not [each for each in server.asked if each.method == "POST"]

    def test_nor_as_a_stop(self) -> None:
        with serving() as server:
            with pytest.raises(UsageError, match="nothing was sent"):
                reply(assistant(server), asked(stops=(self.KEY,)))
            assert not server.replies

    def test_nor_as_a_prediction(self) -> None:
        with serving("lacli") as server:
            with pytest.raises(UsageError, match="nothing was sent"):
                reply(assistant(server), asked(prediction=self.KEY))
            assert not server.replies

    def test_nor_where_a_file_holds_it(self) -> None:
        place = Place(prefix=f"KEY = '{self.KEY}'\n", path="a.py")
        with serving() as server:
            with pytest.raises(UsageError, match="nothing was sent"):
                reply(assistant(server), Request(place=place))
            assert not [each for each in server.replies if each.path != "/tokenize"]

    def test_unless_the_user_says_so(self) -> None:
        with serving() as server:
            made = assistant(server, settings=Settings(model="remote:gpu", send_anyway=True))
            assert reply(made, asked(self.KEY)).text == TEXT

    def test_a_value_of_the_projects_env_file_is_one(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        (tmp_path / ".env").write_text("DB_PASSWORD=correct-horse-42\n")
        with serving() as server:
            made = assistant(server, settings=Settings(model="remote:gpu", folder=tmp_path))
            with pytest.raises(UsageError, match="the project's own settings"):
                reply(made, asked("why does correct-horse-42 not log me in?"))


class TestEnds:
    @pytest.mark.parametrize(
        ("last", "said"),
        [
            ({"choices": [{"delta": {}, "finish_reason": "abort"}]}, "it gives 'abort' as the reason"),
            ({"object": "error", "message": "engine is dead"}, "engine is dead"),
            ({"error": {"message": "engine is dead"}}, "engine is dead"),
        ],
    )
    def test_a_reply_that_its_server_gives_up_is_no_whole_one(self, last: dict[str, Any], said: str) -> None:
        with serving("vllm", Answer(parts=[*chunks("vllm")[:3], event(last), DONE])) as server:
            events: list[Any] = []
            with pytest.raises(LacliError, match=said):
                events.extend(assistant(server).reply(asked()))
        assert "".join(each.text for each in events if isinstance(each, Piece)) == "".join(WORDS[:3])

    def test_a_cancel_closes_the_connection_within_a_moment(self) -> None:
        with serving("vllm", Answer(parts=[*chunks("vllm")[:3], 30.0])) as server:
            cancel, texts = CancelToken(), []
            started = time.monotonic()
            for each in assistant(server, Limits()).reply(asked(), cancel):
                if isinstance(each, Piece):
                    texts.append(each.text)
                    if len(texts) == 3:
                        threading.Timer(0.05, cancel.cancel).start()
                last = each
            until(server.gone.is_set)
            assert time.monotonic() - started < 5
        assert isinstance(last, Finished)
        assert (last.text, last.reason) == ("".join(WORDS[:3]), "cancelled")

    def test_a_cancel_that_is_only_asked_does_too(self) -> None:
        with serving("vllm", Answer(parts=[30.0])) as server:
            end = time.monotonic() + 0.2
            finished = reply(assistant(server, Limits()), cancel=lambda: time.monotonic() > end)
            until(server.gone.is_set)
        assert (finished.text, finished.reason) == ("", "cancelled")

    def test_a_reader_that_leaves_closes_it(self) -> None:
        with serving("vllm", Answer(parts=[*chunks("vllm")[:3], 30.0])) as server:
            events = assistant(server, Limits()).reply(asked())
            next(each for each in events if isinstance(each, Piece))
            events.close()  # type: ignore[attr-defined]
            until(server.gone.is_set)


def _texts(made: RemoteAssistant, request: Request) -> Iterator[str]:
    return (each.text for each in made.reply(request) if isinstance(each, Piece))


def _begun(*more: bytes | float) -> list[bytes | float]:
    return [*chunks("vllm")[:3], *more]


BROKEN = {
    "drops": Answer(parts=_begun()),
    "resets": Answer(parts=_begun(), cut=True),
    "stalls": Answer(parts=_begun(30.0)),
    "half event": Answer(parts=_begun(b'data: {"choices": [{"delta": {"cont')),
    "wrong JSON": Answer(parts=_begun(b"data: {oops}\n\n", DONE)),
    "no object": Answer(parts=_begun(b"data: [1, 2]\n\n", DONE)),
    "an error": Answer(parts=_begun(event({"error": {"message": "CUDA out of memory"}}))),
    "huge line": Answer(parts=_begun(*([b"x" * (1 << 20)] * 17))),
}


class TestMisbehaviour:
    @pytest.mark.parametrize("way", list(BROKEN))
    def test_what_came_before_is_kept_and_the_failure_is_one_line(self, way: str) -> None:
        with serving("vllm", BROKEN[way]) as server:
            texts: list[str] = []
            with pytest.raises(LacliError) as failure:
                texts.extend(_texts(assistant(server), asked()))
            assert len(server.replies) == 1, "what was seen must not be asked for again"
        assert failure.value.exit_code == 1
        assert "\n" not in failure.value.message + failure.value.hint
        assert failure.value.message.startswith("remote:gpu")

    @pytest.mark.parametrize("way", ["drops", "resets", "stalls", "half event", "wrong JSON", "huge line"])
    def test_pieces_come_as_they_arrive(self, way: str) -> None:
        with serving("vllm", BROKEN[way]) as server:
            events = assistant(server).reply(asked())
            texts = [each.text for each in (next(events) for _ in range(4)) if isinstance(each, Piece)]
            events.close()  # type: ignore[attr-defined]
        assert "".join(texts) == "".join(WORDS[:3])

    def test_what_was_held_back_comes_before_the_failure(self) -> None:
        with serving("vllm", Answer(parts=chunks("vllm", ["one <sto", "p"])[:2])) as server:
            texts: list[str] = []
            with pytest.raises(LacliError):
                texts.extend(_texts(assistant(server), asked(stops=("<stopped>",))))
        assert "".join(texts) == "one <stop"

    def test_chunks_may_be_cut_anywhere(self) -> None:
        whole = b"".join(chunks("vllm", ["naïve ", "漢字 ", "👩‍💻"]))
        parts: list[bytes | float] = [whole[at : at + 7] for at in range(0, len(whole), 7)]
        with serving("vllm", Answer(parts=parts)) as server:
            assert reply(assistant(server)).text == "naïve 漢字 👩‍💻"

    def test_comments_other_fields_and_nulls_are_passed_over(self) -> None:
        strange: list[bytes] = [
            b": ping\n\n",
            b"event: x\nid: 3\n\n",
            event({"choices": None}),
            event({"choices": [None]}),
        ]
        strange += [event({"choices": [{"delta": None, "finish_reason": None}], "usage": 3, "timings": [1]})]
        with serving("vllm", Answer(parts=[*strange, *chunks("vllm")])) as server:
            assert reply(assistant(server)).text == TEXT

    def test_pings_alone_are_no_answer(self) -> None:
        pings: Sequence[bytes | float] = [b": ping\n\n", 0.05] * 100
        with serving("vllm", Answer(parts=pings)) as server, pytest.raises(LacliError, match="does not answer"):
            reply(assistant(server, Limits(first_s=0.4, idle_s=0.3)))

    @pytest.mark.parametrize("status", [502, 503, 429])
    def test_a_busy_server_is_asked_again_before_the_first_token(self, status: int) -> None:
        with serving("vllm", refusal(status, "busy"), Answer(parts=chunks("vllm"))) as server:
            assert reply(assistant(server)).text == TEXT
            assert len(server.replies) == 2

    def test_so_is_one_that_drops_the_connection(self) -> None:
        with serving("vllm", Answer(parts=[b": hi\n\n"], cut=True), Answer(parts=chunks("vllm"))) as server:
            assert reply(assistant(server)).text == TEXT

    def test_it_is_not_asked_for_ever(self) -> None:
        with serving("vllm", refusal(503, "loading")) as server:
            with pytest.raises(LacliError, match=r"failed \(503\): error loading"):
                reply(assistant(server))
            assert len(server.replies) == QUICK.tries

    def test_a_long_retry_after_is_told_and_not_waited_for(self) -> None:
        with serving("vllm", refusal(429, "slow down", Retry_After="30")) as server:
            with pytest.raises(LacliError, match="429") as failure:
                reply(assistant(server))
            assert failure.value.hint == "try again in 30 s"
            assert len(server.replies) == 1

    @pytest.mark.parametrize(
        ("answer", "kind", "words", "hint"),
        [
            (refusal(401, "bad key"), ModelUnavailable, "refuses the key", "key-env"),
            (refusal(404, "The model `m` does not exist."), ModelUnavailable, "no model 'm'", "set model"),
            (refusal(404, "Not Found"), UsageError, "nothing at that path", "/v1"),
            (refusal(400, "This model's maximum context length is 4096 tokens."), PromptTooLong, "context", "-n"),
            (refusal(400, "temperature must be 1"), LacliError, "temperature must be 1", "correct"),
            (
                Answer(302, headers={"Location": "http://elsewhere/"}),
                UsageError,
                "redirects to http://elsewhere/",
                "url",
            ),
            (refusal(500, "boom"), LacliError, r"\(500\)", "log"),
        ],
    )
    def test_refusals_have_a_remedy(self, answer: Answer, kind: type[LacliError], words: str, hint: str) -> None:
        with serving("vllm", answer) as server, pytest.raises(kind, match=words) as failure:
            reply(assistant(server))
        assert type(failure.value).exit_code == kind.exit_code
        assert hint in failure.value.hint

    def test_a_server_that_is_not_there(self) -> None:
        with serving() as server:
            made = assistant(server)
        with pytest.raises(ModelUnavailable, match="connection refused") as failure:
            made.open()
        assert failure.value.exit_code == 3

    def test_tls_where_there_is_none(self) -> None:
        with serving() as server:
            made = RemoteAssistant(Settings(), lambda: Remote("gpu", server.url.replace("http:", "https:")), QUICK)
            with pytest.raises(ModelUnavailable, match="TLS"):
                made.open()

    def test_what_does_not_speak_http(self) -> None:
        with serving() as server:
            server.doors["/v1/models"] = Answer(200, b"<html>", {"Content-Type": "text/html"})
            with pytest.raises(UsageError, match="no list of models"):
                assistant(server).open()

    def test_the_oldest_turns_go_where_they_may(self) -> None:
        def small(asked: Asked) -> Answer:
            if len(asked.body["messages"]) > 4:
                return refusal(
                    400,
                    "the request exceeds the available context size",
                )
            return Answer(parts=chunks("llama-server"))

        turns = tuple(Message("assistant" if n % 2 else "user", f"turn {n}") for n in range(9))
        with serving("llama-server", small) as server:
            made = assistant(server)
            events = list(made.reply(Request(messages=turns, drop_oldest=True)))
            with pytest.raises(PromptTooLong):
                reply(made, Request(messages=turns))
            kept = [each.body["messages"] for each in server.replies if len(each.body["messages"]) <= 4]
        finished = events[-1]
        assert isinstance(finished, Finished)
        assert finished.dropped == len(turns) - len(kept[0])
        assert kept[0][0]["role"] == "user"
        assert kept[0][-1]["content"] == "turn 8"
        assert any("no longer fit" in each.text for each in events if isinstance(each, Notice))


class TestServers:
    @pytest.mark.parametrize("kind", KINDS)
    def test_each_kind_says_what_it_is(self, kind: str) -> None:
        with serving(kind) as server:
            notices: list[Any] = []
            assistant(server).open(notices.append)
        where = server.url.removeprefix("http://")
        assert [each.text for each in notices] == [f"remote:gpu: {kind} at {where}, m: what is asked is sent there"]

    def test_a_model_that_it_lacks_is_told_with_those_it_has(self) -> None:
        with serving(model="coder") as server, pytest.raises(ModelUnavailable, match="no model 'm'") as failure:
            assistant(server, model="m").open()
        assert failure.value.hint.endswith("to one of coder")

    def test_offline_asks_this_computer_only(self) -> None:
        settings = Settings(model="remote:gpu", offline=True)
        with pytest.raises(ModelUnavailable, match="on another computer"):
            RemoteAssistant(settings, lambda: Remote("gpu", "http://192.0.2.1:8000")).open()
        with serving() as server:
            assert reply(assistant(server, settings=settings)).text == TEXT

    def test_reading_ahead_sends_nothing(self) -> None:
        with serving() as server:
            assistant(server).warm(asked())
            assert not server.asked

    def test_a_preview_sends_nothing_of_the_request(self) -> None:
        with serving() as server:
            preview = assistant(server).preview(asked("one two three"))
            assert not server.replies
        assert (preview.text, preview.ctx_size) == ("one two three", 4096)
        assert preview.size == preview.estimated_n == 3


class TestBatches:
    def test_many_are_asked_side_by_side_and_all_are_answered(self) -> None:
        now, most, lock = 0, 0, threading.Lock()

        def slow(asked: Asked) -> Answer:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.03)
            with lock:
                now -= 1
            return Answer(parts=chunks("vllm", [asked.body["messages"][0]["content"]]))

        with serving("vllm", slow) as server:
            events = list(assistant(server).replies(asked(f"n{number}") for number in range(20)))
        ends = {index: each.text for index, each in events if isinstance(each, Finished)}
        assert ends == {number: f"n{number}" for number in range(20)}
        assert 1 < most <= 8

    def test_a_refused_prompt_is_told_and_the_others_go_on(self) -> None:
        def picky(asked: Asked) -> Answer:
            if asked.body["messages"][0]["content"] == "n3":
                return refusal(400, "maximum context length is 10 tokens")
            return Answer(parts=chunks("vllm"))

        with serving("vllm", picky) as server:
            events = list(assistant(server).replies(asked(f"n{number}") for number in range(6)))
        failed = {index: each.exit_code for index, each in events if isinstance(each, Failed)}
        assert failed == {3: 5}
        assert len([each for _, each in events if isinstance(each, Finished)]) == 5

    def test_a_server_that_goes_away_ends_it_so_that_it_can_be_resumed(self) -> None:
        with serving("vllm", *[Answer(parts=chunks("vllm"))] * 3, refusal(401, "key expired")) as server:
            events: list[tuple[int, Any]] = []
            with pytest.raises(ModelUnavailable, match="key"):
                events.extend(assistant(server).replies(asked(f"n{number}") for number in range(40)))
            assert len(server.replies) < 40
        assert not [each for _, each in events if isinstance(each, Failed)]
        assert len([each for _, each in events if isinstance(each, Finished)]) == 3


def _prometheus(running: int, ended: int, steps: int, drafted: int, accepted: int) -> bytes:
    lines = [
        f'vllm:num_requests_running{{model_name="m"}} {running}.0',
        f'vllm:request_success_total{{finished_reason="stop",model_name="m"}} {ended}.0',
        'vllm:request_success_total{finished_reason="abort",model_name="m"} 0.0',
        f'vllm:spec_decode_num_drafts_total{{model_name="m"}} {steps}.0',
        f'vllm:spec_decode_num_draft_tokens_total{{model_name="m"}} {drafted}.0',
        f'vllm:spec_decode_num_accepted_tokens_total{{model_name="m"}} {accepted}.0',
    ]
    return "\n".join(["# HELP x", *lines, ""]).encode()
