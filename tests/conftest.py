"""The sandbox every test runs in, and the default model for the tests that need it.

A test sees a `LACLI_HOME` of its own, no network but loopback, and none of the variables a developer may have set.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import itertools
import os
import re
import signal
import socket
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.slow import slow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lacli.models.base import Quant, Runner
    from lacli.models.prepare.prepare import PreparedModel

os.environ["HF_HUB_OFFLINE"] = "1"  # read by huggingface_hub when it is imported, so before any test module is
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # workers share the cores: spinning threads would stand in the way

os.environ.pop("PYTHONUNBUFFERED", None)
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # each of the processes started here would compile all of lacli
    sys.dont_write_bytecode = False

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what is to run in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as nohup does
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

_FOREIGN = ("LACLI_", "HF_", "XDG_", "TRANSFORMERS_", "GIT_", "LC_", "LANG", "TYPER_")
_KEPT = {"LACLI_CACHE_SEED", "HF_HUB_OFFLINE"}
_connect = socket.socket.connect
_numbers = itertools.count()


def _connect_locally(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6):
        host = str(address[0])
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise AssertionError(f"a test tried to reach {host}")
    _connect(self, address)


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """As pytest's own, but numbered here: pytest looks through all folders for each number, quadratic in the tests."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}-{next(_numbers)}", numbered=False)


@pytest.fixture(autouse=True)
def sandbox(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `LACLI_HOME`, a clean environment, no network. Returns the home."""
    for name in list(os.environ):
        if name.startswith(_FOREIGN) and name not in _KEPT:
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING", "PYTHONUTF8"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp(f"home-{next(_numbers)}", numbered=False)
    monkeypatch.setenv("LACLI_HOME", str(home))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(socket.socket, "connect", _connect_locally)
    return home


@pytest.fixture(autouse=True)
def no_library_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The n-grams of a tiny model's tokenizer are those of no text: counting Python's library takes half a minute."""
    from lacli.assistant import ngram_table

    monkeypatch.setattr(ngram_table, "library_files", list)


@pytest.fixture(scope="session", autouse=True)
def signatures_read_once() -> Iterator[None]:
    """Each run of a command in this process makes all commands anew; what takes long, their signatures, stays."""
    import typer._adapters
    import typer.main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer._adapters, "try_build_adapter", functools.cache(typer._adapters.try_build_adapter))
        patch.setattr(typer.main, "get_params_from_function", functools.cache(typer.main.get_params_from_function))
        yield


@pytest.fixture(scope="session", autouse=True)
def logs_left_to_the_system() -> Iterator[None]:
    """SQLite waits for the disk at each change, for the sake of a power cut, which no test can bring about."""
    import sqlite3

    connect = sqlite3.connect

    def hastily(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        with contextlib.suppress(sqlite3.Error):  # a damaged or a busy one, which is for the program to find out
            connection.execute("PRAGMA synchronous = OFF")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", hastily)
        yield


@pytest.fixture(scope="session", autouse=True)
def forks_end() -> Iterator[None]:
    """The process that forks programs, where there was one, ends with the tests."""
    yield
    from tests import forks

    forks.close()


@pytest.fixture(scope="session")
def model_home(request: pytest.FixtureRequest) -> Path:
    """A `LACLI_HOME` whose cache has the default model, kept between runs; `LACLI_CACHE_SEED` names another one."""
    seed = os.environ.get("LACLI_CACHE_SEED", "")
    home = Path(seed) if seed else Path(request.config.cache.mkdir("lacli-home"))
    with _home(home):
        from lacli.models.prepare.prepare import prepare
        from lacli.models.registry.registry import load_registry

        prepare(load_registry().resolve(None), None, lambda progress: None)
    return home.absolute()


@pytest.fixture(scope="session")
def prepared_default(model_home: Path) -> PreparedModel:
    """The default model, prepared as int8."""
    return _prepared(model_home, "int8")


@pytest.fixture(scope="session")
def prepared_float(model_home: Path) -> PreparedModel:
    """The default model, prepared in float32 too: a folder transformers can load."""
    return _prepared(model_home, "none")


@pytest.fixture(scope="session")
def prepared_as(model_home: Path) -> Callable[[Quant], PreparedModel]:
    """The default model, prepared as this quantisation asks for."""
    return lambda quant: _prepared(model_home, quant)


def _prepared(home: Path, quant: Quant) -> PreparedModel:
    with _home(home):
        from lacli.models.prepare.prepare import prepare
        from lacli.models.registry.registry import load_registry

        return prepare(load_registry().resolve(None), quant, lambda progress: None, offline=True)


@pytest.fixture(scope="session", params=["int4", "int8", "none", slow("torch-int8"), slow("torch-none")])
def default_runner(request: pytest.FixtureRequest, model_home: Path) -> Iterator[Runner]:
    """The default model in memory, on one thread, each way it runs on a CPU; whoever takes it empties its cache."""
    import torch

    from lacli.models.runners.load import load_runner
    from tests.models.kernels import choose

    quant = request.param.removeprefix("torch-")
    before = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        choose("torch" if quant != request.param else "native", patch)
        runner = load_runner(_prepared(model_home, quant), quant, threads=1)
    yield runner
    torch.set_num_threads(before)


@pytest.fixture
def sandbox_with_model(sandbox: Path, model_home: Path) -> Path:
    """The sandbox, with the default model and its measured cost curve in its cache."""
    (sandbox / "cache").symlink_to(model_home / "cache")
    return sandbox


class _home:
    """`LACLI_HOME` for the length of a with block; session fixtures cannot use monkeypatch."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def __enter__(self) -> None:
        self._before = os.environ.get("LACLI_HOME")
        os.environ["LACLI_HOME"] = str(self._home)

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            os.environ.pop("LACLI_HOME", None)
        else:
            os.environ["LACLI_HOME"] = self._before


_WITH_MODEL = {
    "model_home",
    "prepared_as",
    "prepared_default",
    "prepared_float",
    "default_runner",
    "sandbox_with_model",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that take the default model carry the marker, so that `-m "not model"` is quick. All but the first n cases
    of a parametrised test with `default_cases(n)` are slow."""
    seen: Counter[str] = Counter()
    for item in items:
        if _WITH_MODEL & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.model)
        default = item.get_closest_marker("default_cases")
        if default is not None:
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if seen[name] > default.args[0]:
                item.add_marker(pytest.mark.slow)
