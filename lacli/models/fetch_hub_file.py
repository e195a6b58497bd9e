"""One GGUF file of a hub repository, kept with lacli's own models: nothing of it lies in the hub's cache, too.

The download is a child of its own, as that of a repository; what has arrived stays in a folder beside the target.
"""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

from lacli.config import told_offline
from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models import download
from lacli.models.disk import megabytes, require_space
from lacli.models.download import folder_bytes, own_command, watched
from lacli.models.fetch import Progress, Report, by_hand, check_file, partials_of
from lacli.models.fetch_hub import environment, host, last_object, refuse
from lacli.models.spec import ModelSpec, Source

_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")
_REACH_S = 4.0
_WORTH_SAYING = 1 << 20


def fetch_hub_file(spec: ModelSpec, source: Source, target: Path, report: Report) -> None:
    """Make `target` the file. Raises ModelUnavailable, or OutOfMemory (disk)."""
    if told_offline():
        raise ModelUnavailable(f"HF_HUB_OFFLINE keeps {source.repo} from being fetched", by_hand(spec))
    _check_reachable(source, by_hand(spec))
    folder = partials_of(source)[0]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    have = folder_bytes(folder)
    require_space(target.parent, source.bytes - have)
    rest = f", of which {megabytes(have)} are here already" if have > _WORTH_SAYING else ""
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


def _check_reachable(source: Source, remedy: str) -> None:
    """Raise ModelUnavailable where nobody answers at the hub's address: the download itself would wait far longer.

    Not asked behind a proxy, which is what answers there.
    """
    if any(os.environ.get(name) for name in _PROXIES):
        return
    name, _, port = host().partition(":")
    try:
        socket.create_connection((name, int(port or 443)), timeout=_REACH_S).close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "nobody answers"
        raise ModelUnavailable(f"cannot fetch {source.repo}: {name} cannot be reached ({why})", remedy) from None
