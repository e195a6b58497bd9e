"""`lacli acp` and `lacli lsp` as a real process, whose engine is a worker of `tests.worker.worker_child` or of ours.

python -c "from tests.server import door; door.main(...)" WORKER COMMAND [OPTION…]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.worker import server as worker

ROOT = Path(__file__).resolve().parents[2]


def command(kind: str, *arguments: str) -> list[str]:
    """What starts a door. `kind` names a worker of `worker_child`, or is a JSON list of what the engine answers."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.server import door; "
    return [sys.executable, "-P", "-c", f"{start}sys.exit(door.main(*sys.argv[1:]))", kind, *arguments]


def main(kind: str, *arguments: str) -> int:
    from lacli.cli.main import main as lacli
    from lacli.server.stdio import engine
    from lacli.worker.client import WorkerAssistant
    from tests.worker import worker_child

    def child(settings: Settings) -> WorkerAssistant:
        if kind.startswith("["):
            start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.server import door; "
            return WorkerAssistant(settings, [sys.executable, "-P", "-c", f"{start}door.scripted(sys.argv[1])", kind])
        return WorkerAssistant(settings, worker_child.command(kind))

    engine.new_replier = child  # type: ignore[assignment]
    return lacli(list(arguments))


def scripted(answers: str) -> None:
    """The worker's process: it gives these answers, one after the other."""
    worker.run(lambda settings: ScriptedAssistant(json.loads(answers)))
