"""`python -m lacli.bench.edits`: forty edits of real files by `lacli edit`, and by asking for the whole file.

Greedy, each task cold, both ways in turn. Prints a line a task and a table. With --out, what is done is kept as it is
done, and a run that was cut off goes on from there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lacli.bench.edits.report import lines
from lacli.bench.edits.run import Run, runs
from lacli.bench.edits.tasks import Task, tasks
from lacli.bench.edits.ways import WAYS
from lacli.bench.machine import machine, machine_line
from lacli.config import Settings
from lacli.errors import LacliError, UsageError
from lacli.storage import atomic


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.edits", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-m", "--model", help="as for lacli; the default model where it is left away")
    parser.add_argument("--only", help="numbers of tasks, with commas")
    parser.add_argument("--ways", default=",".join(WAYS), help="of %(default)s")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="keep the results here, and go on from there")
    options = parser.parse_args(arguments)
    try:
        taken, ways = _taken(options.only), _ways(options.ways)
        document = _begun(options.out, options.model)
        if options.out is not None:
            _keep(options.out, document)  # a place that cannot be written is found out before the work
        _measure(taken, ways, document, options)
    except LacliError as error:
        print(f"{error}: {error.hint}" if error.hint else error, file=sys.stderr)
        return error.exit_code
    found = [Run.of(record) for record in document["runs"]]
    print("\n".join(["", machine_line(document["machine"]), f"model {document['model']}", "", *lines(found)]))
    return 0


def _measure(taken: Sequence[Task], ways: Sequence[str], document: dict[str, Any], options: argparse.Namespace) -> None:
    from lacli.assistant.assistant import Assistant

    done = {(record["task"], record["way"]) for record in document["runs"]}

    def assistant(folder: Path) -> Assistant:
        return Assistant(Settings(model=options.model, pool=False, offline=True, folder=folder))

    for run in runs(taken, ways, done, assistant):
        print(run.line(), flush=True)
        document["runs"].append(run.record())
        if options.out is not None:
            _keep(options.out, document)


def _keep(file: Path, document: dict[str, Any]) -> None:
    try:
        atomic.replace(str(file), (json.dumps(document, indent=1) + "\n").encode(), 0o644)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}", "give another file to --out") from None


def _begun(file: Path | None, model: str | None) -> dict[str, Any]:
    """What the file of results has so far. Raises UsageError where it is of another model, or no such file."""
    from lacli.models.registry.registry import load_registry

    name = load_registry().resolve(model).alias
    if file is None or not file.exists():
        return {"suite": "edits", "model": name, "machine": machine(), "runs": []}
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        known = document["suite"] == "edits" and isinstance(document["runs"], list)
    except (OSError, ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise UsageError(f"{file} holds no results of this suite", "give another file to --out")
    if document["model"] != name:
        raise UsageError(f"{file} is of the model {document['model']}, not {name}", "give another file to --out")
    return document


def _taken(only: str | None) -> list[Task]:
    if only is None:
        return list(tasks())
    wanted = [word.strip() for word in only.split(",")]
    known = {str(task.number): task for task in tasks()}
    unknown = next((word for word in wanted if word not in known), None)
    if unknown is not None:
        raise UsageError(f"there is no task {unknown!r}", f"give numbers from 1 to {len(known)}")
    return [known[word] for word in wanted]


def _ways(text: str) -> list[str]:
    wanted = [word.strip() for word in text.split(",")]
    unknown = next((word for word in wanted if word not in WAYS), None)
    if unknown is not None:
        raise UsageError(f"there is no way {unknown!r}", f"choose of {', '.join(WAYS)}")
    return list(dict.fromkeys(wanted))


if __name__ == "__main__":
    sys.exit(main())
