"""`python -m lacli.bench.workday`: an hour of work in a project of twelve files, and how much of it was read twice.

Sixty completions, ten questions and five edits, each a process of its own as a user starts it, with files changing
between them. What counts is the share of prompt tokens that were not computed; times are medians, over processes. With
--engine the processes attach to one of `lacli serve`, which reads ahead in the pauses: then there are two shares, of
what was not computed while somebody waited, and of what was not computed at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from lacli.bench.machine import machine, machine_line
from lacli.bench.workday.run import figures, records, table, work
from lacli.errors import LacliError


def main(arguments: Sequence[str] | None = None) -> int:
    """Work and print; 1 where a process failed."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.workday")
    parser.add_argument("-m", "--model", help="the default one is taken otherwise")
    parser.add_argument("--engine", action="store_true", help="let an engine answer, and read ahead in the pauses")
    parser.add_argument("--pause", type=float, default=10.0, help="its longest pause between two steps, in seconds")
    parser.add_argument("--limit", type=int, help="only so many steps")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(arguments)
    try:
        pause_s = given.pause if given.engine else None
        hour = work(given.model, given.limit, lambda text: print(text, file=sys.stderr), pause_s)
    except LacliError as error:
        print(f"{error.message}; {error.hint}" if error.hint else error.message, file=sys.stderr)
        return 1
    if given.json:
        document = {"machine": machine(), "model": given.model, "engine": given.engine, "store_bytes": hour.store_bytes}
        print(json.dumps(document | {"figures": figures(hour), "runs": records(hour)}))
        return 0
    print(machine_line(machine()))
    for line in table(hour):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
