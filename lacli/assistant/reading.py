"""What reading a prompt costs at the moment: the pace of it, and what need not be read as it was before.

Asked before a prompt is made, maybe with no model in memory; nothing that is stored is read for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lacli.assistant.pace import Pace
from lacli.completion.layout import Budget
from lacli.engine.sequence import common
from lacli.kv.blocks import POSITIONS

if TYPE_CHECKING:
    from lacli.config import Settings
    from lacli.kv.store import KvStore
    from lacli.models.prepare.prepare import PreparedModel


class Reading:
    """For one model and one project, as things are when it is made."""

    def __init__(self, pace: Pace, held: Sequence[int] = (), store: KvStore | None = None) -> None:
        """held: what is in the KV cache."""
        self._ms_per_token = pace.ms_per_token
        self._held = tuple(held)
        self._store = store

    def budget(self, ms: float) -> Budget | None:
        """What can be read in so many milliseconds; None where there is no bound, or nothing known."""
        if ms <= 0 or not self._ms_per_token:
            return None
        return Budget(int(ms / self._ms_per_token), self.free)

    def free(self, token_ids: Sequence[int]) -> int:
        """How many of these ids, from the first on, need not be read; the last one always is."""
        held = min(common(self._held, token_ids), len(token_ids) - 1)
        if self._store is None:
            return held
        return max(held, self._store.stored(token_ids, held // POSITIONS * POSITIONS))


def expected_reading(settings: Settings, prepared: PreparedModel, context: int) -> Reading:
    """The same for a model that is not loaded; the settings name a folder."""
    from lacli.assistant.cost_cache import known_pace, timed_variant
    from lacli.assistant.kept_prompts import kv_store
    from lacli.kernels.library import library
    from lacli.models.runners.load import choose_device, needs_torch
    from lacli.project.root import project_root

    device, kernels = choose_device(settings.device), library()
    kernel = "torch"
    if kernels is not None and not needs_torch(prepared, prepared.quant, device, context or None):
        kernel = kernels.isa
    pace = known_pace(prepared.folder.name, timed_variant(prepared.quant, device, kernel, settings.threads), device)
    is_kept = settings.pool and kernel != "torch"
    root = project_root(settings.folder) if is_kept and settings.folder is not None else None
    return Reading(pace, (), None if root is None else kv_store(settings, root, prepared))
