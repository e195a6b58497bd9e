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

_DISTRUST = 0.5  # for each wrong step in a row: a source that has gone stale is believed half as much each time
_BENEFIT = 1.5  # promised tokens by which a source is believed at first
_FADING = 0.98  # a step
_PATIENCE = 6  # wrong steps in a row before a source first sleeps: a source that hits one time in five should not
_LONGEST_SLEEP = 64
_WINDOW_PRIOR = 0.4  # tokens a step that a window brings on code at 7B (Spec-Bench 1.64 with G=7, MT-Bench less)
_WINDOW_MEMORY = 0.05
_LEAST = 0.0005  # where rows are free: below it a tree grows for nothing
_DEAR = 0.5  # beside other replies: where only likelier guesses pay, they are too few to pay for the asking
_MARGIN = 1.05  # rows must promise this much: expected gains are estimates, costs are certain


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


class _Record:
    """How one source has done: its back-off, and what its rows promised and brought."""

    __slots__ = ("brought", "misses", "promised", "sleep_left")

    def __init__(self) -> None:
        self.misses = 0
        self.sleep_left = 0
        self.promised = self.brought = 0.0

    @property
    def reliability(self) -> float:
        """Tokens brought for each promised. Rows are bought where chances look best, so they are flattered."""
        return min(1.0, (self.brought + _BENEFIT) / (self.promised + _BENEFIT))


class Controller:
    """Decides for one model and all replies of a process."""

    def __init__(self, cost: CostCurve, limits: Limits) -> None:
        self.cost = cost
        self.limits = limits
        self._records: defaultdict[str, _Record] = defaultdict(_Record)
        self._window_gain = _WINDOW_PRIOR
        self._window_sleep = 0
        self._window_nap = 16
        self._window_rows = 0
        self._others = 0
        self._others_tokens = 0.0
        self._displaced = 0.0
        """Tokens a step that guesses are seen to bring which the window's rows would leave no room for."""

    def share(self, rows: int, tokens: float) -> None:
        """What stands in the next forward besides the step that is planned next: rows of other replies, and the tokens
        expected of them. A guess is worth its price only where more of theirs would not be."""
        self._others, self._others_tokens = rows, tokens

    def plan(self, room: int, window_rows: int) -> Plan:
        """room: tokens that still fit into budget and context below row 0; window_rows: rows the window would add."""
        limits = self.limits
        most = limits.max_rows - 1 - self._others
        depth = max(0, min(room, most))
        if not limits.lookahead or depth == 0 or (self._others and self.least(1) > _DEAR):
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
        # It will be tried again: what it brings depends on the text, and rows may become cheaper.
        self._window_sleep, self._window_nap = self._window_nap, min(2 * self._window_nap, 1024)
        self._window_gain = max(self._window_gain, min(_WINDOW_PRIOR, 0.9 * self._window_gain + 0.1 * _WINDOW_PRIOR))
        return False

    def awake(self, source: str) -> bool:
        """Whether this source is asked in this step; a sleeping one costs nothing at all."""
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
        """By how much to multiply the chances this source gives: a wrong streak costs it, and so do broken promises."""
        return _DISTRUST ** min(self._records[source].misses, 8) * self.reliability(source)

    def reliability(self, source: str) -> float:
        """The same for a source that is used to being wrong: only what its rows promised and brought counts."""
        return self._records[source].reliability

    def least(self, already: int) -> float:
        """The chance below which no row pays, whatever else is bought: the best rate is at least a plain step's."""
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
        self._displaced += _WINDOW_MEMORY * (self._beyond(chances[:best_count], already) - self._displaced)
        return best_count

    def _beyond(self, bought: Sequence[float], already: int) -> float:
        """Expected tokens of the rows that have, or would have had, the window's place."""
        left = self.limits.max_rows - 1 - self._window_rows
        if already == 1:
            return sum(bought[left:])
        return self._window_rows * bought[-1] if bought and len(bought) == left else 0.0

    def settle(self, promised: Mapping[str, float], brought: Mapping[str, int]) -> None:
        """After a step: by source, the chances of the rows that were bought added up, and the tokens they gave."""
        for record in self._records.values():
            # Fading in time, not in purchases: who is not bought for a while is tried again.
            record.promised *= _FADING
            record.brought *= _FADING
        for source, chance in promised.items():
            record = self._records[source]
            record.promised += chance
            record.brought += brought.get(source, 0)

    def learn(self, outcomes: dict[str, bool], window_accepted: int | None) -> None:
        """After a step: for each asked source with a guess whether its first token was right, and the tokens that only
        the window had guessed (None where it did not run)."""
        for source, right in outcomes.items():
            record = self._records[source]
            record.misses = 0 if right else record.misses + 1
            if record.misses >= _PATIENCE:
                record.sleep_left = min(2 ** (record.misses - _PATIENCE), _LONGEST_SLEEP)
        if window_accepted is not None:
            self._window_gain += _WINDOW_MEMORY * (window_accepted - self._window_gain)
