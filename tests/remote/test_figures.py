"""What each server tells of a reply's steps, and what none of them tells."""

from __future__ import annotations

from typing import Any

import pytest

from lacli.remote.counters import reading
from lacli.remote.figures import Told


def told(*chunks: dict[str, Any]) -> Told:
    found = Told()
    for chunk in chunks:
        found.read(chunk)
    return found


USAGE = {"usage": {"prompt_tokens": 10, "completion_tokens": 21}}


VLLM = {"num_spec_steps": 8, "num_draft_tokens": 40, "num_accepted_draft_tokens": 12}
TENSORRT = {"num_spec_steps": 8, "total_draft_tokens": 40, "total_accepted_draft_tokens": 12}
SGLANG = {"spec_verify_ct": 8, "spec_num_proposed_drafts": 40, "spec_num_correct_drafts": 12}
LLAMA = {"predicted_n": 21, "draft_n": 40, "draft_n_accepted": 12}


@pytest.mark.parametrize(
    "chunk",
    [
        {"metrics": {"speculative_decoding": VLLM}},
        {"choices": [{"speculative_decoding": TENSORRT}]},
        {"sglext": {"spec_tokens_details": SGLANG}},
        {"timings": LLAMA},
    ],
    ids=["vllm", "tensorrt-llm", "sglang", "llama-server"],
)
def test_each_server_has_its_own_fields(chunk: dict[str, Any]) -> None:
    found = told(chunk, USAGE)
    assert (found.steps, found.draft_n, found.accepted_n) == (8, 40, 12)


def test_steps_without_drafts_that_a_server_leaves_out_are_counted() -> None:
    """Twenty tokens after the first, five of them drafts that were right: fifteen forwards, whatever had drafts."""
    spec = {"num_spec_steps": 4, "num_draft_tokens": 16, "num_accepted_draft_tokens": 5}
    assert told({"metrics": {"speculative_decoding": spec}}, USAGE).steps == 15


def test_accepted_drafts_behind_a_stop_do_not_make_fewer_steps_than_were_told() -> None:
    spec = {"num_spec_steps": 9, "num_draft_tokens": 40, "num_accepted_draft_tokens": 30}
    assert told({"metrics": {"speculative_decoding": spec}}, USAGE).steps == 9


@pytest.mark.parametrize(
    "chunk",
    [
        {},
        {"metrics": None},
        {"metrics": {"speculative_decoding": None}},
        {"metrics": {"speculative_decoding": {"num_spec_steps": 8}}},
        {"timings": {"predicted_n": 21, "predicted_ms": 100.0}},
        {"timings": {"draft_n": -1, "draft_n_accepted": True}},
        {"sglext": {"spec_tokens_details": {"spec_verify_ct": "8"}}},
        {"choices": [{"avg_decoded_tokens_per_iter": 2.5}]},
    ],
)
def test_what_is_not_told_stays_unknown(chunk: dict[str, Any]) -> None:
    assert told(chunk, USAGE).steps is None


def test_ollamas_durations_are_nanoseconds() -> None:
    found = told({"prompt_eval_count": 5, "eval_count": 7, "prompt_eval_duration": 2_500_000})
    assert (found.prompt_n, found.predicted_n, found.prompt_ms) == (5, 7, 2.5)


def test_counters_are_summed_over_their_labels() -> None:
    lines = [
        'vllm:num_requests_running{engine="0"} 0.0',
        'vllm:num_requests_running{engine="1"} 2.0',
        'vllm:request_success_total{finished_reason="stop"} 1e+01',
        "vllm:spec_decode_num_drafts_total 3.0",
        "vllm:spec_decode_num_draft_tokens_total 9.0",
        "vllm:spec_decode_num_accepted_tokens_total 4.0",
    ]
    found = reading("\n".join(lines))
    assert found is not None
    assert (found.running, found.ended, found.accepted) == (2.0, 10.0, 4.0)
    assert reading("\n".join(lines[:-1])) is None
