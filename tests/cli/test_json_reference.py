"""docs/json.md names the keys that commands write, all of them and no others, section by section."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.cli.spec import command as spec
from lacli.errors import LacliError
from lacli.events import Counts, Finished, Loading, Notice, Prefill, ReplyStats
from lacli.sessions.store import SessionStore, path
from lacli.shared.wording import counts_record, stats_record
from tests.documented import keys_of, sections
from tests.golden import world as at
from tests.golden.cases import REWRITTEN
from tests.golden.world import World
from tests.sessions.turns import turn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs the paths of POSIX")
TITLES = sections()
BOUNDED = [
    replace(event, stats=replace(event.stats, ahead_n=5, shown_n=2, window_n=9))
    if isinstance(event, Finished)
    else event
    for event in ScriptedAssistant(()).reply_events("x")
]
THOUGHTFUL = ScriptedAssistant(()).reply_events("yes", "or no?")


class Run(NamedTuple):
    """A command, and what it is run with."""

    line: str
    setup: Callable[[World], None] = lambda world: None
    scripts: Sequence[Any] = ("hello",)
    stdin: bytes | None = None
    opening: Sequence[Any] = ()
    stream: str = "stdout"


def model(world: World) -> None:
    """One in a file."""
    from tests.models.tiny_models import write_gguf

    write_gguf(world.site / "x.gguf")


def pool(world: World) -> None:
    """What was learned here, with an index of files."""
    index = {"path": "i", "files": 1, "tokens": 2, "bytes": 3}
    at.pool(world)
    world.patch.setattr("lacli.cli.pool.command._of_files", lambda pool: [index])


def damaged(world: World) -> None:
    """The same after a file was damaged, and exported before."""
    at.pool(world)
    world.run(["pool", "export", "p.lacli"], (), (), None, tty=False)
    (path,) = (world.folder / "home").rglob("pool.lacli")
    path.write_bytes(path.read_bytes()[:-9] + b"!" * 9)


def index(world: World) -> None:
    """One that is being made."""
    from lacli.project.build import BuildReport

    report = BuildReport(3, {"of secrets": 1}, 99, 0.5, 1000, Path("index"))
    world.patch.setattr("lacli.cli.pool.build._tokenizer", lambda model: None)
    world.patch.setattr("lacli.project.build.build", lambda *arguments: report)


def thoughtful(world: World) -> None:
    """The log with one more turn, of a model that thinks."""
    store = SessionStore(path())
    store.append(store.session("a1").id, replace(turn(), thought="or no?"))


RUNS = {
    "lacli ask --json, lacli chat --json": (
        Run("ask --json hi"),
        Run("chat --json hi"),
        Run("ask -x --json hi", scripts=("```sh\nls\n```",)),
        Run("ask --json hi", scripts=(THOUGHTFUL,)),
    ),
    "lacli ask --jsonl": (
        Run("ask --jsonl hi", opening=(Loading("load"), Prefill(1, 2, 0), Notice("a note"))),
        Run("ask --jsonl hi", scripts=(THOUGHTFUL,)),
    ),
    "lacli ask --batch": (
        Run("ask --batch -", stdin=b'"one"\n{"prompt": "two", "id": 7}\n', scripts=("1", LacliError("no", "so"))),
        Run("ask --batch -", stdin=b'"one"\n', scripts=(THOUGHTFUL,)),
    ),
    "lacli ask --batch --stats": (Run("ask --batch - --stats", stdin=b'"one"\n', stream="stderr"),),
    "--dry-run --json": (
        Run("ask --dry-run --json hi"),
        Run("edit a.py x --dry-run --json", at.files),
        Run("complete a.py --dry-run --json", at.files),
    ),
    "lacli complete --json": (
        Run("complete a.py --json --diff", at.files),
        Run("complete a.py --json --full", at.files, (BOUNDED,)),
        Run("complete a.py --json --in-place", at.files),
        Run("complete a.py --json --alternatives 2", at.files, ("x", "y")),
    ),
    "lacli edit --json": (
        Run("edit a.py x --json", at.files, (REWRITTEN,)),
        Run("edit a.py x --json", at.files, (ScriptedAssistant(()).reply_events(REWRITTEN, "hm"),)),
    ),
    "lacli models list --json, lacli models show --json": (
        Run("models list --json"),
        Run("models show ./x.gguf --json", model),
    ),
    "lacli models fit --json": (Run("models fit smollm2-135m --json", at.computer),),
    "lacli pool info --json, lacli pool list --json": (Run("pool info --json", pool), Run("pool list --json")),
    "lacli pool verify --json": (Run("pool verify --json", damaged),),
    "lacli pool build --json": (Run("pool build --json", index),),
    "lacli pool prune --json": (Run("pool prune --json", at.pool),),
    "lacli pool import --json": (Run("pool import p.lacli --json", damaged),),
    "lacli sessions list --json, lacli sessions search --json": (
        Run("sessions list --json", at.log),
        Run("sessions search os.replace --json"),
    ),
    "lacli sessions show --json, lacli sessions export --json": (
        Run("sessions show a1 --json", at.log),
        Run("sessions export a1 --json"),
        Run("sessions show a1 --json", thoughtful),
    ),
    "lacli logs status --json": (Run("logs status --json", at.log),),
    "lacli stats --json": (Run("stats --json", at.log),),
    "lacli templates list --json": (Run("templates list --json", at.templates),),
    "lacli templates show --json": (Run("templates show review --json", at.templates),),
    "lacli config path --json": (Run("config path --json"),),
    "lacli config show --json, lacli config get --json": (Run("config show --json"), Run("config get top-p --json")),
    "lacli serve --status --json": (
        Run("serve --status --json"),
        Run("serve --status --json", at.engine),
    ),
    "lacli doctor --json": (Run("doctor --json", at.computer),),
    "lacli bench --exact --json": (Run("bench --exact --json", at.measured),),
    "lacli spec": (Run("spec"),),
}
ELSEWHERE = {"Counts", "Statistics", "lacli bench --json", "lacli bench --suite sessions --json"}
"""What tests of their own look at."""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with at.world(monkeypatch) as made:
        yield made


def values(here: World, run: Run) -> Iterator[Any]:
    """The objects that the run writes; of a list those in it."""
    run.setup(here)
    done = here.run(shlex.split(run.line), run.scripts, run.opening, run.stdin, tty=False)
    text = done.streams[run.stream].decode()
    assert text, done
    while text:
        value, end = json.JSONDecoder().raw_decode(text)
        yield from value if isinstance(value, list) else [value]
        text = text[end:].lstrip()


@pytest.mark.parametrize("title", RUNS)
def test_a_section_has_the_keys_that_are_written(title: str, here: World) -> None:
    found = set().union(*(keys_of(value, TITLES[title]) for run in RUNS[title] for value in values(here, run)))
    assert found == TITLES[title]


def test_counts_and_statistics_have_all_of_them() -> None:
    one = {"files": 1}
    assert (
        keys_of(counts_record(Counts(drafted_by_source=one, accepted_by_source=one)), TITLES["Counts"])
        == (TITLES["Counts"])
    )
    assert keys_of(stats_record(ReplyStats()), TITLES["Statistics"]) == TITLES["Statistics"]


def test_every_section_is_looked_at_and_every_command_with_json_has_one() -> None:
    assert set(TITLES) == {*RUNS, *ELSEWHERE}
    said = ", ".join(TITLES)
    for command in spec.described()["commands"]:
        if any("--json" in option["flags"] for option in command["options"]) and command["name"] != "config validate":
            flags = "--status --json" if command["name"] == "serve" else "--json"
            assert f"lacli {command['name']} {flags}" in said
