"""How a family of models is asked to fill in the middle: its markers and their order, as `models.toml` has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Literal


@dataclass(frozen=True, slots=True)
class FimMarkers:
    """Fill-in-the-middle markers, each one token of the model, and what stands between them."""

    prefix: str
    suffix: str
    middle: str
    """May be empty where the suffix comes first: then nothing stands behind the prefix."""
    order: Literal["psm", "spm"] = "psm"
    """Which part comes first: prefix-suffix-middle or suffix-prefix-middle."""
    stop: tuple[str, ...] = ()
    """Tokens that end a completion besides the end of the text."""
    file_separator: str = ""
    """Marker before another file's path, where the family has one."""
    repository: str = ""
    """Marker before the name of the repository."""
    repository_end: str = ""
    """Text behind that name."""
    file_end: str = ""
    """Text behind a file's content."""
    path: Literal["before", "inside"] = "before"
    """Where, beside other files, the path of the file itself stands: before its prefix marker or behind it."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The markers of a prompt for one file."""
        return tuple(marker for marker in (self.prefix, self.suffix, self.middle) if marker)


KEYS = tuple(each.name for each in fields(FimMarkers))
REQUIRED = ("prefix", "suffix")


def family_of(families: Iterable[FimMarkers], id_of: Callable[[str], int | None]) -> FimMarkers | None:
    """The format of a vocabulary: one whose markers it has, and of these the one whose stop tokens it knows best."""

    def known(markers: tuple[str, ...]) -> float:
        return sum(id_of(marker) is not None for marker in markers) / max(1, len(markers))

    fit = [fim for fim in families if known((*fim.needed, *filter(None, (fim.file_separator, fim.repository)))) == 1]
    return max(fit, key=lambda fim: known(fim.stop), default=None)
