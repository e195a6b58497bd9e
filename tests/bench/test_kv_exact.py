"""The comparison of texts with and without the KV store runs on the default model, and finds what a store changes."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from lacli.bench import kv_exact
from lacli.kernels.library import library
from lacli.models.runners.native.runner import NativeRunner
from tests.slow import slow

needs_the_store = pytest.mark.skipif(library() is None, reason="the store serves our own kernels only")


@pytest.mark.parametrize("quick", [False, True])
def test_prompts_are_many_and_all_different(quick: bool) -> None:
    found = list(itertools.islice(kv_exact.prompts(quick), 200))
    assert len({name for name, _ in found}) == 200
    assert len({(message.text, message.attachments) for _, message in found}) == 200


@needs_the_store
@pytest.mark.parametrize("count", [1, slow(6)])
def test_all_texts_are_the_same_and_the_store_was_used(
    sandbox_with_model: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    assert kv_exact.main(["--limit", str(count), "-n", "6", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["equal"]
    assert (printed["prompts"], printed["texts"]) == (count, 6 * count)
    assert printed["restored"] > 4 * 128 * count
    assert not (sandbox_with_model / "state").exists()


@needs_the_store
def test_the_quick_way_takes_short_prompts_and_uses_the_store_as_well(
    sandbox_with_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kv_exact.main(["--limit", "2", "--quick", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["equal"], printed["texts"]) == (True, 2 * 5)
    assert printed["restored"] >= 2 * 4 * 64
    assert printed["tokens"] <= 2 * 5 * 6


@needs_the_store
def test_what_a_wrong_block_does_is_found(
    sandbox_with_model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put = NativeRunner.put_kv_bytes

    def wrong(self: Any, first: int, count: int, data: memoryview) -> None:
        put(self, first, count, memoryview(bytes(len(data))))

    monkeypatch.setattr(NativeRunner, "put_kv_bytes", wrong)
    assert kv_exact.main(["--limit", "1", "-n", "4"]) == 1
    assert "DIFFERENT: " in capsys.readouterr().out
