"""Replies of a model that thinks, or goes on behind its end: through the engine, alone and side by side."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lacli.assistant.batch import replies
from lacli.assistant.loaded import Loaded
from lacli.assistant.reply import Reply
from lacli.chat.conversation import Conversation
from lacli.drafts.base import Sources
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.sequence import CachedSequence
from lacli.events import Finished, Message, Piece, Request
from lacli.models.gguf.tokenizer import build_tokenizer
from lacli.models.prepare.folder import PreparedModel
from lacli.models.spec import ModelSpec
from lacli.text.tokenizer import Tokenizer
from tests.fakes import TableRunner
from tests.vocabularies import byte_level

TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
OPENING = TEMPLATE.replace("assistant\n' }}", "assistant\n<think>\n' }}")
ORIGINAL = "def load(path):\n    return open(path)\n"
DRAFT, FINAL = ORIGINAL.replace("path", "path, mode"), ORIGINAL.replace("load", "fetch")
THOUGHT = f"First idea:\n\n```python\n{DRAFT}```\n\nNo."
ANSWER = f"Here:\n\n```python\n{FINAL}```\n"
Make = Callable[..., Loaded]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make(script, template)`: a model that answers every prompt with these texts and control ids."""

    def made(script: Sequence[str | int], template: str = TEMPLATE) -> Loaded:
        built = build_tokenizer(byte_level())
        (tmp_path / "tokenizer.json").write_text(built.tokenizer_json)
        (tmp_path / "chat_template.jinja").write_text(template)
        tokenizer = Tokenizer.load(tmp_path)
        ids = [*itertools.chain(*([each] if isinstance(each, int) else tokenizer.encode(each) for each in script)), 2]
        asked = tokenizer.encode_segments([1, "assistant\n<think>\n" if template == OPENING else "assistant\n"])

        def following(context: Sequence[int]) -> int:
            ends = (at for at in range(len(context), 0, -1) if list(context[at - len(asked) : at]) == asked)
            at = len(context) - next(ends, len(context))
            return ids[at] if at < len(ids) else 2  # guesses reach behind the end

        spec = ModelSpec("scripted", "", "gguf", (), "auto", 512, "chat", (), None, "", 0, tmp_path)
        prepared = PreparedModel(tmp_path, spec, {}, (), None, (2,), ())
        runner = TableRunner(following, vocab_size=260, context_size=4096, chunk=4096)
        return Loaded(
            prepared, tokenizer, CachedSequence(runner), Controller(CostCurve.flat(), Limits()), Sources(), None,
            "none", "cpu", 0.0, 0.0,
        )  # fmt: skip

    return made


def ask(**more: Any) -> Request:
    return Request((Message("user", "rename it"),), max_tokens=500, **more)


def written(loaded: Loaded, request: Request) -> Finished:
    """The reply, of which all pieces together are the whole."""
    *pieces, last = (each for each in Reply(loaded, request, set()).events(lambda: False) if not hasattr(each, "level"))
    assert isinstance(last, Finished)
    told = [each for each in pieces if isinstance(each, Piece)]
    assert "".join(each.text for each in told) == last.text
    assert "".join(each.thought for each in told).strip() == last.thought
    assert sum(sum(each.lengths) for each in told) >= len(last.text)
    return last


@pytest.mark.parametrize(("template", "begin"), [(TEMPLATE, "<think>\n"), (OPENING, "")])
class TestThoughts:
    """Case N2."""

    def test_are_no_part_of_the_reply(self, make: Make, template: str, begin: str) -> None:
        finished = written(make([f"{begin}{THOUGHT}\n</think>\n\n{ANSWER}"], template), ask())
        assert (finished.text, finished.thought, finished.reason) == (ANSWER, THOUGHT, "stop")
        assert finished.stats.predicted_n == len(finished.token_ids) > len(ANSWER)

    def test_end_nothing(self, make: Make, template: str, begin: str) -> None:
        loaded = make([f"{begin}{THOUGHT}\n</think>\n\n{ANSWER}And so on."], template)
        finished = written(loaded, ask(rewrites=ORIGINAL))
        assert (finished.text, finished.thought) == (ANSWER, THOUGHT)
        loaded = make([f"{begin}{THOUGHT}\n</think>\n\n{ANSWER}"], template)
        assert written(loaded, ask(stops=("def",))).text == "Here:\n\n```python\n"

    def test_are_the_same_side_by_side(self, make: Make, template: str, begin: str) -> None:
        loaded = make([f"{begin}{THOUGHT}\n</think>\n\n{ANSWER}"], template)
        found = [each for _, each in replies(loaded, [ask(), ask()], set(), lambda: False)]
        ends = [each for each in found if isinstance(each, Finished)]
        assert [(each.text, each.thought) for each in ends] == [(ANSWER, THOUGHT)] * 2

    def test_cut_before_the_answer_leave_an_empty_reply(self, make: Make, template: str, begin: str) -> None:
        loaded = make([f"{begin}{THOUGHT}"], template)
        finished = written(loaded, dataclasses.replace(ask(), max_tokens=20))
        assert (finished.text, finished.reason) == ("", "length")
        assert THOUGHT.startswith(finished.thought)
        assert finished.thought

    def test_are_not_sent_back(self, make: Make, template: str, begin: str) -> None:
        loaded = make([f"{begin}{THOUGHT}\n</think>\n\n{ANSWER}"], template)
        conversation = Conversation()
        finished = written(loaded, dataclasses.replace(ask(), messages=conversation.ask("rename it")))
        turn = conversation.answered(finished)
        assert turn is not None
        assert turn.thought == THOUGHT
        from lacli.assistant.prompt import build_prompt

        prompt = build_prompt(Request(conversation.ask("and now?")), loaded.prepared, loaded.tokenizer, 4096)
        text = loaded.tokenizer.spelled(prompt.token_ids)
        assert f"assistant\n{ANSWER}<|im_end|>" in text
        assert "First idea" not in text


class TestEnds:
    """Case N9."""

    @pytest.mark.parametrize("marker", [0, 1, 2])
    def test_a_known_end_and_the_next_turn_end_a_reply(self, make: Make, marker: int) -> None:
        finished = written(make(["It is four.", marker, "user\nNow write a poem"]), ask())
        assert (finished.text, finished.reason) == ("It is four.", "stop")

    def test_the_same_letters_as_text_end_nothing(self, make: Make) -> None:
        text = "Models end with <|endoftext|>, </s> or <|im_start|>, you see."
        assert written(make([text]), ask()).text == text


def test_a_request_that_is_refused_fails_alone(make: Make) -> None:
    """Case N1, in a batch."""
    loaded = make(["Yes."], TEMPLATE.replace("m.content", "messages[0].content"))
    several = Request((Message("user", "a"), Message("assistant", "b"), Message("user", "c")), max_tokens=9)
    found = dict(replies(loaded, [several, ask()], set(), lambda: False))
    assert "leaves out an earlier answer" in found[0].message  # type: ignore[union-attr]
    assert isinstance(found[1], Finished)
    assert found[1].text == "Yes."
