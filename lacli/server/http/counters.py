"""What the server has done since it was started, in the text format of Prometheus under llama-server's names."""

from __future__ import annotations

from dataclasses import dataclass, field

from lacli.events import Counts, ReplyStats
from lacli.server.base import Health


@dataclass
class Counters:
    """Sums over all replies."""

    counts: Counts = field(default_factory=Counts)
    prompt_n: int = 0
    reused_n: int = 0
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0

    def add(self, stats: ReplyStats) -> None:
        """One more reply, whole or not."""
        self.counts += stats
        self.prompt_n += stats.prompt_n
        self.reused_n += stats.reused_n
        self.prompt_ms += stats.prompt_ms
        self.predicted_ms += stats.predicted_ms

    def exposition(self, health: Health) -> str:
        """All of them as /metrics tells them."""
        counts = self.counts
        rows = (
            ("llamacpp:prompt_tokens_total", "counter", "Prompt tokens processed", self.prompt_n),
            ("llamacpp:prompt_seconds_total", "counter", "Prompt processing time", self.prompt_ms / 1e3),
            ("llamacpp:tokens_predicted_total", "counter", "Tokens written", counts.predicted_n),
            ("llamacpp:tokens_predicted_seconds_total", "counter", "Time of writing them", self.predicted_ms / 1e3),
            ("llamacpp:n_decode_total", "counter", "Forwards after the prompt", counts.steps),
            ("llamacpp:requests_processing", "gauge", "Requests being served", health.running),
            ("llamacpp:requests_deferred", "gauge", "Requests waiting", health.waiting),
            ("lacli:prompt_tokens_reused_total", "counter", "Prompt tokens read before", self.reused_n),
            ("lacli:replies_total", "counter", "Replies of at least one token", counts.replies),
            ("vllm:spec_decode_num_drafts_total", "counter", "Forwards that could verify guesses", counts.steps),
            ("vllm:spec_decode_num_draft_tokens_total", "counter", "Guessed tokens verified", counts.draft_n),
            ("vllm:spec_decode_num_accepted_tokens_total", "counter", "Of them right", counts.draft_n_accepted),
        )
        return "".join(
            f"# HELP {name} {help_text}\n# TYPE {name} {kind}\n{name} {value:g}\n"
            if isinstance(value, float)
            else f"# HELP {name} {help_text}\n# TYPE {name} {kind}\n{name} {value}\n"
            for name, kind, help_text, value in rows
        )
