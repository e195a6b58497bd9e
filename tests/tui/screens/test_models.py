"""The picker of models: what is here, how large it is, whether it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.models.registry.fit import Fit
from lacli_tui.screens.models import Model, ModelsScreen
from tests.tui.screens.conftest import Open

SMALL = Fit("int4", "cpu", 2048, 80_000_000, True, 1000, 400_000_000, 4_000_000_000, 8_000_000_000)
LARGE = Fit("int8", "cpu", 32_768, 7_000_000_000, False, 100_000, 400_000_000, 4_000_000_000, 8_000_000_000)
MODELS = [
    Model("smollm2-135m", "SmolLM2", "135M", True, fit=SMALL, licence="apache-2.0"),
    Model("qwen-7b", "Qwen", "7.6B", False, 4_400_000_000, fit=LARGE, completes=True),
    Model("[/a]", "odd", "1.0B", False),
]


async def test_it_tells_what_is_here_and_what_fits(opened: Open) -> None:
    async with opened(ModelsScreen("qwen-7b", lambda tell: MODELS)) as it:
        seen = await it.until("smollm2-135m", "[/a]")
        lines = {line.split()[1].strip("›"): line for line in seen.split("\n") if "135M" in line or "1.0B" in line}
        assert "fits" in lines["smollm2-135m"]
        assert "here" in lines["smollm2-135m"]
        assert it.marked == "qwen-7b"
        await it.until("in use", "too large", "4.4 GB", "int8 on cpu: needs about 10.7 GB, 4.0 GB of 8.0 GB free")
        await it.press("up", "enter")
        assert it.result == "smollm2-135m"


async def test_what_a_download_takes_is_told_of_what_is_not_here(opened: Open) -> None:
    there = Model("qwen-3b", "Qwen", "3.1B", False, 6_171_877_376, is_estimate=True, comes_from="the hub, Qwen/Q-3B")
    async with opened(ModelsScreen("qwen-3b", lambda tell: [MODELS[0], there])) as it:
        await it.until("fetch ≈ 6.2 GB", "not here: about 6.2 GB are fetched from the hub, Qwen/Q-3B")


async def test_the_list_is_there_before_the_memory_is_measured(opened: Open) -> None:
    def models(tell: object) -> list[Model]:
        tell([MODELS[2]])  # type: ignore[operator]
        return MODELS[:2]

    async with opened(ModelsScreen("", models)) as it:
        await it.it.until(lambda: it.keys == ["smollm2-135m", "qwen-7b"])


async def test_a_name_is_searched_and_a_path_can_be_typed(opened: Open) -> None:
    async with opened(ModelsScreen("", lambda tell: MODELS)) as it:
        await it.until("smollm2-135m")
        await it.type("qw7")
        assert it.keys == ["qwen-7b"]
        await it.press("backspace", "backspace", "backspace")
        await it.type("./[x].gguf")
        assert it.keys == ["./[x].gguf"]
        await it.press("enter")
        assert it.result == "./[x].gguf"


async def test_the_real_registry_is_shown(opened: Open, monkeypatch: pytest.MonkeyPatch, sandbox: Path) -> None:
    monkeypatch.setattr("lacli.models.registry.machine.graphics_memory", lambda: None)
    async with opened(ModelsScreen("smollm2-135m")) as it:
        await it.until("smollm2-135m", "in use", "free", "fetch ≈ 3.1 GB")
        assert len(it.keys) > 3


async def test_a_registry_that_cannot_be_read_is_one_line(opened: Open, sandbox: Path) -> None:
    (sandbox / "config").mkdir()
    (sandbox / "config" / "models.toml").write_text("nonsense = 1\n")
    async with opened(ModelsScreen("")) as it:
        await it.until("nonsense", "the models cannot be listed")
