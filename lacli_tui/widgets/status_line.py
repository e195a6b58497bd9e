"""The Decode panel in one row, where there is no room for it."""

from __future__ import annotations

from textual.widgets import Static


class StatusLine(Static):
    """Told of `messages.Stats` and `messages.About`."""

    DEFAULT_CSS = """
    StatusLine { height: 1; }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("", markup=False, id=id, classes="stats")
