"""A model that cannot run here is refused before anything of it is fetched or read, and no other one is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lacli.assistant import loading
from lacli.config import Settings
from lacli.errors import OutOfMemory
from lacli.models.registry import limits, machine, refusal
from lacli.models.registry.registry import load_registry
from lacli.models.registry.shape import parameters
from lacli.models.spec import ModelSpec

GB = 1 << 30


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is on the disk."""
    monkeypatch.setenv("LACLI_HOME", str(tmp_path))


def memory(monkeypatch: pytest.MonkeyPatch, total: float, free: float, *cards: tuple[float, float]) -> None:
    """A computer with so much main memory, and cards with so much free of all, in GB."""
    monkeypatch.setattr(limits, "all_memory", lambda: int(total * GB))
    monkeypatch.setattr(limits, "free_memory", lambda: int(free * GB))
    monkeypatch.setattr(machine, "main_memory", lambda: (int(free * GB), int(total * GB)))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(cards))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(cards))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda card: tuple(int(each * GB) for each in cards[card]))


def spec(name: str) -> ModelSpec:
    return load_registry().resolve(name)


class TestOnACpu:
    @pytest.mark.parametrize("quant", [None, "int4", "int8"])
    def test_one_that_others_leave_little_memory_for_runs(
        self, monkeypatch: pytest.MonkeyPatch, quant: str | None
    ) -> None:
        """Its weights are mapped: `models fit` says no, and it runs all the same."""
        memory(monkeypatch, total=4, free=0.3)
        refusal.refuse_too_large(spec("qwen2.5-coder-1.5b"), None, quant, "cpu")

    def test_one_larger_than_all_memory_is_refused_with_what_fits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        memory(monkeypatch, total=6, free=5)
        with pytest.raises(OutOfMemory) as refused:
            refusal.refuse_too_large(spec("qwen2.5-coder-7b"), None, "int8", "cpu")
        assert refused.value.exit_code == 4
        assert "qwen2.5-coder-7b as int8 needs at least" in refused.value.message
        assert "this computer has 6.4 GB" in refused.value.message
        assert refused.value.hint == "use --quant int4 --ctx 1536, or the model qwen2.5-coder-3b"

    def test_most_models_are_let_through_without_reading_a_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        memory(monkeypatch, total=16, free=1)
        monkeypatch.setattr("lacli.models.registry.fit.fit", lambda *given: pytest.fail("it was looked at"))
        refusal.refuse_too_large(spec("qwen2.5-coder-1.5b"), None, None, "cpu")

    def test_files_that_cannot_be_understood_are_left_to_who_reads_them(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        memory(monkeypatch, total=0.001, free=0.001)
        folder = tmp_path / "m"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"hidden_size": "many", "num_hidden_layers": [3]}))
        refusal.refuse_too_large(spec(str(folder)), None, "int8", "cpu")


class TestOnACard:
    def test_what_is_free_now_counts_but_no_full_context(self, monkeypatch: pytest.MonkeyPatch) -> None:
        memory(monkeypatch, 64, 60, (6, 24))
        refusal.refuse_too_large(spec("qwen2.5-coder-7b"), None, "nf4", "cuda")
        memory(monkeypatch, 64, 60, (4, 24))
        with pytest.raises(OutOfMemory) as refused:
            refusal.refuse_too_large(spec("qwen2.5-coder-7b"), None, "nf4", "cuda")
        assert "4.3 GB of 25.8 GB are free on the card" in refused.value.message
        assert "--quant int4 --device cpu" in refused.value.hint

    def test_fewer_bits_are_offered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        memory(monkeypatch, 64, 60, (9, 12))
        with pytest.raises(OutOfMemory, match="as none") as refused:
            refusal.refuse_too_large(spec("qwen2.5-coder-7b"), 4096, "none", "cuda")
        assert refused.value.hint.startswith("use --quant int8, or --quant int4, or --quant none --device cpu, or ")

    def test_without_a_card_to_ask_nothing_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        memory(monkeypatch, 1, 1)
        refusal.refuse_too_large(spec("qwen2.5-coder-7b"), None, "nf4", "cuda")


class TestOnSeveralCards:
    def test_their_memory_counts_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        memory(monkeypatch, 64, 60, (4, 8), (4, 8))
        refusal.refuse_too_large(spec("qwen2.5-coder-7b"), None, "nf4", "cuda")
        assert refusal.needs_more_cards(spec("qwen2.5-coder-7b"), None, "nf4")
        memory(monkeypatch, 64, 60, (2, 8), (2, 8))
        with pytest.raises(OutOfMemory, match=r"of 17\.2 GB are free on 2 cards"):
            refusal.refuse_too_large(spec("qwen2.5-coder-7b"), None, "nf4", "cuda")

    def test_one_is_enough_where_the_model_fits_or_no_other_is_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for cards in ([(8, 8), (8, 8)], [(4, 8)], []):
            memory(monkeypatch, 64, 60, *cards)
            assert not refusal.needs_more_cards(spec("qwen2.5-coder-7b"), None, "nf4")


def test_a_model_of_unknown_size_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    memory(monkeypatch, 1, 1, (1, 1))
    unknown = replace(spec("qwen2.5-coder-7b"), parameters=0, shape={})
    assert parameters({}) == 0
    for device, quant in (("cpu", "int8"), ("cuda", "nf4")):
        refusal.refuse_too_large(unknown, None, quant, device)


def test_a_load_refuses_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    memory(monkeypatch, total=2, free=2)
    monkeypatch.setattr(loading, "_prepare", lambda *given: pytest.fail("it was fetched"))
    with pytest.raises(OutOfMemory, match="7b as int"):
        loading.load(Settings(model="qwen2.5-coder-7b", device="cpu"), lambda event: None)
