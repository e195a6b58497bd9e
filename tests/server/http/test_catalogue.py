"""Which models can be asked for: those whose files are here, by alias."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.models.registry.registry import load_registry
from lacli.server.http.catalogue import RegistryCatalogue, find
from lacli.server.http.refusals import Refusal
from tests.server.http.engines import CODER, SMALL


class TestFind:
    def test_no_name_is_the_default_one(self) -> None:
        assert find((SMALL, CODER), "") is SMALL
        assert find((SMALL, CODER), "coder") is CODER

    def test_another_name_is_told_the_known_ones(self) -> None:
        with pytest.raises(Refusal, match="no model named 'x' is here; there are small, coder") as caught:
            find((SMALL, CODER), "x")
        assert caught.value.status == 404

    def test_where_there_is_none_it_says_what_brings_one(self) -> None:
        with pytest.raises(Refusal, match="lacli models pull"):
            find((), "")


class TestRegistry:
    def test_what_is_not_on_this_machine_is_none(self) -> None:
        assert RegistryCatalogue().models() == ()

    @pytest.mark.model
    def test_what_is_here_is_named_by_its_alias(self, sandbox_with_model: Path) -> None:
        first, *_ = RegistryCatalogue().models()
        registry = load_registry()
        assert first.name == first.setting == registry.default
        assert first.context == registry.models[first.name].context
        assert first.byte_size > 1_000_000
        assert first.modified > 1.7e9

    @pytest.mark.model
    def test_a_path_the_server_was_started_with_is_known_by_its_name_alone(self, prepared_default, tmp_path) -> None:  # type: ignore[no-untyped-def]
        path = tmp_path / "mine"
        path.symlink_to(prepared_default.folder)
        first, *_ = RegistryCatalogue(str(path)).models()
        assert (first.name, first.setting) == ("mine", str(path))

    def test_the_disk_is_not_read_for_every_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looks = []
        catalogue = RegistryCatalogue()
        monkeypatch.setattr(RegistryCatalogue, "_look", lambda self: looks.append(1) or (SMALL,))
        assert [catalogue.models() for _ in range(5)] == [(SMALL,)] * 5
        assert len(looks) == 1
