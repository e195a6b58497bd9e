"""secrets.py: what must never be stored, and ordinary code that must be."""

from __future__ import annotations

import asyncio
import inspect
import random
import string
import textwrap
import time
from pathlib import Path

import pytest

from lacli.pool import format as pool_format
from lacli.pool import store
from lacli.pool.secrets import loops, refuse
from lacli.project import root as identity
from tests.pool.secret_corpus import keys, places

_SOME = "aB3dE5gH7jK9mN1pQ4sT6vW8xY2zA5cD7fG9hJ1kL3"

SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_" + _SOME[:36],
    "github_pat_" + _SOME,
    "glpat-" + _SOME[:20],
    "xoxb-123456789012-abcdefghijkl",
    "sk-" + _SOME,
    "sk-proj-" + _SOME,
    "sk-ant-api03-" + _SOME,
    "sk_live_" + _SOME[:24],
    "AIza" + _SOME[:35],
    "hf_" + "abcdefghijklmnopqrstuvwxyzabcdefgh",
    "npm_" + _SOME[:36],
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n",
    "-----BEGIN RSA PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
    "postgres://bob:pw123@localhost/db",
    "Authorization: Bearer abcdefghijklmnopqrstuvwx",
    "DB_PASSWORD=swordfish",
    "export API_KEY='abcdefgh'",
    "password: s3cr3t!pw",
    '{"password": "correct horse"}',
    "config['password'] = 'hunter22'",
    "token := `abc-def-ghi`",
    "digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
]

ORDINARY = [
    "password = request.form['password']",
    "def login(user: str, password: str) -> bool:\n    return check(user, password)",
    "API_KEY = os.environ['API_KEY']",
    "password = getpass.getpass('Password: ')",
    'self.token_type = "identifier"',
    "token_endpoint = 'https://example.com/oauth'",
    'parser.add_argument("--password", help="the password to use")',
    'api_key = "your-api-key-here"',
    'api_key = "<your key>"',
    "SmolLM2-135M-Instruct-Q4_1-GGUF",
    "author = 'Jane Austen'",
    "https://example.com:8080/path?x=1",
    "git@github.com:someone/something.git",
    "550e8400-e29b-41d4-a716-446655440000",
    "tokens = [101, 2023, 2003, 1037, 3231, 6251, 102]",
    "test_that_a_very_long_function_name_2_is_fine_3_times_4",
    "0x00000000000000000000000000000000000000ff",
    "AbstractSingletonProxyFactoryBeanVisitor",
    "=" * 80,
    "",
]


class TestRefuse:
    @pytest.mark.parametrize("text", SECRETS)
    def test_secrets_are_found_wherever_they_stand(self, text: str) -> None:
        assert refuse(text)
        assert refuse(f"Here is the file:\n\n```\n{text}\n```\nand so on")

    @pytest.mark.parametrize("text", ORDINARY)
    def test_ordinary_code_is_kept(self, text: str) -> None:
        assert refuse(text) is None

    def test_our_own_code_is_kept(self) -> None:
        for module in (store, identity, pool_format, textwrap, inspect):
            assert refuse(inspect.getsource(module)) is None, module

    @pytest.mark.parametrize("seed", [1, 2])
    def test_no_key_of_the_corpus_is_missed_wherever_it_stands(self, seed: int) -> None:
        made = keys(seed)
        assert len({key.text for key in made}) == len(made) >= 250
        assert len({key.kind for key in made}) >= 60
        missed = [(key.kind, place) for key in made for place, text in places(key) if refuse(text) is None]
        assert missed == []

    @pytest.mark.parametrize(
        "alphabet", [string.ascii_letters + string.digits, string.ascii_lowercase, "0123456789abcdef"]
    )
    def test_random_strings_are_found_without_a_name(self, alphabet: str) -> None:
        """Half a key, too, where a prompt has shown a key before."""
        rng = random.Random(5)
        usual = [f"the value is {''.join(rng.choices(alphabet, k=24))} and so on" for _ in range(300)]
        half = [f"then {''.join(rng.choices(alphabet, k=18))} follows" for _ in range(300)]
        assert sum(refuse(text) is None for text in usual) <= 3
        assert sum(refuse(text, wary=True) is None for text in half) <= 12

    def test_hardly_any_ordinary_code_is_dropped(self) -> None:
        """A package that the letters were not counted on, in pieces of the length of a reply."""
        dropped = total = 0
        for file in sorted(Path(asyncio.__file__).parent.glob("*.py")):
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            pieces = ["".join(lines[start : start + 25]) for start in range(0, len(lines), 25)]
            total += len(pieces)
            dropped += sum(refuse(piece) is not None for piece in pieces)
        assert total > 300
        assert dropped <= 0.01 * total

    @pytest.mark.parametrize(
        "part",
        [
            "a",
            "password=",
            "token: ",
            "a:",
            "-",
            "A1",
            '"',
            " ",
            "\n",
            "\n ",
            "A",
            "x.",
            "sk-",
            "://",
            "PASS",
            "a_",
            "key=",
            "key ",
            "mysql -p ",
            "curl ",
            "\\\n",
            '" \n',
            "otpauth://",
            ":5432:",
            "bearer ",
            "a1b2c3d4-",
            "'+",
            "$6$",
        ],
    )
    def test_no_text_makes_it_slow(self, part: str) -> None:
        """Every pattern is linear; a quadratic one would take minutes here. Undisturbed it is below 0.1 s."""
        start = time.process_time()
        refuse(part * (100_000 // len(part)))
        assert time.process_time() - start < 1


class TestLoops:
    @pytest.mark.parametrize("period", [1, 2, 7, 60])
    def test_one_round_of_a_loop_is_kept(self, period: int) -> None:
        rng = random.Random(period)
        before = [rng.randrange(1_000, 9_000) for _ in range(50)]
        loop = [rng.randrange(1_000) for _ in range(period)]
        repeated = loop * (200 // period + 4)
        assert loops(before + repeated) == 50 + period
        assert loops(before + repeated + [9_999]) == 50 + period  # the end-of-turn marker
        assert loops(before + repeated + loop[: period // 2]) == 50 + period  # cut by the budget
        assert loops(repeated) == period

    @pytest.mark.parametrize("period", [8, 10, 50])
    def test_four_rounds_are_a_loop_and_three_are_none(self, period: int) -> None:
        loop, before = list(range(period)), list(range(100, 130))
        assert loops(before + loop * 4) == 30 + period
        assert loops(before + loop * 3) is None

    def test_replies_that_only_repeat_a_little_are_whole(self) -> None:
        rng = random.Random(1)
        words = [rng.randrange(5_000) for _ in range(400)]
        assert loops(words) is None
        assert loops(words[:100] * 3) is None
        assert loops([*words, *([5] * 20)]) is None
        assert loops([*([5, 6] * 40), *words]) is None  # a table in the middle is no loop at the end
        assert loops([]) is None
        assert loops([1] * 10) is None

    def test_a_long_reply_is_looked_at_at_once(self) -> None:
        start = time.perf_counter()
        loops(list(range(8_000)))
        assert time.perf_counter() - start < 1
