"""The measured cost curves, kept in the cache folder: measuring takes a second and is done once for each combination of
model, variant, GPU and version of what computes. Beside each how fast prompts are read.

A curve measured on a busy machine serves for a while, so that not every run of a busy hour measures again. Nothing in
the cache is trusted: what cannot be right is measured again.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lacli import __version__, paths
from lacli.errors import LacliError
from lacli.storage import atomic, files

if TYPE_CHECKING:
    from lacli.assistant.pace import Pace
    from lacli.engine.cost import CostCurve
    from lacli.models.base import Runner

_BUSY_LASTS_S = 600.0
"""How long a curve serves that was measured while other programs wanted the processor."""


def cost_curve(runner: Runner, model: str, variant: str, device: str) -> CostCurve:
    """The curve of this runner, from the cache or measured now. variant: all besides the model that its times depend
    on and that is not found out here."""
    from lacli.engine.cost import CostCurve, measure
    from lacli.models.base import BucketedRunner

    buckets = runner.row_buckets if isinstance(runner, BucketedRunner) else ()
    name = _name(model, variant, device)
    for file_name, lasts_s in ((f"{name}.json", math.inf), (f"{name}.busy.json", _BUSY_LASTS_S)):
        known = _read(file_name, lasts_s)
        if known is not None:
            return CostCurve(known.points, buckets=buckets)
    curve, undisturbed = measure(runner)
    _write(f"{name}.json" if undisturbed else f"{name}.busy.json", curve)
    return curve


def timed_variant(quant: str, device: str, kernel: str, threads: int | None) -> str:
    """All but the model that its times depend on and that is not found out here."""
    return f"{quant}-{device}-{kernel}-{threads or 0}"


def known_pace(model: str, variant: str, device: str) -> Pace:
    """How fast this model reads, as replies found out, else as its curve says, if there is one."""
    from lacli.assistant.pace import Pace

    name = _name(model, variant, device)
    with contextlib.suppress(LacliError, OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        stored = json.loads(files.read(_folder() / f"{name}.pace.json", limit=1 << 10))
        mean, used = float(stored["mean_ms"]), float(stored["ms"])
        if 0 < mean < 1e6 and 0 < used < 1e6:
            return Pace(used, mean, lambda pace: _write_pace(name, pace))
    curve = _read(f"{name}.json", math.inf) or _read(f"{name}.busy.json", _BUSY_LASTS_S)
    rows, ms = max(curve.points.items()) if curve is not None else (1, 0.0)
    return Pace(ms / rows, 0.0, lambda pace: _write_pace(name, pace))


def _write_pace(name: str, pace: Pace) -> None:
    with contextlib.suppress(LacliError, OSError):
        files.make_private(_folder())
        stored = {"ms": pace.ms_per_token, "mean_ms": pace.mean_ms}
        atomic.replace(_folder() / f"{name}.pace.json", json.dumps(stored).encode(), durable=False)


def _name(model: str, variant: str, device: str) -> str:
    """Another GPU has another curve: with two in a machine, or a home folder that machines share, both are kept."""
    if device == "cuda" or "torch" in sys.modules:
        import torch

        gpu = f"-{torch.cuda.get_device_name()}" if device == "cuda" else ""
        computes = f"torch{torch.__version__}"
    else:  # our own kernels
        gpu, computes = "", f"lacli{__version__}"
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{model}-{variant}{gpu}-{computes}")


def _folder() -> Path:
    return paths.cache_dir() / "curves"


def _read(name: str, lasts_s: float) -> CostCurve | None:
    """The curve in this file; None if there is none, it is too old, or it cannot be right."""
    from lacli.engine.cost import CostCurve

    with contextlib.suppress(LacliError, OSError, ValueError, TypeError, AttributeError, OverflowError):
        file = _folder() / name
        stored = json.loads(files.read(file, limit=1 << 16))
        points = {int(rows): float(ms) for rows, ms in stored.items()}
        young = abs(time.time() - file.stat().st_mtime) < lasts_s  # a clock that was set back keeps none for ever
        if young and len(points) >= 2 and all(rows > 0 and 0 < ms < 1e6 for rows, ms in points.items()):
            return CostCurve(points)
    return None


def _write(name: str, curve: CostCurve) -> None:
    """Keep a curve; if the cache cannot be written, it is measured again next time."""
    with contextlib.suppress(LacliError, OSError):
        folder = _folder()
        files.make_private(folder)
        atomic.replace(folder / name, json.dumps(curve.points).encode())
