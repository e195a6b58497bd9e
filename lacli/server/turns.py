"""Whose turn it is on one worker: requests of many clients in a fair order. Pure, without a clock.

Clients take turns, however many requests each has waiting, and a client's own stay in order. A request somebody is
looking at the screen for goes before those that only take long, but not for ever; reading ahead comes when nothing else
is wanted.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

_URGENT_IN_A_ROW = 8
"""So many urgent ones may pass another that waits."""


class Rank(enum.IntEnum):
    """How soon a request is wanted; lower goes first."""

    URGENT = 0
    NORMAL = 1
    AHEAD = 2


class Waiting(Protocol):
    """What stands in the queue."""

    @property
    def client(self) -> Hashable:
        """Who asks."""
        ...

    @property
    def rank(self) -> Rank:
        """How soon it is wanted."""
        ...

    @property
    def arrival(self) -> int:
        """Its place among all that ever arrived."""
        ...


_W = TypeVar("_W", bound=Waiting)


class Turns(Generic[_W]):
    """The queue of one worker."""

    def __init__(self) -> None:
        self._clients: dict[Hashable, deque[_W]] = {}
        """Those of each client; the client whose turn is next stands first."""
        self._urgent_in_a_row = 0

    def __len__(self) -> int:
        return sum(map(len, self._clients.values()))

    def __iter__(self) -> Iterator[_W]:
        return (each for queue in self._clients.values() for each in queue)

    def add(self, request: _W) -> None:
        """Let a request wait."""
        self._clients.setdefault(request.client, deque()).append(request)

    def remove(self, request: _W) -> None:
        """It is not wanted any more."""
        queue = self._clients[request.client]
        queue.remove(request)
        if not queue:
            del self._clients[request.client]

    def oldest(self) -> int:
        """The arrival of the one that has waited longest. There must be one."""
        return min(queue[0].arrival for queue in self._clients.values())

    def next(self, may: Callable[[_W], bool] = lambda request: True) -> _W | None:
        """The one whose turn it is among those that may; None where none may."""
        heads = [queue[0] for queue in self._clients.values() if may(queue[0])]
        best = min((each.rank for each in heads), default=None)
        if best == Rank.URGENT and self._urgent_in_a_row >= _URGENT_IN_A_ROW:
            best = min((each.rank for each in heads if each.rank == Rank.NORMAL), default=best)
        return next((each for each in heads if each.rank == best), None)

    def take(self, may: Callable[[_W], bool] = lambda request: True) -> _W:
        """The same, which leaves the queue. There must be one."""
        found = self.next(may)
        assert found is not None
        self._urgent_in_a_row = self._urgent_in_a_row + 1 if found.rank == Rank.URGENT else 0
        queue = self._clients.pop(found.client)
        queue.popleft()
        if queue:  # behind all others
            self._clients[found.client] = queue
        return found
