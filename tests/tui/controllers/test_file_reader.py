from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lacli_tui.controllers.file_reader import FileReader
from lacli_tui.controllers.prompt_controller import PromptController
from lacli_tui.controllers.prompt_queue import QueuedQuestion


class Work:
    """Runs it here and now."""

    async def run(self, work: Any, description: str) -> Any:
        return work()


@pytest.fixture
def files(
    screen: Any,
    engine: Any,
    prompt: Any,
    chips: Any,
    notifications: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> FileReader:
    monkeypatch.chdir(tmp_path)
    prompts = PromptController(engine.chat, prompt, chips, notifications)
    return FileReader(screen, engine, tmp_path, prompt, prompts, Work(), notifications)  # type: ignore[arg-type]


async def test_a_file_is_attached_and_read_ahead(files: FileReader, screen: Any, engine: Any, chips: Any) -> None:
    Path("two words.py").write_text("x = 1\n")
    files.attach('"two words.py"')
    assert files.is_reading
    await screen.done()
    assert not files.is_reading
    assert [each.label for each in chips.files] == ["two words.py"]
    assert engine.did == ["read_ahead"]


async def test_a_file_that_is_not_there_is_an_error(
    files: FileReader, screen: Any, engine: Any, notifications: Any
) -> None:
    files.attach("nowhere.py")
    await screen.done()
    assert "nowhere.py" in notifications.shown[0]
    assert engine.chat.conversation.pending == []
    assert not files.is_reading


async def test_a_question_is_sent_after_the_files_asked_for_before(files: FileReader, screen: Any, engine: Any) -> None:
    Path("a.py").write_text("a")
    Path("b.py").write_text("b")
    sent: list[tuple[QueuedQuestion, list[str]]] = []

    async def send(question: QueuedQuestion) -> None:
        sent.append((question, [each.label for each in engine.chat.conversation.pending]))

    files.attach("a.py")
    files.read_question("what is in @b.py?", send)
    await screen.done()
    ((question, pending),) = sent
    assert pending == ["a.py"]
    assert [each.label for each in question.named] == ["b.py"]
    assert question.text == "what is in @b.py?"


async def test_a_question_whose_file_cannot_be_read_is_back_at_the_prompt(
    files: FileReader, screen: Any, prompt: Any, notifications: Any
) -> None:
    async def send(question: QueuedQuestion) -> None:
        raise AssertionError("sent")

    Path("a.bin").write_bytes(b"\x00\x01" * 50)
    files.read_question("what is in @a.bin?", send)
    await screen.done()
    assert prompt.text == "what is in @a.bin?"
    assert notifications.shown
