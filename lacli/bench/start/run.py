"""The start of `lacli ask`, phase by phase, each beside the least that it could take on this machine.

    python -m lacli.bench.start [-m MODEL] [--runs N] [--json]

Every run is a process of its own, in an empty project and with a home that has nothing but the user's cache and
configuration; the floors, in time of the processor, are measured between them, so that both see the same machine. On a
busy machine only time of the processor, that of the thread which answers, says something.
"""

from __future__ import annotations

import argparse
import json
import marshal
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from lacli import paths
from lacli.bench.start.probe import IMPORTS
from lacli.models.prepare.prepare import PreparedModel, prepare
from lacli.models.registry.registry import load_registry

_PROGRAM = "import sys; from lacli.bench.start.probe import main; sys.exit(main(sys.argv[1:]))"
_PASS = "import time; print(time.process_time())"
_OTHER = "command line"
"""And what else lies between the phases."""
_PYC_HEAD = 16
_FLOORS = {
    "interpreter": "python -S -c pass",
    IMPORTS: "reading their compiled code",
    "tokenizer": "reading tokenizer.json",
    "weights": "opening and mapping them",
    "prepared folder": "reading its small files",
}
"""What the least of a phase is; others have no work that must be done."""


def start_once(folder: Path, model: str | None) -> dict[str, Any]:
    """One run: milliseconds of phases in their order and of marks, on the clock and (`_cpu`) of the processor, and the
    files of what was imported."""
    out = folder / "numbers.json"
    out.unlink(missing_ok=True)
    command = ["ask", "--no-stdin", "-n", "1", *(("-m", model) if model else ()), "hi"]
    began = str(time.monotonic())
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, began, str(out), *command],
        cwd=folder / "project",
        env=os.environ | {"LACLI_HOME": str(folder / "home")},
        capture_output=True,
        check=False,
    )
    if not out.exists():
        raise SystemExit(done.stderr.decode(errors="replace").strip() or "lacli ask gave no numbers")
    found = json.loads(out.read_text(encoding="utf-8"))
    if "first chunk" not in found["marks"]:
        raise SystemExit("no prompt was read by lacli's own kernels; see `lacli doctor`")
    result = {"compiled": found["compiled"]}
    for which, suffix in enumerate(("", "_cpu")):
        marks = {name: 1000 * seconds[which] for name, seconds in found["marks"].items()}
        phases = {"interpreter": marks.pop("interpreter")}
        phases |= {name: 1000 * seconds[which] for name, seconds in found["phases"].items()}
        phases[_OTHER] = marks["first chunk"] - sum(phases.values())
        result |= {f"phases{suffix}": phases, f"marks{suffix}": marks}
    return result


def make_project(folder: Path) -> None:
    """A project without files, and a home without anything of other projects."""
    (folder / "project" / ".git").mkdir(parents=True)
    (folder / "home").mkdir()
    for name, place in (("cache", paths.cache_dir()), ("config", paths.config_dir())):
        if place.is_dir():
            (folder / "home" / name).symlink_to(place.resolve())


def floors(prepared: PreparedModel, compiled: Iterable[str]) -> dict[str, float]:
    """Milliseconds of the processor that the phases take at least, as `_FLOORS` says."""
    weights = prepared.packed_file or prepared.float_files[0]
    small = [each for each in prepared.folder.iterdir() if each.suffix in (".json", ".jinja")]
    codes = [Path(each) for each in compiled]
    return {
        "interpreter": 1000 * float(subprocess.check_output([sys.executable, "-S", "-c", _PASS])),
        IMPORTS: _timed(lambda: [marshal.loads(each.read_bytes()[_PYC_HEAD:]) for each in codes if each.is_file()]),
        "tokenizer": _timed(lambda: (prepared.folder / "tokenizer.json").read_bytes()),
        "weights": _timed(lambda: _mapped(weights)),
        "prepared folder": _timed(lambda: [each.read_bytes() for each in small if each.name != "tokenizer.json"]),
    }


def measure(model: str | None, runs: int) -> dict[str, Any]:
    """Medians over this many runs; one more before them, which is not counted, warms what is cached."""
    prepared = prepare(load_registry().resolve(model), None, lambda step: None)
    with tempfile.TemporaryDirectory() as folder:
        make_project(Path(folder))
        start_once(Path(folder), model)
        found, least = [], []
        for _ in range(runs):
            found.append(start_once(Path(folder), model))
            least.append(floors(prepared, found[-1]["compiled"]))
    return {
        "model": prepared.spec.alias,
        "runs": runs,
        "modules": len(found[-1]["compiled"]),
        **{name: _medians([each[name] for each in found]) for name in ("phases", "phases_cpu", "marks", "marks_cpu")},
        "floors": _medians(least),
    }


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    lines = [f"{result['model']}, median of {result['runs']} runs, {result['modules']} modules imported", ""]
    lines.append(f"{'phase':<22}{'ms':>8}{'cpu ms':>8}{'floor':>8}  what the floor is")
    for name, ms in result["phases"].items():
        least = result["floors"].get(name)
        floor = f"{least:8.1f}  {_FLOORS[name]}" if least is not None else ""
        lines.append(f"{name:<22}{ms:8.1f}{result['phases_cpu'][name]:8.1f}{floor}")
    for name, ms in result["marks"].items():
        lines.append(f"{f'to the {name}':<22}{ms:8.1f}{result['marks_cpu'][name]:8.1f}")
    return "\n".join(lines)


def _medians(rows: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: round(median(row.get(name, 0.0) for row in rows), 2) for name in names}


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


def _mapped(file: Path) -> None:
    with file.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ):
        pass


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.start", description=__doc__.partition("\n")[0])
    parser.add_argument("-m", "--model", help="as of `lacli ask`; default: its default")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    result = measure(arguments.model, arguments.runs)
    print(json.dumps(result) if arguments.json else table(result))
