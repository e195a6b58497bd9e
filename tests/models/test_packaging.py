"""What a wheel and an sdist hold: the registry, the C library where there is a compiler, its sources.

models.toml is at the top of the repository in an editable install, inside the package in a wheel.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIST = "import sys; from lacli.cli.main import main; sys.exit(main(['models', 'show', 'smollm2-135m']))"
ASK = "from lacli.kernels.library import library, why_not; print(library() and library().isa, '|', why_not())"
SOURCES = "lacli/kernels/src"

builds = pytest.mark.skipif(
    not importlib.util.find_spec("setuptools") or not importlib.util.find_spec("pip"), reason="needs setuptools and pip"
)


def run(code: str, code_folder: Path, cwd: Path) -> str:
    """What `code` prints, with lacli imported from `code_folder` and nowhere else."""
    environment = {**os.environ, "PYTHONPATH": str(code_folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout


def listed(code_folder: Path, cwd: Path) -> str:
    """What `models show` says of its registry."""
    return next(line for line in run(LIST, code_folder, cwd).splitlines() if line.startswith("registry")).split()[-1]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of what a build needs, without what was built here."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in (
        "lacli",
        "lacli_tui",
        "models.toml",
        "pyproject.toml",
        "setup.py",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
    ):
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        elif path.exists():
            shutil.copyfile(path, folder / name)
        else:
            (folder / name).touch()
    return folder


def compiler(path: Path, text: str) -> str:
    """A compiler for CC that is a shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def wheel_of(source: Path, folder: Path, cc: str) -> tuple[Path, str]:
    """The wheel that pip makes without a network, and what it said."""
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*command, "-w", str(folder), str(source)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "CC": cc},
    )
    (wheel,) = folder.glob("lacli-*.whl")
    return wheel, done.stdout + done.stderr


@builds
@pytest.mark.slow
class TestWheel:
    @pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
    def test_with_a_compiler_it_is_of_this_platform_and_any_python(self, source: Path, tmp_path: Path) -> None:
        quick = compiler(tmp_path / "quick-cc", 'exec cc "$@" -O0')
        wheel, _ = wheel_of(source, tmp_path, quick)
        assert "-py3-none-" in wheel.name
        assert not wheel.name.endswith("-any.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            assert "lacli/kernels/_step.so" in names
            assert not [name for name in names if name.startswith(SOURCES)]
            archive.extractall(tmp_path / "installed")
        isa, _, why = run(ASK, tmp_path / "installed", tmp_path).partition(" | ")
        assert isa != "None"
        assert why.strip() == ""

    @pytest.mark.parametrize(
        ("cc", "said"),
        [("/nonexistent/cc", "there is no C compiler /nonexistent/cc"), ("false", "false failed: exit code 1")],
    )
    def test_without_one_it_is_for_every_platform_and_says_so(
        self, cc: str, said: str, source: Path, tmp_path: Path
    ) -> None:
        platform = f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
        stale = source / "build" / platform / "lacli" / "kernels" / "_step.so"
        stale.parent.mkdir(parents=True)
        stale.write_bytes(b"of another day")
        wheel, printed = wheel_of(source, tmp_path, cc)
        assert wheel.name.endswith("-py3-none-any.whl")
        (line,) = (line for line in printed.splitlines() if "lacli: the" in line)
        assert said in line
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            assert archive.read("lacli/models.toml") == (ROOT / "models.toml").read_bytes()
            assert "lacli/bench/suites/code.toml" in names
            assert not [name for name in names if name.startswith(("tests", SOURCES)) or name.endswith(".so")]
            archive.extractall(tmp_path / "installed")
        assert listed(tmp_path / "installed", tmp_path) == str(tmp_path / "installed" / "lacli" / "models.toml")
        isa, _, why = run(ASK, tmp_path / "installed", tmp_path).partition(" | ")
        assert isa == "None"
        assert "not built" in why

    def test_the_sdist_holds_every_source_and_header_and_no_library_or_test(self, source: Path, tmp_path: Path) -> None:
        (source / "tests").mkdir()
        for name in ("tests/test_x.py", "lacli/kernels/_step.so"):
            (source / name).touch()
        subprocess.run(
            [sys.executable, "setup.py", "-q", "sdist", "-d", str(tmp_path)],
            cwd=source,
            check=True,
            capture_output=True,
        )
        (archive,) = tmp_path.glob("lacli-*.tar.gz")
        with tarfile.open(archive) as packed:
            names = {name.partition("/")[2] for name in packed.getnames()}
        assert {f"{SOURCES}/{file.name}" for file in (ROOT / SOURCES).iterdir()} <= names
        assert "models.toml" in names
        assert not [name for name in names if name.startswith("tests/") or name.endswith(".so")]


@builds
@pytest.mark.skipif(os.name == "nt", reason="the C kernels need a POSIX system")
def test_only_what_is_older_than_its_sources_is_compiled_again(source: Path, tmp_path: Path) -> None:
    """A compiler that only notes what it is asked for, and makes the file named last."""
    log = tmp_path / "log"
    noting = compiler(tmp_path / "noting-cc", f'echo "$@" >> {log}\nfor last; do :; done\necho "$@" > "$last"')

    def compiled() -> list[str]:
        log.write_text("")
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(command, cwd=source, check=True, capture_output=True, env={**os.environ, "CC": noting})
        lines = [line.split() for line in log.read_text().splitlines()]
        return sorted(line[line.index("-c") + 1] if "-c" in line else "link" for line in lines)

    folder = source / SOURCES
    every = sorted(["link", *(f"{SOURCES}/{file.name}" for file in folder.glob("*.c"))])
    assert compiled() == every
    assert (source / "lacli" / "kernels" / "_step.so").is_file()
    assert compiled() == []
    first = next(iter(sorted(folder.glob("*.c"))))
    os.utime(first, (first.stat().st_atime, first.stat().st_mtime + 1_000_000))
    assert compiled() == sorted(["link", f"{SOURCES}/{first.name}"])
    os.utime(first)
    header = folder / "lacli.h"
    os.utime(header, (header.stat().st_atime, header.stat().st_mtime + 1_000_000))
    assert compiled() == every


def test_an_editable_layout_reads_the_top_of_the_repository_from_any_folder(tmp_path: Path) -> None:
    assert listed(ROOT, tmp_path) == str(ROOT / "models.toml")
