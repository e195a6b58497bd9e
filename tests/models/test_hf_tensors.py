"""Folders that lack a head, or hold what nobody uses; vocabularies with more tokens than rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import edit_json, prepare_file, vocabulary, write_folder, write_gguf

from lacli.errors import ModelUnavailable
from lacli.models.prepare.vocabulary import embedding_rows, rowless
from lacli.models.runners.load import load_runner
from lacli.text.tokenizer import Tokenizer

Tensors = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "model")


def change(folder: Path, how: Callable[[Tensors], object]) -> None:
    """Change the tensors of a folder."""
    tensors = load_file(folder / "model.safetensors")
    how(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def notes(folder: Path, word: str) -> list[str]:
    """What is said with this word in it."""
    return [note for note in prepare_file(folder).notes if word in note]


class TestHead:
    """Case H3."""

    @pytest.mark.parametrize("quant", ["none", "int8", "int4", "nf4"])
    @pytest.mark.parametrize("told", [{"tie_word_embeddings": False}, {}])
    def test_one_that_is_missing_is_named_in_every_quantisation(
        self, folder: Path, quant: str, told: dict[str, bool]
    ) -> None:
        change(folder, lambda tensors: tensors.pop("lm_head.weight", None))
        config = json.loads((folder / "config.json").read_text())
        config.pop("tie_word_embeddings")
        (folder / "config.json").write_text(json.dumps(config | told))
        with pytest.raises(ModelUnavailable, match=r"lack lm_head\.weight"):
            prepare_file(folder, quant)

    def test_the_embedding_is_one_where_the_config_says_so(self, folder: Path) -> None:
        change(folder, lambda tensors: tensors.pop("lm_head.weight", None))
        edit_json(folder / "config.json", tie_word_embeddings=True)
        assert load_runner(prepare_file(folder), "none").vocab_size == 260
        assert notes(folder, "lm_head") == []

    def test_one_that_differs_from_a_tied_embedding_is_used_and_told(self, folder: Path) -> None:
        edit_json(folder / "config.json", tie_word_embeddings=True)
        change(folder, lambda tensors: tensors.update({"lm_head.weight": tensors["model.embed_tokens.weight"].clone()}))
        assert notes(folder, "lm_head") == []
        change(folder, lambda tensors: tensors["lm_head.weight"][-1].neg_())
        (said,) = notes(folder, "lm_head")
        assert said.endswith("lm_head.weight is used")


def test_tensors_that_nobody_uses_are_told(folder: Path) -> None:
    assert notes(folder, "no use") == []
    change(
        folder,
        lambda tensors: tensors.update(
            {"model.layers.0.self_attn.q_norm.weight": torch.ones(16), "visual.x": torch.ones(2)}
        ),
    )
    (said,) = notes(folder, "no use")
    assert said.startswith("the weights hold model.layers.0.self_attn.q_norm.weight and 1 more, ")


class TestRows:
    """Case N4: tokens that were added after training have no row in the embedding."""

    def test_are_told_when_a_gguf_file_is_prepared(self, tmp_path: Path) -> None:
        fields = {
            "tokenizer.ggml.tokens": [*vocabulary(), "zzqq", "<|late|>"],
            "tokenizer.ggml.token_type": [3, 3, 3, *[1] * 257, 4, 3],
        }
        prepared = prepare_file(write_gguf(tmp_path / "x.gguf", fields=fields))
        (said,) = (note for note in prepared.notes if "no row" in note)
        assert said.startswith("2 tokens of the vocabulary have no row")
        assert max(Tokenizer.load(prepared.folder).encode("zzqq <|late|>")) < 260

    def test_are_spelled_by_others(self, tmp_path: Path) -> None:
        path = write_gguf(tmp_path / "x.gguf")
        plain = prepare_file(path)
        ids = Tokenizer.load(plain.folder).encode("zzqq")
        edit_tokens(plain.folder, "zzqq", control=False)
        edit_tokens(plain.folder, "<|late|>", control=True)
        tokenizer = Tokenizer.load(plain.folder)
        assert tokenizer.encode("zzqq") == ids
        assert tokenizer.vocab_size == 260
        assert tokenizer.decode(tokenizer.encode("a <|late|> zzqq")) == "a <|late|> zzqq"
        assert tokenizer.split_markers("<|late|><|im_end|>") == ["<|late|>", 2]

    def test_are_told_of_a_folder(self, folder: Path) -> None:
        assert notes(folder, "no row") == []
        edit_tokens(folder, "zzqq", control=False)
        (said,) = notes(folder, "no row")
        assert said.startswith("a token of the vocabulary has no row")
        assert "'zzqq'" in said
        tokenizer = Tokenizer.load(folder)
        assert max(tokenizer.encode("zzqq")) < 260
        assert tokenizer.id_of("zzqq") is None

    def test_are_named_as_far_as_there_is_room(self) -> None:
        assert rowless({"a": 0, "b": 1}, 2) == ()
        (said,) = rowless({"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}, 1)
        assert "4 tokens" in said
        assert "('b', 'c', 'd', …)" in said

    def test_are_counted_by_the_config(self) -> None:
        assert embedding_rows({"vocab_size": 5}) == embedding_rows({"text_config": {"vocab_size": 5}}) == 5
        assert embedding_rows({}) is embedding_rows({"vocab_size": "x"}) is None


def edit_tokens(folder: Path, text: str, control: bool) -> None:
    """One token more than the vocabulary had."""
    path = folder / "tokenizer.json"
    document = json.loads(path.read_text())
    index = len(document["model"]["vocab"])
    document["model"]["vocab"][text] = index
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    document["added_tokens"].append({"id": index, "content": text, "special": control, **flags})
    path.write_text(json.dumps(document))
