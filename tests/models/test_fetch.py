"""Fetching: local files first, everything checked, bounded in time, and one plain line where it fails."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hosts import Enough, Heard, Hub, Index
from tiny_models import write_folder, write_gguf

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory, UsageError
from lacli.models.fetch import disk, download, fetch
from lacli.models.fetch import file as fetch_file
from lacli.models.fetch import hub as fetch_hub
from lacli.models.fetch import pip as fetch_pip
from lacli.models.fetch.fetch import ensure_local, place_file
from lacli.models.progress import Progress
from lacli.models.registry.inventory import presence, remove
from lacli.models.registry.registry import load_registry
from lacli.models.spec import ModelSpec, Source
from lacli.paths import models_dir


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel like that of the default model, with a tiny one inside."""
    model = write_gguf(tmp_path / "tiny.gguf")
    path = tmp_path / "index" / "tiny_model-1.0-py3-none-any.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(model, "tiny_model/tiny.gguf")
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def spec(wheel: Path) -> ModelSpec:
    """The tiny model as the registry would describe it."""
    model = wheel.parent.parent / "tiny.gguf"
    source = Source(
        kind="wheel",
        package="tiny-model",
        version="1.0",
        member="tiny_model/tiny.gguf",
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        bytes=model.stat().st_size,
        sha256=hashlib.sha256(model.read_bytes()).hexdigest(),
    )
    return replace(load_registry().resolve(None), alias="tiny", sources=(source,))


@pytest.fixture
def index(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip finds the wheel in a folder and asks no index."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return wheel.parent


def refusal(spec: ModelSpec, kind: type[LacliError] = ModelUnavailable, offline: bool = False) -> LacliError:
    with pytest.raises(kind) as caught:
        ensure_local(spec, Heard(), offline)
    assert "\n" not in caught.value.message
    return caught.value


def leftovers() -> list[Path]:
    return [path for path in models_dir().rglob("*") if ".tmp-" in path.name or path.suffix == ".part"]


def wheel_part(spec: ModelSpec) -> Path:
    """Where the wheel of a model lies as far as it has arrived."""
    return fetch_file.wheel_of(spec.sources[0], fetch_file.target_of(spec.sources[0]))


class TestWheel:
    def test_is_fetched_by_pip_and_the_model_taken_out(self, spec: ModelSpec, index: Path) -> None:
        heard = Heard()
        path = ensure_local(spec, heard)
        assert path.read_bytes() == (index.parent / "tiny.gguf").read_bytes()
        assert "tiny-model 1.0" in heard.text
        assert "demonstration" in heard.text
        done = [step.done for step in heard.steps if step.stage == "fetch"]
        assert done == sorted(done)
        assert leftovers() == []

    def test_is_not_fetched_twice(self, spec: ModelSpec, index: Path) -> None:
        ensure_local(spec, Heard())
        shutil.rmtree(index)
        heard = Heard()
        ensure_local(spec, heard, offline=True)
        assert heard.text == ""

    def test_a_model_changed_on_disk_is_fetched_again(self, spec: ModelSpec, index: Path) -> None:
        path = ensure_local(spec, Heard())
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        assert ensure_local(spec, Heard()).read_bytes() == (index.parent / "tiny.gguf").read_bytes()

    @pytest.mark.parametrize("key", ["wheel_sha256", "sha256"])
    def test_both_hashes_are_checked(self, spec: ModelSpec, index: Path, key: str) -> None:
        wrong = replace(spec, sources=(replace(spec.sources[0], **{key: "0" * 64}),))
        assert "not the expected file" in refusal(wrong).message
        assert not fetch_file.target_of(wrong.sources[0]).exists()
        assert leftovers() == []

    @pytest.mark.skipif(os.name == "nt", reason="makes a POSIX environment")
    def test_without_pip_a_throw_away_environment_is_made(
        self, spec: ModelSpec, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found: list[list[str]] = []
        find, run = fetch_pip.importlib.util.find_spec, subprocess.run

        def venv(command: list[str], **options: Any) -> Any:
            found.append(command)
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.symlink_to(sys.executable)
            return run([sys.executable, "-c", ""], **options)

        monkeypatch.setattr(fetch_pip.importlib.util, "find_spec", lambda name: None if name == "pip" else find(name))
        monkeypatch.setattr(fetch_pip.subprocess, "run", venv)
        used: list[str] = []
        watched = fetch_pip.watched
        monkeypatch.setattr(
            fetch_pip,
            "watched",
            lambda command, *rest: used.append(command[0]) or watched([sys.executable, *command[1:]], *rest),
        )
        ensure_local(spec, Heard())
        assert found[0][1:4] == ["-P", "-m", "venv"]
        assert used[0].startswith(found[0][-1])
        assert leftovers() == []

    def test_offline_names_the_two_ways_without_a_network(self, spec: ModelSpec) -> None:
        hint = refusal(spec, offline=True).hint
        assert "lacli models pull tiny --from tiny_model-1.0-py3-none-any.whl" in hint
        assert "lacli models pull tiny --from tiny.gguf" in hint

    def test_a_refused_connection_names_the_variable_in_force_without_its_password(
        self, spec: ModelSpec, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:9/simple")
        error = refusal(spec)
        assert "PIP_INDEX_URL=http://127.0.0.1:9/simple" in error.message
        assert "secret" not in error.message
        assert "--from" in error.hint
        assert leftovers() == []

    @pytest.mark.slow
    def test_a_network_that_hangs_is_given_up(
        self, spec: ModelSpec, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(download, "STALL_S", 1.5)
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        with socket.create_server(("127.0.0.1", 0)) as server:
            monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.getsockname()[1]}/simple")
            started = time.monotonic()
            message = refusal(spec).message
            assert time.monotonic() - started < 10
        assert "nothing arrived" in message
        assert "PIP_INDEX_URL" in message

    def test_the_real_limit_is_below_twenty_seconds(self) -> None:
        assert download.STALL_S < 20

    def test_a_full_disk_is_said_first_with_need_free_and_path(
        self, spec: ModelSpec, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 2_000_000))
        monkeypatch.setattr(fetch_pip, "watched", lambda *_: pytest.fail("something was fetched"))
        error = refusal(spec, OutOfMemory)
        assert error.exit_code == 4
        assert "needed, 2 MB free" in error.message
        assert str(models_dir() / "sources") in error.message

    def test_what_a_kill_left_is_swept(self, spec: ModelSpec, index: Path) -> None:
        stale = models_dir() / "sources" / ".tiny.gguf.tmp-99999"
        (stale / "pip").mkdir(parents=True)
        (stale / "pip" / "half.whl").write_bytes(b"x")
        ensure_local(spec, Heard())
        assert leftovers() == []


class TestGoingOn:
    @pytest.fixture
    def serve(self, wheel: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
        running: list[Index] = []

        def start(ranges: bool = True) -> Index:
            server = Index(wheel, ranges)
            running.append(server)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            monkeypatch.delenv("PIP_NO_INDEX")
            monkeypatch.delenv("PIP_FIND_LINKS")
            monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/simple")
            return server

        yield start
        for server in running:
            server.let_go.set()
            server.shutdown()
            server.server_close()

    @staticmethod
    def put(spec: ModelSpec, data: bytes) -> Path:
        part = wheel_part(spec)
        part.parent.mkdir(parents=True, mode=0o700)
        part.write_bytes(data)
        return part

    @pytest.mark.slow
    def test_what_has_arrived_is_kept_for_the_user_alone_and_not_fetched_again(
        self, spec: ModelSpec, serve: Any, wheel: Path
    ) -> None:
        server = serve()
        server.most = 98_304
        part = wheel_part(spec)

        def until_enough(step: Progress) -> None:
            if step.done == 98_304:
                raise Enough

        with pytest.raises(Enough):
            ensure_local(spec, until_enough)
        assert part.read_bytes() == wheel.read_bytes()[:98_304]
        assert os.name == "nt" or part.stat().st_mode & 0o777 == 0o600
        assert presence(spec).byte_size == presence(spec).arrived == 98_304
        server.most = None
        server.let_go.set()
        heard = Heard()
        assert ensure_local(spec, heard).read_bytes() == (wheel.parent.parent / "tiny.gguf").read_bytes()
        assert server.asked == [None, "bytes=98304-"]
        assert min(step.done for step in heard.steps if step.stage == "fetch") == 98_304
        assert leftovers() == []

    @pytest.mark.slow
    def test_nothing_more_arrives_once_it_is_left(self, spec: ModelSpec, serve: Any) -> None:
        server = serve()
        server.most = 98_304

        def at_once(step: Progress) -> None:
            if server.sent.is_set():
                raise Enough

        with pytest.raises(Enough):
            ensure_local(spec, at_once)  # it is told of a download in which nothing arrives, too
        before = wheel_part(spec).stat().st_size
        server.let_go.set()
        time.sleep(0.5)
        assert wheel_part(spec).stat().st_size == before

    def test_a_server_without_ranges_gives_all_of_it(self, spec: ModelSpec, serve: Any, wheel: Path) -> None:
        self.put(spec, wheel.read_bytes()[:1000])
        server = serve(ranges=False)
        ensure_local(spec, Heard())
        assert server.asked == ["bytes=1000-"]
        assert leftovers() == []

    @pytest.mark.parametrize("extra", [-1000, 0, 5])
    @pytest.mark.default_cases(1)
    def test_what_does_not_make_the_right_file_is_fetched_anew(
        self, spec: ModelSpec, serve: Any, wheel: Path, extra: int
    ) -> None:
        self.put(spec, bytes(wheel.stat().st_size + extra))
        serve()
        assert ensure_local(spec, Heard()).is_file()
        assert leftovers() == []

    def test_a_whole_file_needs_no_network(self, spec: ModelSpec, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.put(spec, wheel.read_bytes())
        monkeypatch.setattr(fetch_pip, "watched", lambda *_: pytest.fail("something was fetched"))
        heard = Heard()
        assert ensure_local(spec, heard).is_file()
        assert [step.stage for step in heard.steps if step.done and step.done == step.total] == [
            "check",
            "unpack",
            "check",
        ]

    def test_two_at_once_make_one(self, spec: ModelSpec, serve: Any) -> None:
        server = serve()
        server.most = 98_304
        found: list[Path] = []
        first = threading.Thread(target=lambda: found.append(ensure_local(spec, Heard())))
        first.start()
        assert server.sent.wait(20)
        heard = Heard()
        second = threading.Thread(target=lambda: found.append(ensure_local(spec, heard)))
        second.start()
        while "another lacli" not in heard.text:
            time.sleep(0.01)
        server.most = None
        server.let_go.set()
        first.join(20)
        second.join(20)
        assert len(found) == 2
        assert leftovers() == []

    def test_a_pip_that_is_another_fetches_it_in_its_own_way(
        self, spec: ModelSpec, serve: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = serve()
        self.put(spec, b"x" * 1000)
        watched = fetch_pip.watched

        def unknown(command: list[str], *rest: Any) -> Any:
            return fetch_pip.pip_child.UNKNOWN if "-c" in command else watched(command, *rest)

        monkeypatch.setattr(fetch_pip, "watched", unknown)
        assert ensure_local(spec, Heard()).is_file()
        assert server.asked == [None]
        assert leftovers() == []

    def test_removing_a_model_removes_what_has_arrived_of_it(self, spec: ModelSpec) -> None:
        part = self.put(spec, b"x" * 1000)
        assert remove(spec) == 1000
        assert not part.exists()

    def test_a_child_ends_with_whoever_started_it(self, tmp_path: Path) -> None:
        code = "import time; from lacli.models.fetch.parent import end_with_parent; end_with_parent(); time.sleep(60)"
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=Path(fetch.__file__).parents[3]
        )
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(20) == 1


class TestByHand:
    def test_a_wheel_or_the_model_itself_can_be_given(self, spec: ModelSpec, wheel: Path, sandbox: Path) -> None:
        for given in (wheel, wheel.parent.parent / "tiny.gguf"):
            target = place_file(spec, given, Heard())
            assert target.is_file()
            assert ensure_local(spec, Heard(), offline=True) == target
            target.unlink()

    @pytest.mark.parametrize("suffix", [".whl", ".gguf"])
    def test_a_truncated_file_is_an_incomplete_download(
        self, spec: ModelSpec, wheel: Path, tmp_path: Path, suffix: str
    ) -> None:
        source = wheel if suffix == ".whl" else tmp_path / "tiny.gguf"
        cut = tmp_path / f"cut{suffix}"
        cut.write_bytes(source.read_bytes()[:-100])
        with pytest.raises(ModelUnavailable, match="incomplete download"):
            place_file(spec, cut, Heard())
        assert not fetch_file.target_of(spec.sources[0]).exists()

    def test_another_file_is_refused(self, spec: ModelSpec, tmp_path: Path) -> None:
        other = write_gguf(tmp_path / "other.gguf", seed=5)
        with pytest.raises(ModelUnavailable, match="not the expected file"):
            place_file(spec, other, Heard())

    def test_other_kinds_of_files_are_a_usage_error(self, spec: ModelSpec, tmp_path: Path) -> None:
        with pytest.raises(UsageError):
            place_file(spec, tmp_path / "x.zip", Heard())
        with pytest.raises(UsageError):
            place_file(load_registry().resolve("qwen2.5-coder-3b"), tmp_path / "x.gguf", Heard())


class TestHub:
    @pytest.fixture
    def spec(self) -> ModelSpec:
        return replace(
            load_registry().resolve("qwen2.5-coder-3b"),
            alias="tiny",
            sources=(Source("hub", repo="someone/tiny"),),
            parameters=1000,
        )

    @pytest.fixture(autouse=True)
    def online(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "Ünï hub"))
        for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"):
            monkeypatch.delenv(name, raising=False)

    @pytest.fixture
    def serve(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
        running: list[Hub] = []

        def start(folder: Path | None, status: int = 200) -> Hub:
            hub = Hub(folder, status)
            running.append(hub)
            threading.Thread(target=hub.serve_forever, daemon=True).start()
            monkeypatch.setenv("HF_ENDPOINT", hub.address + "/")
            return hub

        yield start
        for hub in running:
            hub.shutdown()
            hub.server_close()

    def test_is_fetched_from_the_named_host_and_then_never_asked_again(
        self, spec: ModelSpec, serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_folder(tmp_path / "model", "qwen2")
        (folder / "pytorch_model.bin").write_bytes(b"\x80")
        hub = serve(folder)
        found = ensure_local(spec, Heard())
        assert (found / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
        assert not any("//" in path for path in hub.asked)
        assert not any("pytorch_model.bin" in path for path in hub.asked)
        hub.asked.clear()
        assert ensure_local(spec, Heard()) == found
        assert ensure_local(spec, Heard(), offline=True) == found
        assert hub.asked == []

    def test_a_cache_without_links_holds_copies_and_nothing_is_said(
        self, spec: ModelSpec, serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Case M5: vfat, some shares, Windows without developer mode; the cache's path has a blank and an umlaut."""
        refuse = tmp_path / "refuse"
        refuse.mkdir()
        (refuse / "sitecustomize.py").write_text(
            "import os\ndef symlink(*args, **more): raise OSError(1, 'not permitted')\nos.symlink = symlink\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(refuse))
        folder = write_folder(tmp_path / "model", "qwen2")
        hub = serve(folder)
        heard = Heard()
        found = ensure_local(spec, heard)
        assert not any(path.is_symlink() for path in found.rglob("*"))
        assert (found / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
        assert not [step.text for step in heard.steps if "link" in step.text]
        hub.asked.clear()
        assert ensure_local(spec, Heard(), offline=True) == found
        assert hub.asked == []

    def test_weights_go_on_from_what_has_arrived_of_them(self, spec: ModelSpec, serve: Any, tmp_path: Path) -> None:
        folder = write_folder(tmp_path / "model", "qwen2")
        data = (folder / "model.safetensors").read_bytes()
        blobs = fetch_hub.repository_folder(spec.sources[0]) / "blobs"
        blobs.mkdir(parents=True)
        (blobs / f"{hashlib.sha256(data).hexdigest()}.lacli.incomplete").write_bytes(data[:5000])
        assert presence(spec).arrived == 5000
        hub = serve(folder)
        heard = Heard()
        assert (ensure_local(spec, heard) / "model.safetensors").read_bytes() == data
        assert hub.ranges == [5000]
        assert not list(blobs.glob("*incomplete"))

    def test_weights_that_are_not_what_the_hub_says_are_not_kept(
        self, spec: ModelSpec, serve: Any, tmp_path: Path
    ) -> None:
        hub = serve(write_folder(tmp_path / "model", "qwen2"))
        hub.digest = "c" * 64
        assert "is not what the hub says it is" in refusal(spec).message
        assert not list(fetch_hub.repository_folder(spec.sources[0]).rglob("*incomplete"))

    def test_a_half_filled_cache_is_said_to_be_incomplete(self, spec: ModelSpec, tmp_path: Path) -> None:
        cache = fetch_hub.repository_folder(spec.sources[0])
        snapshot = cache / "snapshots" / ("a" * 40)
        snapshot.mkdir(parents=True)
        (cache / "refs").mkdir()
        (cache / "refs" / "main").write_text("a" * 40)
        for name in ("config.json", "tokenizer.json", "one.safetensors"):
            (snapshot / name).write_text("{}")
        index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
        (snapshot / "model.safetensors.index.json").write_text(json.dumps(index))
        message = refusal(spec, offline=True).message
        assert "two.safetensors" in message
        assert "one.safetensors" not in message

    @pytest.mark.parametrize(
        ("status", "words"), [(401, "401"), (403, "gated"), (404, "404"), (500, "500"), (307, "elsewhere")]
    )
    @pytest.mark.default_cases(2)
    def test_an_answer_of_refusal_is_one_plain_line(self, spec: ModelSpec, serve: Any, status: int, words: str) -> None:
        serve(None, status)
        error = refusal(spec)
        assert words in error.message
        assert "HF_ENDPOINT" in error.message
        assert "Traceback" not in error.message
        assert error.hint

    def test_an_unreachable_hub_is_one_plain_line(self, spec: ModelSpec, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        error = refusal(spec)
        assert "127.0.0.1:9" in error.message
        assert "HF_ENDPOINT" in error.message
        assert "-m ./folder" in error.hint

    @pytest.mark.slow
    def test_a_hub_that_hangs_is_given_up(self, spec: ModelSpec, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(download, "STALL_S", 2.0)
        with socket.create_server(("127.0.0.1", 0)) as server:
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
            started = time.monotonic()
            assert "nothing arrived" in refusal(spec).message
            assert time.monotonic() - started < 10

    def test_the_variable_for_offline_is_honoured(self, spec: ModelSpec, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setattr(fetch_hub, "watched", lambda *_: pytest.fail("the network was asked"))
        assert "offline" in refusal(spec).message
