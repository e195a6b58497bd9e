"""values.py: what the project keeps secret by a name or a place is known by its value."""

from __future__ import annotations

import os
import random
import string
import time
from pathlib import Path

import pytest

from lacli.project import values
from lacli.project.values import project_refuser, refuser, secret_values, secrets_in

from .conftest import git, needs_git, posix_only, write


def told(line: str, trusted: bool = True) -> set[str]:
    return set(secrets_in(line, trusted))


class TestValues:
    @pytest.mark.parametrize(
        ("line", "value"),
        [
            ("DB_PASSWORD=zebra-quartz-77", "zebra-quartz-77"),
            ("export API_KEY='a1b2c3d4'", "a1b2c3d4"),
            ('SESSION="with blank 9 and #"  # a remark', "with blank 9 and #"),
            ("UNNAMED=xK29fjq0", "xK29fjq0"),
            ("TOKEN=hunterhunter # why", "hunterhunter"),
            ("PIN=84629173", "84629173"),
            ("  password: s3cr3t-yaml", "s3cr3t-yaml"),
            ('  "apiKey": "zz-11-yy-22",', "zz-11-yy-22"),
            ("//registry.example.com/:_authToken=npm-t0ken-12", "npm-t0ken-12"),
            ("machine example.com login me password netrc-pw-1", "netrc-pw-1"),
            ("DATABASE_URL=postgres://app:dbpw-3x@db/app", "dbpw-3x"),
            ("MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn", "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn"),
        ],
    )
    def test_a_secret(self, line: str, value: str) -> None:
        assert value in told(line)

    @pytest.mark.parametrize(
        "line",
        [
            "DEBUG=true",
            "PORT=8080",
            "RATE=0.000125",
            "MODE=production",
            "PASSWORD=password",
            "API_KEY=your-key-here",
            "KEY=xxxxxxxxxx",
            "DATA_DIR=/var/lib/app/data",
            "BASE_URL=https://api.example.com/v1",
            "HOST=db.example.com:5432",
            "HOST=localhost:5432",
            "MAIL=me@example.com",
            "TITLE=My Shop",
            "KEY=${OTHER}",
            "KEY=abc",
            "# KEY=a1b2c3d4e5",
            "",
        ],
    )
    def test_what_any_reply_may_say(self, line: str) -> None:
        assert told(line) == set()

    def test_of_other_settings_only_what_a_name_calls_secret(self) -> None:
        text = 'colour = "dark-blue-7"\nsecret = "dark-blue-8"\n'
        assert told(text, trusted=False) == {"dark-blue-8"}

    def test_in_code_only_what_is_quoted(self) -> None:
        text = "SECRET_KEY = 'dj4ngo-key-1'\nAUTH_TOKEN = make_token(user, 17)\n"
        assert set(secrets_in(text, trusted=False, quoted_only=True)) == {"dj4ngo-key-1"}


class TestFiles:
    @needs_git
    def test_env_files_and_ignored_settings_are_looked_into_and_nothing_else(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q")
        write(tmp_path, {".gitignore": "*.local.yml\nlocal_settings.py\n.env*\nbuild/\n"})
        write(tmp_path, {".env": "A=env-value-1\n", "app/.env.test": "A=env-value-2\n"})
        write(
            tmp_path,
            {"conf.local.yml": "token: ignored-value-3\n", "local_settings.py": "SECRET = 'ignored-value-4'\n"},
        )
        write(tmp_path, {"conf.yml": "token: tracked-value-5\n", ".env.example": "A=sample-value-6\n"})
        write(tmp_path, {"secrets.py": "TOKEN = 'code-value-7'\n", "secrets.yml": "x: named-value-8\n"})
        git(tmp_path, "add", ".")
        assert secret_values(tmp_path) == {
            "env-value-1",
            "env-value-2",
            "ignored-value-3",
            "ignored-value-4",
            "named-value-8",
        }

    @posix_only
    def test_pipes_loops_and_unreadable_files_hang_and_break_nothing(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / ".env")
        (tmp_path / ".env.d").mkdir()
        os.symlink(tmp_path, tmp_path / "loop")
        write(tmp_path, {"prod.env": b"A=\xff\xfe12345\nB=sound-value-1\n", "sub/.env": "B=sound-value-2\n"})
        assert {"sound-value-1", "sound-value-2"} <= secret_values(tmp_path)
        assert secret_values(tmp_path / "none") == frozenset()

    def test_the_search_is_bounded(self, tmp_path: Path) -> None:
        write(tmp_path, {".env": "".join(f"K{number}=value-{number}-{number}\n" for number in range(3_000))})
        write(tmp_path, {"big.env": "A=far-too-large-1\n" * 10_000})
        found = secret_values(tmp_path)
        assert len(found) == values._MAX_VALUES
        assert "far-too-large-1" not in found

    def test_lines_made_to_be_slow_are_not(self, tmp_path: Path) -> None:
        slow = ("a:" * 240 + "#\n") * 120
        write(tmp_path, {f"{number}.env": slow + " " * 60_000 for number in range(60)})
        started = time.process_time()
        secret_values(tmp_path)
        assert time.process_time() - started < 3

    def test_a_key_within_a_very_long_line_is_known(self) -> None:
        assert "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn" in told('KEY="' + "x y " * 200 + 'MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn"')


class TestRefuser:
    def test_a_reply_with_a_value_is_refused_and_any_other_judged_as_before(self) -> None:
        refuse = refuser({"zebra-quartz-77"})
        assert refuse("connect('zebra-quartz-77')") is not None
        assert refuse("my key is ghp_" + "a1B2c3D4" * 5) is not None
        assert refuse("nothing of note") is None

    def test_many_values_and_a_long_reply_take_no_time(self) -> None:
        draw = random.Random(1)
        many = {"".join(draw.choices(string.ascii_letters + string.digits, k=20)) for _ in range(values._MAX_VALUES)}
        text = "".join(f"    result_{number} = compute(value, {number})\n" for number in range(200))
        refuse = refuser(many)
        started = time.process_time()
        for _ in range(20):
            assert refuse(text) is None
        assert (time.process_time() - started) / 20 < 0.02

    def test_values_are_read_late_and_again_when_they_may_have_changed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path, {".env": "A=first-value-1\n"})
        refuse = project_refuser(tmp_path)
        assert refuse("first-value-1") is not None
        write(tmp_path, {".env": "A=second-value-2\n"})
        monkeypatch.setattr(values, "_AGAIN_S", 0.0)
        assert refuse("second-value-2") is not None
