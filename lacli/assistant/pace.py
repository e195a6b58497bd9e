"""How long a token of a prompt takes to read, as replies measure it. Numbers only: `cost_cache` keeps the file.

What is shown of a file depends on it, and what is shown must not change with every moment's load.
"""

from __future__ import annotations

from collections.abc import Callable

_LEAST_READ = 32
"""Tokens of a prompt from which on the time of one can be told."""
_LEARNING = 0.25
_STEADY = 1.25
"""A mean that is within this factor of the number in use changes nothing."""


class Pace:
    """Milliseconds a token."""

    def __init__(
        self, ms_per_token: float = 0.0, mean_ms: float = 0.0, keep: Callable[[Pace], None] = lambda pace: None
    ) -> None:
        """mean_ms: 0 where `ms_per_token` is an estimate; keep: is given what was learned."""
        self.ms_per_token = ms_per_token
        """The number in use; 0 where nothing is known."""
        self.mean_ms = mean_ms
        """What replies took, the last ones counted most."""
        self._keep = keep

    def learn(self, tokens: int, ms: float) -> None:
        """So many tokens were read in `ms`."""
        if tokens < _LEAST_READ or ms <= 0:
            return
        now = ms / tokens
        if self.mean_ms:  # one reply on a machine that does something else does not decide
            now = self.mean_ms + _LEARNING * (min(max(now, self.mean_ms / 2), self.mean_ms * 2) - self.mean_ms)
        self.mean_ms = now
        if not self.ms_per_token / _STEADY <= now <= self.ms_per_token * _STEADY:
            self.ms_per_token = now
        self._keep(self)
