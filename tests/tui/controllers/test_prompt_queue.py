from __future__ import annotations

import pytest

from lacli.events import Attachment
from lacli_tui.controllers.prompt_queue import PromptQueue, QueuedQuestion

FILE = Attachment("a.py", "x = 1")


def filled(*texts: str) -> PromptQueue:
    queue = PromptQueue()
    for text in texts:
        queue.add(QueuedQuestion(text, text), ())
    return queue


def test_the_oldest_is_next() -> None:
    queue = filled("one", "two")
    assert queue.texts == ["one", "two"]
    assert queue.next().text == "one"
    assert len(queue) == 1


def test_the_newest_is_taken_back() -> None:
    queue = filled("one", "two")
    last = queue.last()
    assert last is not None
    assert last.text == "two"
    assert queue.texts == ["one"]


def test_an_empty_queue_has_no_last_and_no_next_question() -> None:
    queue = filled()
    assert not queue
    assert queue.last() is None
    with pytest.raises(IndexError):
        queue.next()


def test_each_question_keeps_its_own_files() -> None:
    queue = filled("one")
    queue.add(QueuedQuestion("two", "two"), (FILE,))
    assert [each.attached for each in queue.clear()] == [(), (FILE,)]
    assert not queue
