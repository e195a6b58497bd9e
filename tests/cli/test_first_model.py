"""The choice before the first model is fetched: offered once, to a person, and to nobody else."""

from __future__ import annotations

import io
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from lacli.cli.framework.options import Common
from lacli.cli.models import first_model
from lacli.cli.tui import command as tui
from lacli.errors import UsageError
from lacli.models.fetch import disk
from lacli.models.fetch.file import target_of
from lacli.models.registry.registry import load_registry
from lacli.paths import models_dir
from tests.cli.conftest import Program, Scripted, Terminal

CODER, SMALL = "qwen2.5-coder-1.5b", "smollm2-135m"
At = Callable[..., io.StringIO]


class Typed(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Sits down at a terminal: `at(typed)`; what is shown there comes back. A stream may be a pipe."""

    def sit(typed: str, stdin: bool = True, stderr: bool = True, disk_free: int = 10**11, memory: int = 10**10) -> Any:
        screen = Typed() if stderr else io.StringIO()
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setattr(sys, "stdin", Typed(typed) if stdin else io.StringIO(typed))
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: SimpleNamespace(free=disk_free))
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=memory))
        return screen

    return sit


@pytest.mark.parametrize(
    ("typed", "name"), [("2\n", CODER), ("1\n", SMALL), ("\n", CODER), (f"what?\n{SMALL}\n", SMALL)]
)
def test_the_answer_is_taken_and_kept(at: At, sandbox: Path, typed: str, name: str) -> None:
    screen = at(typed)
    assert first_model.choose_model(Common()).model == name
    text = screen.getvalue()
    assert "93 MB" in text
    assert "1.1 GB" in text
    assert "needs about 2 GB of memory" in text
    assert "free here: 100.0 GB of disk, 10.0 GB of memory. Recommended: 2." in text
    assert text.count("1 or 2? [2]") == typed.count("\n")
    (kept,) = (sandbox / "config").glob("config.toml")
    assert tomllib.loads(kept.read_text())["model"] == name


@pytest.mark.parametrize("room", [{"disk_free": 10**9}, {"memory": 10**9}])
def test_where_there_is_too_little_room_the_small_one_is_recommended(at: At, room: dict[str, int]) -> None:
    screen = at("\n", **room)
    assert first_model.choose_model(Common()).model == SMALL
    assert "Recommended: 1, as there is too little room for 2." in screen.getvalue()


@pytest.mark.parametrize(
    ("options", "streams"),
    [
        ({}, {"stdin": False}),
        ({}, {"stderr": False}),
        ({"offline": True}, {}),
        ({"quiet": True}, {}),
        ({"model": SMALL}, {}),
        ({"max_tokens": 0}, {}),
    ],
)
def test_nobody_else_is_asked(at: At, options: dict[str, Any], streams: dict[str, bool]) -> None:
    screen = at("2\n", **streams)
    assert first_model.choose_model(Common(**options)).model == options.get("model")
    assert screen.getvalue() == ""


def test_with_the_network_off_nobody_is_asked(at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = at("2\n")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert first_model.choose_model(Common()).model is None
    assert screen.getvalue() == ""


@pytest.mark.parametrize("what", ["fetched", "prepared", "another default"])
def test_with_a_model_here_or_chosen_nobody_is_asked(at: At, sandbox: Path, what: str) -> None:
    if what == "fetched":
        source = load_registry().resolve(CODER).sources[0]
        target_of(source).parent.mkdir(parents=True)
        with target_of(source).open("wb") as file:
            file.truncate(source.bytes)  # presence goes by the size
    elif what == "prepared":
        (models_dir() / "mine-0123456789ab-f1").mkdir(parents=True)
    else:
        (sandbox / "config").mkdir()
        (sandbox / "config" / "models.toml").write_text('default = "starcoder2-3b"\n')
    screen = at("2\n")
    assert first_model.choose_model(Common()).model is None
    assert screen.getvalue() == ""


def test_ctrl_d_leaves(at: At, sandbox: Path) -> None:
    at("")
    with pytest.raises(KeyboardInterrupt):
        first_model.choose_model(Common())
    assert not (sandbox / "config" / "config.toml").exists()


def test_an_answer_that_cannot_be_kept_is_good_for_this_run(at: At, sandbox: Path) -> None:
    (sandbox / "config").touch()
    screen = at("1\n")
    assert first_model.choose_model(Common()).model == SMALL
    assert "the choice could not be kept" in screen.getvalue()


@pytest.mark.parametrize("key", [b"\x03", b"\x04"])
def test_on_a_real_terminal_ctrl_c_and_ctrl_d_leave_with_130(
    program: Program, monkeypatch: pytest.MonkeyPatch, key: bytes
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    terminal = Terminal(program.command("ask", "hi"))
    terminal.wait_for(b"1 or 2? [")
    terminal.send(key)
    assert terminal.finish() == 130
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize(
    "arguments",
    [["ask", "hi"], ["chat", "hi"], ["complete", "a.py:1"], ["edit", "a.py", "change the greeting"], ["tui"]],
)
def test_each_command_that_asks_a_model_offers_it(
    arguments: list[str], project: Path, monkeypatch: pytest.MonkeyPatch, scripted: Scripted
) -> None:
    def offer(common: Common) -> Common:
        raise UsageError("offered")

    (project / "a.py").write_text("def f():\n    return 'hello'\n")
    monkeypatch.setattr(first_model, "choose_model", offer)
    monkeypatch.setattr(tui, "_check_terminal", lambda inline: None)
    result = scripted.run(arguments)
    assert (result.code, result.out) == (2, "")
    assert "offered" in result.err
    assert scripted.assistants == []


def test_an_edit_that_needs_no_model_offers_none(
    project: Path, monkeypatch: pytest.MonkeyPatch, scripted: Scripted
) -> None:
    (project / "a.py").write_text("def f():\n    return 'hello'\n")
    monkeypatch.setattr(first_model, "choose_model", lambda common: pytest.fail("it was offered"))
    result = scripted.run(["edit", "a.py", "rename f to greet"])
    assert (result.code, "greet" in result.out) == (0, True)
