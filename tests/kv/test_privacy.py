"""What was read is kept as the log is: for the owner alone, and not at all where nothing is to be known of it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lacli import paths
from lacli.events import Place, Request
from lacli.kernels.library import library
from lacli.kv import store
from tests.assistants import Make, ask, loaded, make, reply
from tests.forks import ROOT
from tests.kv.test_replies import LONG, side_by_side, stored

__all__ = ["loaded", "make"]

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(library() is None, reason="the store serves our own kernels only"),
]
KEY = "AKIA" + "J4VQ7R2MZ6T9WXB3"


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_nobody_else_can_read_it_whatever_the_umask(make: Make) -> None:
    before = os.umask(0)
    try:
        reply(make(keep_prompts=True), ask(LONG, max_tokens=2))
    finally:
        os.umask(before)
    (folder,) = store.projects(paths.kv_dir())
    assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent, folder.parent.parent)} == {0o700}
    found = list(folder.iterdir())
    assert found
    assert {stat.S_IMODE(each.stat().st_mode) for each in found} == {0o600}


def test_nothing_is_kept_of_a_batch_with_a_secret_and_all_of_the_others(make: Make) -> None:
    secret, other = ask(f"aws_access_key_id = {KEY}\n{LONG}", max_tokens=4), ask(LONG, max_tokens=4)
    side_by_side(make(keep_prompts=True), [secret, other])
    alone = stored().positions
    store.clear(store.projects(paths.kv_dir())[0])
    reply(make(keep_prompts=True), other)
    assert stored().positions == alone


def test_nothing_is_kept_of_a_prompt_with_a_value_that_the_project_keeps_secret(make: Make, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DB_PASSWORD=horse-staple-battery-21\n")
    reply(make(keep_prompts=True), ask(f"{LONG}\nIs horse-staple-battery-21 good?", max_tokens=4))
    assert stored().count == 0
    reply(make(keep_prompts=True), ask(f"{LONG}\nIs it good?", max_tokens=4))
    assert stored().count > 0


def test_nothing_is_kept_of_a_reply_with_a_secret_that_the_prompt_begins(make: Make) -> None:
    assistant = make(keep_prompts=True)
    assert assistant.loaded is not None
    assert assistant.loaded.pool is not None
    asked: list[str] = []

    def refuse(text: str, wary: bool = False) -> bool:
        asked.append(text)
        return text.startswith("token = ") and text != "token = "

    assistant.loaded.pool.refuse = refuse
    place = Place(prefix=f"# {LONG}\ntoken = ", path="a.py")
    assert reply(assistant, Request(place=place, max_tokens=4)).token_ids
    assert asked
    assert stored().count == 0
    assistant.loaded.pool.refuse = lambda text, wary=False: False
    reply(assistant, Request(place=place, max_tokens=4))
    assert stored().count > 0


@pytest.mark.parametrize("options", [["--no-log"], ["--no-pool"], ["--no-learn"], []], ids=str)
@pytest.mark.slow
def test_a_program_that_is_to_keep_nothing_keeps_nothing(
    sandbox_with_model: Path, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "list.txt").write_text(LONG)

    def run(*words: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(
            [sys.executable, "-m", "lacli", *words], cwd=tmp_path, env=environment, check=True, capture_output=True
        )

    if not options:
        run("logs", "off")
    run("ask", "-f", "list.txt", "Which is the third?", "-n", "2", *options)
    assert not paths.kv_dir().exists()
    if not options:
        run("logs", "on")
    run("ask", "-f", "list.txt", "Which is the third?", "-n", "2")
    assert stored().positions >= 256
