"""The footer: the keys that apply, as many as fit; none is cut. The palette is dropped last."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.widgets import Footer

from lacli_tui.textual_private import FooterKey, is_disabled

_LAST = "palette"


class KeyFooter(Footer):
    """Without Textual's own entry."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def compose(self) -> ComposeResult:
        """Those that fit; the ones at the end go first."""
        yield from self._fitting()

    async def recompose(self) -> None:
        """Show other keys; Textual asks for it at each change of focus, which seldom changes any of them."""
        if [_shown(each) for each in self.query(FooterKey)] != [_shown(each) for each in self._fitting()]:
            await super().recompose()

    async def on_resize(self) -> None:
        """Others fit."""
        await self.recompose()

    def _fitting(self) -> list[FooterKey]:
        found = [each for each in super().compose() if isinstance(each, FooterKey)]
        left = self.app.size.width - sum(map(_width, found))
        for each in reversed(found):
            if left >= 0:
                break
            if not each.action.endswith(_LAST):
                found.remove(each)
                left += _width(each)
        for each in found:
            each.set_reactive(FooterKey.compact, self.compact)  # else each is styled twice more, with and without
        return found


def _shown(key: FooterKey) -> tuple[object, ...]:
    return key.key, key.key_display, key.description, key.action, is_disabled(key), key.tooltip


def _width(key: FooterKey) -> int:
    return cell_len(key.key_display) + 2 + cell_len(key.description) + bool(key.description)
