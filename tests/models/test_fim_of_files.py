"""Case N7: fill-in-the-middle markers that a GGUF file names by its metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_models import prepare_file, vocabulary, write_gguf

from lacli.completion.fim import completion
from lacli.events import Place
from lacli.models.registry.fim_markers import FimMarkers, named_by
from lacli.models.registry.registry import load_registry
from lacli.text.tokenizer import Tokenizer

IDS = {"pre": 10, "suf": 11, "mid": 12}
TEXTS = [vocabulary()[index] for index in IDS.values()]


def keys(names: dict[str, int], older: bool = False) -> dict[str, Any]:
    spelled = {"pre": "prefix", "suf": "suffix", "mid": "middle"} if older else {}
    return {f"tokenizer.ggml.{spelled.get(name, f'fim_{name}')}_token_id": index for name, index in names.items()}


@pytest.mark.parametrize("older", [False, True])
def test_they_make_the_prompt_and_end_it(older: bool, tmp_path: Path) -> None:
    prepare_file(write_gguf(tmp_path / "x.gguf", fields=keys(IDS, older)))
    prepared = prepare_file(tmp_path / "x.gguf")  # as it was kept
    assert prepared.fim == FimMarkers(*TEXTS)
    tokenizer = Tokenizer.load(prepared.folder)
    fim = load_registry().fim_of(prepared.spec, tokenizer.id_of, prepared.fim)
    made = completion(Place("a", "b", "x.py"), fim, tokenizer)
    (a,), (b,) = tokenizer.encode("a"), tokenizer.encode("b")
    assert made.token_ids[-5:] == (10, a, 11, b, 12)
    assert set(made.stop_ids) == {10, 11, 12}


def test_a_file_without_them_is_asked_as_before(tmp_path: Path) -> None:
    prepared = prepare_file(write_gguf(tmp_path / "x.gguf"))
    assert prepared.fim is None
    assert load_registry().fim_of(prepared.spec, lambda text: None, prepared.fim) is None


VOCABULARY = {"<p>": 1, "<s>": 2, "<m>": 3, "<pad>": 4, "<rep>": 5, "<sep>": 6}


class TestNamed:
    def test_what_stands_between_files_ends_a_completion_too(self) -> None:
        fields = keys({"pre": 1, "suf": 2, "mid": 3, "pad": 4, "rep": 5, "sep": 6})
        found = named_by(fields, VOCABULARY)
        assert found is not None
        assert found.stop == ("<pad>", "<rep>", "<sep>")
        assert (found.file_separator, found.repository, found.repository_end, found.file_end) == (
            "<sep>",
            "<rep>",
            "\n",
            "\n",
        )

    def test_the_newer_key_counts(self) -> None:
        fields = {**keys({"pre": 1, "suf": 2, "mid": 3}), "tokenizer.ggml.prefix_token_id": 4}
        found = named_by(fields, VOCABULARY)
        assert found is not None
        assert found.needed == ("<p>", "<s>", "<m>")

    @pytest.mark.parametrize(
        "ids", [{}, {"pre": 1, "suf": 2}, {"pre": 1, "suf": 2, "mid": 99}, {"pre": 1, "suf": 1, "mid": 3}, {"pre": -1}]
    )
    def test_half_a_set_is_none(self, ids: dict[str, int]) -> None:
        assert named_by(keys(ids), VOCABULARY) is None


class TestWhich:
    def test_a_table_of_the_registry_comes_first(self) -> None:
        registry = load_registry()
        spec = registry.models["qwen2.5-coder-1.5b"]
        assert registry.fim_of(spec, lambda text: 1, FimMarkers("a", "b", "c")) is spec.fim

    def test_a_family_with_the_same_markers_knows_more(self, tmp_path: Path) -> None:
        registry = load_registry()
        spec = prepare_file(write_gguf(tmp_path / "x.gguf")).spec
        qwen = registry.fim["qwen2.5-coder"]
        known = {*qwen.needed, *qwen.stop, qwen.repository, qwen.file_separator}
        id_of = {text: index for index, text in enumerate(sorted(known))}.get
        assert registry.fim_of(spec, id_of, FimMarkers(*qwen.needed)) is qwen
        own = FimMarkers("<p>", "<s>", "<m>")
        assert registry.fim_of(spec, id_of, own) is own
