"""The real engine with the default model as a process: text, pool and an end that is not one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lacli import paths
from lacli.config import Settings
from lacli.errors import LacliError, PromptTooLong, WorkerDied
from lacli.events import Attachment, Event, Finished, Loading, Message, Piece, Request
from lacli.pool.inventory import PoolInfo, project_info
from lacli.pool.projects import locate
from lacli.worker.client import WorkerAssistant


@pytest.fixture
def engine(sandbox_with_model: Path, tmp_path: Path) -> Iterator[WorkerAssistant]:
    made = WorkerAssistant(Settings(folder=tmp_path, threads=1, offline=True))
    yield made
    made.close()


def ask(text: str, **options: object) -> Request:
    return Request((Message("user", text),), **{"max_tokens": 24, **options})  # type: ignore[arg-type]


def pool_of(project: Path) -> PoolInfo:
    (pool,) = project_info(locate(paths.pools_dir(), project)).pools
    return pool


def text_of(events: list[Event]) -> str:
    return "".join(each.text for each in events if isinstance(each, Piece))


def test_a_process_that_is_killed_loses_its_reply_and_nothing_else(engine: WorkerAssistant, tmp_path: Path) -> None:
    loading: list[Event] = []
    engine.open(loading.append)
    assert Loading("load") in loading
    whole = list(engine.reply(ask("Write a haiku.")))
    assert isinstance(whole[-1], Finished)
    assert whole[-1].text == text_of(whole)
    assert pool_of(tmp_path).segments == 1

    long = Message("user", "?", attachments=(Attachment("a", "word " * 50_000),))
    with pytest.raises(PromptTooLong):
        list(engine.reply(Request((long,))))

    stopped: list[Event] = []
    stopped.extend(engine.reply(ask("Count to 90.", max_tokens=400), lambda: len(stopped) > 6))
    assert isinstance(stopped[-1], Finished)
    assert stopped[-1].reason == "cancelled"
    assert stopped[-1].text == text_of(stopped)
    assert pool_of(tmp_path).segments == 2

    events = engine.reply(ask("Tell me a story.", max_tokens=400))
    so_far = [next(events) for _ in range(6)]
    assert text_of(so_far)
    psutil.Process(engine.pid).kill()
    with pytest.raises(WorkerDied):
        list(events)
    pool = pool_of(tmp_path)
    assert (pool.segments, pool.damage, pool.table_damage) == (2, "", "")

    again = list(engine.reply(ask("Write a haiku.")))
    assert text_of(again) == text_of(whole)
    assert isinstance(again[0], Loading)

    events = engine.reply(ask("Tell me a story.", max_tokens=400))
    for _ in range(6):
        next(events)
    engine.close()
    *_, finished = events
    assert isinstance(finished, Finished)
    assert finished.reason == "cancelled"
    pool = pool_of(tmp_path)
    assert (pool.segments, pool.damage, pool.table_damage) == (3, "", "")


def test_a_model_that_is_not_there_is_the_error_that_it_is(sandbox: Path, tmp_path: Path) -> None:
    engine = WorkerAssistant(Settings(model="no-such-model", folder=tmp_path, offline=True))
    with pytest.raises(LacliError, match="no-such-model") as caught:
        engine.open()
    assert caught.value.exit_code in (2, 3)
    engine.close()


def test_what_lies_in_the_folder_of_the_user_is_not_imported(
    sandbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "typing", "lacli", "torch", "queue", "signal"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    engine = WorkerAssistant(Settings(model="no-such-model", offline=True))
    with pytest.raises(LacliError, match="no-such-model"):
        engine.open()
    engine.close()
