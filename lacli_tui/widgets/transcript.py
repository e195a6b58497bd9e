"""What was said, message by message; follows the text only while its end is in view."""

from __future__ import annotations

from textual.containers import VerticalScroll


class Transcript(VerticalScroll):
    """The messages."""
