"""What the UI's process must never import: PyTorch works in a child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import asyncio, sys
import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli_tui.app import LacliApp
from lacli_tui.start import Start

async def talk():
    app = LacliApp(Start(replier=ScriptedAssistant(["```python\\nx = 1\\n```\\n"])))
    async with app.run_test() as pilot:
        await pilot.press("h", "i", "enter")
        while not app.main.chat.conversation.turns:
            await pilot.pause(0.01)
        for key in ("f1", "escape", "ctrl+p", "escape", "ctrl+t", "escape", "ctrl+r", "escape"):
            await pilot.press(key)
            await pilot.pause(0.1)
    app.main.engine.close()

asyncio.run(talk())
import lacli.worker.client
print(",".join(sorted(sys.modules)))
"""


@pytest.mark.slow
def test_neither_talking_nor_any_picker_imports_pytorch(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.strip().split(","))
    assert not loaded & {"torch", "transformers", "tokenizers", "bitsandbytes", "prompt_toolkit", "typer"}
