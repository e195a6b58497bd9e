"""A vocabulary from GGUF metadata: ids as the model's own, and one line for whatever had to be assumed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers

from lacli.errors import ModelUnavailable
from lacli.models.gguf.pretokenizers import DEFAULT, KNOWN
from lacli.models.gguf.tokenizer import build_tokenizer
from lacli.text.tokenizer import Tokenizer
from tests.vocabularies import byte_level, made, sentence_piece

if TYPE_CHECKING:
    from lacli.models.prepare.prepare import PreparedModel

TEXT = "Hello world's 12345 foo_bar\n\n    x = {'a': 1.5}; // 漢字 don't\t\n  Ⅷ½ "


def words(pre: str, text: str) -> list[str]:
    """How a byte-level vocabulary of this name cuts `text`."""
    document = json.loads(build_tokenizer(byte_level(pre=pre)).tokenizer_json)
    document["pre_tokenizer"]["pretokenizers"].pop()  # the last stage only respells bytes
    cutter = tokenizers.Tokenizer.from_str(json.dumps(document)).pre_tokenizer
    assert cutter is not None
    return [word for word, _ in cutter.pre_tokenize_str(text)]


class TestDefaultModel:
    """Case T3: the ids llama.cpp gives."""

    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            ("[\n    1,\n    22,\n]", [75, 2367, 33, 28, 2367, 34, 34, 28, 198, 77]),
            ("a  1", [81, 256, 33]),
            ("\t\t3.14", [1656, 35, 30, 33, 36]),
        ],
    )
    def test_blanks_before_digits_are_tokenised_as_the_model_was_trained(
        self, prepared_default: PreparedModel, text: str, ids: list[int]
    ) -> None:
        assert Tokenizer.load(prepared_default.folder).encode(text) == ids

    def test_bytes_the_vocabulary_lacks_are_counted(self, prepared_default: PreparedModel) -> None:
        tokenizer = Tokenizer.load(prepared_default.folder)
        assert tokenizer.unshowable('SEP = "a\x1db\x04c"\n') == 2
        assert sum(tokenizer.unshowable(chr(code)) for code in range(256)) == 6


class TestWordCuts:
    """`tokenizer.ggml.pre` decides what may become one token."""

    @pytest.mark.parametrize("name", [*KNOWN, "default"])
    def test_every_known_name_keeps_every_character(self, name: str) -> None:
        assert "".join(words(name, TEXT)) == TEXT

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("smollm", ["x", " =", "  ", "1", "2"]),
            ("gpt-2", ["x", " =", " ", " 12"]),
            ("llama-bpe", ["x", " =", " ", " ", "12"]),
            ("qwen2", ["x", " =", " ", " ", "1", "2"]),
        ],
    )
    def test_blanks_and_digits_are_cut_as_the_name_says(self, name: str, expected: list[str]) -> None:
        assert words(name, "x =  12") == expected

    def test_long_numbers_go_in_threes_for_llama_3(self) -> None:
        assert words("llama-bpe", "1234567") == ["123", "456", "7"]

    def test_capitals_begin_words_for_gpt_4o(self) -> None:
        assert words("gpt-4o", "TypeError's") == ["Type", "Error's"]

    def test_a_known_name_needs_no_note(self) -> None:
        assert build_tokenizer(byte_level(pre="qwen2")).notes == ()

    @pytest.mark.parametrize(("name", "named"), [("", "does not say"), ("default", "default"), ("banana", "'banana'")])
    def test_any_other_name_runs_with_one_note(self, name: str, named: str) -> None:
        """Case G1."""
        fields = byte_level(pre=name)
        if not name:
            del fields["tokenizer.ggml.pre"]
        built = build_tokenizer(fields)
        assert len(built.notes) == 1
        assert named in built.notes[0]
        assert len(json.loads(built.tokenizer_json)["pre_tokenizer"]["pretokenizers"]) == len(DEFAULT.patterns) + 1

    def test_a_whole_word_of_the_vocabulary_wins_where_the_name_says_so(self) -> None:
        fields = byte_level(merges=[("a", "b")])
        fields["tokenizer.ggml.tokens"] += ["abc"]
        fields["tokenizer.ggml.token_type"] += [1]
        whole = len(fields["tokenizer.ggml.tokens"]) - 1
        assert made(fields | {"tokenizer.ggml.pre": "llama-bpe"}).encode("abc") == [whole]
        assert made(fields | {"tokenizer.ggml.pre": "smollm"}).encode("abc") != [whole]


class TestSentencePiece:
    """The `llama` kind: pieces with scores, bytes for the rest, a blank before the first word."""

    pieces = ("▁", "a", "b", "c", "▁a", "ab", "bc", "▁ab", "abc")

    def encoded(self, text: str, **more: Any) -> list[str]:
        tokenizer = made(sentence_piece(self.pieces, **more))
        return [tokenizer.text_of(token_id) for token_id in tokenizer.encode(text)]

    def test_the_best_scored_neighbours_join_first(self) -> None:
        assert self.encoded("abc") == ["▁a", "bc"]
        assert self.encoded("abc", add_space_prefix=False) == ["abc"]

    def test_the_order_is_the_one_of_scores_not_of_length(self) -> None:
        assert self.encoded("bbc", add_space_prefix=False) == ["b", "bc"]

    def test_other_characters_are_spelled_in_bytes(self) -> None:
        assert self.encoded("é") == ["▁", "<0xC3>", "<0xA9>"]

    def test_text_comes_back_with_its_blanks(self) -> None:
        tokenizer = made(sentence_piece(self.pieces, add_space_prefix=False))
        assert tokenizer.decode(tokenizer.encode("a  b é\n漢")) == "a  b é\n漢"

    def test_typed_control_tokens_are_text(self) -> None:
        tokenizer = made(sentence_piece(self.pieces))
        assert not tokenizer.control_ids & set(tokenizer.encode("a</s>b<s>"))

    def test_a_prompt_begins_with_bos_unless_the_file_says_otherwise(self) -> None:
        assert made(sentence_piece(self.pieces)).adds_bos
        assert not made(sentence_piece(self.pieces, add_bos_token=False)).adds_bos
        assert not made(byte_level()).adds_bos


class TestDamagedMetadata:
    """One line that names what is missing, never a traceback."""

    @pytest.mark.parametrize(
        "change",
        [
            {"tokenizer.ggml.tokens": []},
            {"tokenizer.ggml.tokens": None},
            {"tokenizer.ggml.merges": None},
            {"tokenizer.ggml.model": "bert"},
            {"tokenizer.ggml.model": "llama"},
        ],
    )
    def test_what_cannot_be_read_is_refused(self, change: dict[str, Any]) -> None:
        with pytest.raises(ModelUnavailable) as caught:
            build_tokenizer(byte_level() | change)
        assert caught.value.hint

    def test_ids_outside_the_vocabulary_are_ignored_with_a_note(self) -> None:
        built = build_tokenizer(byte_level(eos_token_id=999_999))
        assert built.eos_ids == ()
        assert "999999" in built.notes[0]

    def test_all_named_ends_are_reported_once(self) -> None:
        assert build_tokenizer(byte_level(eot_token_id=2, eom_token_id=0)).eos_ids == (2, 0)

    def test_two_tokens_of_one_text_keep_their_ids_apart(self) -> None:
        fields = byte_level()
        fields["tokenizer.ggml.tokens"] += ["a"]
        fields["tokenizer.ggml.token_type"] += [1]
        tokenizer = made(fields)
        assert tokenizer.vocab_size == len(fields["tokenizer.ggml.tokens"])
        assert tokenizer.decode(tokenizer.encode("a")) == "a"

    def test_merges_of_unknown_tokens_are_left_out(self) -> None:
        fields = byte_level(merges=[("a", "b")])
        fields["tokenizer.ggml.merges"] += ["q zz", "nonsense"]
        assert made(fields).decode(made(fields).encode("ab q")) == "ab q"


class TestOddTexts:
    """What a vocabulary calls its tokens never reaches the reader."""

    def test_of_several_owners_of_a_text_the_last_is_written_and_all_are_read(self) -> None:
        fields = byte_level([("t", "h")])
        fields["tokenizer.ggml.tokens"] += ["spare", "th", "th"]
        fields["tokenizer.ggml.token_type"] += [1, 1, 1]
        tokenizer = made(fields)
        last = len(fields["tokenizer.ggml.tokens"]) - 1
        assert tokenizer.encode("th") == [last]
        assert [tokenizer.decode([last - back]) for back in range(4)] == ["th", "th", "spare", "th"]
        assert tokenizer.decode(tokenizer.encode(f"[duplicate {last - 1}] th")) == f"[duplicate {last - 1}] th"

    def test_a_control_token_goes_before_a_piece_of_the_same_text(self) -> None:
        fields = byte_level()
        fields["tokenizer.ggml.tokens"] += ["<|im_end|>"]
        fields["tokenizer.ggml.token_type"] += [1]
        tokenizer = made(fields)
        assert tokenizer.split_markers("<|im_end|>") == [2]
        assert tokenizer.decode([len(fields["tokenizer.ggml.tokens"]) - 1]) == "<|im_end|>"

    @pytest.mark.parametrize("kind", [2, 3, 5])
    def test_reserved_and_unused_tokens_have_no_text(self, kind: int) -> None:
        fields = byte_level()
        fields["tokenizer.ggml.tokens"] += ["[PAD7]"]
        fields["tokenizer.ggml.token_type"] += [kind]
        tokenizer = made(fields)
        assert tokenizer.decode([len(fields["tokenizer.ggml.tokens"]) - 1]) == ""
        assert tokenizer.decode(tokenizer.encode("a [PAD7]")) == "a [PAD7]"

    def test_an_id_without_a_text_adds_nothing(self) -> None:
        tokenizer = made(byte_level())
        assert tokenizer.decode([tokenizer.vocab_size + 5, *tokenizer.encode("a")]) == "a"

    @pytest.mark.parametrize("text", ["a  b", " a ", "\t\ta", "a\u2581b", "\u2581", "\u00a0a\u3000", "a\n\n  b\n"])
    def test_blanks_and_their_likes_survive(self, text: str) -> None:
        tokenizer = made(byte_level())
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert tokenizer.unseen(text) == ""
        pieces = made(sentence_piece(["\u2581", "a", "b"], add_space_prefix=False))
        assert pieces.decode(pieces.encode(text)) == text.replace("\u2581", " ")
        assert pieces.unseen(text) == ("\u2581" if "\u2581" in text else "")  # told, and kept by edits


class TestEndsByName:
    """Case N9."""

    def test_are_control_tokens_only(self) -> None:
        fields = byte_level()
        fields["tokenizer.ggml.tokens"] += ["</s>", "<|eot_id|>", "<EOT>"]
        fields["tokenizer.ggml.token_type"] += [1, 3, 4]
        tokenizer = made(fields)
        assert sorted(map(tokenizer.text_of, tokenizer.end_ids)) == ["<|endoftext|>", "<|eot_id|>", "<|im_end|>"]

    def test_the_end_of_a_message_is_none_where_a_reply_has_several(self) -> None:
        fields = byte_level()
        fields["tokenizer.ggml.tokens"] += ["<|end|>", "<|return|>", "<|call|>"]
        fields["tokenizer.ggml.token_type"] += [3, 3, 3]
        tokenizer = made(fields)
        assert tokenizer.speaks_harmony
        assert "<|end|>" not in map(tokenizer.text_of, tokenizer.end_ids)


@pytest.mark.parametrize("kind", [1, 3, 4])
def test_the_marks_of_a_thought_have_a_text_whatever_kind_they_are(kind: int) -> None:
    fields = byte_level()
    fields["tokenizer.ggml.tokens"] += ["<think>"]
    fields["tokenizer.ggml.token_type"] += [kind]
    assert made(fields).decode([len(fields["tokenizer.ggml.tokens"]) - 1]) == "<think>"
