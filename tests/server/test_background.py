"""An engine that is started in the background and ends at once: what is said of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lacli.errors import LacliError
from lacli.server import background

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("print('lacli: error: no space; free some', file=sys.stderr); sys.exit(4)", 4, "at once: no space; free some"),
        ("sys.exit(2)", 2, "it said nothing"),
        ("", 1, "it said nothing"),
    ],
)
def test_it_is_told_with_its_own_code_and_last_line(
    program: str, code: int, said: str, sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "command", lambda: [sys.executable, "-c", f"import sys; {program}"])
    with pytest.raises(LacliError, match=said) as raised:
        background.start_detached()
    assert raised.value.exit_code == code
