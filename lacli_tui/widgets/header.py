"""One row: project, model, quantisation, context, memory."""

from __future__ import annotations

from textual.widgets import Static


class Header(Static):
    """Told of `messages.Stats` and `messages.About`."""

    DEFAULT_CSS = """
    Header { height: 1; }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("", markup=False, id=id, classes="stats")
