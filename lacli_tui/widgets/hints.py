"""Keys with what they do, as many in a line as fit. Never markup."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

_BETWEEN = 3


class Hints(Widget, can_focus=False):
    """Told by `show`."""

    DEFAULT_CSS = """
    Hints { height: auto; width: 1fr; }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._hints: Sequence[tuple[str, str]] = ()

    def show(self, hints: Sequence[tuple[str, str]]) -> None:
        """These keys and words."""
        self._hints = tuple(hints)
        self.refresh(layout=True)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide as there is room."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as it takes."""
        return len(self._lines(width))

    def render(self) -> Content:
        """All lines."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        lines = [Content("")]
        for key, word in self._hints:
            hint = Content.assemble((key, "$accent bold"), f" {word}")
            if not lines[-1].cell_length:
                lines[-1] = hint
            elif lines[-1].cell_length + _BETWEEN + hint.cell_length <= width:
                lines[-1] = Content("").join([lines[-1], Content(" " * _BETWEEN), hint])
            else:
                lines.append(hint)
        return lines
