"""Builds lacli's C library where there is a compiler, and copies models.toml into the wheel as lacli/models.toml.

Everything else about the package is in pyproject.toml. The library, `lacli/kernels/_step.so`, is no Python extension:
it is opened with ctypes and needs no header of Python, so one wheel serves every Python of a platform. Without a C
compiler the install succeeds and PyTorch's kernels serve; `lacli models show` says which run.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

SOURCES = Path("lacli/kernels/src")
LIBRARY = Path("lacli/kernels/_step.so")
# A fixed list, nothing of CFLAGS or of how Python was built: the result must round as tested.
FLAGS = ["-std=gnu11", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-fPIC", "-pthread"]


class BuildWithRegistry(build_py):
    """build_py, and models.toml beside the package's modules."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_file("models.toml", str(Path(self.build_lib) / "lacli" / "models.toml"))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        copied = [] if self.editable_mode else [str(Path(self.build_lib) / "lacli" / "models.toml")]
        return super().get_outputs(include_bytecode) + copied


class BuildLibrary(build_ext):
    """Compiles the C files into one shared library; a failure is one line and no library."""

    def run(self) -> None:
        target = Path(self.build_lib) / LIBRARY
        try:
            _build(target, Path(self.build_temp), bool(self.force))
        except _NotBuilt as error:
            target.unlink(missing_ok=True)
            print(f"lacli: the C kernels are not built, PyTorch's will run instead: {error}", file=sys.stderr)
        if self.inplace:
            self.copy_extensions_to_source()

    def get_ext_filename(self, fullname: str) -> str:
        return str(LIBRARY)

    def copy_extensions_to_source(self) -> None:
        built = Path(self.build_lib) / LIBRARY
        if built.exists():
            # Never written in place: a running lacli has the old file mapped.
            beside = LIBRARY.with_name(f".{LIBRARY.name}.{os.getpid()}")
            shutil.copyfile(built, beside)
            os.replace(beside, LIBRARY)


class WheelOfAnyPython(bdist_wheel):
    """Tagged by platform only, or for every platform where there is no library."""

    def get_tag(self) -> tuple[str, str, str]:
        built = Path(self.get_finalized_command("build_ext").build_lib) / LIBRARY
        return ("py3", "none", super().get_tag()[2] if built.exists() else "any")


class _NotBuilt(Exception):
    """Why there is no library, in a few words."""


def _build(target: Path, work: Path, force: bool) -> None:
    """Compile what is older than its source, any header or this file, and link."""
    sources = sorted(SOURCES.glob("*.c"))
    if not sources:
        raise _NotBuilt(f"{SOURCES} has no sources")
    if os.name == "nt":
        raise _NotBuilt("they need a POSIX system")
    compiler = _compiler()
    common = max(path.stat().st_mtime for path in [*SOURCES.glob("*.h"), Path(__file__)])
    objects = [work / f"{source.stem}.o" for source in sources]
    stale = [
        (source, made)
        for source, made in zip(sources, objects, strict=True)
        if force or not made.exists() or made.stat().st_mtime < max(common, source.stat().st_mtime)
    ]
    work.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda pair: _make([*compiler, *FLAGS, "-c", str(pair[0])], pair[1]), stale))
    if stale or not target.exists() or target.stat().st_mtime < max(made.stat().st_mtime for made in objects):
        _make([*compiler, "-shared", "-pthread", *map(str, objects), "-lm"], target)


def _compiler() -> list[str]:
    """The compiler of CC, or the system's own; ARCHFLAGS is how macOS asks for universal binaries."""
    named = shlex.split(os.environ.get("CC", ""))
    found = named or [name for name in ("cc", "gcc", "clang") if shutil.which(name)][:1]
    if not found or not shutil.which(found[0]):
        raise _NotBuilt(f"there is no C compiler{f' {found[0]}' if found else ''}")
    return [*found, *shlex.split(os.environ.get("ARCHFLAGS", ""))]


def _make(command: list[str], output: Path) -> None:
    """Run the compiler; `output` appears whole or not at all."""
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        done = subprocess.run([*command, "-o", str(beside)], capture_output=True, text=True)
    except OSError as error:
        raise _NotBuilt(f"{command[0]} does not run ({error.strerror})") from error
    if done.returncode:
        beside.unlink(missing_ok=True)
        lines = done.stderr.splitlines() or [f"exit code {done.returncode}"]
        raise _NotBuilt(f"{command[0]} failed: {next((line for line in lines if 'error' in line), lines[-1])}")
    os.replace(beside, output)


setup(
    cmdclass={"build_py": BuildWithRegistry, "build_ext": BuildLibrary, "bdist_wheel": WheelOfAnyPython},
    ext_modules=[
        Extension(
            "lacli.kernels._step",
            sources=sorted(map(str, SOURCES.glob("*.c"))),
            depends=sorted(map(str, SOURCES.glob("*.h"))),
            optional=True,
        )
    ],
)
