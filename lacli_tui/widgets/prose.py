"""The words of an answer between its code blocks, as Markdown that grows. Nothing in it is ever markup."""

from __future__ import annotations

from markdown_it import MarkdownIt
from textual.widgets import Markdown

from lacli_tui.inert import shown


def _parser() -> MarkdownIt:
    """Raw HTML is text like any other: textual would leave it out."""
    return MarkdownIt("gfm-like", {"html": False, "linkify": False}).disable("linkify")


class Prose(Markdown):
    """Told its text by `set_text`."""

    DEFAULT_CSS = """
    Prose { padding: 0; margin: 0; }
    """

    def __init__(self) -> None:
        super().__init__(parser_factory=_parser, open_links=False)
        self.text = ""

    async def set_text(self, text: str) -> None:
        """Show this; where it begins with what is shown already, only its last block is made anew."""
        if text == self.text:
            return
        before, self.text = self.text, text
        if before and text.startswith(before):
            await self.append(shown(text[len(before) :]))
        else:
            await self.update(shown(text))
