"""The terminal UI in front of a remote: its name is always to be seen, its numbers are those it tells, and whatever it
does to a reply, what arrived stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.configuration.remotes import Remote
from lacli.errors import ModelUnavailable
from lacli.remote.assistant import RemoteAssistant
from lacli.remote.exchange import Limits
from lacli_tui.engine_session import EngineSession
from lacli_tui.screens.models import Model, about, known_models, remote_of
from lacli_tui.start import Start
from lacli_tui.widgets.decode_panel import DecodePanel
from lacli_tui.widgets.header import Header
from lacli_tui.widgets.status_line import StatusLine
from tests.remote.scripted import Answer, Server, chunks, refusal, serving, until
from tests.tui.conftest import Play

SEEN = "Use os.replace, which is atomic."
QUICK = Limits(connect_s=2.0, idle_s=0.3, first_s=2.0, pause_s=0.01, patience_s=0.5)


def given(server: Server) -> dict[str, Any]:
    """What the UI is started with."""
    known: Mapping[str, Remote] = {"gpu": Remote("gpu", server.url)}
    return {
        "settings": Settings(model="remote:gpu"),
        "model": "remote:gpu",
        "replier": RemoteAssistant(Settings(model="remote:gpu"), lambda: known["gpu"], QUICK),
        "remotes": lambda: known,
    }


def lines(it: Any, kind: type[Any]) -> str:
    widget = it.main.query_one(kind)
    return "\n".join(line.plain for line in widget.view(120, 40))


async def test_header_and_panel_tell_of_the_remote(pilot: Play) -> None:
    with serving("vllm") as server:
        async with pilot(**given(server), size=(120, 40)) as it:
            assert "remote:gpu" in lines(it, Header)
            await it.ask("hi")
            assert SEEN in it.text()
            assert "remote:gpu" in lines(it, Header)
            assert "2.00 mean" in lines(it, DecodePanel)


async def test_what_is_not_told_is_shown_as_such(pilot: Play) -> None:
    with serving("openai") as server:
        async with pilot(**given(server), size=(120, 40)) as it:
            await it.ask("hi")
            panel = lines(it, DecodePanel)
            assert "n/a mean" in panel
            assert "n/a of text" in panel
            line = lines(it, StatusLine)
            assert "n/a tok/step" in line
            assert "guessed n/a" in line


@pytest.mark.parametrize(
    "answer",
    [
        Answer(parts=chunks("vllm")[:3]),
        Answer(parts=[*chunks("vllm")[:3], 30.0]),
        Answer(parts=[*chunks("vllm")[:3], b"data: {oops}\n\n"]),
    ],
    ids=["drops", "stalls", "wrong JSON"],
)
async def test_a_broken_reply_keeps_what_arrived(pilot: Play, answer: Answer) -> None:
    with serving("vllm", answer, Answer(parts=chunks("vllm", ["All", " of", " it."]))) as server:
        async with pilot(**given(server), size=(120, 40)) as it:
            await it.ask("hi")
            assert "remote:gpu" in it.text()
            turns = it.main.engine.chat.conversation.turns
            assert [turn.answer.text for turn in turns] == ["Use `os.replace`,"]
            await it.ask("and now?")
            assert "All of it." in it.text()


async def test_escape_closes_the_connection(pilot: Play) -> None:
    with serving("vllm", Answer(parts=[*chunks("vllm")[:3], 30.0])) as server:
        remote = Remote("gpu", server.url)
        arguments = given(server) | {"replier": RemoteAssistant(Settings(model="remote:gpu"), lambda: remote)}
        async with pilot(**arguments, size=(120, 40)) as it:
            await it.type("hi")
            await it.press("enter")
            await it.until(lambda: "which" in it.text() or "replace" in it.text())
            await it.press("escape")
            await it.idle()
            until(server.gone.is_set)
            assert "Use `os.replace`," in it.main.engine.chat.conversation.turns[0].answer.text


async def test_a_refusal_is_shown_and_the_question_is_not_lost(pilot: Play) -> None:
    with serving("vllm", refusal(401, "key expired"), Answer(parts=chunks("vllm"))) as server:
        async with pilot(**given(server), size=(120, 40)) as it:
            await it.ask("hi")
            assert "refuses the key" in it.text()
            await it.ask("hi")
            assert SEEN in it.text()


def test_the_engine_of_a_remote_is_made_by_who_knows_it() -> None:
    made: list[Settings] = []

    def remote(settings: Settings) -> ScriptedAssistant:
        made.append(settings)
        return ScriptedAssistant(["a"])

    session = EngineSession(Start(settings=Settings(model="remote:gpu"), remote=remote, keep=False), lambda: None)
    session.close()
    assert [settings.model for settings in made] == ["remote:gpu"]


def test_a_model_that_is_no_remote_of_the_user_is_refused() -> None:
    with pytest.raises(ModelUnavailable, match="no remote named 'x'"):
        remote_of("remote:x", lambda: {"gpu": Remote("gpu", "http://192.0.2.1")})


def test_remotes_are_listed_behind_the_models() -> None:
    seen: list[list[Model]] = []
    models = known_models(seen.append, lambda: {"gpu": Remote("gpu", "http://192.0.2.1", "coder")})
    assert models[-1].name == seen[0][-1].name == "remote:gpu"
    assert "what is asked is sent to 192.0.2.1" in about(models[-1])
