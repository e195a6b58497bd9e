"""What replies have taught the drafts, by project: how much, how old, what it was good for; prune and clear it.

`PoolScreen(folder, settings)` -> None. The work is `lacli.pool`'s, which `lacli pool` uses, too, and runs in the
background.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from textual import work
from textual.widget import Widget

from lacli.config import Settings
from lacli.events import Counts
from lacli.shared.wording import abbreviated, age, counted, duration, prune_summary, short_path, size
from lacli_tui.actions import PICKER, POOL, bindings_of
from lacli_tui.background import BackgroundResult, error_line
from lacli_tui.screens.picker import ListDialog
from lacli_tui.widgets.choices import Choice, Choices
from lacli_tui.widgets.pairs import Pair, Pairs


@dataclass(frozen=True, slots=True)
class Learned:
    """What is kept of one project."""

    folder: Path
    """Where it is kept."""
    root: Path | None
    """The project; None if unknown."""
    tokens: int = 0
    replies: int = 0
    byte_size: int = 0
    used_s: float = 0.0
    counts: Counts = field(default_factory=Counts)
    """Over all replies ever given there."""
    damage: str = ""
    is_here: bool = False
    """Whether it is the project this program was started in."""
    is_gone: bool = False

    @property
    def name(self) -> str:
        return str(self.root or self.folder)

    @property
    def share(self) -> float | None:
        """The share of all tokens there that the pool had guessed; None before the first."""
        told = self.counts.predicted_n
        return self.counts.accepted_by_source.get("project", 0) / told if told else None


def learned(here: Path) -> list[Learned]:
    """For every project with a pool, this one first, then the last used."""
    import os

    from lacli import paths
    from lacli.pool import projects
    from lacli.pool.inventory import all_projects
    from lacli.project.root import project_root

    root = project_root(here)
    own = projects.locate(paths.pools_dir(), root) if root is not None else None
    found = []
    for each in all_projects(paths.pools_dir()):
        pools = each.pools
        found.append(
            Learned(
                each.folder,
                each.root,
                sum(pool.tokens for pool in pools),
                sum(pool.segments for pool in pools),
                sum(pool.byte_size + pool.table_bytes for pool in pools),
                max(pool.updated_s for pool in pools),
                sum((Counts.of_totals(pool.totals) for pool in pools), Counts()),
                next((pool.damage for pool in pools if pool.damage), ""),
                each.folder == own,
                each.root is not None and not os.path.lexists(each.root),
            )
        )
    if root is not None and own is not None and not any(each.is_here for each in found):
        found.append(Learned(own, root, is_here=True))
    return sorted(found, key=lambda each: not each.is_here)


class PoolScreen(ListDialog):
    TITLE = "Pools: what was learned, by project"
    PLACES = (POOL, PICKER)
    BINDINGS = bindings_of(POOL)
    DEFAULT_CSS = """
    PoolScreen > #frame > #about { margin: 1 0 0 0; }
    PoolScreen.-low > #frame > #about { margin: 0; max-height: 4; }
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        look: Callable[[Path], list[Learned]] = learned,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._folder = folder
        self._settings = settings
        self._look = look
        self._now = now
        self._found: dict[str, Learned] = {}

    def body(self) -> Iterable[Widget]:
        yield Choices(id="choices", empty="…")
        yield Pairs(id="about")

    def on_mount(self) -> None:
        self._read()

    def _read(self) -> None:
        self.background.run("learned", lambda: self._look(self._folder))

    def on_background_result(self, result: BackgroundResult) -> None:
        if result.error is not None:
            self.show_notice(error_line(result.error))
            if result.name != "learned":
                self._read()
        elif result.name == "learned":
            self._show(list(result.value))  # type: ignore[call-overload]  # what `learned` returns
        else:
            self.show_notice(str(result.value))
            self._read()

    def _show(self, found: list[Learned]) -> None:
        self._found = {str(each.folder): each for each in found}
        marked = self.choices.current
        choices = [self._choice(each) for each in found]
        self.choices.show(choices, "nothing was learned yet", marked.key if marked else "")
        self.show_hints()

    def _choice(self, each: Learned) -> Choice:
        share = "" if each.share is None else f"{each.share:.0%} of text from it"
        state = "damaged" if each.damage else "gone" if each.is_gone else "here" if each.is_here else ""
        cells = (
            (f"{abbreviated(each.tokens)} tok", ""),
            (share, "$success"),
            (age(each.used_s, self._now()) if each.used_s else "", "dim"),
            (state, "$error" if each.damage else "$accent"),
        )
        return Choice(str(each.folder), short_path(each.root or each.folder, 200), cells, keeps_end=True)

    def take(self, choice: Choice) -> None:
        """There is nothing to choose."""

    def marked(self, choice: Choice | None) -> None:
        each = self._found.get(choice.key) if choice else None
        self.query_one(Pairs).show(self._about(each) if each is not None else [])

    def _about(self, each: Learned) -> list[Pair]:
        counts = each.counts
        if not counts.replies:
            text = "nothing yet: the first reply in this project begins it" if not each.tokens else "no reply counted"
            return [Pair("kept", text)]
        kept = f"{each.tokens:,} tokens in {counted(each.replies, 'reply', 'replies')}, {size(each.byte_size)}"
        pace = "" if counts.tokens_per_step is None else f", {counts.tokens_per_step:.2f} tokens a step"
        saved = f"{counted(counts.saved_n, 'step', 'steps')}"
        if counts.saved_ms is not None:
            word = "lost " if counts.saved_ms < 0 else ""
            saved += f", {word}{duration(abs(counts.saved_ms))}"
        shares = sorted(counts.accepted_by_source.items(), key=lambda item: -item[1])
        total = max(1, counts.predicted_n)
        guessed = " · ".join(f"{name} {count / total:.0%}" for name, count in shares if count)
        pairs = [
            Pair("kept", kept),
            Pair("replies", f"{counts.replies:,} of {counts.predicted_n:,} tokens{pace}"),
            Pair("saved", saved),
            Pair("guessed by", guessed or "nobody yet"),
        ]
        return [*pairs, Pair("damage", f"the pool file {each.damage}", "$error")] if each.damage else pairs

    def footer_of(self, id_: str, footer: str) -> str:
        """Nothing can be chosen, and not always is a project gone."""
        if id_ == "choose" or (id_ == "pool-gone" and not any(each.is_gone for each in self._found.values())):
            return ""
        return footer

    @work(exclusive=True)
    async def action_pool_clear(self) -> None:
        """Delete what was learned in the marked project, if the user is sure."""
        choice = self.choices.current
        each = self._found.get(choice.key) if choice else None
        if each is None or not each.used_s:
            return
        what = f"the {each.tokens:,} tokens learned" if each.tokens else "all that was kept"
        if await self._sure(f"Delete {what} in {each.name}?", "delete"):
            self.background.run("done", lambda: _cleared(each.folder))

    @work(exclusive=True)
    async def action_pool_prune(self) -> None:
        """Prune all pools to their limits, if the user is sure."""
        from lacli.assistant.project import caps

        most = caps(self._settings)
        question = f"Bring every pool below {size(most.project_bytes)}, and all below {size(most.total_bytes)}?"
        if await self._sure(f"{question} What brought least goes first.", "prune"):
            self.background.run("done", lambda: _pruned(most, ()))

    @work(exclusive=True)
    async def action_pool_gone(self) -> None:
        """Delete the pools of projects that no longer exist, if the user is sure."""
        from lacli.assistant.project import caps

        gone = [each.root for each in self._found.values() if each.is_gone and each.root is not None]
        if not gone:
            return
        roots = "\n".join(map(str, gone[:6])) + (f"\nand {len(gone) - 6} more" if len(gone) > 6 else "")
        count = "this project" if len(gone) == 1 else f"these {len(gone)} projects"
        if await self._sure(f"Delete what was learned in {count}, which can no longer be found?\n{roots}", "delete"):
            most = caps(self._settings)
            self.background.run("done", lambda: _pruned(most, gone))

    async def _sure(self, question: str, yes: str) -> bool:
        from lacli_tui.screens.confirm import ConfirmScreen

        answer: bool | None = await self.app.push_screen_wait(ConfirmScreen(question, yes))
        return bool(answer)


def _cleared(folder: Path) -> str:
    from lacli.pool.inventory import changing, clear

    with changing(folder):
        freed = clear(folder)
    return f"deleted {size(freed)}" if freed else "there was nothing to delete"


def _pruned(caps: object, gone: Iterable[Path]) -> str:
    from lacli import paths
    from lacli.pool.evict import Caps
    from lacli.pool.inventory import changing
    from lacli.pool.prune import prune

    assert isinstance(caps, Caps)
    with changing(paths.pools_dir()):
        done = prune(paths.pools_dir(), caps, list(gone))
    return "; ".join([*done.notices, prune_summary(done)])
