"""What servers tell of a reply's tokens, steps and drafts, each in its own fields, as one set of numbers. Pure.

Read is what is there, whichever server sent it. A number that no server told stays None and is shown as n/a: nothing
is derived from times, and nothing from how a text was cut into chunks.

| server | field |
|---|---|
| OpenAI and all that follow it | `usage`, with cached and predicted tokens in its details |
| vLLM, lacli | `metrics.speculative_decoding` |
| SGLang | `sglext.spec_tokens_details` |
| TensorRT-LLM | `speculative_decoding` of a choice |
| llama-server | `timings`, with `draft_n` and `draft_n_accepted` where it drafts |
| ollama | `eval_count`, `prompt_eval_count` |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST = 1 << 31
SOURCE = "remote"
"""Who guessed, where a remote's server does not say what with."""


@dataclass(slots=True)
class Told:
    """The numbers of one reply as far as they were told."""

    prompt_n: int | None = None
    """Tokens of the prompt, reused ones included."""
    reused_n: int | None = None
    predicted_n: int | None = None
    spec_steps: int | None = None
    """Forwards that verified drafts; those that had none to verify may be missing."""
    draft_n: int | None = None
    accepted_n: int | None = None
    prompt_ms: float | None = None

    def read(self, chunk: Mapping[str, Any]) -> None:
        """Take what this object of the answer tells; later ones win."""
        choices = chunk.get("choices")
        choice = _inner(choices[0]) if isinstance(choices, list) and choices else {}
        self._read_usage(_inner(chunk.get("usage")))
        self._read_timings(_inner(chunk.get("timings")))
        self._read_ollama(chunk)
        speculative = _inner(_inner(chunk.get("metrics")).get("speculative_decoding"))
        self._read_speculative(speculative, "num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
        speculative = _inner(choice.get("speculative_decoding"))
        self._read_speculative(speculative, "num_spec_steps", "total_draft_tokens", "total_accepted_draft_tokens")
        for place in (chunk, choice):
            speculative = _inner(_inner(place.get("sglext")).get("spec_tokens_details"))
            self._read_speculative(speculative, "spec_verify_ct", "spec_num_proposed_drafts", "spec_num_correct_drafts")

    @property
    def steps(self) -> int | None:
        """Forwards after the prompt: each brings one token besides the drafts that were right, so that the tokens after
        the first, less those drafts, are the forwards, also where a server leaves out those without a draft."""
        if self.predicted_n is None or self.accepted_n is None or self.draft_n is None:
            return None
        return max(self.spec_steps or 0, self.predicted_n - 1 - self.accepted_n)

    def _read_usage(self, usage: Mapping[str, Any]) -> None:
        self._take("prompt_n", usage.get("prompt_tokens"))
        self._take("predicted_n", usage.get("completion_tokens"))
        self._take("reused_n", _inner(usage.get("prompt_tokens_details")).get("cached_tokens"))

    def _read_timings(self, timings: Mapping[str, Any]) -> None:
        cached, read = _count(timings.get("cache_n")), _count(timings.get("prompt_n"))
        if cached is not None and read is not None:
            self.prompt_n, self.reused_n = cached + read, cached
        self._take("predicted_n", timings.get("predicted_n"))
        self.prompt_ms = _time(timings.get("prompt_ms"), self.prompt_ms)
        if self.spec_steps is None:
            self._take("draft_n", timings.get("draft_n"))
            self._take("accepted_n", timings.get("draft_n_accepted"))

    def _read_ollama(self, chunk: Mapping[str, Any]) -> None:
        self._take("prompt_n", chunk.get("prompt_eval_count"))
        self._take("predicted_n", chunk.get("eval_count"))
        nanoseconds = _time(chunk.get("prompt_eval_duration"), None)
        self.prompt_ms = self.prompt_ms if nanoseconds is None else nanoseconds / 1e6

    def _read_speculative(self, told: Mapping[str, Any], steps: str, drafted: str, accepted: str) -> None:
        found = [_count(told.get(name)) for name in (steps, drafted, accepted)]
        if None not in found:
            self.spec_steps, self.draft_n, self.accepted_n = found

    def _take(self, name: str, value: Any) -> None:
        count = _count(value)
        if count is not None:
            setattr(self, name, count)


def _inner(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST else None


def _time(value: Any, default: float | None) -> float | None:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e15 else default
