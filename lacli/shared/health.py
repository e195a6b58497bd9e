"""What is right and wrong on this computer. Each check looks at one thing, changes nothing, and ends in bounded time.

PyTorch is imported in a process of its own: one that cannot be loaded may end the program that tries.
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
from lacli.config import told_offline
from lacli.errors import LacliError

_TORCH_WAIT_S = 120.0
_LITTLE_DISK = 2_000_000_000
_NEEDED = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "gguf", "huggingface-hub", "prompt-toolkit")
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
    """What was found of one thing."""

    name: str
    state: Literal["ok", "warn", "fail"]
    text: str
    fix: str = ""
    """What to do about it."""


Named = tuple[str, Callable[[], Check]]
"""A check and its name, under which it stands where it cannot be made."""


def checks(
    model: Callable[[], str | None], config: Sequence[Named] = (), terminal: Sequence[Named] = ()
) -> Iterator[Check]:
    """Every check, as soon as it is done, with those of the front end at their places.

    `model` tells the name of the model that is taken where none is given; None for the one that is built in.
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
        ("network", _network),
        ("git", _git),
        *terminal,
    ):
        yield _guarded(name, each)
    yield from _folders()
    yield _guarded("log", _log)


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    """The check, or that it could not be made."""
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
    for name in _NEEDED:
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
    """What PyTorch says of itself; {"error": …} where it cannot be imported."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROBE],
            capture_output=True,
            timeout=_TORCH_WAIT_S,
            stdin=subprocess.DEVNULL,
            cwd=os.path.dirname(sys.executable) or None,  # PyTorch fails in a current folder that was deleted
            check=False,
        )
        if done.returncode == 0:
            return dict(json.loads(done.stdout.decode().splitlines()[-1]))
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return {"error": lines[-1][:300] if lines else f"it ended with code {done.returncode}"}
    except subprocess.TimeoutExpired:
        return {"error": f"it took more than {_TORCH_WAIT_S:.0f} s"}
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
        "install a C compiler and then lacli again",
    )


def _registry() -> Check:
    from lacli.models.registry.registry import load_registry

    problems: list[Any] = []
    registry = load_registry(problems=problems)
    if problems:
        return Check("registry", "fail", str(problems[0]), problems[0].hint)
    return Check("registry", "ok", f"{len(registry.models)} models known")


def _model(name: str | None) -> Check:
    from lacli.models.registry.inventory import presence
    from lacli.models.registry.registry import load_registry

    spec = load_registry().resolve(name)
    here = presence(spec)
    if here.prepared:
        return Check("model", "ok", f"{spec.alias} is prepared")
    pull = f"lacli models pull {spec.alias if spec.path is None else spec.path}"
    if here.files is not None:
        return Check("model", "warn", f"{spec.alias} is here, and not prepared: the first question waits for it", pull)
    if told_offline("LACLI_OFFLINE"):
        return Check(
            "model", "fail", f"{spec.alias} is not on this computer, and the network is off", "give another -m"
        )
    begun = f", but for {here.arrived / 1e6:.0f} MB of it" if here.arrived else ""
    what = "goes on from there" if here.arrived else "fetches it"
    return Check("model", "warn", f"{spec.alias} is not on this computer{begun}: the first question {what}", pull)


def _memory(name: str | None) -> Check:
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
    if free < _LITTLE_DISK:
        return Check("disk", "warn", text, "make room, `lacli models rm` old models, or set LACLI_HOME to another disk")
    return Check("disk", "ok", text)


def _network() -> Check:
    if told_offline("LACLI_OFFLINE"):
        return Check("network", "ok", "off, by HF_HUB_OFFLINE or LACLI_OFFLINE: only what is on this computer is used")
    return Check("network", "ok", "may be used to fetch models, and for nothing else")


def _git() -> Check:
    program = shutil.which("git")
    if program is None:
        return Check("git", "warn", "not found: which files changed last is not known", "install git")
    return Check("git", "ok", program)


def _folders() -> Iterator[Check]:
    """Whether lacli may write where it must; nothing is made to find out."""
    for name, of in (("cache", paths.cache_dir), ("state", paths.state_dir), ("data", paths.data_dir)):
        try:
            folder = of()
        except LacliError as error:
            yield Check(name, "fail", error.message, error.hint)
            continue
        there = _existing(folder)
        if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
            yield Check(name, "ok", str(folder))
        else:
            yield Check(name, "fail", f"{folder} cannot be written to", "correct its owner, or set LACLI_HOME")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest above it that exists."""
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
        return Check("log", "warn", f"{path()} cannot be read: {error}", "see to the file and its disk")
    except sqlite3.Error as error:
        found = str(error)
    if found != "ok":
        return Check("log", "warn", f"{path()} is damaged: {found}", "the next session puts it aside and begins anew")
    return Check("log", "ok", f"on, {path()}")
