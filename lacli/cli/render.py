"""Statistics as people and programs read them. Pure: values in, text out.

Called by `ask`, `chat`, `complete` and `live`.
"""

from __future__ import annotations

from typing import Any

from lacli.events import Finished, Loading, ReplyStats

BETWEEN = " · "
"""Stands between the numbers of a line, and is where a narrow terminal breaks it."""

_STAGES = {
    "fetch": "fetching the model",
    "check": "checking the download",
    "prepare": "preparing the model (once)",
    "wait": "waiting for another lacli that prepares it",
    "load": "loading the model",
}


def stats_record(stats: ReplyStats) -> dict[str, Any]:
    """The JSON statistics of one reply; llama.cpp's names where it has them. None where a number has no meaning."""
    return {
        "model": stats.model,
        "finish_reason": stats.finish_reason,
        "prompt_n": stats.prompt_n,
        "reused_n": stats.reused_n,
        "prompt_ms": round(stats.prompt_ms, 1),
        "predicted_n": stats.predicted_n,
        "predicted_ms": round(stats.predicted_ms, 1),
        "predicted_per_second": _rounded(stats.predicted_per_second),
        "steps": stats.steps,
        "tokens_per_step": _rounded(stats.tokens_per_step),
        "draft_n": stats.draft_n,
        "draft_n_accepted": stats.draft_n_accepted,
        "accepted_by_source": dict(sorted(stats.accepted_by_source.items())),
        "rows": stats.rows,
        "draft_ms": round(stats.draft_ms, 1),
        "pool_hits": stats.accepted_by_source.get("project", 0),
        "pool_size": stats.pool_size,
        "ttft_ms": round(stats.ttft_ms, 1),
        "load_ms": round(stats.load_ms, 1),
        "import_ms": round(stats.import_ms, 1),
        "ctx_used": stats.ctx_used,
        "ctx_size": stats.ctx_size,
        "vram_peak_mb": stats.vram_peak_mb,
    }


def reply_record(finished: Finished) -> dict[str, Any]:
    """The JSON document of one reply."""
    return {"text": finished.text, "finish_reason": finished.reason, "stats": stats_record(finished.stats)}


def stats_line(stats: ReplyStats, without_pool: str = "") -> str:
    """One line for people: what was written, how fast, and who guessed it; `without_pool` says that there is none."""
    parts = [f"{stats.predicted_n} tok in {stats.steps} steps"]
    if stats.tokens_per_step is not None:
        parts.append(f"{stats.tokens_per_step:.2f} tok/step")
    if stats.predicted_per_second is not None:
        parts.append(f"{stats.predicted_per_second:.1f} tok/s")
    if stats.draft_n:
        parts.append(f"guessed {_shares(stats)}")
    parts.append(without_pool or f"pool {stats.pool_size:,} tok")
    parts.append(f"first token {_duration(stats.ttft_ms)}")
    if stats.reused_n:
        parts.append(f"{stats.reused_n} prompt tok reused")
    if stats.finish_reason in ("length", "context"):
        parts.append(stats.finish_reason)
    return BETWEEN.join(parts)


def cut_note(finished: Finished, max_tokens: int) -> str:
    """That and why a reply is no whole one; nothing where it is, or where none was asked for."""
    if finished.reason == "length" and max_tokens:
        return f"cut at {max_tokens} tokens; -n N for more"
    if finished.reason == "context":
        return f"cut, as the context of {finished.stats.ctx_size} tokens is full; a shorter prompt leaves more room"
    return ""


def live_line(stats: ReplyStats) -> str:
    """The short line shown while a reply is being written."""
    if stats.tokens_per_step is None:
        return f"{stats.predicted_n} tok"
    speed = stats.predicted_per_second
    return f"{stats.tokens_per_step:.2f} tok/step" + (f" · {speed:.0f} tok/s" if speed is not None else "")


def loading_line(event: Loading) -> str:
    """How far loading is, with a bar where the end is known."""
    text = _STAGES.get(event.stage, event.stage)
    if event.total <= 0:
        return f"{text}…"
    part = min(1.0, event.done / event.total)
    filled = round(part * 20)
    size = f" {event.done / 1e6:.0f}/{event.total / 1e6:.0f} MB" if event.total > 1_000_000 else ""
    return f"{text} [{'#' * filled}{'.' * (20 - filled)}] {part:.0%}{size}"


def _shares(stats: ReplyStats) -> str:
    total = max(1, stats.predicted_n)
    counts = sorted(stats.accepted_by_source.items(), key=lambda item: -item[1])
    shares = [f"{name} {count / total:.0%}" for name, count in counts if count]
    return f"{stats.draft_n_accepted / total:.0%}" + (f" ({', '.join(shares)})" if shares else "")


def _duration(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
