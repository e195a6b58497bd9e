"""Plans each step: which sources are asked, how many rows are bought, whether the window runs.

A row is bought only while it raises expected tokens per millisecond by the measured T(M), so a plain one-row step is
always among the choices. Sources that keep guessing wrong sleep for exponentially longer, one by one; the window runs
only while what it is seen to bring pays its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lacli.engine.cost import CostCurve

_DISTRUST = 0.5  # for each wrong step in a row: the chances of a stale source count half as much each time
_PRIOR_TOKENS = 1.5  # weight of the prior that a source is reliable
_DECAY = 0.98  # a step
_MISSES_BEFORE_SLEEP = 6  # in a row: a source that is right in one step of five should not sleep
_LONGEST_SLEEP = 64
_WINDOW_PRIOR = 0.4  # tokens a step that a window brings on code at 7B (Spec-Bench 1.64 with G=7, MT-Bench less)
_WINDOW_MEMORY = 0.05
_LEAST = 0.0005  # where rows are free: below it a tree grows for nothing
_TOO_EXPENSIVE = 0.5  # beside other replies: guesses that must be likelier than this are too few to be worth drafting
_MARGIN = 1.05  # rows must gain this much: gains are estimates, costs are certain


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
        """W as far as the window's W(N-1) rows fit into a step; 0 where no window can run."""
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
    """How one source has done: its back-off, and the expected and the accepted tokens of its rows."""

    __slots__ = ("accepted", "expected", "misses", "sleep_left")

    def __init__(self) -> None:
        self.misses = 0
        self.sleep_left = 0
        self.expected = self.accepted = 0.0

    @property
    def reliability(self) -> float:
        """Accepted tokens by expected ones. Below 1, as rows are bought where chances are overestimated most."""
        return min(1.0, (self.accepted + _PRIOR_TOKENS) / (self.expected + _PRIOR_TOKENS))


class Controller:
    """Decides for one model and all replies of a process."""

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
        """Tokens a step from guesses that the window's rows would leave no room for."""

    def set_others(self, rows: int, tokens: float) -> None:
        """Set what else is in the next forward: rows of other replies, and the tokens expected of them. A guess must
        then bring more than those rows do."""
        self._others, self._others_tokens = rows, tokens

    def plan(self, room: int, window_rows: int) -> Plan:
        """room: tokens that still fit into budget and context below row 0; window_rows: rows the window would add."""
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
        """Whether this source is asked in this step; to be called once a step, as it counts down the sleep."""
        record = self._records[source]
        if record.sleep_left > 0:
            record.sleep_left -= 1
            return False
        return True

    @property
    def resting(self) -> tuple[str, ...]:
        """Who is not asked in the next step: sources that sleep, and the window where it would not pay."""
        asleep = [name for name, record in self._records.items() if record.sleep_left > 0]
        return (*asleep, "window") if self._window_sleep > 0 else tuple(asleep)

    def trust(self, source: str) -> float:
        """The factor for the chances that this source gives: lowered by a streak of misses and by low reliability."""
        return _DISTRUST ** min(self._records[source].misses, 8) * self.reliability(source)

    def reliability(self, source: str) -> float:
        """The factor for a source to which misses are normal: accepted by expected tokens alone."""
        return self._records[source].reliability

    def least(self, already: int) -> float:
        """The chance below which no row pays, whatever else is bought: a plain step has the lowest rate there is."""
        slope = self.cost.least_slope(already + self._others, self.limits.max_rows)
        return max(_LEAST, slope * self._plain_rate())

    def _plain_rate(self) -> float:
        """Tokens a millisecond with no guess of this step among the rows."""
        return (1.0 + self._others_tokens) / self.cost(1 + self._others)

    def buy(self, chances: Sequence[float], already: int) -> int:
        """How many rows of these chances (descending) to add to a step that has `already` rows anyway.

        Maximises expected tokens per millisecond over all counts, none included.
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
        """Expected tokens of the rows that fill, or would have filled, the room of the window's rows."""
        left = self.limits.max_rows - 1 - self._window_rows
        if already == 1:
            return sum(bought[left:])
        return self._window_rows * bought[-1] if bought and len(bought) == left else 0.0

    def record_acceptance(self, expected: Mapping[str, float], accepted: Mapping[str, int]) -> None:
        """After a step: the summed chances of the rows that were bought, and the tokens accepted of them, by source."""
        for record in self._records.values():
            # They decay by steps, not by rows bought: a source that is not bought for a while is tried again.
            record.expected *= _DECAY
            record.accepted *= _DECAY
        for source, chance in expected.items():
            record = self._records[source]
            record.expected += chance
            record.accepted += accepted.get(source, 0)

    def learn(self, outcomes: dict[str, bool], window_accepted: int | None) -> None:
        """After a step: for each source with a guess whether its first token was right, and the tokens that only the
        window had guessed (None where it did not run). Being right wakes a source that sleeps."""
        for source, right in outcomes.items():
            record = self._records[source]
            record.misses = 0 if right else record.misses + 1
            if right:
                record.sleep_left = 0
            elif record.misses >= _MISSES_BEFORE_SLEEP:
                record.sleep_left = min(2 ** (record.misses - _MISSES_BEFORE_SLEEP), _LONGEST_SLEEP)
        if window_accepted is not None:
            self._window_gain += _WINDOW_MEMORY * (window_accepted - self._window_gain)
