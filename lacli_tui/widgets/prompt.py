"""Where questions are typed."""

from __future__ import annotations

from textual.widgets import TextArea

from lacli_tui.actions import PROMPT, bindings_of


class Prompt(TextArea):
    """Grows from one row to ten."""

    DEFAULT_CSS = """
    Prompt { height: auto; min-height: 1; max-height: 10; border: none; padding: 0 1; }
    """
    BINDINGS = bindings_of(PROMPT)
