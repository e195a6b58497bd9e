"""`lacli acp` as a process: what is on its stdout, what ends it, and the default model behind it."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lacli.cli.main import main
from tests.server import door
from tests.server.acp.editors import Editor, Talk, process
from tests.slow import slow


def test_a_conversation(folder: Path) -> None:
    answers = ["hello there", "```python\na = 2\n```\n"]
    editor = Editor()

    async def go() -> None:
        async with process(editor, door.command(json.dumps(answers), "acp")) as (agent, running):
            talk = Talk(editor, agent, (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id)
            assert (await talk.say("hello")).stop_reason == "end_turn"
            assert editor.text() == "hello there"
            await talk.say("/edit a.py set a to 2")
            assert list(editor.written.values()) == ["a = 2\n"]
            (worker,) = door.children(running.pid)
        assert running.returncode == 0
        assert not worker.is_running()
        noise = (await running.stderr.read()).decode()
        assert "Traceback" not in noise

    asyncio.run(go())


@pytest.mark.slow
def test_a_cancel_ends_the_step_and_the_next_prompt_is_answered(folder: Path) -> None:
    editor = Editor()

    async def go() -> None:
        async with process(editor, door.command("slow", "acp")) as (agent, _):
            talk = Talk(editor, agent, (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id)
            for _ in range(2):
                begun = asyncio.Event()
                editor.on_text = begun.set
                answer = asyncio.create_task(talk.say("hello"))
                await begun.wait()
                await agent.cancel(session_id=talk.id)
                assert (await answer).stop_reason == "cancelled"
                assert set(editor.text()) == {"x"}

    asyncio.run(go())


def lines(*messages: Any) -> bytes:
    return b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in messages)


def call(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answering(kind: str, folder: Path) -> tuple[subprocess.Popen[bytes], Any]:
    """An agent in the middle of an answer, or of loading for it, and its worker."""
    running = subprocess.Popen(door.command(kind, "acp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(lines(call(0, "session/new", cwd=str(folder), mcpServers=[])))
    id_ = json.loads(running.stdout.readline())["result"]["sessionId"]
    prompt = [{"type": "text", "text": "hello"}]
    running.stdin.write(lines(call(1, "session/prompt", sessionId=id_, prompt=prompt)))
    awaited = b"agent_message_chunk" if kind == "slow" else b"agent_thought_chunk"
    while awaited not in running.stdout.readline():
        pass
    (worker,) = door.children(running.pid)
    return running, worker


@pytest.mark.parametrize(
    ("kind", "closed"), [("slow", "stdin"), slow("stuck", "stdin"), slow("slow", "stdout")], ids=str
)
def test_an_editor_that_goes_ends_it_and_its_worker_whatever_they_do(kind: str, closed: str, folder: Path) -> None:
    running, worker = answering(kind, folder)
    getattr(running, closed).close()
    assert running.wait(door.ENOUGH_S) == 0
    door.until(lambda: not worker.is_running())
    for stream in (running.stdin, running.stdout):
        assert stream is not None
        stream.close()


def test_what_is_no_message_is_answered_and_nothing_else_is_on_stdout(folder: Path) -> None:
    nested = b"[" * 100_000
    broken = [b"nonsense", nested, [1], {"a": 1}, {"method": 3, "id": 1}, b'{"jsonrpc":"2.0","id":1}', b"", b"\xff\xfe"]
    wrong = [
        call(2, "session/prompt"),
        call(3, "session/prompt", sessionId=7, prompt="x"),
        call(4, "nosuch/method"),
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "nosuch"}},
        {"jsonrpc": "2.0", "method": "session/cancel", "params": [1]},
        call(5, "session/new", cwd=str(folder), mcpServers=[]),
    ]
    running = subprocess.Popen(
        door.command('["hi"]', "acp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(lines(*broken, *wrong))
    running.stdin.flush()
    answers = [json.loads(running.stdout.readline()) for _ in range(11)]
    codes = [each["error"]["code"] for each in answers if each.get("id") is None and "error" in each]
    assert codes == [-32700, -32700, -32600, -32600, -32600, -32700]
    by_id = {each["id"]: each for each in answers if each.get("id")}
    assert [by_id[each]["error"]["code"] for each in (2, 3, 4)] == [-32602, -32602, -32601]
    assert by_id[5]["result"]["sessionId"]
    out, err = running.communicate(timeout=door.ENOUGH_S)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert b"Traceback" not in err


def test_the_default_model_answers_as_it_answers_ask(
    sandbox_with_model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    editor = Editor()
    question = "Write a function that adds two numbers."

    async def go() -> str:
        async with process(editor, door.real("acp", "-n", "24")) as (agent, _):
            talk = Talk(editor, agent, (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id)
            answer = await talk.say(question)
            assert answer.stop_reason == "max_tokens"
            assert (answer.field_meta or {})["lacli/tokens"] == 24
            return editor.text()

    text = asyncio.run(go())
    monkeypatch.chdir(folder)
    assert main(["ask", "--no-stdin", "-n", "24", question]) == 0
    assert capfd.readouterr().out.strip() == text.strip()


def test_a_model_that_nobody_knows_is_told_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["acp", "-m", "nosuch"]) == 3
    assert capfd.readouterr().err.startswith("lacli: error: no model named 'nosuch'")
