"""The token file: made once, the user's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lacli.errors import LacliError
from lacli.server.token import own_token, token_file


class TestToken:
    def test_is_made_once_and_kept(self) -> None:
        token = own_token()
        assert len(token) >= 40
        assert own_token() == token
        assert token_file().read_text() == token + "\n"

    @pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
    def test_is_the_users_alone_whatever_the_umask_or_a_copy_made_of_it(self) -> None:
        before = os.umask(0)
        try:
            own_token()
        finally:
            os.umask(before)
        assert stat.S_IMODE(token_file().stat().st_mode) == 0o600
        token_file().chmod(0o644)
        own_token()
        assert stat.S_IMODE(token_file().stat().st_mode) == 0o600

    def test_another_process_may_make_it_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def create(path: str, data: bytes) -> None:
            Path(path).write_text("theirs\n")
            raise FileExistsError

        monkeypatch.setattr("lacli.storage.atomic.create", create)
        assert own_token() == "theirs"

    @pytest.mark.parametrize("data", [b"", b"\n", b"x" * 5000, None])
    def test_a_file_that_has_none_is_one_clear_line(self, data: bytes | None) -> None:
        token_file().parent.mkdir(parents=True)
        if data is None:
            token_file().mkdir()
        else:
            token_file().write_bytes(data)
        with pytest.raises(LacliError, match="http-token"):
            own_token()
