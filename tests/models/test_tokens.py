"""The table of a vocabulary says what the library says, or is not there."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from lacli.errors import ModelUnavailable
from lacli.models.gguf.tokenizer import build_tokenizer
from lacli.models.prepare.prepare import PreparedModel
from lacli.models.tokens import table as table_module
from lacli.models.tokens.make import _SAMPLE, open_vocabulary, table_of
from lacli.models.tokens.table import Damaged, TableVocabulary, packed, unpacked
from lacli.models.tokens.whole import Vocabulary, WholeVocabulary, load_whole
from lacli.text.tokenizer import Tokenizer
from tests.vocabularies import byte_level, sentence_piece

# In the wrong order, overlapping, and one pair in two ways: what comes first decides, then what stands leftmost.
MERGES = [
    ("a", "a"),
    ("aa", "a"),
    ("e", "n"),
    ("en", "d"),
    (" ", "a"),
    ("a", "b"),
    ("aa", "aa"),
    (" ", " "),
    ("t", "h"),
]
ALPHABETS = [
    "aab ",
    "end th",
    "\n\t  a",
    "naïve ",
    "漢字かな",
    "אב ",
    "हिन्दी",
    "👩‍💻",
    "0123",
    "'s'll",
    "\x00\ue000\u200b\u00a0",
]
MARKED = ["<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|im_"]
VOCABULARIES: dict[str, dict[str, Any]] = {
    "merges": byte_level(MERGES),
    "backwards": byte_level(MERGES[::-1]),
    "lacking": byte_level(MERGES, lacking={0xC3, 0x7F}),
    "gpt-2": byte_level(MERGES, pre="gpt-2"),
    "qwen2": byte_level(MERGES, pre="qwen2"),
    "bos": byte_level(MERGES, add_bos_token=True),
    "one": byte_level(),
}
PIECES = sentence_piece(["▁", "a", "im", "end"], add_space_prefix=False)


@pytest.fixture(params=VOCABULARIES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return written(tmp_path, VOCABULARIES[request.param])


def written(folder: Path, fields: dict[str, Any]) -> Path:
    (folder / "tokenizer.json").write_text(build_tokenizer(fields).tokenizer_json, "utf-8")
    return folder


def opened(folder: Path) -> tuple[Vocabulary, WholeVocabulary]:
    """The vocabulary at the second start, and the library's."""
    open_vocabulary(folder)
    return open_vocabulary(folder), load_whole(folder)


def texts(seed: int = 1, count: int = 150) -> list[str]:
    chosen = random.Random(seed)
    parts = [*ALPHABETS, *MARKED]

    def piece() -> str:
        part = chosen.choice(parts)
        return part if part in MARKED else "".join(chosen.choices(part, k=chosen.randrange(12)))

    return ["", _SAMPLE, *("".join(piece() for _ in range(chosen.randrange(12))) for _ in range(count))]


def files() -> list[Path]:
    return [*Path(os.environ["LACLI_HOME"], "cache", "tokens").iterdir()]


class TestEqual:
    def test_ids_of_texts_and_markers(self, folder: Path) -> None:
        table, whole = opened(folder)
        assert isinstance(table, TableVocabulary)
        for text in texts():
            assert table.encode(text) == whole.encode(text), text

    def test_every_token_by_id_and_by_text(self, folder: Path) -> None:
        table, whole = opened(folder)
        ids = range(-1, whole.size + 3)
        tokens = [whole.id_to_token(token_id) if token_id >= 0 else None for token_id in ids]
        assert [table.id_to_token(token_id) for token_id in ids] == tokens
        for token in [*filter(None, tokens), "", "nothing", "\U0010ffff", "<|im_"]:
            assert table.token_to_id(token) == whole.token_to_id(token)

    def test_all_that_a_tokenizer_says(self, folder: Path) -> None:
        table, whole = map(Tokenizer, opened(folder))
        assert table.fingerprint == whole.fingerprint
        for name in ("control_ids", "vocab_size", "bos_id", "adds_bos", "end_ids", "speaks_harmony"):
            assert getattr(table, name) == getattr(whole, name)
        for text in texts(2):
            ids = table.encode(text)
            assert ids == whole.encode(text)
            assert table.decode(ids) == whole.decode(ids)
            assert table.encode(text, control=True) == whole.encode(text, control=True)
            assert table.split_markers(text) == whole.split_markers(text)
            assert table.unseen(text) == whole.unseen(text)

    def test_of_the_model_that_is_here(self, prepared_default: PreparedModel) -> None:
        table, whole = opened(prepared_default.folder)
        assert isinstance(table, TableVocabulary)
        source = Path(table_module.__file__).read_text("utf-8")
        for text in [*texts(3), source, source.replace(" ", "\t"), " ".join(MARKED)]:
            assert table.encode(text) == whole.encode(text)

    @pytest.mark.parametrize("length", [table_module._LONGEST_WORD, table_module._LONGEST_WORD + 1, 5000])
    def test_a_long_word(self, folder: Path, length: int) -> None:
        table, whole = opened(folder)
        for word in ("a" * length, "aab" * (length // 3), " " * length):
            assert table.encode(word) == whole.encode(word)

    def test_of_much_text_the_whole_vocabulary_takes_over(self, tmp_path: Path) -> None:
        loaded: list[bool] = []
        whole = load_whole(written(tmp_path, VOCABULARIES["merges"]))

        def load() -> WholeVocabulary:
            loaded.append(True)
            return whole

        table = TableVocabulary(table_of(whole, {}) or b"", load)
        assert table.encode("a end") == whole.encode("a end")
        assert not loaded
        text = "a end " * table_module._MOST_LETTERS
        assert table.encode(text) == whole.encode(text) == whole.encode(text)
        assert loaded == [True]


class TestNone:
    """No table is better than one that says something else."""

    @pytest.mark.parametrize(
        "change",
        [
            lambda model: model.update(ignore_merges=True),
            lambda model: model.update(byte_fallback=True),
            lambda model: model.update(unk_token="a"),
            lambda model: model.update(end_of_word_suffix="a"),
            lambda model: model.update(dropout=0.5),
            lambda model: model.update(merges=[]),
            lambda model: model["vocab"].update({"far": 1 << 31}),
            lambda model: model["vocab"].pop("<|im_end|>"),  # an added token that is none of the model's
        ],
    )
    def test_of_what_the_table_does_not_know(self, change: Callable[[dict[str, Any]], Any]) -> None:
        document = json.loads(build_tokenizer(byte_level(MERGES)).tokenizer_json)
        change(document["model"])
        assert table_of(WholeVocabulary(tokenizers.Tokenizer.from_str(json.dumps(document))), {}) is None

    def test_of_pieces(self, tmp_path: Path) -> None:
        vocabulary = opened(written(tmp_path, PIECES))[0]
        assert isinstance(vocabulary, WholeVocabulary)

    def test_where_the_library_cuts_otherwise(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        whole = load_whole(written(tmp_path, VOCABULARIES["merges"]))
        monkeypatch.setattr(TableVocabulary, "_merge", lambda self, words: words)
        assert table_of(whole, {}) is None


class TestKept:
    @pytest.fixture
    def made(self, tmp_path: Path) -> Path:
        folder = written(tmp_path, VOCABULARIES["merges"])
        assert isinstance(opened(folder)[0], TableVocabulary)
        return folder

    @pytest.mark.parametrize("place", [0, 9, 13, 40, 2000, -1])
    def test_a_damaged_file_is_not_believed(self, made: Path, place: int) -> None:
        (file,) = files()
        data = bytearray(file.read_bytes())
        data[place] ^= 1
        file.write_bytes(data)
        assert isinstance(open_vocabulary(made), WholeVocabulary)
        assert isinstance(open_vocabulary(made), TableVocabulary)

    @pytest.mark.parametrize("length", [0, 7, 12, 19, 500])
    def test_a_short_file_is_not_believed(self, made: Path, length: int) -> None:
        (file,) = files()
        file.write_bytes(file.read_bytes()[:length])
        assert isinstance(open_vocabulary(made), WholeVocabulary)

    def test_a_vocabulary_that_changes_in_use_is_not_mixed_with_the_new_one(self, made: Path) -> None:
        table = open_vocabulary(made)
        written(made, VOCABULARIES["backwards"])
        with pytest.raises(ModelUnavailable, match="was changed"):
            table.encode("a" * table_module._MOST_LETTERS)

    def test_another_vocabulary_in_the_folder_is_seen(self, made: Path) -> None:
        written(made, VOCABULARIES["backwards"])
        vocabulary, whole = open_vocabulary(made), load_whole(made)
        assert [vocabulary.encode(text) for text in texts()] == [whole.encode(text) for text in texts()]
        assert isinstance(open_vocabulary(made), TableVocabulary)
        assert len(files()) == 1

    def test_tokens_without_a_row_in_the_embedding_are_left_out(self, made: Path) -> None:
        (made / "config.json").write_text(json.dumps({"vocab_size": 262}))
        table, whole = opened(made)
        assert isinstance(table, TableVocabulary)
        assert table.size == whole.size == 262
        assert [table.encode(text) for text in texts()] == [whole.encode(text) for text in texts()]

    def test_a_cache_that_takes_no_file_costs_time_only(self, tmp_path: Path) -> None:
        folder = written(tmp_path, VOCABULARIES["merges"])
        home = Path(os.environ["LACLI_HOME"])
        home.mkdir(exist_ok=True)
        (home / "cache").write_text("no folder")
        assert isinstance(open_vocabulary(folder), WholeVocabulary)
        assert isinstance(open_vocabulary(folder), WholeVocabulary)

    def test_it_is_private_to_the_user(self, made: Path) -> None:
        (file,) = files()
        assert file.stat().st_mode & 0o077 == 0


def test_what_is_packed_is_unpacked() -> None:
    whole = WholeVocabulary(tokenizers.Tokenizer.from_str(build_tokenizer(byte_level(MERGES)).tokenizer_json))
    data = table_of(whole, {"stamp": [1]})
    assert data is not None
    head, arrays = unpacked(data)
    assert head["stamp"] == [1]
    assert packed(head, arrays) == data
    with pytest.raises(Damaged):
        unpacked(data[:-1])
