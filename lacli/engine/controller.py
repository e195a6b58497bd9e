"""Plans each step: which draft sources are asked, how many rows are verified, whether the window runs.

A row is added only while it raises the expected tokens per millisecond under the measured cost curve T(M), so a plain
one-row step is always one of the options. A source that keeps guessing wrong is put to sleep, with exponential
back-off; the window runs only while the tokens observed to come from it pay for its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lacli.engine.cost import CostCurve

_DISTRUST = 0.5  # per consecutive miss: a source's chances are halved each time
_PRIOR_TOKENS = 1.5  # weight of the prior that a source is reliable
_DECAY = 0.98  # a step
_MISSES_BEFORE_SLEEP = 6  # consecutive: a source that is right in one step of five should not sleep
_LONGEST_SLEEP = 64
_WINDOW_PRIOR = 0.4  # tokens per step gained from a window on code at 7B (Spec-Bench 1.64 with G=7, MT-Bench less)
_WINDOW_MEMORY = 0.05
_LEAST = 0.0005  # least chance worth a row where rows are free: keeps the tree finite
_TOO_EXPENSIVE = 0.5  # in a batch: if only guesses likelier than this pay, too few do to be worth drafting
_MARGIN = 1.05  # required gain of a row: gains are estimates, costs are certain


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds the user sets; the controller decides below them."""

    lookahead: bool = True
    """False: plain decoding, no drafts and no window."""
    window: int = 5
    """W, columns of the lookahead window; 0 verifies only."""
    ngram: int = 4
    """N, tokens of an n-gram; the window has N-1 levels."""
    guesses: int = 8
    """G, most continuations verified in a step."""
    max_rows: int = 64
    """Most rows of a step, the window's among them."""

    @property
    def columns(self) -> int:
        """W, reduced so that the window's W(N-1) rows fit into a step; 0 if no window can run."""
        return min(self.window, self.max_rows // (self.ngram - 1))


@dataclass(frozen=True, slots=True)
class Plan:
    """What one step may do."""

    rows: int
    """Most guessed rows below row 0."""
    depth: int
    """Most tokens below row 0; also keeps positions inside the context."""
    window: bool
    """Whether the lookahead window runs."""


class _SourceRecord:
    """Track record of one source: its back-off, and the expected and accepted tokens of its rows (decayed sums)."""

    __slots__ = ("accepted", "expected", "misses", "sleep_left")

    def __init__(self) -> None:
        self.misses = 0
        self.sleep_left = 0
        self.expected = self.accepted = 0.0

    @property
    def reliability(self) -> float:
        """Ratio of accepted to expected tokens, at most 1. Usually less: rows are bought where chances are
        overestimated most."""
        return min(1.0, (self.accepted + _PRIOR_TOKENS) / (self.expected + _PRIOR_TOKENS))


class Controller:
    """One per model and process; shared by all replies."""

    def __init__(self, cost: CostCurve, limits: Limits) -> None:
        self.cost = cost
        self.limits = limits
        self._records: defaultdict[str, _SourceRecord] = defaultdict(_SourceRecord)
        self._window_gain = _WINDOW_PRIOR
        self._window_sleep = 0
        self._window_next_sleep = 16
        self._window_rows = 0
        self._others = 0
        self._others_tokens = 0.0
        self._displaced = 0.0
        """Tokens per step (decayed mean) from guesses that would not fit beside the window's rows."""

    def set_others(self, rows: int, tokens: float) -> None:
        """Set what else is in the next forward of a batch: the rows of other replies and the tokens expected of them.
        A guess must then bring more per millisecond than those rows do."""
        self._others, self._others_tokens = rows, tokens

    def shrink(self, rows: int) -> bool:
        """After a forward of so many rows for which there was no memory: plan at most half as many from now on. False
        where that was a single row, so that nothing is left to give up."""
        if rows > 1:
            self.limits = replace(self.limits, max_rows=min(self.limits.max_rows, rows // 2))
        return rows > 1

    def plan(self, room: int, window_rows: int) -> Plan:
        """Plan the next step. `room`: tokens that budget and context still allow below row 0; `window_rows`: rows that
        the window would add."""
        limits = self.limits
        most = limits.max_rows - 1 - self._others
        depth = max(0, min(room, most))
        if not limits.lookahead or depth == 0 or (self._others and self.least(1) > _TOO_EXPENSIVE):
            return Plan(0, 0, window=False)
        self._window_rows = window_rows
        window = limits.columns > 0 and 0 < window_rows <= most and self._window_pays(window_rows)
        rows = max(0, most - (window_rows if window else 0))
        return Plan(rows if limits.guesses else 0, depth, window)

    def _window_pays(self, window_rows: int) -> bool:
        if self._window_sleep > 0:
            self._window_sleep -= 1
            return False
        alone = 1 + self._others
        price = (self.cost(alone + window_rows) - self.cost(alone)) * self._plain_rate() + self._displaced
        if self._window_gain >= price:
            return True
        # It is tried again later: its gain depends on the text, and rows may become cheaper.
        self._window_sleep, self._window_next_sleep = self._window_next_sleep, min(2 * self._window_next_sleep, 1024)
        self._window_gain = max(self._window_gain, min(_WINDOW_PRIOR, 0.9 * self._window_gain + 0.1 * _WINDOW_PRIOR))
        return False

    def awake(self, source: str) -> bool:
        """Whether this source is asked in this step. Call once per step: it counts down the back-off."""
        record = self._records[source]
        if record.sleep_left > 0:
            record.sleep_left -= 1
            return False
        return True

    @property
    def resting(self) -> tuple[str, ...]:
        """What is not asked in the next step: sleeping sources, and the window if it would not pay."""
        asleep = [name for name, record in self._records.items() if record.sleep_left > 0]
        return (*asleep, "window") if self._window_sleep > 0 else tuple(asleep)

    def trust(self, source: str) -> float:
        """Factor for this source's chances: lowered by a streak of misses and by low reliability."""
        return _DISTRUST ** min(self._records[source].misses, 8) * self.reliability(source)

    def reliability(self, source: str) -> float:
        """Factor for a source for which misses are normal: reliability alone, without the streak."""
        return self._records[source].reliability

    def least(self, already: int) -> float:
        """Lower bound on the chance of a row worth its cost, whatever else is bought: no step has a lower rate than a
        plain one. `already`: rows in the step anyway."""
        slope = self.cost.least_slope(already + self._others, self.limits.max_rows)
        return max(_LEAST, slope * self._plain_rate())

    def _plain_rate(self) -> float:
        """Tokens per millisecond of a step without guesses of this reply."""
        return (1.0 + self._others_tokens) / self.cost(1 + self._others)

    def buy(self, chances: Sequence[float], already: int) -> int:
        """How many rows with these chances (descending) to add to a step that has `already` rows anyway.

        Maximises expected tokens per millisecond over all counts, including 0.
        """
        already_all = already + self._others
        best_count, expected = 0, 1.0 + self._others_tokens
        best_rate = (_MARGIN + self._others_tokens) / self.cost(already_all)
        for count, chance in enumerate(chances, start=1):
            expected += chance
            rate = expected / self.cost(already_all + count)
            if rate >= best_rate:
                best_count, best_rate = count, rate
        self._displaced += _WINDOW_MEMORY * (self._displaced_tokens(chances[:best_count], already) - self._displaced)
        return best_count

    def _displaced_tokens(self, bought: Sequence[float], already: int) -> float:
        """Expected tokens of the bought rows that occupy, or would occupy, the space of the window's rows."""
        left = self.limits.max_rows - 1 - self._window_rows
        if already == 1:
            return sum(bought[left:])
        return self._window_rows * bought[-1] if bought and len(bought) == left else 0.0

    def record_acceptance(self, expected: Mapping[str, float], accepted: Mapping[str, int]) -> None:
        """Record a step: by source, the summed chances of the rows bought and the tokens accepted from them."""
        for record in self._records.values():
            # Decay per step, not per row bought: a source that was not bought for a while is tried again.
            record.expected *= _DECAY
            record.accepted *= _DECAY
        for source, chance in expected.items():
            record = self._records[source]
            record.expected += chance
            record.accepted += accepted.get(source, 0)

    def learn(self, outcomes: dict[str, bool], window_accepted: int | None) -> None:
        """Record a step. `outcomes`: for each source that guessed, whether its first token was right, which also wakes
        a sleeping one; `window_accepted`: tokens that only the window had guessed, None if it did not run."""
        for source, right in outcomes.items():
            record = self._records[source]
            record.misses = 0 if right else record.misses + 1
            if right:
                record.sleep_left = 0
            elif record.misses >= _MISSES_BEFORE_SLEEP:
                record.sleep_left = min(2 ** (record.misses - _MISSES_BEFORE_SLEEP), _LONGEST_SLEEP)
        if window_accepted is not None:
            self._window_gain += _WINDOW_MEMORY * (window_accepted - self._window_gain)
