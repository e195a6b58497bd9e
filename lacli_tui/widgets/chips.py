"""The files that go with the next question, as chips above the prompt."""

from __future__ import annotations

from textual.widgets import Static


class Chips(Static):
    """Hidden while there are none."""

    DEFAULT_CSS = """
    Chips { height: auto; display: none; }
    """
