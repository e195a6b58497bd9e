"""One row: project, model, quantisation, whether a system message is set, context, memory."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from lacli.configuration.remotes import is_remote
from lacli.shared.wording import abbreviated, size
from lacli_tui.widgets.rows import MUTED, STRONG, Part, apart, cut, joined, width_of
from lacli_tui.widgets.stats_widget import StatsWidget

_FULL = 0.8
"""The share of the context from which on it is highlighted."""


class Header(StatsWidget):
    MEANING = (
        "Project, model and quantisation; whether a system message is set; how full the context is; the memory that "
        "the engine takes."
    )
    DEFAULT_CSS = """
    Header { height: 1; padding: 0 1; background: $panel; color: $foreground; }
    """

    def view(self, width: int, height: int) -> Sequence[Content]:
        """The most important comes first, and is dropped last."""
        about, reply = self.about, self.reply
        between: Part = (f" {self.glyphs.between} ", MUTED)
        filled = self._filled()
        if width_of(filled) > width // 2:
            filled = self._filled(briefly=True)
        right = joined([group for group in (filled, self._memory()) if group], between, width // 2)
        room = width - width_of(right) - 2
        model = about.model or (reply.model if reply is not None else "")
        quant = about.quant or (reply.quant if reply is not None else "")
        project = cut(about.project, max(8, room // 2))
        groups: list[list[Part]] = [[(project, STRONG)]] if project else []
        if model:
            style = "bold $text-warning" if is_remote(model) else "$primary"  # what is typed leaves this computer
            groups.append([(cut(model, max(8, room - width_of(joined(groups, between, room)) - 3)), style)])
        groups += [[(quant, MUTED)]] if quant else []
        groups += [[("system message", MUTED)]] if about.system else []
        named: list[Part] = [("lacli", "bold $accent"), between]
        left = joined(groups, between, room - width_of(named))
        if len(left) < 2 * len(groups) - 1:
            named, left = [], joined(groups, between, room)
        return [apart([*named, *left] if left else named[:1], right, width)]

    def _filled(self, briefly: bool = False) -> list[Part]:
        """How full the context is."""
        if self.reply is None or not self.reply.ctx_size:
            return []
        used, most = self.reply.ctx_used, self.reply.ctx_size
        share = used / most
        style = "bold $text-warning" if share >= _FULL else MUTED
        if briefly:
            return [(f"context {min(share, 1.0):4.0%}", style)]
        return [(f"context {abbreviated(used):>4}/{abbreviated(most)} {min(share, 1.0):4.0%}", style)]

    def _memory(self) -> list[Part]:
        """The GPU's if one is used, else that of the engine's process."""
        megabytes, name = self.memory_mb, "memory"
        if self.reply is not None and self.reply.vram_peak_mb is not None:
            megabytes, name = self.reply.vram_peak_mb, "GPU"
        if megabytes is None:
            return []
        return [(f"{name} {size(round(megabytes * 2**20)):>8}", MUTED)]
