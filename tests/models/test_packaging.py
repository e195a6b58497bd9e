"""models.toml: at the top of the repository in an editable install, inside the package in a wheel."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIST = "import sys; from lacli.cli.app import main; sys.exit(main(['models', 'show', 'smollm2-135m']))"


def listed(code_folder: Path, cwd: Path) -> str:
    """What `models show` says of its registry, with lacli imported from `code_folder` and nowhere else."""
    done = subprocess.run(
        [sys.executable, "-c", LIST], cwd=cwd, capture_output=True, text=True, env=environment(code_folder), check=True
    )
    return next(line for line in done.stdout.splitlines() if line.startswith("registry")).split()[-1]


def environment(code_folder: Path) -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(code_folder)}


@pytest.mark.skipif(
    not importlib.util.find_spec("setuptools") or not importlib.util.find_spec("pip"), reason="needs setuptools and pip"
)
def test_a_wheel_holds_the_registry_and_reads_it_from_any_folder(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
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
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.exists():
            shutil.copyfile(path, source / name)
        else:
            (source / name).touch()
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "-w", str(tmp_path), str(source)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("lacli-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("lacli/models.toml") == (ROOT / "models.toml").read_bytes()
        assert "lacli/bench/suites/code.toml" in archive.namelist()
        assert not [name for name in archive.namelist() if name.startswith("tests")]
        archive.extractall(tmp_path / "installed")
    assert listed(tmp_path / "installed", tmp_path) == str(tmp_path / "installed" / "lacli" / "models.toml")


def test_an_editable_layout_reads_the_top_of_the_repository_from_any_folder(tmp_path: Path) -> None:
    assert listed(ROOT, tmp_path) == str(ROOT / "models.toml")
