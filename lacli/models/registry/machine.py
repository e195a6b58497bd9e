"""Memory of this computer or of one that the user describes: how much is free, and its bandwidth.

Imports nothing heavy, unless NVIDIA's driver is installed without `nvidia-smi`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lacli.models.registry import limits

_WAIT_S = 5.0
_PROBE = 256 << 20
"""Bytes read to measure the bandwidth of memory: far more than the caches of most processors."""
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory, in bytes."""

    free: int
    total: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What a model would run on."""

    ram: Memory
    card: Memory | None
    """None if there is no CUDA graphics card, or it is not to be used."""
    is_asked: bool = False
    """Whether these numbers were given by the user instead of found on this computer."""


def this_machine(with_card: bool = True) -> Machine:
    """What is free now."""
    card = graphics_memory() if with_card else None
    return Machine(Memory(*main_memory()), Memory(*card) if card else None)


def asked_machine(ram_gb: float | None, vram_gb: float | None) -> Machine:
    """A machine with this much memory, all of it free; GB are 2**30 bytes, as memory is sold. Without `ram_gb`, the
    main memory of this computer."""
    ram = Memory(*main_memory()) if ram_gb is None else _all_free(ram_gb)
    return Machine(ram, None if vram_gb is None else _all_free(vram_gb), is_asked=True)


def _all_free(gigabytes: float) -> Memory:
    size = int(gigabytes * (1 << 30))
    return Memory(size, size)


def main_memory() -> tuple[int, int]:
    """Free and all memory."""
    return limits.free_memory(), limits.all_memory()


def graphics_memory() -> tuple[int, int] | None:
    """Free and all memory of the first graphics card that CUDA could use; None where there is none."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    first = (visible or "").split(",")[0].strip()
    if visible is not None and first in ("", "-1"):
        return None
    program = shutil.which("nvidia-smi")
    if program is None:
        return _by_torch()
    query = [program, "--query-gpu=memory.free,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            [*query, *(["-i", first] if first else [])],
            capture_output=True,
            timeout=_WAIT_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        free, total = done.stdout.decode().splitlines()[0].split(",")
        return int(free) << 20, int(total) << 20
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def _by_torch() -> tuple[int, int] | None:
    """Ask PyTorch, which takes seconds to import: only if a driver is installed (many containers lack nvidia-smi)."""
    if sys.platform != "win32" and not os.path.exists("/proc/driver/nvidia/version"):
        return None
    import torch

    return torch.cuda.mem_get_info() if torch.cuda.is_available() else None


def read_bandwidth(free: int) -> float:
    """Bandwidth in bytes per second of reading main memory with all cores, measured now; 0 if too little is free.

    The best of three runs: other load can only make it slower.
    """
    import numpy as np

    if free < 4 * _PROBE:
        return 0.0
    threads = limits.cores()
    parts = np.array_split(np.ones(_PROBE // 8, dtype=np.int64), threads)
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            list(pool.map(np.max, parts))
            best = min(best, time.perf_counter() - begun)
    return _PROBE / best
