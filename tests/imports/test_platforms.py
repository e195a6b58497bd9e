"""No call that only POSIX has without something in its place: the program and its tests where those are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

IMPORTS = """
import importlib, pkgutil, sys, warnings
warnings.simplefilter("ignore")
import torch, numpy, typer, huggingface_hub, tokenizers, transformers, prompt_toolkit
import tests.imports.missing
failed = []
import lacli
for found in pkgutil.walk_packages(lacli.__path__, "lacli."):
    if not found.name.endswith(("__main__", "._step")):
        try:
            importlib.import_module(found.name)
        except Exception as error:
            if getattr(error, "name", "") == "triton":  # Linux alone has it
                continue
            failed.append(f"{found.name}: {type(error).__name__}: {error}")
sys.exit("\\n".join(failed) or 0)
"""

UNIT_TESTS = (
    *("cli/test_ask.py", "cli/test_output.py", "cli/test_diagnostics.py", "cli/test_terminal.py"),
    *("cli/test_markdown.py", "cli/test_streams.py", "pool/test_pool_store.py", "edits/test_writing.py"),
    *("sessions/test_store.py", "chat/test_conversation.py", "configuration/test_document.py", "test_paths.py"),
)
"""A part of each floor that touches the system; quick ones."""
NEEDS_LOCKS = "tests/edits/test_writing.py::TestWriting::test_of_two_edits_at_once_one_is_refused"
"""Windows has locks of its own in place of fcntl's; here there are none."""


def without(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.skipif(os.name != "posix", reason="they are missing anyway")
class TestWithoutPosix:
    @pytest.mark.slow
    def test_every_module_can_be_imported(self) -> None:
        done = without("-c", IMPORTS)
        assert done.returncode == 0, done.stderr[-3000:]

    @pytest.mark.slow
    def test_the_unit_tests_pass(self) -> None:
        tests = [f"tests/{name}" for name in UNIT_TESTS]
        options = [
            "-p",
            "tests.imports.missing",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore::UserWarning",
            "--deselect",
            NEEDS_LOCKS,
        ]
        done = without(
            "-m", "pytest", "-q", "-x", "-m", "not model and not slow", *options, "--deselect", NEEDS_LOCKS, *tests
        )
        assert done.returncode == 0, done.stdout[-3000:]
