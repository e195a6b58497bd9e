"""Hub models: the normal Hugging Face cache first and without any network call where it is complete, then a download.

Of repositories safetensors, JSON and tokenizer files only.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lacli.config import told_offline
from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models.fetch import download
from lacli.models.fetch.disk import known_hash, locked, make_folder, require_space
from lacli.models.fetch.download import folder_bytes, own_command, variables_in_force, watched
from lacli.models.hf.folder import missing_files
from lacli.models.progress import Progress, ProgressReport, announce
from lacli.models.spec import ModelSpec, Source
from lacli.paths import models_dir

_VARIABLES = (
    "HF_ENDPOINT",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "HF_TOKEN_PATH",
)
_ANSWERS = {
    301: "the repository has moved",
    302: "the repository has moved",
    307: "the repository has moved",
    308: "the repository has moved",
    401: "there is no such repository, or the hub wants a valid token",
    403: "the hub refuses access",
    404: "there is no such repository",
    429: "the hub asks to wait (too many requests)",
}


def hub_cache() -> Path:
    """The Hugging Face cache, by the variables huggingface_hub itself reads; its import costs half a second."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "huggingface"
    )
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")
    return Path(os.path.expandvars(os.path.expanduser(cache))).absolute()


def repository_folder(source: Source) -> Path:
    """The folder of this repository in the cache."""
    return hub_cache() / ("models--" + source.repo.replace("/", "--"))


def cached_snapshot(source: Source) -> Path | None:
    """The snapshot of the wanted revision in the cache, complete or not."""
    folder = repository_folder(source)
    try:
        revision = (folder / "refs" / source.revision).read_text(encoding="utf-8").strip()
    except OSError:
        revision = source.revision
    snapshot = folder / "snapshots" / revision
    return snapshot if re.fullmatch(r"[\w.-]+", revision) and snapshot.is_dir() else None


def is_complete(source: Source) -> bool:
    """Whether the cache has all files of the model."""
    snapshot = cached_snapshot(source)
    return snapshot is not None and not missing_files(snapshot)


def ensure_hub(spec: ModelSpec, source: Source, report: ProgressReport, offline: bool) -> Path:
    """The complete snapshot of a hub model."""
    snapshot = cached_snapshot(source)
    missing = missing_files(snapshot) if snapshot else []
    if snapshot is not None and not missing:
        return snapshot
    here = f"the copy in {hub_cache()} lacks {', '.join(missing)}" if missing else f"it is not in {hub_cache()}"
    by_hand = (
        "without a network: copy the model's folder here and use -m ./folder, "
        f"or set HF_HOME to a cache that has {source.repo}"
    )
    if offline or told_offline():
        raise ModelUnavailable(f"{spec.alias} is not complete on this machine and lacli is offline: {here}", by_hand)
    with locked(
        models_dir() / source.repo.replace("/", "--"),
        lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}")),
    ):
        if not is_complete(source):
            _download(spec, source, report, here, by_hand)
    snapshot = cached_snapshot(source)
    missing = missing_files(snapshot) if snapshot else ["everything"]
    if snapshot is None or missing:
        raise ModelUnavailable(f"{source.repo} is incomplete after the download: {', '.join(missing)} missing", by_hand)
    return snapshot


def cached_file(source: Source) -> Path | None:
    """The one file of a `hub-file` source in the cache, if it is the right one: it is named by its hash there."""
    snapshot = cached_snapshot(source)
    file = snapshot / source.file if snapshot is not None else None
    return file if file is not None and file.is_file() and known_hash(file) == source.sha256 else None


def host_of_hub() -> str:
    """The host that is asked, for messages."""
    return urlsplit(_endpoint()).netloc or "huggingface.co"


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/")


def _download(spec: ModelSpec, source: Source, report: ProgressReport, here: str, by_hand: str) -> None:
    cache = hub_cache()
    make_folder(cache)
    total = spec.parameters * 2  # bfloat16, as all registered repositories have it
    have = folder_bytes(repository_folder(source) / "blobs")
    require_space(cache, max(0, total - have))
    host = host_of_hub()
    announce(spec, report, f"{source.repo} from {host}, about {max(total, 1) / 1e9:.1f} GB, {spec.licence}")

    def tick(size: int, last: Mapping[str, Any]) -> None:
        if "checked" in last:
            report(Progress("check", last["checked"], last["of"]))
        else:
            report(Progress("fetch", min(size, total) if total else size, total))

    arguments = (source.repo, source.revision, str(cache))
    answer = in_child("hub_child", arguments, source, lambda: folder_bytes(repository_folder(source)), tick)
    if "folder" not in answer:
        refuse(source, answer, host, here, by_hand, cache)


def in_child(
    module: str,
    arguments: Sequence[str],
    source: Source,
    size: Callable[[], int],
    tick: Callable[[int, Mapping[str, Any]], None],
) -> dict[str, Any]:
    """Run a module that downloads from the hub; returns its answer. `tick` gets `size()` and what it printed last."""
    environment = dict(os.environ)
    if _endpoint():
        environment["HF_ENDPOINT"] = _endpoint()
    environment |= {
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",  # one named host only, and partial files whose growth can be watched
        "HF_HUB_ETAG_TIMEOUT": "15",
        "HF_HUB_DOWNLOAD_TIMEOUT": "15",
    }
    work = models_dir() / f".hub-{source.repo.replace('/', '--')}.tmp-{os.getpid()}"
    try:
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = work / "log"
        # What the child prints counts as growth: it does so while nothing arrives any more.
        status = watched(
            own_command(module, *arguments),
            environment,
            log,
            lambda: size() + folder_bytes(work),
            lambda grown: tick(size(), _last(log)),
        )
        answer = _last(log)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return answer if status is not None else {"text": f"nothing arrived for {download.STALL_S:.0f} s"}


def _last(log: Path) -> dict[str, Any]:
    """The last object that the child printed; its last line if there is none."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return {"text": lines[-1] if lines else "the download ended without a word"}


def refuse(source: Source, answer: Mapping[str, Any], host: str, here: str, by_hand: str, folder: Path) -> None:
    """Raise the error that a child reported; `here` says what is there already, `folder` was the destination."""
    status, text, cause = answer.get("status"), str(answer.get("text", "")), str(answer.get("cause", ""))
    if "No space left" in text + cause:
        raise OutOfMemory(
            f"the disk of {folder} is full", "make room there, or set HF_HOME or LACLI_HOME to another disk"
        )
    force = variables_in_force(_VARIABLES, text + cause)
    if "GatedRepoError" in answer.get("errors", ()):
        raise ModelUnavailable(
            f"{source.repo} is gated: {host} refuses access ({status or 403}){force}",
            f"accept its licence on https://{host}/{source.repo}, then log in with `hf auth login` or set HF_TOKEN",
        )
    if isinstance(status, int) and (status in _ANSWERS or status >= 400):
        said = _ANSWERS.get(status, "the hub has a fault of its own" if status >= 500 else "the hub refuses")
        remedy = "check HF_TOKEN, or log in again with `hf auth login`" if status in (401, 403) else by_hand
        raise ModelUnavailable(f"{host} answers {status} for {source.repo}: {said}{force}", remedy)
    words = re.sub(r"^\[Errno -?\d+\] ", "", (cause or text).strip()).splitlines() or ["no answer"]
    asked = str(answer.get("host", ""))
    sent_on = f", which sends on to {asked}" if asked and asked != host.rpartition(":")[0] and asked != host else ""
    raise ModelUnavailable(
        f"cannot fetch {source.repo} from {host}{sent_on}: {words[0][:200]}{force}{here and '; ' + here}", by_hand
    )
