"""What Tab offers at the chat's prompt: `lacli.chat.suggestions` as prompt_toolkit wants it, when Tab asks for it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from lacli.chat.commands import words
from lacli.chat.suggestions import Suggester, partial


class ChatCompleter(Completer):
    """Completes paths folder by folder, as a shell does."""

    def __init__(self) -> None:
        self._suggester = Suggester(Path(), words("cli"), by_folder=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        row, column = document.cursor_position_row, document.cursor_position_col
        begun = partial(document.lines, row, column, self._suggester.words)
        if begun is None:
            return
        for each in self._suggester.of(begun):
            shown = each.title[begun.typed.rfind("/") + 1 :] if begun.is_path else each.title
            yield Completion(each.text.removesuffix(" "), begun.column - column, display=shown, display_meta=each.note)
