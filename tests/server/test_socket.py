"""The engine's socket as lacli's own commands see it: attached, cut off, refused."""

from __future__ import annotations

import json
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import lacli
from lacli.assistant.cancel import CancelToken
from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.errors import ModelUnavailable, WorkerDied
from lacli.events import Event, Failed, Finished, Loading, Message, Notice, Piece, Request
from lacli.server import socket as door
from lacli.worker import attached, endpoint, protocol
from lacli.worker.attached import NotAttached
from lacli.worker.client import WorkerAssistant
from lacli.worker.protocol import Greeting
from tests.server.running import ENOUGH_S, serving
from tests.worker.worker_child import TEXT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")

QUESTION = Request((Message("user", "hi"),))


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + ENOUGH_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def text_of(events: Iterator[Event]) -> str:
    *_, last = events
    assert isinstance(last, Finished)
    return last.text


class TestAttached:
    def test_a_reply_is_that_of_the_worker_behind_the_engine(self) -> None:
        with serving("quick") as running:
            assistant = attached.attached(Settings())
            assert list(assistant.reply(QUESTION)) == list(ScriptedAssistant([TEXT]).reply(QUESTION))
            assert assistant.pid is None  # none of our own
            assistant.close()
            (worker,) = running.workers()
            assert worker.is_running()

    def test_each_front_end_is_served_for_its_own_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving():
            found = []
            for name in ("one", "two"):
                (tmp_path / name).mkdir()
                monkeypatch.chdir(tmp_path / name)
                assistant = attached.attached(Settings(learn=name == "one"))
                found.append(json.loads(text_of(assistant.reply(QUESTION))))
                assistant.close()
        assert found[0]["pid"] == found[1]["pid"]
        assert [Path(each["folder"]).name for each in found] == ["one", "two"]
        assert [each["learn"] for each in found] == [True, False]

    def test_what_loading_says_reaches_whoever_opens(self) -> None:
        with serving():
            said: list[Event] = []
            assistant = attached.attached(Settings(folder=Path("/x")))
            assistant.open(said.append)
            assert said == [Loading("load"), Notice("for /x")]
            assistant.close()

    def test_a_preview_and_reading_ahead_go_the_same_way(self) -> None:
        with serving("quick"):
            assistant = attached.attached(Settings())
            assistant.warm(QUESTION)
            assert assistant.preview(Request((Message("user", "two words"),))).text == "two words"
            assistant.close()

    def test_an_error_is_the_one_that_was_raised(self) -> None:
        with serving():
            assistant = attached.attached(Settings(model="no-such-model"))
            with pytest.raises(ModelUnavailable, match="no-such-model") as caught:
                assistant.open()
            assert caught.value.exit_code == 3
            assistant.close()

    def test_a_model_in_a_file_is_found_from_where_the_engine_stands(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "m.gguf").write_bytes(b"GGUF")
        monkeypatch.chdir(tmp_path)
        with serving():
            assistant = attached.attached(Settings(model="./m.gguf"))
            assert json.loads(text_of(assistant.reply(QUESTION)))["model"] == str(tmp_path / "m.gguf")
            assistant.close()

    def test_a_cancel_ends_the_reply_and_frees_the_worker(self) -> None:
        with serving("slow") as running:
            assistant, token = attached.attached(Settings()), CancelToken()
            events = assistant.reply(QUESTION, token)
            next(events)
            token.cancel()
            *_, last = events
            assert isinstance(last, Finished)
            assert last.reason == "cancelled"
            until(lambda: not running.engine.health().running)
            assistant.close()

    @pytest.mark.parametrize("kind", ["many", "quick"])
    def test_many_replies_are_those_of_the_worker_each_in_its_place(self, kind: str) -> None:
        with serving(kind):
            assistant = attached.attached(Settings())
            counts = [3, 40, 1, *range(2, 30)]
            found = dict(assistant.replies(Request((Message("user", str(count)),)) for count in counts))
            expected = ["x" * count for count in counts] if kind == "many" else [TEXT] * len(counts)
            assert [found[index].text for index in range(len(counts))] == expected  # type: ignore[union-attr]
            assistant.close()

    def test_of_many_replies_some_are_asked_for_at_a_time_and_a_cancel_ends_those(self) -> None:
        with serving("many") as running:
            assistant, token = attached.attached(Settings()), CancelToken()
            taken = []

            def requests() -> Iterator[Request]:
                for number in range(1000):
                    taken.append(number)
                    yield QUESTION

            events = assistant.replies(requests(), token)
            ends = []
            for index, event in events:
                token.cancel()
                if isinstance(event, Finished):
                    ends.append(index)
                    assert event.reason == "cancelled"
            assert sorted(ends) == taken
            assert len(taken) < 100
            until(lambda: not running.engine.health().running)
            assistant.close()

    def test_who_leaves_many_replies_frees_the_worker(self) -> None:
        with serving("many") as running:
            assistant = attached.attached(Settings())
            events = assistant.replies([QUESTION] * 30)
            next(events)
            events.close()  # type: ignore[attr-defined]
            until(lambda: not running.engine.health().running)
            assert not running.engine.health().waiting
            assistant.close()

    def test_an_error_of_one_of_many_is_its_own(self) -> None:
        with serving("dies", "memory"):
            assistant = attached.attached(Settings())
            for _, event in assistant.replies([QUESTION] * 2):
                assert isinstance(event, Piece | Failed)
            assert isinstance(event, Failed)
            assert "memory" in event.message
            assistant.close()

    def test_a_death_during_many_is_told_once(self) -> None:
        with serving("dies", "exit"):
            assistant = attached.attached(Settings())
            with pytest.raises(WorkerDied, match="exit code 3"):
                list(assistant.replies([QUESTION] * 3))
            assistant.close()

    def test_a_cancel_of_what_waits_behind_another_ends_it_at_once(self) -> None:
        with serving("slow"):
            first, second = attached.attached(Settings()), attached.attached(Settings())
            events = first.reply(QUESTION)
            next(events)
            token = CancelToken()
            threading.Timer(0.1, token.cancel).start()
            (last,) = second.reply(QUESTION, token)
            assert isinstance(last, Finished)
            assert last.reason == "cancelled"
            assert isinstance(next(events), Piece)
            first.close()
            second.close()

    def test_who_waits_for_another_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(door, "_UNTOLD_S", 0.01)
        with serving("slow"):
            first, second = attached.attached(Settings()), attached.attached(Settings())
            running, token = first.reply(QUESTION), CancelToken()
            assert isinstance(next(running), Piece)
            waiting = second.reply(QUESTION, token)
            told = next(waiting)
            assert isinstance(told, Notice)
            assert "waits for its turn" in told.text
            token.cancel()
            assert not [each for each in waiting if isinstance(each, Notice)]
            running.close()  # type: ignore[attr-defined]
            first.close()
            second.close()

    def test_a_batch_that_waits_is_told_once_and_not_of_its_own_replies(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(door, "_UNTOLD_S", 0.01)
        with serving("slow"):
            first, second = attached.attached(Settings()), attached.attached(Settings())
            running, token = first.reply(QUESTION), CancelToken()
            assert isinstance(next(running), Piece)
            waiting = second.replies([QUESTION] * 5, token)
            _, told = next(waiting)
            assert isinstance(told, Notice)
            running.close()  # type: ignore[attr-defined]
            threading.Timer(0.3, token.cancel).start()  # its first reply is being written, and four wait for it
            assert not [event for _, event in waiting if isinstance(event, Notice)]
            first.close()
            second.close()

    def test_who_goes_away_in_the_middle_frees_the_worker(self) -> None:
        with serving("slow") as running:
            for _ in range(3):
                assistant = attached.attached(Settings())
                next(iter(assistant.reply(QUESTION)))
                assistant.close()
                until(lambda: not running.engine.health().running)
            assert len(running.workers()) == 1


class TestMany:
    def test_who_connect_and_leave_in_the_middle_leave_nothing_behind(self) -> None:
        """Forty here; the figures of issue 16 are of two hundred."""
        with serving("slow") as running:
            before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
            asking = [threading.Thread(target=_ask_and_leave, args=(number % 2,)) for number in range(40)]
            for each in asking:
                each.start()
            for each in asking:
                each.join(ENOUGH_S)
            assert not any(each.is_alive() for each in asking)
            until(lambda: not running.engine.health().running)
            assert running.engine.health().waiting == 0
            if before:
                until(lambda: len(os.listdir("/proc/self/fd")) <= before + 3)  # the worker's pipes


def _ask_and_leave(asks: int) -> None:
    assistant = attached.attached(Settings())
    if asks:
        token = CancelToken()
        threading.Timer(0.3, token.cancel).start()
        list(assistant.reply(QUESTION, token))
    assistant.close()


class TestDeath:
    def test_of_the_worker_is_told_once_and_the_next_reply_comes(self) -> None:
        with serving("slow") as running:
            assistant = attached.attached(Settings())
            for _ in range(3):
                events = assistant.reply(QUESTION)
                next(events)
                (worker,) = running.workers()
                worker.kill()
                with pytest.raises(WorkerDied, match="killed"):
                    list(events)
            assistant.close()

    def test_of_the_engine_is_told_once_and_a_worker_of_our_own_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tests.worker.worker_child import command

        monkeypatch.setattr(attached, "own_command", lambda: command("quick"))
        with serving("slow") as running:
            assistant = attached.attached(Settings())
            events = assistant.reply(QUESTION)
            next(events)
            running.stop()
            with pytest.raises(WorkerDied, match=r"stopped|ended"):
                list(events)
            until(lambda: assistant._channel is None or assistant._channel.death is not None)
            *_, last = assistant.reply(QUESTION)
            assert isinstance(last, Finished)
            assert last.text == TEXT
            assert assistant.pid is not None
            assistant.close()


class TestNotAttached:
    def why(self) -> str:
        with pytest.raises(NotAttached) as caught:
            attached.attached(Settings())
        return caught.value.reason

    def test_where_none_runs_there_is_nothing_to_say(self) -> None:
        assert self.why() == ""

    def test_to_one_of_another_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving():
            monkeypatch.setattr(lacli, "__version__", "9.9")
            with listening(Greeting(protocol.PROTOCOL, "0.0.1", 1, endpoint.environment())):
                assert self.why() == "the engine that runs is of lacli 0.0.1; `lacli serve --stop` ends it"

    def test_to_one_that_was_started_with_another_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        with serving():
            monkeypatch.setenv("LACLI_KERNEL", "portable")
            monkeypatch.delenv("HF_TOKEN")
            with listening(Greeting(protocol.PROTOCOL, lacli.__version__, 1, {"HF_TOKEN": "1"})):
                assert self.why().startswith("the engine that runs was started with another HF_")

    def test_to_one_that_was_killed(self) -> None:
        path = endpoint.socket_path()
        path.parent.mkdir(parents=True)
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(path))
        left.close()
        assert "has died" in self.why()

    def test_to_one_that_does_not_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attached, "_GREETING_S", 0.2)
        with listening(None):
            assert "does not answer" in self.why()

    def test_to_one_that_says_something_else(self) -> None:
        with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n"):
            assert "cannot be understood" in self.why()

    def test_to_another_users(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving():
            monkeypatch.setattr(attached.endpoint, "is_ours", lambda connection: False)
            assert "another user" in self.why()

    def test_no_engine_listens_to_another_user(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving():
            monkeypatch.setattr(endpoint, "peer_uid", lambda connection: os.getuid() + 1)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(endpoint.socket_path()))
                assert connection.recv(100) == b""


class listening:
    """Something else at the engine's socket, in place of what may be there, that says this to whoever connects."""

    def __init__(self, says: Greeting | bytes | None) -> None:
        self._says = protocol.encode(says) if isinstance(says, Greeting) else says
        self._kept: list[socket.socket] = []

    def __enter__(self) -> None:
        path = endpoint.socket_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                self._kept.append(self._socket.accept()[0])
                if self._says is not None:
                    self._kept[-1].sendall(self._says)
        except OSError:
            return

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        for each in (self._socket, *self._kept):
            each.close()
        endpoint.socket_path().unlink(missing_ok=True)


class TestTheSocket:
    def test_is_the_users_alone(self) -> None:
        with serving():
            path = endpoint.socket_path()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    def test_takes_the_place_of_one_that_was_left(self) -> None:
        path = endpoint.socket_path()
        path.parent.mkdir(parents=True)
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(path))
        left.close()
        with serving("quick"):
            assistant = attached.attached(Settings())
            assert text_of(assistant.reply(QUESTION)) == TEXT
            assistant.close()

    def test_has_a_short_path_wherever_the_home_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        home = tmp_path / ("deep/" * 40)
        monkeypatch.setenv("LACLI_HOME", str(home))
        assert len(os.fsencode(endpoint.socket_path())) < 103
        one = endpoint.socket_path()
        monkeypatch.setenv("LACLI_HOME", str(home / "er"))
        assert endpoint.socket_path() != one

    def test_is_in_the_runtime_folder_of_the_session(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("LACLI_HOME")
        monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
        assert endpoint.socket_path().parent == Path("/run/user/7/lacli")

    def test_answers_lines_that_cannot_be_read_and_goes_on(self) -> None:
        with serving("quick"), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(endpoint.socket_path()))
            stream = connection.makefile("rwb")
            stream.readline()
            stream.write(protocol.encode(protocol.Hello(protocol.PROTOCOL)) + b"nonsense\n")
            stream.write(b'{"type":"call","id":5,"what":"sing"}\n{"type":"cancel","id":77}\n')
            stream.write(b'{"type":"call","id":6,"what":"status"}\n')
            stream.flush()
            answers = [json.loads(stream.readline()) for _ in range(3)]
            stream.close()
        by_id = {each.get("id"): each for each in answers}
        assert "not JSON" in by_id[None]["message"]
        assert "knows no call 'sing'" in by_id[5]["message"]
        assert by_id[6]["status"]["running"] == 0


def test_the_fingerprints_of_the_environment_tell_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("https_proxy", "http://me:password@there")
    found = endpoint.environment()
    assert {"HF_TOKEN", "https_proxy"} <= set(found)
    assert "secret" not in str(found)
    assert "password" not in str(found)


def test_a_dead_front_end_is_noticed_without_a_word() -> None:
    with serving("slow") as running:
        assistant: WorkerAssistant = attached.attached(replace(Settings(), learn=False))
        next(iter(assistant.reply(QUESTION)))
        channel = assistant._channel
        assert channel is not None
        channel._connection.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]
        until(lambda: not running.engine.health().running)
        assistant.close()
