"""Looks up, in the background, what would fit the word being typed, and shows it in the list above the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual.message_pump import MessagePump

from lacli.chat.suggestions import Partial, Suggester, Suggestion
from lacli_tui.actions import SLASH_WORDS
from lacli_tui.background import Background, BackgroundResult
from lacli_tui.widgets.chips import Chips
from lacli_tui.widgets.prompt import Prompt

_WORK = "suggestions"


class SuggestionFinder:
    """Of one project."""

    def __init__(
        self, node: MessagePump, folder: Path, themes: Callable[[], Sequence[str]], prompt: Prompt, chips: Chips
    ) -> None:
        """The results of the lookup are posted to the node, which hands them to `show`."""
        self._background = Background(node)
        self._folder = folder
        self._themes = themes
        self._prompt = prompt
        self._chips = chips
        self._suggester: Suggester | None = None

    def look_up(self, partial: Partial) -> None:
        """Start looking for what fits this word."""
        if self._suggester is None:
            self._suggester = Suggester(self._folder, SLASH_WORDS, self._themes())
        suggester = self._suggester
        self._background.run(f"{_WORK} {partial.source}", lambda: (partial, suggester.of(partial)))

    def show(self, result: BackgroundResult) -> None:
        """Show what was found; where looking failed, nothing fits."""
        if not result.name.startswith(_WORK):
            return
        found: tuple[Partial | None, list[Suggestion]] = (None, [])
        if result.error is None:
            found = result.value  # type: ignore[assignment]  # what `look_up` returns
        above = self._chips if self._chips.display else self._prompt
        self._prompt.suggest(*found, above.region.y)
