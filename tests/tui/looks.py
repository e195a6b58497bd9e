"""Pictures of the terminal UI to compare with: `snapshots/NAME.svg`, made anew with SNAPSHOTS=write in the
environment. Look at those that changed before you keep them: any browser shows them.

Textual is pinned exactly, and so its pictures stay; what Rich writes around them is left out of the comparison.
"""

from __future__ import annotations

import difflib
import html
import os
import re
from collections.abc import Iterator
from pathlib import Path

from lacli.events import Event, Finished, Piece, Prefill, ReplyStats
from tests.tui.conftest import Playing

FOLDER = Path(__file__).parent / "snapshots"
_SOURCES = ("project", "prompt", "files", "session", "successor", "window")
_KEPT = (0, 2, 1, 4, 0, 0, 3, 6, 1, 2, 0, 5, 9, 1)

ANSWER = """Here is the function. It reads the file *once*:

```python
def count(path: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    with open(path) as file:
        for word in file.read().split():
            counts[word] = counts.get(word, 0) + 1
    return counts
```

1. `counts` is a plain dictionary
2. case is kept: 漢字 stay as they are
"""


def told(text: str = ANSWER) -> list[Event]:
    """A reply of which all sources have guessed a part."""
    tokens = re.findall(r"\s?\w+|\s+|[^\w\s]+", text)
    events: list[Event] = [Prefill(7, 7, 0)]
    stats = ReplyStats()
    for step, part in enumerate(_parts(tokens)):
        source = _SOURCES[step * 5 % 7 % len(_SOURCES)]
        stats = _after(stats, step, source, len(part))
        sources = (source,) * (len(part) - 1) + ("",)
        events.append(Piece("".join(part), sources, stats, tuple(map(len, part))))
    return [*events, Finished(text, tuple(range(len(tokens))), "stop", stats)]


def _parts(tokens: list[str]) -> Iterator[list[str]]:
    at = step = 0
    while at < len(tokens):
        count = 1 + (_KEPT[step % len(_KEPT)] if step else 0)
        yield tokens[at : at + count]
        at, step = at + count, step + 1


def _after(before: ReplyStats, steps: int, source: str, tokens: int) -> ReplyStats:
    kept, tried = tokens - 1, max(2, tokens) if steps else 0
    written = before.predicted_n + tokens
    accepted = dict(before.accepted_by_source)
    drafted = dict(before.drafted_by_source)
    if tried:
        drafted[source] = drafted.get(source, 0) + tried
    if kept:
        accepted[source] = accepted.get(source, 0) + kept
    return ReplyStats(
        model="qwen2.5-coder-1.5b",
        quant="int4",
        predicted_n=written,
        predicted_ms=written * 16.0,
        steps=steps,
        plain_steps=written - 1,
        draft_n=sum(drafted.values()),
        draft_n_accepted=sum(accepted.values()),
        drafted_by_source=drafted,
        accepted_by_source=accepted,
        rows=before.rows + 1 + tried if steps else 0,
        draft_ms=steps * 2.0,
        step_ms=steps * 40.0,
        saved_ms=(written - 1) * 35.0 - steps * 40.0,
        plain_step_ms=35.0,
        pool_size=18_233,
        ctx_used=223 + written,
        ctx_size=16_384,
        resting=("window",) if steps > 9 else (),
    )


def looks_as_before(it: Playing, name: str, tmp_path: Path) -> None:
    """The screen as it is, against the picture of that name."""
    seen = it.app.export_screenshot()
    kept = FOLDER / f"{name}.svg"
    if os.environ.get("SNAPSHOTS") == "write":
        FOLDER.mkdir(exist_ok=True)
        kept.write_text(seen, encoding="utf-8")
        return
    if _essence(seen) != _essence(kept.read_text(encoding="utf-8")):
        new = tmp_path / f"{name}.svg"
        new.write_text(seen, encoding="utf-8")
        raise AssertionError(f"{name} looks otherwise than before: {new}, not {kept}\n{difference(kept, new)}")


def _essence(svg: str) -> str:
    """Cells and their styles: no ids, which are drawn from all of it, and no fonts."""
    svg = re.sub(r"terminal-\d+-?", "", svg)
    return re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def difference(kept: Path, new: Path) -> str:
    """The rows that are otherwise; where all words are the same, the cells with other styles."""
    before, after = (_rows(path.read_text(encoding="utf-8")) for path in (kept, new))
    words = [["".join(words for words, _ in row) for row in rows] for rows in (before, after)]
    if words[0] != words[1]:
        return "\n".join(difflib.unified_diff(*words, "before", "now", n=0, lineterm=""))
    pairs = (
        (number, *cells)
        for number, rows in enumerate(zip(before, after, strict=False), 1)
        for cells in zip(*rows, strict=False)
    )
    styled = [f"row {number}: {now[0]!r}: {then[1]} is now {now[1]}" for number, then, now in pairs if then != now]
    return "\n".join(["the words are the same, their styles or grounds are not", *styled[:20]])


def _rows(svg: str) -> list[list[tuple[str, str]]]:
    """The words of each row with their styles."""
    styles = dict(re.findall(r"\.terminal-\d+-(r\d+) \{ (.*?) \}", svg))
    rows: dict[float, list[tuple[float, str, str]]] = {}
    for style, x, y, words in re.findall(r'<text class="terminal-\d+-(r\d+)" x="(.*?)" y="(.*?)".*?>(.*?)</text>', svg):
        rows.setdefault(float(y), []).append((float(x), html.unescape(words).replace("\xa0", " "), styles[style]))
    return [[(words, style) for _, words, style in sorted(row)] for _, row in sorted(rows.items())]
