"""How smooth the terminal UI is: a long answer of code at a given pace, on a pseudo-terminal, and keys meanwhile.

Not a test, as its results are times: `python -m tests.tui.smoothness [LINES] [TOKENS A SECOND]` prints the CPU time the
UI's process took, as a share of one core, and how long key presses took to be on the screen.
"""

from __future__ import annotations

import os
import re
import select
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROWS, COLUMNS = 40, 120
_KEYS = [chr(0x2460 + number) for number in range(80)]  # signs that nothing else shows
_EVERY_S = 0.15


def main() -> None:
    """Run it and print what was measured."""
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    pace = float(sys.argv[2]) if len(sys.argv) > 2 else 500.0
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        waits = _watched(lines, pace, report, folder)
        seconds, cpu, first, whole = report.read_text().split()
    waits.sort()
    print(f"{lines} lines at {pace:.0f} tok/s: {float(cpu) / float(seconds):.0%} of a core over {float(seconds):.1f} s")
    print(f"first paint {float(first):.2f} s after the start; text complete: {whole}")
    if waits:
        middle, most = waits[len(waits) // 2], waits[-1]
        print(f"{len(waits)} keys shown after {1000 * middle:.0f} ms in the middle, {1000 * most:.0f} ms at most")


def answer(lines: int) -> str:
    """So many lines of Python in a block."""
    body = []
    for number in range(lines // 4):
        body.append(f"def step_{number}(values: list[int], limit: int = {number}) -> int:")
        body.append(f'    """Add what is below {number}."""')
        body.append(f"    return sum(each for each in values if each < limit)  # {number}")
        body.append("")
    return "Here it is:\n\n```python\n" + "\n".join(body) + "\n```\n\nThat is all.\n"


def run_ui(lines: int, pace: float, report: str) -> None:
    """The UI with an assistant that writes at this pace."""
    began = time.monotonic()
    from lacli.assistant.scripted import ScriptedAssistant

    text = answer(lines)
    told: list[Any] = []

    class Paced(ScriptedAssistant):
        def reply(self, request: Any, cancel: Any = lambda: False) -> Iterator[Any]:
            events = list(super().reply(request, cancel))
            start, used = time.monotonic(), time.process_time()
            for index, event in enumerate(events):
                wait = start + 2 * index / pace - time.monotonic()  # two tokens a step
                if wait > 0:
                    time.sleep(wait)
                yield event
            told.extend((time.monotonic() - start, time.process_time() - used))

    from lacli_tui.app import LacliApp
    from lacli_tui.start import Start

    class Measured(LacliApp):
        def on_ready(self) -> None:
            super().on_ready()
            self.first = time.monotonic() - began
            self.main.prompts.last_sent = ""
            self.set_timer(0.5, lambda: self.main.prompt.put("go"))
            self.set_timer(0.6, self.main.prompt.action_send)
            self.set_interval(0.2, self.look)

        def look(self) -> None:
            turns = self.main.chat.conversation.turns
            if turns and self.main.is_idle:
                shown = self.main.transcript.last_answer
                whole = turns[0].answer.text == text and shown is not None and shown.source == text
                Path(report).write_text(f"{told[0]} {told[1]} {self.first} {whole}")
                self.exit()

    app = Measured(Start(replier=Paced([text]), keep=False))
    app.run()
    app.main.engine.close()


def _watched(lines: int, pace: float, report: Path, home: str) -> list[float]:
    """Run it in a child on a pseudo-terminal, press keys, and return how long each took."""
    import fcntl
    import pty
    import struct
    import termios

    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LACLI_HOME=home)
        call = f"from tests.tui.smoothness import run_ui; run_ui({lines}, {pace}, {str(report)!r})"
        os.execv(sys.executable, [sys.executable, "-c", call])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    keys = iter(_KEYS)
    pressed: dict[str, float] = {}
    waits: list[float] = []
    seen = ""
    next_key = float("inf")
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.01)
        if ready:
            try:
                seen = seen[-200:] + os.read(terminal, 1 << 16).decode("utf-8", "replace")
            except OSError:
                break
            now = time.monotonic()
            if next_key == float("inf") and re.search(r"def step_1\b", seen):
                next_key = now
            for key in [key for key in pressed if key in seen]:
                waits.append(now - pressed.pop(key))
        if time.monotonic() >= next_key and not pressed and (key := next(keys, "")):
            next_key = time.monotonic() + _EVERY_S
            pressed[key] = time.monotonic()
            os.write(terminal, key.encode())
    os.waitpid(pid, 0)
    return waits


if __name__ == "__main__":
    main()
