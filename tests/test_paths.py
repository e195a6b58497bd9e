"""Where lacli keeps things, whatever the environment lacks."""

from __future__ import annotations

import pathlib

import platformdirs
import pytest

from lacli import paths
from lacli.cli.main import main
from lacli.errors import ModelUnavailable


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without HOME and without an entry in the list of users."""

    def nowhere(*_: object, **__: object) -> str:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("LACLI_HOME")
    for name in ("cache", "config", "state", "data"):
        monkeypatch.setattr(platformdirs, f"user_{name}_dir", nowhere)
    monkeypatch.setattr(pathlib.Path, "home", nowhere)
    monkeypatch.setattr(pathlib.Path, "expanduser", nowhere)


def test_without_any_home_the_variable_that_helps_is_named(homeless: None) -> None:
    for folder in (paths.cache_dir, paths.config_dir, paths.state_dir, paths.data_dir):
        with pytest.raises(ModelUnavailable) as caught:
            folder()
        assert "LACLI_HOME" in caught.value.hint
        assert caught.value.exit_code == 3


def test_without_any_home_what_needs_no_place_still_works(
    homeless: None, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["models", "path", "~nobody-of-this-name/model"]) == 3
    assert "does not exist" in capfd.readouterr().err
    monkeypatch.setenv("LACLI_HOME", "/somewhere")
    assert paths.models_dir() == pathlib.Path("/somewhere").absolute() / "cache" / "models"


def test_a_relative_place_is_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LACLI_HOME")
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_, **__: "relative/lacli")
    with pytest.raises(ModelUnavailable):
        paths.cache_dir()
