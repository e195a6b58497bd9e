"""The right column: how decoding goes right now.

If there is no room for all sections, `_PLAN` says which come first. Every number has its place, so that nothing moves
but what changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.content import Content

from lacli.configuration.remotes import is_remote
from lacli.events import Counts, ReplyStats
from lacli.shared.wording import UNTOLD, abbreviated, duration
from lacli_tui.decoding import SOURCES
from lacli_tui.widgets.activity import activity
from lacli_tui.widgets.histogram import bar, histogram
from lacli_tui.widgets.rows import HEAD, MUTED, STRONG, Part, apart, cut, line
from lacli_tui.widgets.sparkline import sparkline
from lacli_tui.widgets.stats_widget import StatsWidget

_PLAN = (
    ("speed", 1),
    ("steps", 1),
    ("shares", 1),
    ("kept", 2),
    ("project", 1),
    ("rows", 1),
    ("kept", 3),
    ("steps", 2),
    ("chat", 1),
    ("resting", 1),
    ("kept", 5),
    ("steps", 3),
)
"""Sections in the order in which they get room; charts with the rows they get by then."""
_ORDER = ("speed", "steps", "kept", "shares", "resting", "rows", "chat", "project")
_NONE = "-"


class DecodePanel(StatsWidget):
    MEANING = (
        "How decoding goes: tokens a second, against plain decoding; tokens that a step of the model brings; how many "
        "guesses the steps kept; which source guessed how much of the text; what guessing saved in this project."
    )
    DEFAULT_CSS = """
    DecodePanel {
        width: 26;
        height: 1fr;
        padding: 0 1;
        border-left: solid $line;
        color: $foreground;
        &.-plain { border-left: ascii $line; }
    }
    """

    def on_mount(self) -> None:
        self.set_class(self.glyphs.plain, "-plain")

    def view(self, width: int, height: int) -> Sequence[Content]:
        makers: dict[str, Callable[[int, int], list[Content]]] = {
            "speed": self._speed,
            "steps": self._steps,
            "kept": self._kept,
            "shares": self._shares,
            "resting": self._resting,
            "rows": self._rows,
            "chat": self._chat,
            "project": self._project,
        }
        fitting: dict[str, list[Content]] = {}
        for name, rows in _PLAN:
            made = makers[name](width, rows)
            if made and _height(fitting | {name: made}) <= height:
                fitting[name] = made
        blank = Content(" " * width)
        shown: list[Content] = []
        for name in _ORDER:
            if name in fitting:
                shown += [blank, *fitting[name]] if shown else fitting[name]
        return shown

    def _speed(self, width: int, rows: int) -> list[Content]:
        """The speed, and that of plain decoding; or what is done before a token can come."""
        doing, reply = activity(self.about), self.reply
        if doing is not None and doing.title != "stopping":
            style = "bold $text-error" if doing.trouble else STRONG
            room = max(0, width - len(doing.amount) - 1)
            done = bar(doing.share, room, self.glyphs) if doing.share is not None else ""
            return [
                line([(cut(doing.title, width), style)], width),
                apart([(done, "$primary on $panel")], [(doing.amount, MUTED)], width),
            ]
        if reply is None:
            return [line([("ready", STRONG)], width), line([("no reply yet", MUTED)], width)]
        none = UNTOLD if "predicted_n" in reply.untold else _NONE
        speed = f"{reply.predicted_per_second:6.1f}" if reply.predicted_per_second is not None else none.rjust(6)
        right = ("stopping", "$text-warning") if doing is not None else self._gain(reply)
        plain = self._plain_speed(reply)
        below = f"{self.glyphs.about}{plain:5.1f} plain" if plain is not None else ""
        return [apart([(speed + " tok/s", STRONG)], [right], width), line([(below, MUTED)], width)]

    def _gain(self, reply: ReplyStats) -> Part:
        """How many times as fast as plain decoding, if measured."""
        if reply.saved_ms is None or reply.step_ms <= 0 or not reply.draft_n:
            return "", ""
        factor = 1 + reply.saved_ms / reply.step_ms
        return f"{self.glyphs.times} {factor:4.2f}", "bold $text-success" if factor >= 1 else "bold $text-warning"

    @staticmethod
    def _plain_speed(reply: ReplyStats) -> float | None:
        return 1000 / reply.plain_step_ms if reply.plain_step_ms else None

    def _steps(self, width: int, rows: int) -> list[Content]:
        """Tokens per step, and the guesses kept in each of the last steps."""
        reply = self.reply
        if reply is not None and is_remote(reply.model):  # whose single steps nobody sees
            told = UNTOLD if "steps" in reply.untold else _number(reply.tokens_per_step)
            return [
                line([("tokens per step", HEAD)], width),
                apart([], [(told, STRONG), (" mean", MUTED)], width),
            ]
        now = self.tally.now
        mean = reply.tokens_per_step if reply is not None else None
        if self.tally.steps:
            chart = sparkline(self.tally.accepted, width, self.glyphs, rows)
        else:  # nothing yet takes one row
            chart = sparkline([0] * width, width, self.glyphs)
        return [
            line([("tokens per step", HEAD)], width),
            apart([(_number(now), STRONG), (" now", MUTED)], [(_number(mean), STRONG), (" mean", MUTED)], width),
            *(line([(row, "$primary" if self.tally.steps else MUTED)], width) for row in chart),
        ]

    def _kept(self, width: int, rows: int) -> list[Content]:
        """How often how many guesses of a step were right."""
        if self.reply is not None and is_remote(self.reply.model):
            return []
        counts = self.tally.counts
        *bars, labels = histogram(counts or [0], width, rows if counts else 1, self.glyphs)
        most = f"most {len(counts) - 1}" if counts else ""
        return [
            apart([("guesses kept", HEAD)], [(most, MUTED)], width),
            *(line([(row, "$primary" if counts else MUTED)], width) for row in bars),
            line([(labels, MUTED)], width),
        ]

    def _shares(self, width: int, rows: int) -> list[Content]:
        """The share of the text that each source guessed; a full bar is all of it."""
        reply = self.reply or ReplyStats()
        total = max(1, reply.predicted_n)
        every: list[Part] = []
        if "draft_n" in reply.untold:
            every = [(UNTOLD, STRONG), (" of text", MUTED)]
        elif self.reply is not None:
            every = [(f"{reply.draft_n_accepted / total:.0%}", STRONG), (" of text", MUTED)]
        lines = [apart([("who guessed", HEAD)], every, width)]
        if is_remote(reply.model):  # which has sources of its own
            return lines
        names = max(map(len, SOURCES))
        room = max(0, width - names - 2 - 1 - 5)
        for name, letter in SOURCES.items():
            accepted = reply.accepted_by_source.get(name, 0)
            tried = reply.drafted_by_source.get(name, 0) > 0
            middle: Part = (bar(accepted / total, room, self.glyphs), f"$source-{name}")
            if name in reply.resting:
                middle = ("paused".ljust(room)[:room], MUTED)
            share = f"{accepted / total:4.0%}" if tried else _NONE.rjust(4)
            lines.append(
                line(
                    [
                        (letter + " ", f"bold $source-{name}"),
                        (name.ljust(names + 1), "" if tried else MUTED),
                        middle,
                        (" " + share, "" if tried else MUTED),
                    ],
                    width,
                )
            )
        return lines

    def _resting(self, width: int, rows: int) -> list[Content]:
        """Why a source is paused."""
        resting = self.reply.resting if self.reply is not None else ()
        missed = [name for name in SOURCES if name in resting and name != "window"]
        lines = []
        if missed:
            names = ", ".join(missed) if len(missed) < 3 else f"{len(missed)} sources"
            lines += _wrapped(f"{names} paused: guessed wrong too often", width)
        if "window" in resting:
            lines += _wrapped("window paused: would cost more than it saves", width)
        return [line([(text, MUTED)], width) for text in lines]

    def _rows(self, width: int, rows: int) -> list[Content]:
        """How many rows a step checks, and the time of such a forward against one of a single row."""
        reply = self.reply
        if reply is None or not reply.steps:
            return []
        forward = (reply.step_ms - reply.draft_ms) / reply.steps
        kept = reply.draft_n_accepted / reply.steps
        lines = [
            line([("a step", HEAD)], width),
            _pair("guesses", width, f"{reply.rows_bought / reply.steps:.1f}, kept {kept:.1f}"),
        ]
        if reply.step_ms > 0:
            lines.append(_pair("takes", width, f"{forward:.1f} ms"))
        if reply.plain_step_ms is not None:
            lines.append(
                _pair("without guesses", width, f"{reply.plain_step_ms:.1f} ms", f"{reply.plain_step_ms:.0f} ms")
            )
        return lines

    def _chat(self, width: int, rows: int) -> list[Content]:
        """All replies of the chat together."""
        return self._counted("this chat", self.chat, width) if self.chat.replies > 1 else []

    def _project(self, width: int, rows: int) -> list[Content]:
        """What the project has learned, and what that saved in all its replies."""
        if self.pool is None and (self.reply is None or not self.reply.pool_size):
            return []
        tokens = self.reply.pool_size if self.reply is not None and self.reply.pool_size else 0
        tokens = tokens or (self.pool.tokens if self.pool is not None else 0)
        lines = [
            line([("this project", HEAD)], width),
            _pair(
                "learned",
                width,
                *((f"{tokens:,} tokens", f"{abbreviated(tokens)} tokens") if tokens else ("nothing yet",)),
            ),
        ]
        if self.pool is not None and self.pool.counts.replies:
            counts = self.pool.counts
            guessed = counts.accepted_by_source.get("project", 0)
            lines.append(_pair("from it", width, f"{guessed / max(1, counts.predicted_n):.0%} of all text"))
            lines += self._counted("", counts, width)
        return lines

    def _counted(self, heading: str, counts: Counts, width: int) -> list[Content]:
        lines = [line([(heading, HEAD)], width)] if heading else []
        rate = UNTOLD if counts.tokens_per_step is None and counts.untold_n else _number(counts.tokens_per_step)
        each = f"{rate}/step"
        lines.append(
            _pair("tokens", width, f"{counts.predicted_n:,}, {each}", f"{abbreviated(counts.predicted_n)}, {each}")
        )
        saved = abs(counts.saved_n)
        lines.append(_pair(f"steps {_word(counts.saved_n)}", width, f"{saved:,}", abbreviated(saved)))
        if counts.saved_ms is not None:
            lines.append(_pair(f"time {_word(counts.saved_ms)}", width, duration(abs(counts.saved_ms))))
        return lines


def _height(sections: Mapping[str, Sequence[Content]]) -> int:
    """The rows of sections with a blank line between them."""
    return sum(map(len, sections.values())) + len(sections) - 1


def _pair(name: str, width: int, *values: str) -> Content:
    """A name and its value, in the first of these forms that fits."""
    room = width - len(name) - 1
    value = next((each for each in values if len(each) <= room), values[-1])
    return apart([(name, MUTED)], [(value, "")], width)


def _word(saved: float) -> str:
    return "saved" if saved >= 0 else "lost"


def _number(value: float | None) -> str:
    return f"{value:4.2f}" if value is not None else _NONE.rjust(4)


def _wrapped(text: str, width: int) -> list[str]:
    """Broken into lines at blanks, counting cells instead of characters."""
    whole = Content(cut(text, 400))
    return [part.plain for part in whole.wrap(width)] if whole.plain and width > 0 else []
