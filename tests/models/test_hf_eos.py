"""End tokens: the union of all files, found in the template by rendering it."""

from __future__ import annotations

import pytest

from lacli.models.hf.eos import end_ids, markers_of, token_text, turn_end, vocabulary_of

MARKERS = {"<s>": 1, "</s>": 2, "<|im_start|>": 3, "<|im_end|>": 4, "<|im_end|>x": 5, "<end_of_turn>": 6}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


class TestTurnEnd:
    @pytest.mark.parametrize(
        ("template", "expected"),
        [
            ("{% for m in messages %}<|im_start|>{{m.role}}\n{{m.content}}<|im_end|>\n{% endfor %}", "<|im_end|>"),
            ("{% for m in messages %}{{m.content[0]['text']}}<|im_end|>\n{% endfor %}", "<|im_end|>"),
            ("{% for m in messages %}[{{m.content | trim}}] {{ eos_token }}{% endfor %}", None),
            ("{% for m in messages %}{{m.content}} {{ eos_token }}{% endfor %}", "</s>"),
            ("{{bos_token}}{% for m in messages %}{{m.content|trim}}<end_of_turn>\n{% endfor %}", "<end_of_turn>"),
            (
                "{% for m in messages %}{% generation %}{{m.content}}<|im_end|>{% endgeneration %}{% endfor %}",
                "<|im_end|>",
            ),
            ("{% for m in messages %}{{m.content}}\n{% endfor %}", None),
            ("{{ raise_exception('no') }}", None),
            ("{% if broken", None),
            ("{{ messages.__class__.__mro__ }}", None),
            ("", None),
        ],
    )
    def test_is_what_the_template_writes_after_the_assistants_words(self, template: str, expected: str | None) -> None:
        assert turn_end(template, MARKERS, SPECIAL) == expected

    def test_the_longest_marker_counts(self) -> None:
        assert (
            turn_end("{% for m in messages %}{{m.content}}<|im_end|>x{% endfor %}", MARKERS, SPECIAL) == "<|im_end|>x"
        )


class TestUnion:
    def test_joins_ids_lists_and_tokens(self) -> None:
        named = {"config.json": 7, "generation_config.json": [2, 8]}
        ids, notes = end_ids(named=named, tokens=["<|im_end|>", None, "absent"], vocabulary=MARKERS, vocab_size=10)
        assert ids == (2, 4, 7, 8)
        assert notes == ()

    @pytest.mark.parametrize("bad", [-1, 10, "2", True, 2.0])
    def test_what_cannot_be_an_id_is_left_out_and_named_once(self, bad: object) -> None:
        ids, notes = end_ids(named={"a.json": bad, "b.json": [bad, 3]}, tokens=[], vocabulary={}, vocab_size=10)
        assert ids == (3,)
        assert len(notes) == 1
        assert "a.json" in notes[0]

    def test_a_token_beyond_the_output_head_is_no_end(self) -> None:
        assert end_ids(named={}, tokens=["<|im_end|>"], vocabulary=MARKERS, vocab_size=4) == ((), ())


class TestTokenizerFiles:
    def test_both_forms_of_vocabulary_are_read_with_added_tokens(self) -> None:
        added = [{"id": 2, "content": "<e>"}]
        as_table = {"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": added}
        as_list = {"model": {"vocab": [["a", -1.0], ["b", -2.0]]}, "added_tokens": added}
        assert vocabulary_of(as_table) == vocabulary_of(as_list) == {"a": 0, "b": 1, "<e>": 2}
        assert markers_of(as_list) == {"<e>": 2}

    def test_a_token_may_be_text_or_a_table(self) -> None:
        assert token_text("</s>") == token_text({"content": "</s>", "lstrip": False}) == "</s>"
        assert token_text(None) is None
        assert token_text("") is None
