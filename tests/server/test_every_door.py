"""Sixty prompts through every door of one `lacli serve`, each in its project: the words of `lacli ask`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest

from lacli.assistant.assistant import Assistant
from lacli.bench.doors.engine import TOKEN, Served, served
from lacli.cli.main import main
from lacli.config import Settings
from lacli.events import Finished, Message, Request
from lacli.server.acp.start import Start
from lacli.server.stdio.engine import Engines, where
from lacli.worker.attached import attached
from tests.server.acp.editors import Editor, Talk, connected

pytestmark = [
    pytest.mark.slow,
    pytest.mark.model,
    pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets"),
]

_TASKS = (
    *("adds two numbers", "reverses a list", "counts words", "reads a file", "sorts names", "finds the largest value"),
    *("checks a palindrome", "computes a factorial", "parses a date", "merges two lists", "removes duplicates"),
    *("says hello", "prints a table", "rounds a price", "splits a path", "trims blanks", "joins strings"),
    *("measures time", "makes a folder", "draws a card"),
)
PROMPTS = tuple(
    f"Write a {language} function that {task}." for task in _TASKS for language in ("Python", "Go", "naïve 漢字")
)
TOKENS = 8
MODEL = "smollm2-135m"


@dataclass(frozen=True)
class Doors:
    """An engine, and what is asked of all its doors."""

    server: Served
    client: openai.OpenAI
    expected: dict[str, str]

    def post(self, path: str, **body: Any) -> Any:
        told, _ = self.server.post(path, {"model": MODEL, **body})
        return told

    def rendered(self, prompt: str) -> str:
        """The prompt as the model reads it."""
        return str(self.post("/apply-template", messages=said(prompt))["prompt"])


def said(prompt: str) -> Any:
    return [{"role": "user", "content": prompt}]


def asked(prompt: str) -> Request:
    return Request((Message("user", prompt),), max_tokens=TOKENS)


def text_of(events: Iterator[Any]) -> str:
    *_, last = events
    assert isinstance(last, Finished)
    return last.text


@pytest.fixture(scope="module")
def expected(model_home: Path) -> dict[str, str]:
    """What the model says plainly, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LACLI_HOME", str(model_home))
        settings = Settings(folder=model_home, lookahead=False, pool=False, offline=True, keep_prompts=False)
        assistant = Assistant(settings)
        try:
            return {prompt: text_of(assistant.reply(asked(prompt))) for prompt in PROMPTS}
        finally:
            assistant.close()


@pytest.fixture
def doors(expected: dict[str, str], sandbox_with_model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Doors]:
    with served(ollama=True) as server:
        monkeypatch.setenv("LACLI_HOME", str(server.home))
        headers = {"X-Lacli-Project": str(server.folder)}
        url = f"http://127.0.0.1:{server.port}/v1"
        with openai.OpenAI(base_url=url, api_key=TOKEN, max_retries=0, default_headers=headers) as client:
            yield Doors(server, client, expected)


def chat(doors: Doors, prompt: str) -> str:
    told = doors.client.chat.completions.create(model=MODEL, messages=said(prompt), max_tokens=TOKENS)
    return told.choices[0].message.content or ""


def chat_stream(doors: Doors, prompt: str) -> str:
    chunks = doors.client.chat.completions.create(model=MODEL, messages=said(prompt), max_tokens=TOKENS, stream=True)
    return "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)


def completions(doors: Doors, prompt: str) -> str:
    told = doors.client.completions.create(model=MODEL, prompt=doors.rendered(prompt), max_tokens=TOKENS)
    return told.choices[0].text


def completions_stream(doors: Doors, prompt: str) -> str:
    chunks = doors.client.completions.create(model=MODEL, prompt=doors.rendered(prompt), max_tokens=TOKENS, stream=True)
    return "".join(each.choices[0].text for each in chunks if each.choices)


def completion(doors: Doors, prompt: str) -> str:
    return str(doors.post("/completion", prompt=doors.rendered(prompt), n_predict=TOKENS)["content"])


def ollama_chat(doors: Doors, prompt: str) -> str:
    options = {"num_predict": TOKENS}
    return str(doors.post("/api/chat", messages=said(prompt), stream=False, options=options)["message"]["content"])


def ollama_generate(doors: Doors, prompt: str) -> str:
    options = {"num_predict": TOKENS}
    return str(doors.post("/api/generate", prompt=prompt, stream=False, options=options)["response"])


HTTP = (chat, chat_stream, completions, completions_stream, completion, ollama_chat, ollama_generate)


@pytest.mark.parametrize("door", HTTP, ids=lambda door: door.__name__)
def test_of_http(doors: Doors, door: Callable[[Doors, str], str]) -> None:
    assert {prompt: door(doors, prompt) for prompt in PROMPTS} == doors.expected


def test_of_attached_commands(doors: Doors, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assistant = attached(Settings(folder=doors.server.folder, offline=True))
    assert {prompt: text_of(assistant.reply(asked(prompt))) for prompt in PROMPTS} == doors.expected
    assistant.close()
    monkeypatch.chdir(doors.server.folder)
    for prompt in PROMPTS[::20]:
        assert main(["ask", "-n", str(TOKENS), "--no-stdin", prompt]) == 0
        assert capfd.readouterr().out.rstrip("\n") == doors.expected[prompt].rstrip("\n")


def test_of_acp(doors: Doors) -> None:
    start = Start(settings=Settings(offline=True), request=Request(max_tokens=TOKENS), keep=False)

    async def go() -> dict[str, str]:
        found, notes = {}, list[str]()
        editor = Editor()
        async with connected(editor, Engines(where(attach=True, start=False, note=notes.append)), start) as agent:
            for prompt in PROMPTS:
                session = await agent.new_session(cwd=str(doors.server.folder), mcp_servers=[])
                await Talk(editor, agent, session.session_id).say(prompt)
                found[prompt] = editor.text()
        assert not notes
        return found

    assert asyncio.run(go()) == doors.expected
