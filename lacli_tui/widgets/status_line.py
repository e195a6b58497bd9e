"""The Decode panel in one row, where there is no room for it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from lacli.configuration.remotes import is_remote
from lacli.events import ReplyStats
from lacli.shared.wording import UNTOLD, abbreviated, duration
from lacli_tui.widgets.activity import Activity, activity
from lacli_tui.widgets.histogram import bar
from lacli_tui.widgets.rows import MUTED, STRONG, Part, cut, joined, line
from lacli_tui.widgets.sparkline import sparkline
from lacli_tui.widgets.stats_widget import StatsWidget

_SPARKS = 12


class StatusLine(StatsWidget):
    MEANING = "How decoding goes: tokens a second, tokens a step, and how much of the text was guessed."
    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; background: $surface; color: $foreground; }
    """

    def view(self, width: int, height: int) -> Sequence[Content]:
        """The most important comes first, and is dropped last."""
        doing = activity(self.about)
        if doing is not None and (doing.title != "stopping" or self.reply is None):
            groups = self._doing(doing, width)
        elif self.reply is None:
            groups = [[("ready", STRONG)], *self._pool(0)]
        else:
            groups = self._decoding(self.reply)
            if doing is not None:
                groups.insert(0, [("stopping", "$text-warning")])
        return [line(joined(groups, (f" {self.glyphs.between} ", MUTED), width), width)]

    def _doing(self, doing: Activity, width: int) -> list[list[Part]]:
        groups: list[list[Part]] = [[(cut(doing.title, width), "bold $text-error" if doing.trouble else STRONG)]]
        if doing.share is not None:
            groups[0] += [(" ", ""), (bar(doing.share, _SPARKS, self.glyphs), "$primary on $panel")]
        if doing.amount:
            groups.append([(doing.amount, MUTED)])
        return groups

    def _decoding(self, reply: ReplyStats) -> list[list[Part]]:
        groups: list[list[Part]] = []
        if reply.predicted_per_second is not None:
            groups.append([(f"{reply.predicted_per_second:5.1f}", STRONG), (" tok/s", MUTED)])
        else:
            none = UNTOLD if "predicted_n" in reply.untold else "-"
            groups.append([(none.rjust(5), STRONG), (" tok/s", MUTED)])
        steps_are_seen = not is_remote(reply.model)
        mean, now = reply.tokens_per_step, self.tally.now if steps_are_seen else None
        if mean is not None:
            steps: list[Part] = [(f"{mean:4.2f}", STRONG), (" tok/step", MUTED)]
            if now is not None:
                steps += [(f", {now:4.2f} now", MUTED)]
            groups.append(steps)
        elif "steps" in reply.untold:
            groups.append([(UNTOLD, STRONG), (" tok/step", MUTED)])
        if steps_are_seen:
            groups.append([(sparkline(self.tally.accepted, _SPARKS, self.glyphs)[0], "$primary")])
        guessed = f"{reply.draft_n_accepted / max(1, reply.predicted_n):4.0%}"
        groups.append([("guessed ", MUTED), (UNTOLD if "draft_n" in reply.untold else guessed, STRONG)])
        if reply.plain_step_ms:
            groups.append([(f"{self.glyphs.about} {1000 / reply.plain_step_ms:.1f} plain", MUTED)])
        groups += self._pool(reply.pool_size)
        if reply.resting:
            groups.append([(f"paused: {', '.join(reply.resting)}", MUTED)])
        return groups

    def _pool(self, size: int) -> list[list[Part]]:
        tokens = size or (self.pool.tokens if self.pool is not None else 0)
        found: list[list[Part]] = [[(f"learned {abbreviated(tokens)} tokens", MUTED)]] if tokens else []
        saved = self.pool.counts.saved_ms if self.pool is not None else None
        if tokens and saved is not None and saved > 0:
            found.append([(f"saved here {duration(saved)}", MUTED)])
        return found
