"""The footer: the keys that apply, as many as fit; none is cut. The palette is dropped last."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.widgets import Footer

from lacli_tui.textual_private import FooterKey

_LAST = "palette"


class KeyFooter(Footer):
    """Without Textual's own entry."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def compose(self) -> ComposeResult:
        found = [each for each in super().compose() if isinstance(each, FooterKey)]
        left = self.app.size.width - sum(map(_width, found))
        for each in reversed(found):
            if left >= 0:
                break
            if not each.action.endswith(_LAST):
                found.remove(each)
                left += _width(each)
        yield from found

    async def on_resize(self) -> None:
        await self.recompose()


def _width(key: FooterKey) -> int:
    return cell_len(key.key_display) + 2 + cell_len(key.description) + bool(key.description)
