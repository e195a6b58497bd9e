"""A .gguf file from the hub or in parts from the package index: cut anywhere, damaged, wrong, and made whole again."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hosts import Enough, Heard, Hub, Index

from lacli.errors import ModelUnavailable, OutOfMemory, UsageError
from lacli.models.fetch import disk
from lacli.models.fetch import file as fetch_file
from lacli.models.fetch import hub as fetch_hub
from lacli.models.fetch import hub_file as fetch_hub_file
from lacli.models.fetch import pip as fetch_pip
from lacli.models.fetch.fetch import ensure_local, place_file
from lacli.models.progress import Progress
from lacli.models.registry.inventory import presence, remove
from lacli.models.registry.registry import load_registry
from lacli.models.spec import ModelSpec, Source
from lacli.paths import models_dir

DATA = b"GGUF" + random.Random(1).randbytes(230_000)
"""The file; nobody reads here what is in it."""
STRETCH = 50_000
HUB = Source("hub-file", repo="someone/tiny-GGUF", file="tiny.gguf", bytes=len(DATA))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with five wheels that hold the file."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number, begin in enumerate(range(0, len(DATA), STRETCH), 1):
        name = f"tiny_part{number}"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr(f"{name}/data/part{number:02}.bin", DATA[begin : begin + STRETCH])
            archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            archive.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return folder


@pytest.fixture
def parts(wheels: Path) -> Source:
    made = []
    for number in range(1, len(list(wheels.iterdir())) + 1):
        wheel = (wheels / f"tiny_part{number}-1.0-py3-none-any.whl").read_bytes()
        stretch = DATA[(number - 1) * STRETCH : number * STRETCH]
        made.append(
            Source(
                "wheel",
                package=f"tiny-part{number}",
                version="1.0",
                member=f"tiny_part{number}/data/part{number:02}.bin",
                wheel_bytes=len(wheel),
                wheel_sha256=sha(wheel),
                bytes=len(stretch),
                sha256=sha(stretch),
            )
        )
    return Source("parts", version="1.0", file="tiny.gguf", bytes=len(DATA), sha256=sha(DATA), parts=tuple(made))


@pytest.fixture
def spec(parts: Source) -> ModelSpec:
    """In parts only."""
    known = load_registry().resolve("qwen2.5-coder-1.5b")
    return replace(known, alias="tiny", title="Tiny", sources=(parts,), parameters=1000)


@pytest.fixture
def both(spec: ModelSpec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModelSpec:
    """On the hub, which may be asked, and in parts."""
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub cache"))
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    return replace(spec, sources=(replace(HUB, sha256=sha(DATA)), *spec.sources))


class Wheels:
    """Gives wheels as fetch_pip does, from a folder: a kilobyte at a time, and not more than `most` bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.most = sys.maxsize
        self.given = 0
        self.packages: list[str] = []
        self.peak = 0

    def __call__(self, source: Source, part: Path, work: Path, tick: Callable[[int], None], by_hand: str) -> None:
        self.packages.append(source.package)
        data = (self.folder / f"{source.package.replace('-', '_')}-1.0-py3-none-any.whl").read_bytes()
        with part.open("ab") as handle:
            for at in range(handle.tell(), len(data), 1000):
                block = data[at : at + 1000][: self.most - self.given]
                handle.write(block)
                handle.flush()
                self.given += len(block)
                if self.given >= self.most:
                    raise Enough
                tick(at + len(block))
                self.look()

    def look(self) -> None:
        """Note how much there is on the disk."""
        self.peak = max(self.peak, sum(path.stat().st_size for path in sources() if path.is_file()))


@pytest.fixture
def index(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Wheels:
    """The index of the wheels, without pip."""
    found = Wheels(wheels)
    monkeypatch.setattr(fetch_pip, "fetch_wheel", found)
    return found


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[bytes], Hub]]:
    """Starts a hub that has the file with these bytes."""
    running: list[Hub] = []

    def start(data: bytes) -> Hub:
        folder = tmp_path / "repository"
        folder.mkdir()
        (folder / "tiny.gguf").write_bytes(data)
        running.append(Hub(folder))
        threading.Thread(target=running[-1].serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", running[-1].address)
        return running[-1]

    yield start
    for hub in running:
        hub.shutdown()
        hub.server_close()


def sources() -> list[Path]:
    """All that lies where files are fetched to."""
    return [path for path in (models_dir() / "sources").glob("*") if path.suffix != ".lock"]


def partial(spec: ModelSpec) -> Path:
    return fetch_file.partial_of(spec.sources[-1])


def put(spec: ModelSpec, data: bytes) -> None:
    """Let this much of the file have arrived."""
    partial(spec).parent.mkdir(parents=True, exist_ok=True)
    partial(spec).write_bytes(data)


def damage(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


class TestParts:
    def test_are_put_together_in_their_order_and_nothing_else_is_left(self, spec: ModelSpec, index: Wheels) -> None:
        path = ensure_local(spec, Heard())
        assert path.read_bytes() == DATA
        assert sources() == [path]
        assert index.packages == [f"tiny-part{number}" for number in range(1, 6)]

    def test_size_and_licence_are_said_first_and_one_bar_goes_up_over_all(self, spec: ModelSpec, index: Wheels) -> None:
        heard = Heard()
        ensure_local(spec, heard)
        assert "0 MB in 5 parts, Apache-2.0, from the Python package index" in heard.steps[0].text
        fetched = [step for step in heard.steps if step.stage == "fetch"]
        total = spec.sources[0].download
        assert [step.done for step in fetched] == sorted(step.done for step in fetched)
        assert {step.total for step in fetched} == {total}
        assert fetched[-1].done == total
        stages = [step.stage for step in heard.steps if step.stage != "note"]
        assert "fetch" not in stages[stages.index("check") :]  # at the end, of the whole

    def test_cut_anywhere_they_go_on_and_nothing_is_fetched_twice(self, spec: ModelSpec, index: Wheels) -> None:
        total = spec.sources[0].download
        for point in sorted(random.Random(7).sample(range(1, total), 10)):
            index.most = point
            with pytest.raises(Enough):
                ensure_local(spec, Heard())
            assert 0 < presence(spec).arrived < len(DATA) + STRETCH + 1000
        index.most = sys.maxsize
        heard = Heard()
        assert ensure_local(spec, heard).read_bytes() == DATA
        assert index.given == total
        first = next(step.done for step in heard.steps if step.stage == "fetch")
        assert first >= point
        assert len(sources()) == 1

    def test_never_more_than_one_of_them_is_there_beside_the_file(self, spec: ModelSpec, index: Wheels) -> None:
        def report(step: Progress) -> None:
            index.look()

        ensure_local(spec, report)
        assert len(DATA) <= index.peak <= len(DATA) + max(part.wheel_bytes for part in spec.sources[0].parts)

    def test_of_what_is_here_only_the_damaged_one_is_fetched_again(self, spec: ModelSpec, index: Wheels) -> None:
        put(spec, DATA[: 4 * STRETCH + 10])
        damage(partial(spec), STRETCH + 5)
        assert ensure_local(spec, Heard()).read_bytes() == DATA
        assert index.packages == ["tiny-part2", "tiny-part5"]

    def test_what_is_here_in_full_needs_no_network(self, spec: ModelSpec, index: Wheels) -> None:
        put(spec, DATA)
        assert ensure_local(spec, Heard()).read_bytes() == DATA
        assert index.packages == []

    def test_a_damaged_wheel_is_refused_and_the_next_run_mends_it(
        self, spec: ModelSpec, index: Wheels, wheels: Path
    ) -> None:
        third = wheels / "tiny_part3-1.0-py3-none-any.whl"
        damage(third, 1000)
        with pytest.raises(ModelUnavailable, match="what the index gave for tiny-part3"):
            ensure_local(spec, Heard())
        assert sources() == [partial(spec)]
        assert partial(spec).read_bytes() == DATA[: 2 * STRETCH]
        damage(third, 1000)
        index.packages.clear()
        assert ensure_local(spec, Heard()).read_bytes() == DATA
        assert index.packages == ["tiny-part3", "tiny-part4", "tiny-part5"]

    def test_of_a_wheel_that_holds_something_else_nothing_is_kept(self, spec: ModelSpec, index: Wheels) -> None:
        source = spec.sources[0]
        wrong = (*source.parts[:2], replace(source.parts[2], sha256="0" * 64), *source.parts[3:])
        with pytest.raises(ModelUnavailable, match="tiny-part3"):
            ensure_local(replace(spec, sources=(replace(source, parts=wrong),)), Heard())
        assert sources() == [partial(spec)]
        assert partial(spec).read_bytes() == DATA[: 2 * STRETCH]

    def test_of_a_wrong_whole_nothing_is_kept(self, spec: ModelSpec, index: Wheels) -> None:
        wrong = replace(spec, sources=(replace(spec.sources[0], sha256="0" * 64),))
        with pytest.raises(ModelUnavailable, match="the 5 parts together"):
            ensure_local(wrong, Heard())
        assert sources() == []

    def test_a_full_disk_is_said_before_anything_is_fetched(
        self, spec: ModelSpec, index: Wheels, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 2_000_000))
        with pytest.raises(OutOfMemory, match="needed, 2 MB free"):
            ensure_local(spec, Heard())
        assert index.packages == []

    def test_what_has_arrived_is_shown_and_removed_with_the_model(self, spec: ModelSpec, index: Wheels) -> None:
        index.most = 120_000
        with pytest.raises(Enough):
            ensure_local(spec, Heard())
        here = presence(spec)
        assert here.files is None
        assert here.arrived == here.byte_size == sum(path.stat().st_size for path in sources()) > 100_000
        assert remove(spec) == here.arrived
        assert sources() == []
        index.most = sys.maxsize
        path = ensure_local(spec, Heard())
        assert presence(spec).files == path
        assert presence(spec).byte_size == remove(spec) == len(DATA)

    @pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
    @pytest.mark.slow
    def test_a_process_that_is_killed_within_a_wheel_leaves_what_the_next_goes_on_from(
        self, spec: ModelSpec, wheels: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Path
    ) -> None:
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        put(spec, DATA[: 4 * STRETCH])
        (sandbox / "config").mkdir(exist_ok=True)
        (sandbox / "config" / "models.toml").write_text(as_toml(spec))
        server = Index(wheels / "tiny_part5-1.0-py3-none-any.whl")
        server.most = 16_384
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/simple")
        code = (
            "from lacli.models.fetch.fetch import ensure_local;"
            "from lacli.models.registry.registry import load_registry;"
            "print(ensure_local(load_registry().resolve('tiny'), lambda step: None))"
        )
        root = str(Path(fetch_file.__file__).parents[3])
        child = subprocess.Popen([sys.executable, "-c", code], cwd=root)
        try:
            assert server.sent.wait(20)
            wheel = fetch_file.wheel_of(spec.sources[0].parts[4], fetch_file.target_of(spec.sources[0]))
            while not wheel.is_file() or wheel.stat().st_size < 16_384:
                assert child.poll() is None
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(20)
            server.most = None
            server.let_go.set()
        done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
        server.shutdown()
        server.server_close()
        assert done.returncode == 0, done.stderr
        assert Path(done.stdout.strip()).read_bytes() == DATA
        assert server.asked == [None, "bytes=16384-"]


class TestHubFile:
    def test_the_hub_is_asked_first_and_then_never_again(
        self, both: ModelSpec, index: Wheels, serve: Callable[[bytes], Hub]
    ) -> None:
        hub = serve(DATA)
        heard = Heard()
        path = ensure_local(both, heard)
        assert path.read_bytes() == DATA
        assert sources() == [path]
        assert "someone/tiny-GGUF from 127.0.0.1" in heard.steps[0].text
        assert "Apache-2.0" in heard.steps[0].text
        assert index.packages == []
        hub.asked.clear()
        assert ensure_local(both, Heard(), offline=True) == path
        assert hub.asked == []

    def test_goes_on_from_what_has_arrived_whoever_gave_it(
        self, both: ModelSpec, index: Wheels, serve: Callable[[bytes], Hub]
    ) -> None:
        index.most = 130_000
        with pytest.raises(Enough):
            ensure_local(both, Heard())
        have = partial(both).stat().st_size
        hub = serve(DATA)
        assert ensure_local(both, Heard()).read_bytes() == DATA
        assert hub.ranges == [have]
        assert len(sources()) == 1

    def test_what_the_hub_began_is_gone_on_with_from_the_index(self, both: ModelSpec, index: Wheels) -> None:
        put(both, DATA[: 3 * STRETCH + 777])
        heard = Heard()
        assert ensure_local(both, heard).read_bytes() == DATA
        assert index.packages == ["tiny-part4", "tiny-part5"]

    def test_where_it_cannot_be_reached_one_note_says_that_the_index_is_asked(
        self, both: ModelSpec, index: Wheels
    ) -> None:
        heard = Heard()
        assert ensure_local(both, heard).read_bytes() == DATA
        (said,) = [step.text for step in heard.steps if "going on with" in step.text]
        assert said.startswith("cannot fetch someone/tiny-GGUF from 127.0.0.1:9: ")
        assert said.endswith("going on with the Python package index")
        assert "\n" not in said

    def test_where_neither_has_it_the_way_by_hand_is_named(
        self, both: ModelSpec, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nothing(*_: Any) -> None:
            raise ModelUnavailable("pip could not fetch it", "by hand")

        monkeypatch.setattr(fetch_pip, "fetch_wheel", nothing)
        with pytest.raises(ModelUnavailable, match="pip could not fetch it"):
            ensure_local(both, Heard())
        with pytest.raises(ModelUnavailable) as caught:
            ensure_local(both, Heard(), offline=True)
        assert caught.value.hint == "without a network: `lacli models pull tiny --from tiny.gguf`"

    @pytest.mark.parametrize(
        ("digest", "words"), [("", "another tiny.gguf is there now"), (sha(DATA), "is not the expected file")]
    )
    @pytest.mark.default_cases(1)
    def test_of_another_file_of_that_name_nothing_is_kept(
        self, both: ModelSpec, index: Wheels, serve: Callable[[bytes], Hub], digest: str, words: str
    ) -> None:
        hub = serve(DATA[:-1] + b"?")
        hub.digest = digest  # what it says of the file: the truth, or what is wanted
        with pytest.raises(ModelUnavailable, match=words):
            ensure_local(both, Heard(), only="hub")
        assert sources() == []
        assert ensure_local(both, Heard()).read_bytes() == DATA  # from the index

    def test_one_in_the_hubs_cache_is_used_where_it_is(self, both: ModelSpec, index: Wheels) -> None:
        folder = fetch_hub.repository_folder(both.sources[0])
        blob, snapshot = folder / "blobs" / sha(DATA), folder / "snapshots" / ("a" * 40)
        for each in (blob.parent, snapshot, folder / "refs"):
            each.mkdir(parents=True)
        blob.write_bytes(DATA)
        (folder / "refs" / "main").write_text("a" * 40)
        (snapshot / "tiny.gguf").symlink_to(blob)
        assert ensure_local(both, Heard()) == snapshot / "tiny.gguf"
        assert presence(both).files == snapshot / "tiny.gguf"
        assert sources() == []
        remove(both)
        assert blob.is_file()  # other programs share it

    def test_the_variable_for_offline_is_honoured(
        self, both: ModelSpec, index: Wheels, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setattr(fetch_hub_file, "in_child", lambda *_: pytest.fail("the hub was asked"))
        assert ensure_local(both, Heard()).is_file()


class TestFrom:
    def test_the_index_alone(self, both: ModelSpec, index: Wheels, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fetch_hub_file, "in_child", lambda *_: pytest.fail("the hub was asked"))
        assert ensure_local(both, Heard(), only="index").read_bytes() == DATA

    def test_the_hub_alone(self, both: ModelSpec, index: Wheels) -> None:
        with pytest.raises(ModelUnavailable, match=r"cannot fetch .* from 127.0.0.1:9"):
            ensure_local(both, Heard(), only="hub")
        assert index.packages == []

    def test_a_place_that_does_not_have_it(self, spec: ModelSpec) -> None:
        with pytest.raises(UsageError) as caught:
            ensure_local(spec, Heard(), only="hub")
        assert str(caught.value.message) == "tiny cannot be had from the Hugging Face hub"
        assert "the Python package index" in caught.value.hint

    @pytest.mark.parametrize("name", ["tiny.gguf", "sha256-b179", "blob"])
    def test_the_whole_file_whatever_it_is_called(self, both: ModelSpec, tmp_path: Path, name: str) -> None:
        put(both, DATA[:1000])
        given = tmp_path / name
        given.write_bytes(DATA)
        path = place_file(both, given, Heard())
        assert path.read_bytes() == DATA
        assert sources() == [path]
        assert ensure_local(both, Heard(), offline=True) == path

    def test_a_wheel_is_refused(self, both: ModelSpec, wheels: Path) -> None:
        with pytest.raises(UsageError, match="not in one wheel"):
            place_file(both, wheels / "tiny_part1-1.0-py3-none-any.whl", Heard())


def as_toml(spec: ModelSpec) -> str:
    """The model as a registry file has it."""
    source = spec.sources[-1]
    keys = ("wheel_bytes", "wheel_sha256", "bytes", "sha256")
    tables = []
    for part in source.parts:
        values = {key: getattr(part, key) for key in keys}
        pairs = (f'{key} = "{value}"' if "sha" in key else f"{key} = {value}" for key, value in values.items())
        tables.append("{ " + ", ".join(pairs) + " }")
    return f"""
[models.tiny]
title = "Tiny"
kind = "gguf"
context = 128
style = "chat"
licence = "Apache-2.0"
parameters = 1000
[[models.tiny.sources]]
kind = "parts"
package = "tiny-part{{n}}"
version = "1.0"
member = "tiny_part{{n}}/data/part{{nn}}.bin"
file = "tiny.gguf"
bytes = {source.bytes}
sha256 = "{source.sha256}"
wheels = [
  {", ".join(tables)}
]
"""
