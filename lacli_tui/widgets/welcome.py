"""What is in the transcript before anything was said."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from lacli_tui.glyphs import to_terminal

_LINES = (
    ("Ask about this project's code. For example:", ""),
    ("  Write a function that reads a CSV file into a list of records.", "italic"),
    ("  What does @path/to/file.py do?", "italic"),
    ("  Write tests for the code above.", "italic"),
    ("", ""),
    ("The text is the model's own, token for token; guessing ahead only makes it come sooner.", "dim"),
    ("F1 help · ctrl+p all commands · ctrl+r earlier chats · ctrl+t models · ctrl+q quit", "dim"),
)


class Welcome(Static):
    DEFAULT_CSS = """
    Welcome { height: auto; margin: 1 2; }
    """

    def __init__(self) -> None:
        text = Text()
        for line, style in _LINES:
            text.append(to_terminal(line) + "\n", style)
        super().__init__(text, markup=False)
