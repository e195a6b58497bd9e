"""Fetches a single .gguf file of a hub repository, resuming after what has arrived of it.

It is kept as lacli's own file, not in the hub's cache, so that the package index can resume what the hub began.
"""

from __future__ import annotations

from lacli.config import told_offline
from lacli.errors import ModelUnavailable
from lacli.models.fetch.disk import make_folder, megabytes, require_space
from lacli.models.fetch.file import partial_of, put_in_place, size_of, target_of
from lacli.models.fetch.hub import host_of_hub, in_child, refuse
from lacli.models.progress import Progress, ProgressReport, announce
from lacli.models.spec import ModelSpec, Source


def fetch(spec: ModelSpec, source: Source, report: ProgressReport, by_hand: str) -> None:
    """Complete the file of `source` from the hub. Raises ModelUnavailable or OutOfMemory (disk)."""
    target, partial = target_of(source), partial_of(source)
    if told_offline():
        raise ModelUnavailable("the hub is not asked, as HF_HUB_OFFLINE is set", by_hand)
    make_folder(target.parent)
    total = source.bytes
    if size_of(partial) > total:
        partial.unlink()
    have = size_of(partial)
    require_space(target.parent, total - have)
    rest = f", of which {megabytes(have)} are here already" if have else ""
    host = host_of_hub()
    announce(spec, report, f"{source.repo} from {host}, {megabytes(total)}{rest}, {spec.licence}")
    if have < total:
        answer = in_child(
            "hub_file_child",
            (source.repo, source.revision, source.file, source.sha256, str(partial)),
            source,
            lambda: size_of(partial),
            lambda size, _: report(Progress("fetch", min(size, total), total)),
        )
        if answer.get("file") != str(partial):
            if not size_of(partial):
                partial.unlink(missing_ok=True)
            kept = f"the {megabytes(size_of(partial))} that arrived are kept" if size_of(partial) > have else ""
            refuse(source, answer, host, kept, by_hand, target.parent)
    put_in_place(partial, source, f"what {host} gave for {source.file_name}", report)
