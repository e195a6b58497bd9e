"""Completion with Tab at the prompt: `lacli.chat.suggestions` for prompt_toolkit, imported at the first Tab."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

if TYPE_CHECKING:
    from lacli.chat.suggestions import Suggester


class ChatCompleter(Completer):
    """Completes paths folder by folder, as a shell does."""

    @cached_property
    def _suggester(self) -> Suggester:
        from lacli.chat.commands import words
        from lacli.chat.suggestions import Suggester

        return Suggester(Path(), words("cli"), by_folder=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        from lacli.chat.suggestions import partial

        row, column = document.cursor_position_row, document.cursor_position_col
        begun = partial(document.lines, row, column, self._suggester.words)
        if begun is None:
            return
        for each in self._suggester.of(begun):
            shown = each.title[begun.typed.rfind("/") + 1 :] if begun.is_path else each.title
            yield Completion(each.text.removesuffix(" "), begun.column - column, display=shown, display_meta=each.note)
