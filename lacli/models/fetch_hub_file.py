"""One GGUF file of a hub repository, kept with lacli's own models: nothing of it lies in the hub's cache, too.

The download is a child of its own, as that of a repository; what has arrived stays in a folder beside the target.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lacli.config import told_offline
from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models import download
from lacli.models.disk import megabytes, require_space
from lacli.models.download import folder_bytes, own_command, watched
from lacli.models.fetch import Progress, Report, by_hand, check_file, partials_of
from lacli.models.fetch_hub import environment, host, last_object, refuse
from lacli.models.spec import ModelSpec, Source


def fetch_hub_file(spec: ModelSpec, source: Source, target: Path, report: Report) -> None:
    """Make `target` the file. Raises ModelUnavailable, or OutOfMemory (disk)."""
    if told_offline():
        raise ModelUnavailable(f"HF_HUB_OFFLINE keeps {source.repo} from being fetched", by_hand(spec))
    folder = partials_of(source)[0]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    have = folder_bytes(folder)
    require_space(target.parent, source.bytes - have)
    rest = f", of which {megabytes(have)} are here already" if have else ""
    report(
        Progress(
            "note",
            text=f"fetching {spec.title} once: {source.repo} from {host()}, {megabytes(source.bytes)}{rest}, "
            f"licence {spec.licence}",
        )
    )
    log = target.with_name(f".{target.name}.tmp-{os.getpid()}.log")
    command = own_command("hub_file_child", source.repo, source.revision, source.file, str(folder))

    def tick(size: int) -> None:
        report(Progress("fetch", min(size, source.bytes), source.bytes))

    try:
        status = watched(command, environment(), log, lambda: folder_bytes(folder), tick)
        answer = last_object(log)
    finally:
        log.unlink(missing_ok=True)
    if status is None:
        answer = {"text": f"nothing arrived for {download.STALL_S:.0f} s"}
    if "file" not in answer:
        if not folder_bytes(folder):
            shutil.rmtree(folder, ignore_errors=True)
        refuse(source, answer, "", by_hand(spec))
    arrived = Path(str(answer["file"]))
    try:
        check_file(arrived, source.bytes, source.sha256, source.file, report)
        os.chmod(arrived, 0o600)
        os.replace(arrived, target)
    except OSError as error:
        raise OutOfMemory(
            f"cannot write {target}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
