"""The default model completes twenty files in the middle of a function, in one run of the program: all keep to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT
from tests.text.judge import faults
from tests.text.places import SOURCES, cuts


@pytest.mark.slow
def test_no_completion_repeats_the_suffix_or_runs_past_its_block(sandbox_with_model: Path, tmp_path: Path) -> None:
    asked = [next(cuts(path, 35)) for path in SOURCES]
    for cut in asked:
        (tmp_path / cut.name).write_text(cut.prefix + cut.suffix, encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "lacli", "complete", "--json", "-n", "48", "--prefix-lines", "20"),
            *("--suffix-lines", "8", *(f"{cut.name}:{cut.line}:{cut.column}" for cut in asked)),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    records = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(records) == len(asked)
    found = [
        (record["file"], cut.line, fault, record["text"])
        for cut, record in zip(asked, records, strict=True)
        for fault in faults(cut.prefix, record["text"], cut.suffix, cut.language)
    ]
    assert not found
    assert sum(bool(record["text"].strip()) for record in records) > len(asked) / 2
