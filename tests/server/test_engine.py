"""The engine with real worker processes without a model: turns, memory, cancels, deaths."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.errors import LacliError, ModelUnavailable, WorkerDied
from lacli.events import Event, Finished, Message, Notice, Piece, Place, Request
from lacli.server.engine import WorkerEngine
from tests.server.running import workers
from tests.worker.worker_child import TEXT, command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")

QUESTION = Request((Message("user", "hi"),))
SMALL, OTHER = (
    Settings(model="smollm2-135m", folder=Path("/a")),
    Settings(model="qwen2.5-coder-1.5b", folder=Path("/b")),
)
ENOUGH_S = 20.0


@asynccontextmanager
async def engine(
    kind: str = "echo", *arguments: str, models: int = 2, keep_alive_s: float = 600.0
) -> AsyncIterator[Any]:
    made = WorkerEngine(models, keep_alive_s, command(kind, *arguments))
    try:
        yield made
    finally:
        await asyncio.wait_for(made.close(), ENOUGH_S)
        assert not workers()


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test in a loop of its own, which may not hang."""
    asyncio.run(asyncio.wait_for(test(), 2 * ENOUGH_S))


async def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + ENOUGH_S
    while not true():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def asking(text: str) -> Request:
    return Request((Message("user", text),))


async def events_of(events: AsyncIterator[Event]) -> list[Event]:
    return [each async for each in events]


async def answer(made: WorkerEngine, text: str, settings: Settings = SMALL, **more: Any) -> dict[str, Any]:
    *_, last = await events_of(made.reply(asking(text), settings, **more))
    assert isinstance(last, Finished)
    return dict(json.loads(last.text))


class TestAReply:
    def test_is_that_of_the_worker(self) -> None:
        async def test() -> None:
            async with engine("quick") as made:
                assert await events_of(made.reply(QUESTION, SMALL)) == list(ScriptedAssistant([TEXT]).reply(QUESTION))

        run(test)

    def test_is_given_for_the_project_and_with_the_permissions_of_its_settings(self) -> None:
        async def test() -> None:
            async with engine() as made:
                first = await answer(made, "one")
                second = await answer(made, "two", replace(SMALL, folder=Path("/c"), learn=False))
                assert first["pid"] == second["pid"]
                assert (first["folder"], first["learn"]) == ("/a", True)
                assert (second["folder"], second["learn"]) == ("/c", False)

        run(test)

    def test_of_the_default_model_comes_from_the_same_worker_as_by_its_name(self) -> None:
        async def test() -> None:
            async with engine() as made:
                named = await answer(made, "one")
                default = await answer(made, "two", Settings(folder=Path("/a")))
                assert named["pid"] == default["pid"]
                assert made.health().models == ("smollm2-135m",)

        run(test)

    def test_of_an_unknown_model_is_refused_without_a_process(self) -> None:
        async def test() -> None:
            async with engine() as made:
                with pytest.raises(ModelUnavailable, match="no-such"):
                    await events_of(made.reply(QUESTION, Settings(model="no-such")))
                assert not workers()

        run(test)

    def test_whose_worker_cannot_be_started_fails_and_so_do_those_behind_it(self) -> None:
        async def test() -> None:
            made = WorkerEngine(1, 600.0, ["/no/such/program"])
            replies = [asyncio.create_task(events_of(made.reply(QUESTION, SMALL))) for _ in range(3)]
            for each in replies:
                with pytest.raises(LacliError, match="cannot be started"):
                    await each
            await made.close()

        run(test)


class TestTurns:
    def test_one_reply_is_written_at_a_time_and_clients_take_turns(self) -> None:
        async def test() -> None:
            ended: list[str] = []

            async def ask(name: str, client: str, **more: Any) -> None:
                await answer(made, name, client=client, **more)
                ended.append(name)

            async with engine() as made:
                asked = [("a0", "a"), ("a1", "a"), ("a2", "a"), ("b0", "b"), ("b1", "b")]
                tasks = [asyncio.create_task(ask(*each)) for each in asked]
                await asyncio.sleep(0)
                tasks.append(asyncio.create_task(ask("now", "c", urgent=True)))
                await asyncio.gather(*tasks)
                assert ended == ["now", "a0", "b0", "a1", "b1", "a2"]  # all waited while the worker was started

        run(test)

    def test_what_waits_is_counted_and_a_silent_worker_is_noticed(self) -> None:
        async def test() -> None:
            async with engine("silent") as made:
                replies = [asyncio.create_task(events_of(made.reply(QUESTION, SMALL))) for _ in range(3)]
                await until(lambda: made.health().running)
                await asyncio.sleep(0.05)
                health = made.health()
                assert (health.running, health.waiting) == (1, 2)
                assert health.quiet_s >= 0.05
                for each in replies:
                    each.cancel()
                await until(lambda: not made.health().running)
                assert made.health().quiet_s == 0

        run(test)

    def test_a_preview_waits_for_no_reply(self) -> None:
        async def test() -> None:
            async with engine("slow") as made, aclosing(made.reply(QUESTION, SMALL)) as events:
                await anext(events)
                assert (await made.preview(asking("two words"), SMALL)).text == "two words"
                assert isinstance(await anext(events), Piece)
                assert made.health().running == 1

        run(test)

    def test_reading_ahead_makes_way_for_what_is_asked(self) -> None:
        async def test() -> None:
            async with engine("reads") as made:
                ahead = asyncio.create_task(made.warm(QUESTION, SMALL))
                waiting = asyncio.create_task(made.warm(QUESTION, SMALL))
                await until(lambda: made.health().running)
                *_, last = await events_of(made.reply(QUESTION, SMALL))
                assert isinstance(last, Finished)
                assert last.reason == "stop"
                await ahead
                waiting.cancel()

        run(test)


class TestSideBySide:
    def test_replies_of_several_clients_are_written_at_once(self) -> None:
        async def test() -> None:
            async with (
                engine("beside") as made,
                aclosing(made.reply(QUESTION, SMALL)) as first,
                aclosing(made.reply(QUESTION, SMALL)) as second,
            ):
                for _ in range(3):
                    assert isinstance(await anext(first), Piece)
                    assert isinstance(await anext(second), Piece)
                assert len(workers()) == 1
                assert (made.health().running, made.health().waiting) == (2, 0)

        run(test)

    def test_one_for_which_there_is_no_place_waits_and_a_completion_has_one(self) -> None:
        async def test() -> None:
            async with engine("beside") as made, aclosing(made.reply(QUESTION, SMALL)) as first:
                await anext(first)
                others = [asyncio.create_task(events_of(made.reply(QUESTION, SMALL))) for _ in range(2)]
                await until(lambda: made.health().running == 2)
                await asyncio.sleep(0.05)
                assert (made.health().running, made.health().waiting) == (2, 1)
                for _ in range(10):  # more than pass a chat that could begin
                    *_, last = await events_of(made.reply(asking("3"), SMALL, urgent=True))
                    assert isinstance(last, Finished)
                    assert last.text == "xxx"
                opening = made.submit("open", Request(), SMALL)
                assert [each async for each in opening.answers()]
                assert (made.health().running, made.health().waiting) == (2, 1)
                await first.aclose()
                await until(lambda: made.health().waiting == 0)
                assert made.health().running == 2
                for each in others:
                    each.cancel()

        run(test)

    def test_who_asks_for_many_at_once_leaves_a_place_for_another(self) -> None:
        async def test() -> None:
            async with engine("many") as made:
                many = [asyncio.create_task(events_of(made.reply(QUESTION, SMALL, client="a"))) for _ in range(9)]
                await until(lambda: made.health().running == 4)
                await asyncio.sleep(0.05)
                assert (made.health().running, made.health().waiting) == (4, 5)
                *_, last = await events_of(made.reply(asking("2"), SMALL, client="b"))
                assert isinstance(last, Finished)
                for each in many:
                    each.cancel()

        run(test)

    def test_one_who_goes_away_stops_nobody_else(self) -> None:
        async def test() -> None:
            async with engine("beside") as made, aclosing(made.reply(QUESTION, SMALL)) as stays:
                await anext(stays)
                for _ in range(3):
                    async with aclosing(made.reply(QUESTION, SMALL)) as leaves:
                        assert isinstance(await anext(leaves), Piece)
                        assert made.health().running == 2
                    await until(lambda: made.health().running == 1)
                assert isinstance(await anext(stays), Piece)

        run(test)

    def test_a_command_that_comes_opens_its_project_meanwhile(self) -> None:
        async def test() -> None:
            async with engine("beside") as made, aclosing(made.reply(QUESTION, SMALL)) as events:
                await anext(events)
                opening = made.submit("open", Request(), replace(SMALL, folder=Path("/c")))
                assert [each async for each in opening.answers()]
                assert made.health().running == 1

        run(test)

    def test_reading_ahead_waits_for_all_of_them(self) -> None:
        async def test() -> None:
            async with engine("beside") as made:
                async with aclosing(made.reply(QUESTION, SMALL)) as events:
                    await anext(events)
                    ahead = asyncio.create_task(made.warm(QUESTION, SMALL))
                    await asyncio.sleep(0.05)
                    assert (made.health().running, made.health().waiting) == (1, 1)
                await ahead

        run(test)

    def test_a_death_ends_all_of_them_and_no_more(self) -> None:
        async def test() -> None:
            async with engine("beside") as made:
                both = [made.reply(QUESTION, SMALL) for _ in range(2)]
                for each in both:
                    await anext(each)
                workers()[0].kill()
                for each in both:
                    with pytest.raises(WorkerDied, match="killed"):
                        await events_of(each)
                *_, last = await events_of(made.reply(asking("2"), SMALL))
                assert isinstance(last, Finished)

        run(test)

    def test_a_model_in_constant_use_lets_another_in(self) -> None:
        async def test() -> None:
            async with engine("beside", models=1) as made:
                stop = False

                async def often() -> None:
                    while not stop:
                        await events_of(made.reply(asking("20"), SMALL))

                clients = [asyncio.create_task(often()) for _ in range(4)]
                await until(lambda: made.health().running == 2)
                *_, last = await events_of(made.reply(asking("2"), OTHER))
                stop = True
                assert isinstance(last, Finished)
                await asyncio.gather(*clients)

        run(test)


class TestACancel:
    def test_of_a_reply_frees_the_worker_within_a_step(self) -> None:
        async def test() -> None:
            async with engine("slow") as made:
                for _ in range(3):
                    async with aclosing(made.reply(QUESTION, SMALL)) as events:
                        assert isinstance(await anext(events), Piece)
                    await until(lambda: not made.health().running)
                assert len(workers()) == 1

        run(test)

    def test_of_one_that_waits_takes_it_out_of_the_queue(self) -> None:
        async def test() -> None:
            async with engine("slow") as made, aclosing(made.reply(QUESTION, SMALL)) as events:
                await anext(events)
                waiting = asyncio.create_task(events_of(made.reply(QUESTION, SMALL)))
                await until(lambda: made.health().waiting)
                waiting.cancel()
                await until(lambda: not made.health().waiting)
                assert isinstance(await anext(events), Piece)

        run(test)

    def test_before_the_first_event_is_asked_for_starts_nothing(self) -> None:
        async def test() -> None:
            async with engine() as made:
                await made.reply(QUESTION, SMALL).aclose()
                await asyncio.sleep(0.05)
                assert not workers()

        run(test)


class TestMemory:
    def test_of_two_models_both_stay_where_there_is_room(self) -> None:
        async def test() -> None:
            async with engine(models=2) as made:
                pids = {(await answer(made, "x", settings))["pid"] for settings in (SMALL, OTHER, SMALL, OTHER)}
                assert len(pids) == 2
                assert set(made.health().models) == {"smollm2-135m", "qwen2.5-coder-1.5b"}

        run(test)

    def test_where_there_is_room_for_one_the_other_goes_first(self) -> None:
        async def test() -> None:
            async with engine(models=1) as made:
                pids = []
                for settings in (SMALL, OTHER, SMALL):
                    pids.append((await answer(made, "x", settings))["pid"])
                    assert [each.pid for each in workers()] == pids[-1:]
                assert len(set(pids)) == 3

        run(test)

    def test_the_one_not_used_for_longest_goes(self) -> None:
        async def test() -> None:
            third = Settings(model="starcoder2-3b", folder=Path("/"))
            async with engine(models=2) as made:
                for settings in (SMALL, OTHER, SMALL, third):
                    await answer(made, "x", settings)
                assert set(made.health().models) == {"smollm2-135m", "starcoder2-3b"}

        run(test)

    def test_a_model_in_constant_use_lets_another_in(self) -> None:
        async def test() -> None:
            async with engine(models=1) as made:
                often = [asyncio.create_task(answer(made, str(number))) for number in range(20)]
                await until(lambda: made.health().running)
                other = asyncio.create_task(answer(made, "other", OTHER))
                late = [asyncio.create_task(answer(made, f"late {number}")) for number in range(20)]
                await other
                assert all(each.done() for each in often)
                assert not any(each.done() for each in late)
                await asyncio.gather(*late)

        run(test)

    def test_a_worker_goes_when_nobody_has_asked_for_long_enough(self) -> None:
        async def test() -> None:
            async with engine(keep_alive_s=0.3) as made:
                await answer(made, "x")
                (worker,) = workers()
                await asyncio.sleep(0.15)
                assert worker.is_running()
                await until(lambda: not made.health().models)
                assert not workers()
                assert (await answer(made, "y"))["pid"] != worker.pid

        run(test)

    def test_with_no_time_at_all_it_goes_after_the_reply_but_not_before_the_question(self) -> None:
        async def test() -> None:
            async with engine(keep_alive_s=0.0) as made:
                opening = made.submit("open", Request(), SMALL)
                assert [each async for each in opening.answers()]
                await asyncio.sleep(0.1)
                (worker,) = workers()
                assert (await answer(made, "x"))["pid"] == worker.pid
                await until(lambda: not workers())

        run(test)


class TestDeath:
    def test_in_a_reply_is_told_once_and_those_who_wait_get_another_worker(self) -> None:
        async def test() -> None:
            async with engine("slow") as made:
                for _ in range(3):
                    events = made.reply(QUESTION, SMALL)
                    await anext(events)
                    waiting = made.reply(QUESTION, SMALL)
                    first = asyncio.ensure_future(anext(waiting))
                    await until(lambda: made.health().waiting)
                    (worker,) = workers()
                    worker.kill()
                    with pytest.raises(WorkerDied, match="killed"):
                        await events_of(events)
                    assert isinstance(await first, Piece)
                    (another,) = workers()
                    assert another.pid != worker.pid
                    await waiting.aclose()

        run(test)

    def test_while_it_has_nothing_to_do_is_nothing_to_the_next(self) -> None:
        async def test() -> None:
            async with engine() as made:
                await answer(made, "x")
                (worker,) = workers()
                worker.kill()
                await until(lambda: not made.health().models)
                assert (await answer(made, "y"))["pid"] != worker.pid

        run(test)

    @pytest.mark.parametrize(
        ("kind", "why"), [("babbles", "not JSON"), ("later", "version 99"), ("torn", "exit code 9")]
    )
    def test_is_what_comes_to_one_that_cannot_be_understood(self, kind: str, why: str) -> None:
        async def test() -> None:
            async with engine(kind) as made:
                with pytest.raises(WorkerDied, match=why):
                    await events_of(made.reply(QUESTION, SMALL))

        run(test)

    def test_says_how_with_its_last_words(self) -> None:
        async def test() -> None:
            async with engine("dies", "exit") as made:
                with pytest.raises(WorkerDied, match="exit code 3") as caught:
                    await events_of(made.reply(QUESTION, SMALL))
                assert caught.value.hint == "its last words: words"

        run(test)


class TestClosing:
    def test_lets_the_worker_save_and_tells_those_who_wait(self, tmp_path: Path) -> None:
        async def test() -> None:
            async with engine("saves", str(tmp_path)) as made:
                events = made.reply(QUESTION, SMALL)
                await anext(events)
                waiting = asyncio.create_task(events_of(made.reply(QUESTION, SMALL)))
                await until(lambda: made.health().waiting)
                await made.close()
                with pytest.raises(WorkerDied, match="stopped"):
                    await events_of(events)
                with pytest.raises(LacliError, match="stopping"):
                    await waiting
                with pytest.raises(LacliError, match="stopping"):
                    await anext(made.reply(QUESTION, SMALL))
            assert (tmp_path / "saved").exists()
            assert (tmp_path / "closed").exists()

        run(test)

    def test_while_a_worker_is_being_started_leaves_none(self) -> None:
        async def test() -> None:
            async with engine() as made:
                made.submit("reply", QUESTION, SMALL)
                await asyncio.sleep(0)

        run(test)


def test_events_of_loading_come_through() -> None:
    async def test() -> None:
        async with engine() as made:
            opening = made.submit("open", Request(), SMALL)
            said = [each async for each in opening.answers()]
            assert Notice("for /a") in said

    run(test)


def test_a_place_is_asked_for_as_it_is() -> None:
    async def test() -> None:
        async with engine("quick") as made:
            place = Request(place=Place("a b c"))
            assert (await made.preview(place, SMALL)).text == "a b c"

    run(test)
