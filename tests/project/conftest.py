"""What these tests share: real repositories, and a vocabulary small enough to tokenise by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lacli.text.tokenizer import Tokenizer
from tests.vocabularies import byte_level, made

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="makes repositories with git")
posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")

Write = Callable[[Mapping[str, str | bytes]], None]


def git(folder: Path, *arguments: str, feed: str | None = None) -> str:
    settings = ["user.name=T", "user.email=t@example.com", "init.defaultBranch=main", "protocol.file.allow=always"]
    command = ["git", *(word for setting in settings for word in ("-c", setting)), *arguments]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True, input=feed)
    return done.stdout.strip()


def write(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """An empty repository."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


@pytest.fixture
def track(repo: Path) -> Write:
    """Write files in the repository and have git track them, ignored or not."""

    def _track(contents: Mapping[str, str | bytes]) -> None:
        write(repo, contents)
        git(repo, "add", "--force", ".")

    return _track


@pytest.fixture(scope="session")
def vocabulary() -> Tokenizer:
    """A token per byte."""
    return made(byte_level())
