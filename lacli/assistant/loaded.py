"""What is loaded: a model, and a model together with a project. Data; `loading` and `project` fill it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from lacli.assistant.pace import Pace

if TYPE_CHECKING:
    from lacli.assistant.kept_prompts import KeptPrompts
    from lacli.assistant.reading import Reading
    from lacli.drafts.base import Sources
    from lacli.drafts.ngrams import Ngrams
    from lacli.drafts.successor import SuccessorTable
    from lacli.engine.controller import Controller
    from lacli.engine.cost import CostCurve
    from lacli.engine.sequence import CachedSequence
    from lacli.models.prepare.prepare import PreparedModel
    from lacli.pool.store import Pool
    from lacli.project.files import ProjectFiles
    from lacli.text.tokenizer import Tokenizer

_Source = TypeVar("_Source")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory, without anything of a project."""

    prepared: PreparedModel
    tokenizer: Tokenizer
    cached: CachedSequence
    """Its KV cache, which all projects take turns with."""
    curve: CostCurve
    primer: SuccessorTable | None
    """What every successor table starts with; None with --no-lookahead, or if the model cannot branch."""
    device: str
    import_ms: float
    """Time to import the engine, and PyTorch where it computes."""
    load_ms: float
    """Time from the prepared folder to the first possible forward, imports not counted."""
    pace: Pace = field(default_factory=Pace)
    """How fast it reads."""
    ngrams: Ngrams | None = None
    """The n-gram table of its tokenizer; None where that was left out, and with the primer."""


@dataclass(slots=True)
class Loaded:
    """A model together with a project: all that a reply needs."""

    prepared: PreparedModel
    tokenizer: Tokenizer
    cached: CachedSequence
    controller: Controller
    sources: Sources
    pool: Pool | None
    """None without a project, with --no-pool, or if it cannot be opened."""
    quant: str
    device: str
    import_ms: float
    """Time to import the engine, and PyTorch where it computes."""
    load_ms: float
    """Time from the prepared folder to the first possible forward, imports not counted."""
    files: ProjectFiles | None = None
    """Watches the project's files in the background; None if none are read."""
    kept: KeptPrompts | None = None
    """What was read before in this project; None where that is not kept."""
    primer: SuccessorTable | None = None
    """What the successor table started with; None with --no-lookahead, or if the model cannot branch."""
    pace: Pace = field(default_factory=Pace)
    """How fast it reads."""

    ngrams: Ngrams | None = None
    """The n-gram table of its tokenizer, if there is one."""

    def reading(self) -> Reading:
        """What reading a prompt costs now."""
        from lacli.assistant.reading import Reading

        return Reading(self.pace, self.cached.ids, None if self.kept is None else self.kept.store)

    @property
    def stopped_keeping(self) -> bool:
        """Whether a store of the project has given up writing, for want of space, say."""
        return (self.pool is not None and self.pool.gave_up) or (self.kept is not None and self.kept.store.gave_up)

    def source(self, kind: type[_Source]) -> _Source | None:
        """The source of this class, if it is in use."""
        return next((source for source in self.sources.all() if isinstance(source, kind)), None)

    def close(self) -> None:
        """Stop what runs in the background."""
        if self.files is not None:
            self.files.close()
