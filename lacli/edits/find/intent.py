"""What an instruction asks of a file, as far as its words and the file's names tell. Pure data; read by `reading`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Intent:
    """An instruction, taken apart."""

    text: str
    names: frozenset[str] = frozenset()
    """Names of the file that the instruction mentions: of definitions, parameters, headings, keys, imports. A dotted
    one stands as it was written and by its last part."""
    renames: tuple[tuple[str, str], ...] = ()
    """Old and new name of what is to be renamed."""
    removes: frozenset[str] = frozenset()
    """Of `names`, what the instruction asks to remove, to replace by something else or to move away."""
    adds: frozenset[str] = frozenset()
    """Names that are to be new."""
    everywhere: bool = False
    """Whether every place that mentions a name is meant."""
    deletes: frozenset[str] = frozenset()
    """Of `removes`, the definitions that are to be gone altogether: not moved, replaced or merged."""

    def allows_loss_of(self, name: str) -> bool:
        """Whether a definition, import, heading or key of this name may be gone afterwards."""
        return name in self.removes or any(name == old for old, _ in self.renames)
