"""Which machine a measurement was made on."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

import psutil

from lacli import __version__


def machine() -> dict[str, str | int]:
    """CPU, cores, threads and versions."""
    import torch

    return {
        "cpu": _cpu(),
        "cores": psutil.cpu_count(logical=False) or 0,
        "logical_cores": psutil.cpu_count() or 0,
        "torch_threads": torch.get_num_threads(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": _version("transformers"),
        "bitsandbytes": _version("bitsandbytes"),
        "lacli": __version__,
    }


def machine_line(facts: dict[str, str | int]) -> str:
    """The same in a line."""
    gpu = f"{facts['gpu']}, " if facts["gpu"] else ""
    return (
        f"{facts['cpu']}, {gpu}{facts['cores']} cores ({facts['logical_cores']} logical), "
        f"{facts['torch_threads']} threads, {facts['memory_gb']} GB, {facts['system']}, Python {facts['python']}, "
        f"torch {facts['torch']}, transformers {facts['transformers']}, lacli {facts['lacli']}"
    )


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
