"""The checks of `lacli doctor`. Each looks at one thing, changes nothing, and ends in bounded time.

PyTorch is imported in a process of its own: a broken one may crash the program that imports it.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lacli import __version__, paths
from lacli.config import Settings, told_offline
from lacli.configuration.remotes import is_remote
from lacli.errors import LacliError

_TORCH_TIMEOUT_S = 120.0
_LOW_DISK_BYTES = 2_000_000_000
_REQUIRED_PACKAGES = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "numpy",
    "gguf",
    "huggingface-hub",
    "prompt-toolkit",
)
_PROBE = """
import json, torch
found = {"version": torch.__version__, "cuda": torch.cuda.is_available()}
if found["cuda"]:
    found["name"] = torch.cuda.get_device_name(0)
    found["free"], found["total"] = torch.cuda.mem_get_info(0)
    try:
        import bitsandbytes
        found["bitsandbytes"] = bitsandbytes.__version__
    except Exception as error:
        found["bitsandbytes_error"] = str(error).strip().splitlines()[-1][:200] or type(error).__name__
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check."""

    name: str
    state: Literal["ok", "warn", "fail"]
    text: str
    fix: str = ""
    """What the user can do about it; empty if nothing is wrong."""


NamedCheck = tuple[str, Callable[[], Check]]
"""A check and the name under which its failure is reported."""


def checks(
    model: Callable[[], str | None], config: Sequence[NamedCheck] = (), terminal: Sequence[NamedCheck] = ()
) -> Iterator[Check]:
    """Yield the result of every check as soon as it is done, those of the front end in between.

    `model` returns the name of the configured default model; None for the built-in one.
    """
    yield from (_python(), *_packages())
    yield from _torch()
    for name, each in (
        ("kernels", _kernels),
        *config,
        ("registry", _registry),
        ("model", lambda: _model(model())),
        ("memory", lambda: _memory(model())),
        ("disk", _disk),
        ("engine", _engine),
        ("network", _network),
        ("git", _git),
        *terminal,
    ):
        yield _run_check(name, each)
    yield from _folders()
    yield _run_check("log", _log)


def _run_check(name: str, check: Callable[[], Check]) -> Check:
    """The result of the check, or the error that kept it from running."""
    try:
        return check()
    except LacliError as error:
        return Check(name, "fail", error.message, error.hint)
    except Exception as error:
        return Check(name, "warn", f"could not be checked: {error}")


def _python() -> Check:
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}, lacli {__version__}"
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Check("python", "fail", text, "install lacli with Python 3.11, 3.12 or 3.13")
    return Check("python", "ok", text)


def _packages() -> Iterator[Check]:
    missing = []
    for name in _REQUIRED_PACKAGES:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Check("packages", "fail", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")


def _torch() -> Iterator[Check]:
    """PyTorch, and the graphics card where there is one."""
    found = probe_torch()
    if "error" in found:
        yield Check(
            "torch", "fail", f"cannot be imported: {found['error']}", "install PyTorch again, as the README says"
        )
        return
    yield Check("torch", "ok", f"{found['version']}, {'with' if found['cuda'] else 'no'} CUDA device")
    if not found["cuda"]:
        return
    free = f"{found['free'] / 1e9:.1f} of {found['total'] / 1e9:.1f} GB free"
    yield Check("gpu", "ok", f"{found['name']}, {free}")
    if "bitsandbytes" in found:
        yield Check("4-bit", "ok", f"bitsandbytes {found['bitsandbytes']}")
    else:
        yield Check(
            "4-bit",
            "warn",
            f"bitsandbytes does not work: {found['bitsandbytes_error']}",
            "install a bitsandbytes that fits CUDA, or use --quant none or --device cpu",
        )


def probe_torch() -> dict[str, Any]:
    """What PyTorch reports about itself; {"error": …} if it cannot be imported."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROBE],
            capture_output=True,
            timeout=_TORCH_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            cwd=os.path.dirname(sys.executable) or None,  # PyTorch fails in a current folder that was deleted
            check=False,
        )
        if done.returncode == 0:
            return dict(json.loads(done.stdout.decode().splitlines()[-1]))
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return {"error": lines[-1][:300] if lines else f"it ended with code {done.returncode}"}
    except subprocess.TimeoutExpired:
        return {"error": f"it took more than {_TORCH_TIMEOUT_S:.0f} s"}
    except (OSError, ValueError, IndexError) as error:
        return {"error": str(error)}


def _kernels() -> Check:
    from lacli.kernels.library import library, why_not

    found = library()
    if found is not None:
        return Check("kernels", "ok", f"lacli's C library, {found.isa}")
    return Check(
        "kernels",
        "warn",
        f"{why_not() or 'no C library'}; PyTorch runs instead, several times slower",
        "install a C compiler, then reinstall lacli",
    )


def _registry() -> Check:
    from lacli.models.registry.registry import load_registry

    problems: list[Any] = []
    registry = load_registry(problems=problems)
    if problems:
        return Check("registry", "fail", str(problems[0]), problems[0].hint)
    return Check("registry", "ok", f"{len(registry.models)} models known")


def _model(name: str | None) -> Check:
    if is_remote(name):
        return Check("model", "ok", f"{name}: what is asked leaves this computer")
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(name)
    here = presence(spec)
    if here.prepared:
        return Check("model", "ok", f"{spec.alias} is prepared")
    pull = f"lacli models pull {spec.alias if spec.path is None else spec.path}"
    if here.files is not None:
        return Check(
            "model", "warn", f"{spec.alias} is downloaded but not prepared: the first question waits for that", pull
        )
    if told_offline("LACLI_OFFLINE"):
        return Check(
            "model", "fail", f"{spec.alias} is not on this computer, and the network is off", "give another -m"
        )
    partial = f", except for {here.arrived / 1e6:.0f} MB of it" if here.arrived else ""
    what = "fetches the rest" if here.arrived else "fetches it"
    return Check("model", "warn", f"{spec.alias} is not on this computer{partial}: the first question {what}", pull)


def _memory(name: str | None) -> Check:
    if is_remote(name):
        return Check("memory", "ok", f"{name} takes none here")
    from lacli.models.registry.fit import fit
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(name)
    found = fit(spec)
    text = f"{found.free / 1e9:.1f} of {found.total / 1e9:.1f} GB free; {spec.alias} needs {found.needed / 1e9:.1f} GB"
    if found.fits:
        return Check("memory", "ok", text)
    return Check("memory", "warn", text, f"see `lacli models fit {spec.alias}`; a smaller --ctx or model needs less")


def _disk() -> Check:
    folder = _existing(paths.models_dir())
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free for models in {paths.models_dir()}"
    if free < _LOW_DISK_BYTES:
        return Check(
            "disk",
            "warn",
            text,
            "free some space, remove old models (`lacli models rm`), or set LACLI_HOME to another disk",
        )
    return Check("disk", "ok", text)


def _network() -> Check:
    if told_offline("LACLI_OFFLINE"):
        return Check("network", "ok", "off, by HF_HUB_OFFLINE or LACLI_OFFLINE: only what is on this computer is used")
    return Check("network", "ok", "used to fetch models, and for nothing else")


def _engine() -> Check:
    """The one of `lacli serve`, which commands use by themselves."""
    from lacli.worker import endpoint
    from lacli.worker.attached import NotAttached, connect, status

    try:
        greeting, found = status()
        connect(Settings()).close()
    except NotAttached as why:
        if why.reason:
            return Check("engine", "warn", why.reason, "`lacli serve --stop`, then `lacli serve --detach`")
        return Check("engine", "ok", "none runs; `lacli serve --detach` keeps models in memory for all commands")
    models = ", ".join(each.model for each in found.models) if found is not None else ""
    text = f"process {greeting.pid}, {models or 'no model'} in memory, {endpoint.socket_path()}"
    return Check("engine", "ok", text)


def _git() -> Check:
    program = shutil.which("git")
    if program is None:
        return Check("git", "warn", "not found: which files changed recently is unknown", "install git")
    return Check("git", "ok", program)


def _folders() -> Iterator[Check]:
    """Whether lacli can write where it has to; nothing is created to find out."""
    for name, locate in (("cache", paths.cache_dir), ("state", paths.state_dir), ("data", paths.data_dir)):
        try:
            folder = locate()
        except LacliError as error:
            yield Check(name, "fail", error.message, error.hint)
            continue
        parent = _existing(folder)
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            yield Check(name, "ok", str(folder))
        else:
            yield Check(name, "fail", f"{folder} cannot be written to", "fix its owner, or set LACLI_HOME")


def _existing(folder: Path) -> Path:
    """The folder, or its nearest parent that exists."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def _log() -> Check:
    import sqlite3  # some Pythons are built without

    from lacli.sessions import switch
    from lacli.sessions.store import path

    if not switch.is_on():
        return Check("log", "ok", "off")
    if not path().exists():
        return Check("log", "ok", "on, nothing kept yet")
    try:
        with contextlib.closing(sqlite3.connect(f"{path().absolute().as_uri()}?mode=ro", uri=True, timeout=2)) as log:
            found = log.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:  # of the disk, permissions, another program
        return Check("log", "warn", f"{path()} cannot be read: {error}", "check the file and its disk")
    except sqlite3.Error as error:
        found = str(error)
    if found != "ok":
        return Check(
            "log", "warn", f"{path()} is damaged: {found}", "the next session sets it aside and starts a new one"
        )
    return Check("log", "ok", f"on, {path()}")
