"""Commands beside an engine of `lacli serve`: they use it by themselves, import little, and can do without it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.server import background
from lacli.worker import endpoint
from tests.cli.conftest import Scripted
from tests.imports.test_start import HEAVY, modules_after
from tests.server.running import Running, serving
from tests.worker.worker_child import TEXT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")

ATTACHED = {*HEAVY, "asyncio", "lacli.assistant.loading"}


@pytest.fixture
def running() -> Iterator[Running]:
    with serving() as made:
        yield made


class TestACommand:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["ask", "hi"],
            ["ask", "--batch", "prompts.jsonl"],
            ["complete", "a.py:2"],
            ["complete", "a.py:2", "--alternatives", "2"],
            ["complete", "a.py:2", "-m", "qwen2.5-coder-1.5b"],  # which is shown other files, too
            ["chat", "hi"],
            ["edit", "a.py:2", "say b"],
        ],
    )
    def test_that_is_attached_imports_nothing_heavy(
        self, arguments: list[str], running: Running, project: Path
    ) -> None:
        (project / ".git").mkdir()
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (project / "a.py").write_text("import b\na = 1\n")
        (project / "b.py").write_text("b = 1\n")
        (project / "prompts.jsonl").write_text('"hi"\n')
        loaded = modules_after(
            project, *arguments, "--no-stdin", "-n", "9", codes=(1,) if arguments[0] == "edit" else (0,)
        )
        assert not ATTACHED & loaded
        assert running.workers()

    def test_is_answered_for_its_own_folder(self, running: Running, project: Path, scripted: Scripted) -> None:
        done = scripted.run(["ask", "hi"])
        said = json.loads(done.out)
        assert (said["folder"], said["asked"]) == (str(project), "hi")
        assert not scripted.assistants

    def test_with_no_attach_loads_the_model_itself(self, running: Running, project: Path, scripted: Scripted) -> None:
        assert scripted.run(["ask", "--no-attach", "hi"]).out == "hello\n"
        assert not running.workers()

    def test_of_many_prompts_or_many_texts_is_answered_there_too(self, project: Path, scripted: Scripted) -> None:
        (project / "a.py").write_text("a = 1\n")
        with serving("many") as running:
            done = scripted.run(["ask", "--batch", "-"], (), b'"3"\n"1"\n"2"\n')
            assert [json.loads(line)["text"] for line in done.out.splitlines()] == ["xxx", "x", "xx"]
            assert running.workers()
        with serving("quick") as running:
            assert TEXT.strip() in scripted.run(["complete", "a.py:1", "--alternatives", "2"]).out
            assert running.workers()
        assert not scripted.assistants

    def test_of_many_prompts_whose_engine_dies_says_so_and_goes_on_when_it_is_repeated(
        self, project: Path, scripted: Scripted
    ) -> None:
        arguments = ["ask", "--batch", "-", "-o", "out.jsonl"]
        with serving("dies", "exit"):
            done = scripted.run(arguments, (), b'"3"\n"1"\n')
            assert (done.code, done.out) == (1, "")
            assert done.err == (
                "lacli: error: the engine's process ended with exit code 3; its last words: words; "
                "repeat the command to go on after what out.jsonl holds\n"
            )
        with serving("many"):
            assert scripted.run(arguments, (), b'"3"\n"1"\n').code == 0
        found = [json.loads(line)["text"] for line in (project / "out.jsonl").read_text().splitlines()]
        assert found == ["xxx", "x"]

    def test_can_be_told_never_to_in_the_configuration(
        self, running: Running, project: Path, scripted: Scripted
    ) -> None:
        assert scripted.run(["config", "set", "attach", "false"]).code == 0
        assert scripted.run(["ask", "hi"]).out == "hello\n"

    def test_beside_an_engine_that_was_killed_says_so_in_one_line(self, project: Path, scripted: Scripted) -> None:
        import socket

        path = endpoint.socket_path()
        path.parent.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        done = scripted.run(["ask", "hi"])
        assert done.out == "hello\n"
        assert done.err == "lacli: the engine of `lacli serve` has died; this runs without it\n"

    def test_shows_a_prompt_that_the_engine_makes(self, running: Running, project: Path, scripted: Scripted) -> None:
        done = scripted.run(["ask", "--dry-run", "two words"])
        assert done.out.strip() == "two words"


def test_a_worker_that_dies_in_the_reply_is_one_line_and_the_next_command_works(
    project: Path, scripted: Scripted
) -> None:
    with serving("dies", "exit"):
        done = scripted.run(["ask", "hi"])
        assert done.code == 1
        assert done.out == "x"
        assert done.err == "lacli: error: the engine's process ended with exit code 3; its last words: words\n"
    with serving("quick"):
        assert scripted.run(["ask", "hi"]).out == f"{TEXT}\n"


def test_the_first_command_starts_an_engine_where_that_is_wanted(project: Path, scripted: Scripted) -> None:
    try:
        done = scripted.run(["ask", "--auto-serve", "-m", "no-such-model", "hi"])
        assert "no model named 'no-such-model'" in done.err
        assert endpoint.running_pid() is not None
        assert not scripted.assistants
    finally:
        assert background.stop() is not None
