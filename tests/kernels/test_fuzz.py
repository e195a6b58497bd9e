"""The C library under AddressSanitizer and UBSan: thousands of drawn cases of `fuzz.c`, compared with plain references.

LACLI_FUZZ_CASES sets how many (a new part of the library: 20000); by hand: build as here, then `fuzz 100000 1000000`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lacli

_HERE = Path(__file__).parent
_SOURCES = Path(lacli.__file__).parent / "kernels" / "src"
_FLAGS = [
    *("-std=gnu11", "-g1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-pthread"),
    *("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
]
_CASES = int(os.environ.get("LACLI_FUZZ_CASES", "600"))


def _compiler() -> list[str]:
    """The C compiler to test with; skips where there is none, but never in CI."""
    command = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(command[0]):
        return command
    if os.environ.get("CI"):
        pytest.fail(f"CI has no C compiler: {command[0]} is not found")
    pytest.skip(f"no C compiler: {command[0]} is not found")


@pytest.fixture(scope="module")
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library's sources and the driver's, compiled with sanitizers into one program, kept until they change."""
    if sys.platform == "win32":
        pytest.skip("the library is not built on Windows")
    compiler, folder = _compiler(), tmp_path_factory.mktemp("fuzz")
    version = _run([*compiler, "--version"])
    clang = "clang" in version
    sources = [*_SOURCES.glob("*.c"), *_HERE.glob("fuzz*.c")]
    kept = request.config.cache.mkdir("fuzz") / _digest(version, *compiler, *_FLAGS)
    if kept.exists():
        return kept
    sources.sort(key=lambda path: "avx" not in path.name)  # the slow ones first
    program = folder / "fuzz"

    def compile_one(source: Path) -> Path:
        output = folder / f"{source.stem}.o"
        # The unrolled loops take long to optimise with all of UBSan's checks in them, clang minutes, and run little
        # slower without it; the references are what takes time.
        level = "-O0" if clang or "avx" in source.name else "-O1"
        _run([*compiler, level, *_FLAGS, f"-I{_SOURCES}", "-c", str(source), "-o", str(output)])
        return output

    with ThreadPoolExecutor(2) as pool:
        objects = [str(output) for output in pool.map(compile_one, sources)]
    _run([*compiler, *_FLAGS, *objects, "-o", str(program), "-lm"])
    for old in kept.parent.iterdir():
        old.unlink()
    shutil.copy2(program, beside := kept.with_suffix(".new"))
    return beside.replace(kept)


def _digest(*how: str) -> str:
    """Of all that the program is made of."""
    made = hashlib.sha256("\0".join(how).encode())
    for path in sorted([*_SOURCES.glob("*.[ch]"), *_HERE.glob("fuzz*.[ch]")]):
        made.update(path.name.encode() + b"\0" + path.read_bytes())
    return made.hexdigest()


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_drawn_cases_give_the_bits_of_the_reference_and_touch_nothing_else(driver: Path) -> None:
    """In every set of this processor: one that went missing, by a slip in the dispatch, would leave less to compare."""
    cases, sets = _run([str(driver), "1", str(_CASES)]).split(":")
    assert cases == f"{_CASES} cases from seed 1"
    expected = _expected_sets()
    assert expected is None or sets.split() == ["portable", *expected]


def _expected_sets() -> list[str] | None:
    """None where the system does not tell what its processor can do."""
    machine = platform.machine().lower()
    if machine in ("arm64", "aarch64"):
        flags = _flags("Features")
        return ["neon-dot"] if flags is None or "asimddp" in flags else []
    if machine not in ("x86_64", "amd64"):
        return []
    flags = _flags("flags")
    if flags is None:
        return None
    avx2 = {"avx2", "fma", "f16c", "bmi1", "bmi2"} <= flags
    avx512 = avx2 and {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"} <= flags
    return ["avx2"] * avx2 + ["avx512-vnni"] * avx512


def _flags(field: str) -> set[str] | None:
    """What /proc/cpuinfo says the processor can do; None on a system that has none."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return None
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(field)]
    return set(lines[0].split(":")[1].split()) if lines else None
