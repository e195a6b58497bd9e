"""The contract of an assistant: what front ends see of whatever writes the replies.

`lacli.assistant.assistant` is the real one, `lacli.assistant.scripted` its test double, `lacli.worker.client` one in a
process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from lacli.config import Settings
from lacli.errors import LacliError, UsageError
from lacli.events import Event, Failed, Preview, Request

Report = Callable[[Event], None]
Cancel = Callable[[], bool]


def ignore(event: Event) -> None:
    """A report nobody reads."""


def never() -> bool:
    """A cancel that is never asked for."""
    return False


class Replier(Protocol):
    """What front ends see of an assistant."""

    def open(self, report: Report = ignore) -> None:
        """Fetch, prepare and load, reporting notices and progress. `reply` does it by itself where it was left out."""
        ...

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """The events of one reply, `Finished` last. `cancel` is asked between steps; closing the iterator is safe."""
        ...

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """The prompt as the model would be given it; reads its tokenizer, loads no weights. Raises as `reply` would.

        A model that is not there yet is fetched and prepared, which is reported.
        """
        ...

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """Read the beginning that the next request will share with this one into the KV cache, ahead of time."""
        ...

    def close(self) -> None:
        """Let go of the model; what the pool learned is on disk already."""
        ...


class BatchReplier(Replier, Protocol):
    """One that can also write many replies at once."""

    def replies(self, requests: Iterable[Request], cancel: Cancel = never) -> Iterator[tuple[int, Event | Failed]]:
        """The events of many replies, written side by side, each with its request's place among all.

        Of one reply they come in the order of `reply`, with `Finished` or `Failed` last; among replies in any order.
        Requests are taken as there is room for them. After a cancel those that were begun end as cancelled.
        """
        ...


class ProjectReplier(Replier, Protocol):
    """One that serves several projects in turn, with one model in memory."""

    def enter(self, settings: Settings) -> None:
        """Serve the next calls for the project and with the permissions of these settings.

        Raises what `check_model` raises.
        """
        ...


class ServedReplier(ProjectReplier, Protocol):
    """A replier in a worker process: it may reply to several clients at once, and prefill while it is idle."""

    @property
    def places(self) -> int:
        """How many replies it generates concurrently, once it is open; 1: one after the other."""
        ...

    def add(self, key: int, request: Request, cancel: Cancel = never) -> None:
        """Queue a reply for `together`, for the project entered last. `cancel` ends only it. Raises as `reply`."""
        ...

    def together(self) -> Iterator[tuple[int, Event | LacliError]]:
        """The events of all replies added, before or meanwhile, until none is left.

        Each event comes with the key of its reply, whose last event is `Finished` or an error. An exception has ended
        all replies. The iterator may be closed at any time.
        """
        ...

    def read_ahead(self, cancel: Cancel) -> None:
        """Prefill what the next request will probably begin with, until that is done or `cancel` returns True.

        Raises nothing: it is only an optimisation.
        """
        ...


def check_model(now: Settings, wanted: Settings) -> None:
    """Raise UsageError if `wanted` names another model than the one loaded for the settings `now`."""
    if wanted.of_model != now.of_model:
        raise UsageError("this engine has another model loaded", "start one for these settings")
