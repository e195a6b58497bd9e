"""What a template writes between an answer and the next question ends a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lacli.models.hf.chat_template import ChatTemplate
from lacli.prompts.template import load_template
from lacli.prompts.turns import turn_ids
from lacli.text.tokenizer import Tokenizer
from tests.vocabularies import byte_level, made

if TYPE_CHECKING:
    from lacli.models.prepare.prepare import PreparedModel


def template(content: str) -> ChatTemplate:
    return ChatTemplate(
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + " + content + " + '<|im_end|>\n' }}{% endfor %}",
        "t",
    )


@pytest.mark.parametrize("content", ["m.content", "m.content[0].text"])
def test_the_end_of_a_turn_and_the_beginning_of_the_next(content: str) -> None:
    assert turn_ids(template(content), made(byte_level())) == (2, 1)


@pytest.mark.parametrize(
    "source", ["{{ messages[0].content }}", "{{ raise_exception('no') }}", "{{ messages.nothing.at.all }}", "{% if %}"]
)
def test_a_template_that_does_not_tell_is_asked_nothing_more(source: str) -> None:
    assert turn_ids(ChatTemplate(source, "t"), made(byte_level())) == ()


def test_the_default_model_ends_with_its_own_and_with_the_next_turn(prepared_default: PreparedModel) -> None:
    tokenizer, own = Tokenizer.load(prepared_default.folder), load_template(prepared_default.folder)
    assert own is not None
    assert {tokenizer.text_of(each) for each in turn_ids(own, tokenizer)} == {"<|im_start|>", "<|im_end|>"}
    assert {tokenizer.text_of(each) for each in tokenizer.end_ids} == {"<|endoftext|>", "<|im_end|>"}
