"""OpenAI's objects: usage, choices, chunks; with what llama-server and vLLM tell besides. Pure."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import lacli
from lacli.events import ReplyStats
from lacli.server.http.refusals import Refusal, openai_shape

SSE = "text/event-stream; charset=utf-8"
PING = b": ping\n\n"
DONE = b"data: [DONE]\n\n"


class Form(Protocol):
    """How one kind of reply is written down: whole, and in chunks."""

    prefix: str
    """Of its id."""
    kind: str
    chunk_kind: str

    def opening(self) -> dict[str, Any] | None:
        """The choice of the first chunk, where it comes before any text."""
        ...

    def piece(self, text: str, thought: str) -> dict[str, Any]:
        """The choice of a chunk."""
        ...

    def last(self, reason: str) -> dict[str, Any]:
        """The choice of the chunk that says why it ended."""
        ...

    def whole(self, text: str, thought: str, reason: str) -> dict[str, Any]:
        """The choice of a reply that is told at once."""
        ...


class ChatForm:
    """See `Form`: a message."""

    prefix, kind, chunk_kind = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def opening(self) -> dict[str, Any] | None:
        """See `Form.opening`."""
        return _choice(delta={"role": "assistant", "content": ""})

    def piece(self, text: str, thought: str) -> dict[str, Any]:
        """See `Form.piece`."""
        return _choice(delta=({"content": text} if text else {}) | _thought(thought))

    def last(self, reason: str) -> dict[str, Any]:
        """See `Form.last`."""
        return _choice(reason, delta={})

    def whole(self, text: str, thought: str, reason: str) -> dict[str, Any]:
        """See `Form.whole`."""
        return _choice(reason, message={"role": "assistant", "content": text, **_thought(thought)})


class TextForm:
    """See `Form`: a text that goes on."""

    prefix, kind, chunk_kind = "cmpl", "text_completion", "text_completion"

    def opening(self) -> dict[str, Any] | None:
        """See `Form.opening`."""
        return None

    def piece(self, text: str, thought: str) -> dict[str, Any]:
        """See `Form.piece`."""
        return _choice(text=text)

    def last(self, reason: str) -> dict[str, Any]:
        """See `Form.last`."""
        return _choice(reason, text="")

    def whole(self, text: str, thought: str, reason: str) -> dict[str, Any]:
        """See `Form.whole`."""
        return _choice(reason, text=text)


def _choice(reason: str | None = None, **said: Any) -> dict[str, Any]:
    return {"index": 0, **said, "logprobs": None, "finish_reason": reason}


def _thought(thought: str) -> dict[str, Any]:
    return {"reasoning_content": thought} if thought else {}


@dataclass(frozen=True, slots=True)
class Heading:
    """What every object of one reply has in common."""

    form: Form
    model: str
    id: str = field(default_factory=lambda: secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))

    def reply(self, choice: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The object of a reply that is told at once."""
        return self._object(self.form.kind, [choice], more)

    def chunk(self, *choices: dict[str, Any], **more: Any) -> bytes:
        """A part of a stream."""
        return event(self._object(self.form.chunk_kind, list(choices), more))

    def _object(self, kind: str, choices: list[dict[str, Any]], more: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": f"{self.form.prefix}-{self.id}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": f"lacli-{lacli.__version__}",
            "choices": choices,
            **more,
        }


def usage(stats: ReplyStats) -> dict[str, Any]:
    """Tokens read and written; of those guessed from a prediction, which were right."""
    prompt = stats.prompt_n + stats.reused_n
    right = stats.accepted_by_source.get("prediction", 0)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": stats.predicted_n,
        "total_tokens": prompt + stats.predicted_n,
        "prompt_tokens_details": {"cached_tokens": stats.reused_n},
        "completion_tokens_details": {
            "accepted_prediction_tokens": right,
            "rejected_prediction_tokens": stats.drafted_by_source.get("prediction", 0) - right,
        },
    }


def metrics(stats: ReplyStats) -> dict[str, Any]:
    """What guessing brought, under vLLM's names."""
    if not stats.steps:
        return {"speculative_decoding": None}
    speculative = {
        "mean_acceptance_length": stats.tokens_per_step,
        "draft_acceptance_rate": stats.draft_n_accepted / stats.draft_n if stats.draft_n else 0.0,
        "num_spec_steps": stats.steps,
        "num_draft_tokens": stats.draft_n,
        "num_accepted_draft_tokens": stats.draft_n_accepted,
    }
    return {"speculative_decoding": speculative}


def timings(stats: ReplyStats) -> dict[str, Any]:
    """What took how long, under llama-server's names."""
    told = {
        "cache_n": stats.reused_n,
        **_pace("prompt", stats.prompt_n, stats.prompt_ms),
        **_pace("predicted", stats.predicted_n, stats.predicted_ms),
    }
    return told | ({"draft_n": stats.draft_n, "draft_n_accepted": stats.draft_n_accepted} if stats.draft_n else {})


def _pace(name: str, count: int, ms: float) -> dict[str, Any]:
    return {
        f"{name}_n": count,
        f"{name}_ms": ms,
        f"{name}_per_token_ms": ms / count if count else 0.0,
        f"{name}_per_second": 1000 * count / ms if ms > 0 else 0.0,
    }


def event(value: dict[str, Any]) -> bytes:
    """A part of a stream of server-sent events."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def failure(refusal: Refusal) -> bytes:
    """How a stream that has begun tells of a failure."""
    return event(openai_shape(refusal)) + DONE
