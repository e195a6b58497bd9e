"""What these tests share: real repositories, and a vocabulary small enough to tokenise by hand."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from lacli.drafts.index import SuffixIndex
from lacli.project import files as project_files
from lacli.project.files import ProjectFiles
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


def code(seed: int, lines: int = 40) -> str:
    draw = random.Random(seed)
    words = "alpha bravo carbon delta ember fjord gamma harbor indigo jungle".split()  # noqa: SIM905
    return "".join(f"{draw.choice(words)}_{draw.randrange(100)} = {draw.choice(words)}({seed})\n" for _ in range(lines))


class Front:
    """What `loading` does with the files, and what a reply sees of them."""

    def __init__(self, folder: Path, vocabulary: Tokenizer) -> None:
        self.index: SuffixIndex | None = None
        self.given = 0
        self.files = ProjectFiles()
        self._vocabulary = vocabulary
        self.files.start(folder, vocabulary, self._take)

    def _take(self, index: SuffixIndex) -> None:
        self.index, self.given = index, self.given + 1

    def after(self, text: str) -> str:
        """What the files say after a context, "" if nothing."""
        if self.index is None:
            return ""
        found = self.index.matches(self._vocabulary.encode(text))
        return (
            self._vocabulary.decode(self.index.following(found[0].position, 12))
            if found and found[0].length > 8
            else ""
        )


def soon(told: Callable[[], object], within_s: float = 10.0) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if told():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests need not be as polite as a run."""
    monkeypatch.setattr(project_files, "_RESTS", {"idle": 0.0, "wanted": 0.0, "replying": 0.0})


@pytest.fixture
def front(vocabulary: Tokenizer) -> Iterator[Callable[[Path], Front]]:
    made: list[Front] = []

    def _front(folder: Path) -> Front:
        made.append(Front(folder, vocabulary))
        return made[-1]

    yield _front
    for each in made:
        each.files.close()
        assert soon(lambda each=each: not each.files._thread.is_alive())


def split(text: str) -> tuple[str, str]:
    """A context that ends in the middle of a text, and what follows there."""
    middle = len(text) // 2
    return text[:middle], text[middle : middle + 12]
