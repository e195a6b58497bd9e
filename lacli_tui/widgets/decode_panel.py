"""What decoding does right now: the right column."""

from __future__ import annotations

from textual.widgets import Static


class DecodePanel(Static):
    """Told of `messages.Stats` and `messages.About`."""

    DEFAULT_CSS = """
    DecodePanel { width: 26; height: 1fr; }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("", markup=False, id=id, classes="stats")
