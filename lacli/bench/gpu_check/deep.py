"""What `lacli doctor --deep` asks of a graphics card; in a process of its own, as libraries may crash.

`main` prints each check as one JSON object a line, as soon as it is done. Nothing is fetched and nothing is kept: a
choice among kernels that is made here is not written to the cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from importlib import metadata
from itertools import groupby
from pathlib import Path

import torch

from lacli.bench.gpu_check.equality import kernels
from lacli.bench.gpu_check.plan import Plan, Shape
from lacli.bench.gpu_check.times import error_of, random_weight, ways_of
from lacli.models.runners.dtype import dtype_on
from lacli.models.runners.fused.device import tuned
from lacli.models.runners.fused.device.linears import BUCKETS, Chosen, Linear, Tuner, Way
from lacli.shared.health import Check

_NO_DEVICE = "cannot be asked, as there is no CUDA device"
_ROWS = (1, 16)
"""Of the products that are compared with float64: kernels change with the number of rows."""
_AGREES = 5e-2
"""The greatest error of a kernel that is right; int8 rounds activations, too."""
_DRIVER_FILE = Path("/proc/driver/nvidia/version")
_FLIPS = 32


def checks(plan: Plan | None) -> Iterator[Check]:
    """Every check as soon as it is done. plan: the device and its shapes; None where there is no CUDA device."""
    found = plan is not None
    yield _run("driver", _driver)
    yield _run("build", partial(_build, found))
    yield _run("bnb 4-bit", partial(_bitsandbytes, found))
    yield _run("triton", partial(_triton, found))
    if plan is None:
        yield from (Check(name, "ok", _NO_DEVICE) for name in ("linears", "graphs", "free"))
        return
    tuner = Tuner(plan.device, dtype_on(plan.device), known=tuned.read(tuned.gpu_of(plan.device)))
    for shape in plan.shapes:
        for name in shape.matrices():
            yield _run(f"{shape.name} {name}", partial(_linear, plan, shape, name, tuner))
    yield _run("graphs", partial(_graphs, plan))
    yield _run("free", partial(_free, plan.device))


def _run(name: str, check: Callable[[], tuple[str, str]]) -> Check:
    """(what was found, what to do about it) as a check; anything raised becomes a warning of one line."""
    try:
        text, fix = check()
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        return Check(name, "warn", f"could not be checked: {type(error).__name__}: {first[:200]}")
    return Check(name, "warn" if fix else "ok", text, fix)


def _driver() -> tuple[str, str]:
    version = 0
    for name in ("libcuda.so.1", "nvcuda.dll"):
        with contextlib.suppress(OSError):
            number = ctypes.c_int()
            if ctypes.CDLL(name).cuDriverGetVersion(ctypes.byref(number)) == 0:
                version = number.value
                break
    if not version:
        return "NVIDIA's is not installed", ""
    text = f"for CUDA up to {version // 1000}.{version % 1000 // 10}"
    with contextlib.suppress(OSError):
        text = f"{_DRIVER_FILE.read_text(encoding='utf-8', errors='replace').splitlines()[0].strip()}, {text}"
    return text, ""


def _build(found: bool) -> tuple[str, str]:
    """Whether PyTorch was built for this card."""
    if torch.version.cuda is None:
        return f"PyTorch {torch.__version__}, built without CUDA", ""
    built = f"PyTorch {torch.__version__}, built for CUDA {torch.version.cuda}"
    if not found:
        return f"{built}; for which card {_NO_DEVICE}", ""
    card = torch.cuda.get_device_capability()
    made = torch.cuda.get_arch_list()
    text = f"{built}, {' '.join(made)}; the card is sm_{card[0]}{card[1]}"
    runs = any(_runs_on(card, *name.split("_", 1)) for name in made)
    return text, "" if runs else "install a PyTorch that is built for this card"


def _runs_on(card: tuple[int, int], kind: str, number: str) -> bool:
    """Machine code (`sm`) runs on later cards of its own generation, PTX (`compute`) on all later ones."""
    made = divmod(int(number.rstrip("af")), 10)
    return made <= card and (kind == "compute" or made[0] == card[0])


def _bitsandbytes(found: bool) -> tuple[str, str]:
    version = _version("bitsandbytes")
    if not version:
        return "bitsandbytes is not installed", "run `pip install bitsandbytes`" if found else ""
    if not found:
        return f"bitsandbytes {version}; its CUDA library {_NO_DEVICE}", ""
    from bitsandbytes.cextension import lib

    if getattr(lib, "compiled_with_cuda", False):
        return f"bitsandbytes {version}, its CUDA library is loaded", ""
    return (
        f"bitsandbytes {version} has no library for this CUDA",
        "install a bitsandbytes that fits CUDA, or use --quant none",
    )


def _triton(found: bool) -> tuple[str, str]:
    version = _version("triton") or _version("triton-windows")
    if not version:
        return "not installed: lacli's own kernels for few rows are left out", ""
    if not found:
        return f"{version}; whether it compiles {_NO_DEVICE}", ""
    import lacli.kernels.triton.small_m  # noqa: F401

    return f"{version}; its kernels are among those below", ""


def _version(package: str) -> str:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return ""


def _linear(plan: Plan, shape: Shape, name: str, tuner: Tuner) -> tuple[str, str]:
    """Which kernel is taken for this matrix in each format, and whether every kernel computes it right."""
    rows, columns = shape.matrices()[name]
    weight = random_weight(rows, columns, plan.device, tuner.dtype)
    formats: dict[str, list[Way]] = {}
    wrong, worst = [], 0.0
    for kind, way, exact, _ in ways_of(weight):
        formats.setdefault(kind, []).append(way)
        for count in _ROWS:
            x = torch.randn(count, columns, device=plan.device).to(tuner.dtype)
            try:
                error = error_of(way, x, exact)
            except (RuntimeError, ValueError) as failure:
                wrong.append(f"{kind} by {way.name} fails: {str(failure).strip().splitlines()[0][:120]}")
                break
            if not error <= _AGREES:
                wrong.append(f"{kind} by {way.name} is wrong by {error:.0%} with {count} rows")
                break
            worst = max(worst, error)
    taken = "; ".join(f"{kind}: {_taken(tuner.chosen(ways, rows, columns), ways)}" for kind, ways in formats.items())
    text = "; ".join([f"{rows}x{columns}: {taken}", *wrong, f"errors up to {worst:.0e}"])
    return text, "run `python -m lacli.bench.gpu_check` and report what it writes" if wrong else ""


def _taken(linear: Linear, ways: list[Way]) -> str:
    """`triton to 16 rows, bitsandbytes beyond`."""
    if not isinstance(linear, Chosen):
        return ways[0].name
    runs = [(name, max(buckets)) for name, buckets in groupby(BUCKETS, key=linear.names.__getitem__)]
    parts = [f"{name} to {last} rows" for name, last in runs[:-1]]
    return ", ".join([*parts, f"{runs[-1][0]} beyond" if parts else runs[-1][0]])


def _graphs(plan: Plan) -> tuple[str, str]:
    """Whether a captured step gives what the same step gives when it is called."""
    found = kernels(replace(plan, flips=_FLIPS))
    apart = found["graphs_against_calls"]
    equal = "equal to eager steps, bit for bit" if apart == 0 else f"apart from eager steps by {apart:.0e}"
    text = "; ".join([equal, f"merged attention from masked by {found['merged_against_masked']:.0e}", *found["notes"]])
    if found["notes"]:
        return text, "a newer driver or PyTorch may help; the model runs without"
    return text, "" if apart <= _AGREES else "run `python -m lacli.bench.gpu_check` and report what it writes"


def _free(device: torch.device) -> tuple[str, str]:
    cards = range(torch.cuda.device_count()) if device.type == "cuda" else ()
    parts = []
    for card in cards:
        free, total = torch.cuda.mem_get_info(card)
        parts.append(f"{torch.cuda.get_device_name(card)}: {free / 1e9:.1f} of {total / 1e9:.1f} GB")
    return "; ".join(parts) or _NO_DEVICE, ""


def main() -> int:
    """Print the checks of this computer."""
    plan = Plan.of(torch.device("cuda"), 0.0) if torch.cuda.is_available() else None
    for check in checks(plan):
        print(json.dumps(asdict(check)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
