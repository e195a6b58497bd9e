"""Formats statistics, ages and sizes, for people and as JSON. Pure, except that it reads the user's home folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacli.events import Attachment, Counts, Finished, Loading, ReplyStats

if TYPE_CHECKING:
    from lacli.pool.prune import Pruned

SEPARATOR = " · "
"""Between the numbers of a line, and where a narrow terminal breaks it."""
UNTOLD = "n/a"
"""Stands for a number that a remote does not tell."""

_LEGEND = "guesses: right/tried, share of the text"

_STAGES = {
    "fetch": "fetching the model",
    "check": "checking the download",
    "unpack": "unpacking the model",
    "prepare": "preparing the model (once)",
    "prime": "learning its first guesses (once; Ctrl-C skips it)",
    "wait": "waiting for another lacli that prepares it",
    "load": "loading the model",
}


def counts_record(counts: Counts) -> dict[str, Any]:
    """The counts of one reply, a chat or a project as JSON."""
    return {
        "predicted_n": counts.predicted_n,
        "steps": counts.steps,
        "tokens_per_step": _rounded(counts.tokens_per_step),
        "draft_n": counts.draft_n,
        "draft_n_accepted": counts.draft_n_accepted,
        "drafted_by_source": dict(sorted(counts.drafted_by_source.items())),
        "accepted_by_source": dict(sorted(counts.accepted_by_source.items())),
        "rows": counts.rows,
        "rows_bought": counts.rows_bought,
        "rows_used": counts.draft_n_accepted,
        "draft_ms": round(counts.draft_ms, 1),
        "step_ms": round(counts.step_ms, 1),
        "drafting_share": _rounded(counts.drafting_share, 4),
        "saved_n": counts.saved_n,
        "saved_ms": _rounded(counts.saved_ms, 1),
    }


def stats_record(stats: ReplyStats) -> dict[str, Any]:
    """The JSON statistics of one reply, with llama.cpp's names where it has them. None where a number is undefined, or
    where a remote does not tell it."""
    hidden = {name for field in stats.untold for name in (field, *_FOLLOW_FROM.get(field, ()))}
    return {name: None if name in hidden else value for name, value in _stats_record(stats).items()}


_FOLLOW_FROM = {
    "predicted_n": ("predicted_per_second", "ctx_used"),
    "prompt_n": ("reused_n", "ctx_used", "prompt_ms"),
    "steps": ("saved_n", "rows", "rows_bought"),
    "draft_n": ("draft_n_accepted", "rows_bought", "rows_used"),
}
"""For an unknown field, the numbers in the record that are unknown with it."""


def _stats_record(stats: ReplyStats) -> dict[str, Any]:
    return {
        "model": stats.model,
        "quant": stats.quant,
        "kernel": stats.kernel,
        "finish_reason": stats.finish_reason,
        "prompt_n": stats.prompt_n,
        "reused_n": stats.reused_n,
        **({"ahead_n": stats.ahead_n} if stats.ahead_n else {}),
        **({"shown_n": stats.shown_n, "window_n": stats.window_n} if stats.window_n else {}),
        "prompt_ms": round(stats.prompt_ms, 1),
        "predicted_ms": round(stats.predicted_ms, 1),
        "predicted_per_second": _rounded(stats.predicted_per_second),
        **counts_record(stats),
        "given_up_n": stats.given_up_n,
        "plain_step_ms": _rounded(stats.plain_step_ms),
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
    thought = {"thought": finished.thought} if finished.thought else {}
    return {"text": finished.text, **thought, "finish_reason": finished.reason, "stats": stats_record(finished.stats)}


def turn_record(finished: Finished, session: str) -> dict[str, Any]:
    """The JSON document of a turn; `session` is its session's id, empty if it is not kept."""
    return {**reply_record(finished), "model": finished.stats.model, "session": session or None}


def stats_line(stats: ReplyStats, without_pool: str = "") -> str:
    """One line of statistics; `without_pool` replaces the size of the pool if there is none."""
    parts = [_tokens_and_steps(stats)]
    if stats.tokens_per_step is not None:
        parts.append(f"{stats.tokens_per_step:.2f} tok/step")
    elif "steps" in stats.untold:
        parts.append(f"{UNTOLD} tok/step")
    if stats.predicted_per_second is not None:
        parts.append(f"{stats.predicted_per_second:.1f} tok/s")
    if stats.draft_n:
        parts += [*filter(None, [_saved(stats)]), f"guessed {_shares(stats)}"]
    if stats.given_up_n:
        parts.append(f"{stats.given_up_n:,} tok given up")
    parts.append(without_pool or f"pool {stats.pool_size:,} tok")
    parts.append(f"first token {duration(stats.ttft_ms)}")
    if stats.shown_n < stats.window_n:
        parts.append(f"shown {stats.shown_n:,} of {stats.window_n:,} tok around the cursor")
    if stats.reused_n:
        parts.append(f"{stats.reused_n:,} prompt tok reused")
    if stats.kernel:
        parts.append(f"{stats.quant} on {stats.kernel}")
    return SEPARATOR.join(parts)


def _tokens_and_steps(stats: ReplyStats) -> str:
    tokens = UNTOLD if "predicted_n" in stats.untold else f"{stats.predicted_n:,}"
    return f"{tokens} tok" + ("" if "steps" in stats.untold else f" in {counted(stats.steps, 'step', 'steps')}")


def _saved(counts: Counts) -> str:
    """What drafting saved or lost against plain decoding; empty if neither."""
    parts = [f"saved {counted(counts.saved_n, 'step', 'steps')}"] if counts.saved_n else []
    if counts.saved_ms is not None and abs(counts.saved_ms) >= 1:
        word = "lost " if counts.saved_ms < 0 else "" if parts else "saved "
        parts.append(word + duration(abs(counts.saved_ms)))
    return ", ".join(parts)


def counts_table(columns: Sequence[tuple[str, Counts]]) -> list[str]:
    """All counts, one per line, in one or more columns with headings; two fit into 40 characters."""
    counts = [each for _, each in columns]
    lines = [("", [heading for heading, _ in columns])] if any(heading for heading, _ in columns) else []
    lines += [(label, [show(each) for each in counts]) for label, show in _ROWS]
    names = {name for each in counts for name in (*each.drafted_by_source, *each.accepted_by_source)}
    if names:
        lines.append((_LEGEND, []))
    for name in sorted(names, key=lambda name: -counts[-1].accepted_by_source.get(name, 0)):
        lines.append((f"  {name}", [_of_source(each, name) for each in counts]))
    return [label.ljust(12) + "".join(cell.rjust(14) for cell in cells) for label, cells in lines]


def _of_source(counts: Counts, name: str) -> str:
    """Accepted of drafted tokens, and their share of the text."""
    right, tried = counts.accepted_by_source.get(name, 0), counts.drafted_by_source.get(name, 0)
    return f"{abbreviated(right)}/{abbreviated(tried)} {right / max(1, counts.predicted_n):>4.0%}"


def cut_note(finished: Finished, max_tokens: int, remedy: str = "-n N for more") -> str:
    """Why a reply is incomplete; empty if it is complete, or if none was asked for."""
    if finished.reason == "length" and max_tokens:
        thinking = ", while the model was still thinking" if finished.thought and not finished.text else ""
        return f"cut at {counted(max_tokens, 'token', 'tokens')}{thinking}; {remedy}"
    if finished.reason == "context":
        return f"cut, as the context of {finished.stats.ctx_size} tokens is full; a shorter prompt leaves more room"
    return ""


def live_line(stats: ReplyStats) -> str:
    """The short line shown while a reply is written; fits into 40 columns."""
    if stats.tokens_per_step is None:
        return f"{UNTOLD if 'predicted_n' in stats.untold else stats.predicted_n} tok"
    parts = [f"{stats.tokens_per_step:.2f} tok/step"]
    if stats.predicted_per_second is not None:
        parts.append(f"{stats.predicted_per_second:.0f} tok/s")
    if stats.saved_ms is not None and stats.draft_n:
        parts.append(f"{'lost' if stats.saved_ms < 0 else 'saved'} {duration(abs(stats.saved_ms))}")
    return SEPARATOR.join(parts)


def loading_line(event: Loading) -> str:
    """The progress of loading, with a bar if the total is known."""
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


def duration(milliseconds: float) -> str:
    """A duration in one unit."""
    seconds = milliseconds / 1000
    if seconds >= 5_940:
        return f"{seconds / 3_600:.1f} h"
    if seconds >= 99.5:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{milliseconds:.0f} ms"


def signed_duration(milliseconds: float) -> str:
    """A duration that may be negative: time saved, or lost."""
    return f"{'-' if milliseconds < 0 else ''}{duration(abs(milliseconds))}"


def abbreviated(number: int) -> str:
    """A count in at most four characters."""
    if number < 1_000:
        return str(number)
    for size, unit in ((1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G")):
        if number < 999.5 * size:
            return f"{number / size:.{1 if number < 9.95 * size else 0}f}{unit}"
    return "lots"


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def parse_choice(typed: str, most: int) -> int | None:
    """The number from 1 to `most` that was typed; None for anything else."""
    number = int(typed) if typed.isdecimal() and len(typed) < 10 else 0
    return number if 1 <= number <= most else None


def why_deterministic(temperature: float, seed: int | None) -> str:
    """Why the same question will get the same answer; empty if the answer may vary."""
    return "temperature is 0" if temperature == 0 else "a seed is set" if seed is not None else ""


def attachment_label(attachment: Attachment) -> str:
    """The label of an attachment with its lines and approximate tokens."""
    from lacli.prompts.attach import tokens_of

    lines = attachment.text.count("\n") + (not attachment.text.endswith("\n") and bool(attachment.text))
    about = tokens_of(attachment.text)
    tokens = f"~{abbreviated(round(about, 2 - len(str(about))))} tok"
    return f"{attachment.label} ({counted(lines, 'line', 'lines')}, {tokens})"


def prune_summary(done: Pruned) -> str:
    """What `lacli pool prune` did, in one line."""
    parts = [f"{counted(done.compacted, 'pool', 'pools')} compacted"] if done.compacted else []
    if done.deleted:
        parts.append(f"{done.deleted:,} deleted (all together were too large)")
    if done.vanished:
        whose = "its project is gone" if len(done.vanished) == 1 else "their projects are gone"
        parts.append(f"{len(done.vanished):,} deleted ({whose})")
    if done.freed_bytes or parts:
        freed = size(done.freed_bytes) if done.freed_bytes else "nothing"
        return f"freed {freed}: {', '.join(parts) or 'what was left over'}"
    return "freed nothing" if done.notices else "nothing to do: all pools are below their caps"


def age(since_s: float, now_s: float) -> str:
    """How long ago it was, in one unit."""
    seconds = max(0.0, now_s - since_s)
    for unit_s, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{int(seconds // unit_s)} {name} ago"
    return "just now"


def size(count: int) -> str:
    """Bytes in kilo-, mega- or gigabytes."""
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{max(1, round(count / 1_000))} kB"


def short_path(path: Path | None, max_length: int) -> str:
    """A path shortened from the left, with the home folder as ~."""
    if path is None:
        return "-"
    text, home = str(path), os.path.expanduser("~")
    if text.startswith(home + os.sep):
        text = "~" + text[len(home) :]
    return text if len(text) <= max_length else "..." + text[3 - max_length :]


def _per_step(counts: Counts) -> str:
    if counts.tokens_per_step is not None:
        return f"{counts.tokens_per_step:.2f}"
    return UNTOLD if counts.untold_n else "-"


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)


_ROWS: tuple[tuple[str, Callable[[Counts], str]], ...] = (
    ("tokens", lambda counts: f"{counts.predicted_n:,}"),
    ("steps", lambda counts: f"{counts.steps:,}"),
    ("tok/step", _per_step),
    ("saved steps", lambda counts: f"{counts.saved_n:,}"),
    ("saved time", lambda counts: "unknown" if counts.saved_ms is None else signed_duration(counts.saved_ms)),
    ("rows bought", lambda counts: f"{counts.rows_bought:,}"),
    ("rows used", lambda counts: f"{counts.draft_n_accepted:,}"),
    ("drafting", lambda counts: "-" if counts.drafting_share is None else f"{counts.drafting_share:.1%} of time"),
)
