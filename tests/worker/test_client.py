"""The engine as a real process, seen from a front end: what comes of it, how it ends, and what is told of its death."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lacli.assistant.cancel import CancelToken
from lacli.assistant.scripted import ScriptedAssistant
from lacli.chat.conversation import Conversation
from lacli.config import Settings
from lacli.errors import LacliError, OutOfMemory, WorkerDied
from lacli.events import Attachment, Event, Finished, Loading, Message, Notice, Piece, ReplyStats, Request
from lacli.sessions.store import SessionStore, path
from lacli.worker.client import WorkerAssistant
from lacli.worker.process import WorkerProcess
from lacli.worker.protocol import Call, ClientMessage, Done
from tests.worker.worker_child import ROOT, TEXT, command

QUESTION = Request((Message("user", "hi"),))
ENOUGH_S = 20.0
posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has no signals")

Start = Callable[..., WorkerAssistant]


@pytest.fixture
def start() -> Iterator[Start]:
    """An engine of a kind; all are closed, and must be gone, at the end."""
    made: list[WorkerAssistant] = []

    def _start(kind: str = "quick", *arguments: str, settings: Settings | None = None) -> WorkerAssistant:
        made.append(WorkerAssistant(settings or Settings(), command(kind, *arguments)))
        return made[-1]

    yield _start
    for each in made:
        each.close()
    assert not engines()


def engines() -> list[psutil.Process]:
    """The processes of engines there are, zombies included."""
    return [each for each in psutil.Process().children() if each.status() == psutil.STATUS_ZOMBIE or _is_ours(each)]


def _is_ours(process: psutil.Process) -> bool:
    try:
        return any("worker_child" in each for each in process.cmdline())
    except psutil.Error:
        return False


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + ENOUGH_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def kill(engine: WorkerAssistant) -> None:
    psutil.Process(engine.pid).kill()


def begun(engine: WorkerAssistant) -> tuple[Iterator[Event], list[Event]]:
    """A reply of which some pieces have come."""
    events = engine.reply(QUESTION)
    return events, [next(events) for _ in range(3)]


class TestAReply:
    def test_is_that_of_the_assistant_in_the_process(self, start: Start) -> None:
        assert list(start().reply(QUESTION)) == list(ScriptedAssistant([TEXT]).reply(QUESTION))

    def test_starts_no_process_before_it_is_asked_for(self, start: Start) -> None:
        engine = start()
        assert engine.pid is None
        engine.close()
        assert engine.pid is None
        engine.open()
        assert engine.pid is not None

    def test_may_be_of_a_question_of_many_megabytes(self, start: Start) -> None:
        request = Request((Message("user", "é", attachments=(Attachment("big", "漢x\n" * 1_500_000),)),))
        preview = start().preview(request)
        assert preview.text.count("漢x\n") == 1_500_000

    def test_that_is_cancelled_ends_as_cancelled(self, start: Start) -> None:
        engine = start("slow")
        wanted = [True]
        events: list[Event] = []
        for event in engine.reply(QUESTION, lambda: not wanted):
            events.append(event)
            if len(events) == 5:
                wanted.clear()
        *pieces, finished = events
        assert isinstance(finished, Finished)
        assert finished.reason == "cancelled"
        assert finished.text == "".join(each.text for each in pieces if isinstance(each, Piece))

    def test_can_be_cancelled_while_the_model_is_prepared(self, start: Start) -> None:
        engine = start("loads")
        events: list[Event] = []
        events.extend(engine.reply(QUESTION, lambda: len(events) > 2))
        assert isinstance(events[0], Loading)
        assert isinstance(events[-1], Finished)
        assert events[-1].reason == "cancelled"

    def test_is_not_kept_waiting_by_an_opening_that_was_left(self, start: Start) -> None:
        def report(event: Event) -> None:
            raise KeyError(event)

        engine = start("loads")
        with pytest.raises(KeyError) as caught:
            engine.open(report)
        assert engine.preview(QUESTION).text == "hi"
        assert caught.value.args == (Loading("prepare", 0, 100_000),)

    def test_that_nobody_reads_to_its_end_is_saved_and_the_next_one_comes(self, start: Start, tmp_path: Path) -> None:
        engine = start("saves", str(tmp_path))
        events, _ = begun(engine)
        events.close()  # type: ignore[attr-defined]
        pid = engine.pid
        _, pieces = begun(engine)
        assert (tmp_path / "saved").exists()
        assert [each.stats.predicted_n for each in pieces if isinstance(each, Piece)] == [1, 2, 3]
        assert engine.pid == pid

    def test_survives_a_reader_who_is_slow_and_then_cancels(self, start: Start) -> None:
        engine = start("slow")
        asked = threading.Event()
        events = engine.reply(QUESTION, asked.is_set)
        next(events)
        time.sleep(1.0)  # some hundred steps, none of them read
        asked.set()
        *_, finished = events
        assert isinstance(finished, Finished)
        assert finished.reason == "cancelled"

    def test_is_not_harmed_by_what_libraries_print(self, start: Start) -> None:
        engine = start("prints")
        for _ in range(2):
            assert list(engine.reply(QUESTION)) == list(ScriptedAssistant([TEXT]).reply(QUESTION))

    def test_fails_with_the_error_it_failed_with(self, start: Start) -> None:
        engine = start("dies", "memory")
        with pytest.raises(OutOfMemory, match="out of memory"):
            list(engine.reply(QUESTION))
        assert engine.pid is not None
        with pytest.raises(OutOfMemory, match="out of memory"):
            list(engine.reply(QUESTION))

    def test_tells_what_was_to_be_said_while_nobody_listened(self, start: Start) -> None:
        engine = start("tells")
        engine.warm(QUESTION)
        first, *rest = engine.reply(QUESTION)
        assert first == Notice("it is small")
        assert not any(isinstance(each, Notice | Loading) for each in rest)


class TestAnAnswer:
    def test_that_comes_before_the_sending_has_returned_is_not_lost(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        send = WorkerProcess.send

        def answered(process: WorkerProcess, message: ClientMessage) -> None:
            if isinstance(message, Call):
                process.deliver(Done(message.id))
            else:
                send(process, message)

        monkeypatch.setattr(WorkerProcess, "send", answered)
        asking = threading.Thread(target=start("deaf").open, daemon=True)
        asking.start()
        asking.join(ENOUGH_S)
        assert not asking.is_alive()

    def test_that_comes_at_once_reaches_every_one_of_many_calls(self, start: Start) -> None:
        engine = start("instant")

        def ask() -> None:
            for _ in range(300):
                engine.open()

        asking = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
        for each in asking:
            each.start()
        for each in asking:
            each.join(ENOUGH_S)
        assert not any(each.is_alive() for each in asking)


class TestACancel:
    def test_wakes_a_call_of_which_nothing_comes(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lacli.worker.channel._PREDICATE_S", 1000.0)  # nothing is asked again and again
        engine, token = start("silent"), CancelToken()
        cancelling = threading.Timer(0.3, token.cancel)
        cancelling.start()
        (finished,) = engine.reply(QUESTION, token)
        assert isinstance(finished, Finished)
        assert finished.reason == "cancelled"

    def test_that_comes_before_the_call_ends_it(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lacli.worker.channel._PREDICATE_S", 1000.0)
        token = CancelToken()
        token.cancel()
        (finished,) = start("silent").reply(QUESTION, token)
        assert isinstance(finished, Finished)

    def test_that_is_a_plain_function_is_heard_while_nothing_comes(self, start: Start) -> None:
        asked = threading.Event()
        threading.Timer(0.3, asked.set).start()
        (finished,) = start("silent").reply(QUESTION, asked.is_set)
        assert isinstance(finished, Finished)

    @posix_only
    def test_is_not_needed_for_a_call_whose_process_dies(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lacli.worker.channel._PREDICATE_S", 1000.0)
        engine = start("silent")
        engine.open()
        threading.Timer(0.3, kill, (engine,)).start()
        with pytest.raises(WorkerDied):
            list(engine.reply(QUESTION, CancelToken()))


class TestDeath:
    @posix_only
    @pytest.mark.slow
    def test_in_the_middle_of_a_reply_ten_times_is_told_and_leaves_nothing_behind(
        self, start: Start, tmp_path: Path
    ) -> None:
        engine = start("learns", str(tmp_path))
        store, conversation = SessionStore(path()), Conversation()
        session = store.begin("chat", tmp_path, "m")
        pids = set()
        for number in range(10):
            said = Request(conversation.ask(f"question {number}"))
            events = engine.reply(said)
            pids.add(engine.pid)
            for _ in range(3 + 7 * number):
                next(events)
            kill(engine)
            with pytest.raises(WorkerDied, match=r"^the engine's process was killed \(SIGKILL\)$") as caught:
                list(events)
            assert caught.value.hint
            assert engine.pid is None
            assert not engines()
            turn = conversation.answered(Finished("so far", (1,), "cancelled", ReplyStats(predicted_n=1)))
            assert turn is not None
            store.append(session, turn)
        assert len(store.session(session).turns) == 10
        _assert_sound(tmp_path)
        events, _ = begun(engine)  # a new one goes on where the pool stands
        events.close()  # type: ignore[attr-defined]

    @posix_only
    def test_while_it_has_nothing_to_do_is_a_notice_of_the_next_call(self, start: Start) -> None:
        engine = start()
        engine.open()
        kill(engine)
        until(lambda: engine.pid is None)
        assert not engines()
        engine.warm(QUESTION)
        first, *rest = engine.reply(QUESTION)
        assert isinstance(first, Notice)
        assert first.level == "warning"
        assert first.text == "the engine's process was killed (SIGKILL); a new one was started"
        assert not any(isinstance(each, Notice) for each in rest)

    @posix_only
    @pytest.mark.parametrize(
        ("how", "message", "hint"),
        [
            ("abort", "the engine's process ended as memory ran out", "use a smaller model"),
            ("exit", "the engine's process ended with exit code 3", "its last words: words"),
            ("segv", "the engine's process ended by signal SIGSEGV", ""),
            ("orphan", "the engine's process ended with exit code 4", ""),
        ],
    )
    def test_says_how(self, start: Start, how: str, message: str, hint: str) -> None:
        engine = start("dies", how)
        with pytest.raises(WorkerDied) as caught:
            list(engine.reply(QUESTION))
        assert caught.value.message == message
        assert caught.value.hint.startswith(hint)
        if how == "segv":
            assert "Fatal Python error: Segmentation fault" in caught.value.stderr

    @posix_only
    def test_by_the_system_as_memory_ran_out_is_told_from_a_kill(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for counts, message, hint in (
            ((7, 8), "memory ran out", "use a smaller"),
            ((7, 7), "SIGKILL", "nothing but the rest of that reply is lost"),
            ((None, None), "SIGKILL", "the system does so where memory runs out"),
        ):
            kills = iter(counts)
            monkeypatch.setattr("lacli.worker.death.kills_for_memory", lambda kills=kills: next(kills))
            engine = start("slow")
            events, _ = begun(engine)
            kill(engine)
            with pytest.raises(WorkerDied, match=message) as caught:
                list(events)
            assert hint in caught.value.hint
            assert ("memory" in str(caught.value) + caught.value.hint) == (counts != (7, 7))

    def test_before_it_ever_spoke_tells_its_last_words(self, start: Start) -> None:
        with pytest.raises(WorkerDied, match="exit code 1") as caught:
            start("refuses").open()
        assert caught.value.hint == "its last words: Traceback: no module named torch"
        assert caught.value.stderr.strip() == "Traceback: no module named torch"

    def test_in_the_middle_of_a_line_is_its_death_and_not_nonsense(self, start: Start) -> None:
        with pytest.raises(WorkerDied, match="exit code 9"):
            start("torn").open()

    def test_of_a_program_that_is_not_there_is_an_error(self) -> None:
        with pytest.raises(LacliError, match="cannot be started"):
            WorkerAssistant(Settings(), ["/no/such/program"]).open()

    @posix_only
    def test_of_the_folder_it_works_for_is_told_and_one_put_back_is_enough(
        self, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "gone"
        folder.mkdir()
        monkeypatch.chdir(folder)
        engine = start("slow")
        folder.rmdir()
        with pytest.raises(LacliError, match=f"the folder {folder} is not there any more") as caught:
            engine.open()
        assert not isinstance(caught.value, WorkerDied)
        assert "put it back" in caught.value.hint
        folder.mkdir()
        engine.open()

    @pytest.mark.parametrize(("kind", "why"), [("babbles", "not JSON"), ("later", "version 99")])
    def test_is_what_comes_to_one_that_cannot_be_understood(self, start: Start, kind: str, why: str) -> None:
        with pytest.raises(WorkerDied, match=why) as caught:
            start(kind).open()
        assert "start it again" in caught.value.hint
        assert not caught.value.again
        assert not engines()


class TestClosing:
    def test_in_the_middle_of_a_reply_lets_it_be_saved(self, start: Start, tmp_path: Path) -> None:
        engine = start("saves", str(tmp_path))
        begun(engine)
        engine.close()
        assert (tmp_path / "saved").exists()
        assert (tmp_path / "closed").exists()
        assert not engines()

    @pytest.mark.parametrize("kind", ["loads", "stuck"])
    def test_while_the_model_is_loaded_does_not_wait_for_it(self, start: Start, kind: str) -> None:
        engine = start(kind)
        events = engine.reply(QUESTION)
        next(events)
        engine.close()
        assert not engines()

    def test_of_one_that_does_not_listen_comes_to_an_end(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lacli.worker.process._CLOSE_S", 0.3)
        monkeypatch.setattr("lacli.worker.process._TERMINATE_S", 0.3)
        engine = start("deaf")
        asking = threading.Thread(target=_swallow, args=(engine, Request((Message("user", "x" * 5_000_000),))))
        asking.start()  # and cannot even be asked
        until(lambda: engine.pid is not None)
        time.sleep(0.3)
        engine.close()
        asking.join(ENOUGH_S)
        assert not asking.is_alive()
        assert not engines()

    def test_from_another_thread_ends_the_reply_as_cancelled(self, start: Start) -> None:
        engine = start("slow")
        events, _ = begun(engine)
        closing = threading.Thread(target=engine.close)
        closing.start()
        *_, finished = events
        closing.join(ENOUGH_S)
        assert isinstance(finished, Finished)
        assert finished.reason == "cancelled"

    def test_twice_or_of_a_dead_one_is_nothing(self, start: Start) -> None:
        engine = start()
        engine.open()
        kill(engine)
        engine.close()
        engine.close()
        assert list(engine.reply(QUESTION))[-1] == list(ScriptedAssistant([TEXT]).reply(QUESTION))[-1]


PARENT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from lacli.config import Settings
from lacli.events import Message, Request
from lacli.worker.client import WorkerAssistant
from lacli.worker.process import WorkerProcess
from lacli.worker.protocol import Call, ClientMessage, Done
from tests.worker.worker_child import command
engine = WorkerAssistant(Settings(), command(*sys.argv[1:]))
for number, event in enumerate(engine.reply(Request((Message("user", "hi"),)))):
    if number == 3:
        print(engine.pid, flush=True)
"""


@pytest.fixture
def parent() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """A front end as a process of its own, which prints the id of its engine."""
    made: list[subprocess.Popen[str]] = []

    def _start(*kind: str) -> subprocess.Popen[str]:
        arguments = [sys.executable, "-c", PARENT, str(ROOT), *kind]
        made.append(subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, start_new_session=True))
        return made[-1]

    yield _start
    for each in made:
        each.kill()
        each.communicate()


class TestAFrontEndThatIsKilled:
    def test_leaves_an_engine_that_saves_and_ends_by_itself(
        self, parent: Callable[..., subprocess.Popen[str]], tmp_path: Path
    ) -> None:
        front_end = parent("saves", str(tmp_path))
        assert front_end.stdout is not None
        engine = int(front_end.stdout.readline())
        front_end.kill()
        until(lambda: not psutil.pid_exists(engine) or psutil.Process(engine).status() == psutil.STATUS_ZOMBIE)
        assert (tmp_path / "saved").exists()
        assert (tmp_path / "closed").exists()

    @pytest.mark.slow
    def test_while_the_engine_imports_does_not_leave_it_there(
        self, parent: Callable[..., subprocess.Popen[str]]
    ) -> None:
        front_end = parent("stuck")
        found: list[psutil.Process] = []
        until(lambda: found.extend(psutil.Process(front_end.pid).children()) or found)
        time.sleep(0.5)
        front_end.kill()
        until(lambda: not found[0].is_running() or found[0].status() == psutil.STATUS_ZOMBIE)


@posix_only
class TestTheKeyboard:
    def test_does_not_reach_the_engine(self, parent: Callable[..., subprocess.Popen[str]]) -> None:
        front_end = parent("slow")
        assert front_end.stdout is not None
        engine = int(front_end.stdout.readline())
        assert os.getpgid(engine) != os.getpgid(front_end.pid)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            os.kill(engine, number)  # and if it did
        time.sleep(0.2)
        assert psutil.Process(engine).status() != psutil.STATUS_ZOMBIE
        os.killpg(front_end.pid, signal.SIGKILL)


def test_a_front_end_never_imports_what_the_engine_needs() -> None:
    told = "import sys, lacli.worker.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"torch", "numpy", "transformers", "tokenizers", "rich", "psutil"} & set(done.stdout.split())


def test_the_settings_name_the_folder_the_user_was_in(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert start()._settings.folder == Path.cwd()
    assert start(settings=Settings(folder=Path("sub")))._settings.folder == Path.cwd() / "sub"


def _swallow(engine: WorkerAssistant, request: Request) -> None:
    with contextlib.suppress(WorkerDied):
        list(engine.reply(request))


def _assert_sound(project: Path) -> None:
    """As `lacli pool verify` would, and nothing is lost that was there before the last entry."""
    from lacli import paths
    from lacli.pool.inventory import project_info
    from lacli.pool.projects import locate

    (pool,) = project_info(locate(paths.pools_dir(), project)).pools
    assert pool.torn or not pool.damage
    assert not pool.table_damage
    assert pool.segments > 50


def test_a_worker_is_told_of_another_project_once_and_only_when_it_changes(start: Start, tmp_path: Path) -> None:
    engine = start("enters", settings=Settings(folder=tmp_path / "first"))
    (tmp_path / "first").mkdir()
    for folder, told in (("first", ""), ("second", "second"), ("second", "second"), ("first", "second,first")):
        engine.enter(Settings(folder=tmp_path / folder))
        (finished,) = engine.reply(QUESTION)
        assert isinstance(finished, Finished)
        assert finished.text == told


def test_a_worker_does_not_go_over_to_another_model(start: Start) -> None:
    with pytest.raises(LacliError, match="another model"):
        start().enter(Settings(model="codellama-7b"))
