"""What the benches of the doors send."""

from __future__ import annotations

import pytest

from lacli.bench.doors.keys import bodies
from lacli.bench.doors.keys import main as keys

FILE = "".join(f"line {number} of it\n" for number in range(1, 301))


def test_each_key_is_a_request_as_llama_vim_sends_it() -> None:
    asked = bodies(FILE, 280, 40)
    assert len(asked) == 40
    for each in asked:
        assert "\n" not in each["prompt"]
        assert len(each["input_prefix"].splitlines()) <= 256
    typed = [each["input_prefix"].rpartition("line 279 of it\n")[2] + each["prompt"] for each in asked]
    assert typed[-1] == FILE[FILE.index("line 280") :][:40]
    assert [len(each) for each in typed] == list(range(1, 41))
    assert asked[0]["input_suffix"].startswith("\nline 283")


def test_without_the_peer_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from lacli.bench.doors import keys as module
    from lacli.bench.peers.setup import NotInstalled

    def absent(package: object) -> str:
        raise NotInstalled("xllamacpp could not be installed: no network")

    monkeypatch.setattr(module, "ensure_local", lambda spec, report: "model.gguf")
    monkeypatch.setattr(module, "python_of", absent)
    with pytest.raises(SystemExit, match="no network"):
        keys([])
