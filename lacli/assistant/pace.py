"""How long a token of a prompt takes to read, as replies measure it. Numbers only: `cost_cache` keeps the file.

What is shown of a file depends on it, and what is shown must not change with every moment's load.
"""

from __future__ import annotations

from collections.abc import Callable

_LEAST_READ = 32
"""Tokens of a prompt from which on the time of one can be told."""
_SLOWER, _FASTER = 0.25, 0.5
"""How much a reply counts against those before it: what is slower may be so for the moment, what is faster is not."""
_STEADY = 1.25
"""A mean that is within this factor of the number in use changes nothing."""


class Pace:
    """Milliseconds a token."""

    def __init__(
        self, ms_per_token: float = 0.0, mean_ms: float = 0.0, keep: Callable[[Pace], None] = lambda pace: None
    ) -> None:
        """mean_ms: where replies measured it already; keep: is given what was learned."""
        self.ms_per_token = ms_per_token
        """The number in use; 0 where nothing is known."""
        self.mean_ms = mean_ms or ms_per_token
        """What replies took, the last ones counted most."""
        self._keep = keep

    def learn(self, tokens: int, ms: float) -> None:
        """So many tokens were read in `ms`."""
        if tokens < _LEAST_READ or ms <= 0:
            return
        now, mean = ms / tokens, self.mean_ms
        if not mean:
            mean = now
        elif now < mean:
            mean += _FASTER * (now - mean)
        else:
            mean += _SLOWER * (min(now, 2 * mean) - mean)
        self.mean_ms = mean
        if not self.ms_per_token / _STEADY <= mean <= self.ms_per_token * _STEADY:
            self.ms_per_token = mean
        self._keep(self)
