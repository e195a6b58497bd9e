"""How a family of models is asked to fill in the middle: its markers and their order.

As `models.toml` has them, or as a GGUF file names them itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class FimMarkers:
    """Fill-in-the-middle markers, each one token of the model, and what stands between them."""

    prefix: str
    suffix: str
    middle: str
    """Ends the prompt. May be empty if the suffix comes first: then nothing follows the text before the cursor."""
    order: Literal["psm", "spm"] = "psm"
    """Which part comes first: prefix-suffix-middle or suffix-prefix-middle."""
    stop: tuple[str, ...] = ()
    """Tokens that end a completion besides the end of the text."""
    file_separator: str = ""
    """Marker before another file's path, if the family has one."""
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


_OWN_KEYS = {
    "prefix": ("fim_pre", "prefix"),
    "suffix": ("fim_suf", "suffix"),
    "middle": ("fim_mid", "middle"),
    "pad": ("fim_pad",),
    "repository": ("fim_rep",),
    "file_separator": ("fim_sep",),
}
"""What a GGUF file may name by `tokenizer.ggml.<key>_token_id`, the newer key first."""


def named_by(fields: Mapping[str, Any], vocabulary: Mapping[str, int]) -> FimMarkers | None:
    """The format whose markers the fields of a GGUF file name: prefix, suffix, middle, other files as Qwen has them.

    None where not all three are named, or one is no token that its text leads to.
    """
    texts = {token_id: text for text, token_id in vocabulary.items()}
    found: dict[str, str] = {}
    for role, keys in _OWN_KEYS.items():
        ids = (fields.get(f"tokenizer.ggml.{key}_token_id") for key in keys)
        token_id = next((each for each in ids if isinstance(each, int)), -1)
        found[role] = texts.get(token_id, "")
    prefix, suffix, middle = (found[role] for role in ("prefix", "suffix", "middle"))
    if "" in (prefix, suffix, middle) or len({prefix, suffix, middle}) < 3:
        return None
    shows_files = bool(found["file_separator"])
    return FimMarkers(
        prefix,
        suffix,
        middle,
        stop=tuple(found[role] for role in ("pad", "repository", "file_separator") if found[role]),
        file_separator=found["file_separator"],
        file_end="\n" if shows_files else "",
        repository=found["repository"] if shows_files else "",
        repository_end="\n" if shows_files and found["repository"] else "",
    )


def of_record(record: Mapping[str, Any] | None) -> FimMarkers | None:
    """The format from what `dataclasses.asdict` made of it, read from JSON; None if a folder has none."""
    return None if record is None else FimMarkers(**{**record, "stop": tuple(record["stop"])})
