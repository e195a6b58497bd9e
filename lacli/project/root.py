"""Which project a folder belongs to, and the key of its pool. Reads git's files; runs git only for the first commit
and, through `git_output`, for `lacli.project`.

Without the git program, with one that hangs or refuses, and whatever GIT_DIR says, the answer is the same: worktrees
share the top level of their repository, a submodule is a project of its own, a folder outside any repository is itself.
Writes nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SMALL_FILE = 1 << 16
_GIT_WAIT_S = 1.0
_running: set[subprocess.Popen[bytes]] = set()
"""Running processes, to be killed on exit."""


@dataclass(frozen=True, slots=True)
class PoolKey:
    """Names one pool."""

    project: str
    """Folder name of the project: readable part and hash of the root."""
    root: Path
    """The project's root, symlinks resolved."""
    tokenizer: str
    """Fingerprint of the tokenizer."""

    def tokenizer_folder(self) -> str:
        """Folder name below the project's: the fingerprint's prefix."""
        if re.fullmatch(r"[0-9a-f]{16,}", self.tokenizer):
            return self.tokenizer[:16]
        return hashlib.sha256(self.tokenizer.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def pool_key(root: Path, tokenizer_fingerprint: str) -> PoolKey:
    """The key of the pool that `root` (from `project_root`) has for this tokenizer."""
    return PoolKey(project_id(root), root, tokenizer_fingerprint)


def project_id(root: Path) -> str:
    """A folder name for the project, different for every root."""
    plain = re.sub(rb"[^a-z0-9]+", b"-", os.fsencode(root.name).lower()).decode("ascii")
    name = plain.strip("-")[:24].strip("-") or "project"
    digest = hashlib.sha256(os.fsencode(os.path.normcase(root))).hexdigest()
    return f"{name}-{digest[:16]}"


def project_root(cwd: Path) -> Path | None:
    """The root of the project `cwd` lies in; None where there is none (home, temporary and root folder themselves)."""
    try:
        here = Path(os.path.realpath(cwd))
    except OSError:  # the current folder has been deleted
        return None
    if not os.path.isdir(here):
        return None
    repository = _repository(here)
    if repository is not None and not _is_no_project(repository.top):
        return repository.top
    return None if _is_no_project(here) else here


def _is_no_project(folder: Path) -> bool:
    """Whether a folder is too general to be a project. `tempfile.gettempdir` would write files to find out."""
    names = ["/tmp", "/var/tmp"]
    names += [os.environ.get(name, "") for name in ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP")]
    with contextlib.suppress(RuntimeError, KeyError):  # no such variable, and no entry in the list of users
        names.append(str(Path.home()))
    return folder == folder.parent or any(
        folder == Path(os.path.realpath(name)) for name in names if os.path.isabs(name)
    )


@dataclass(frozen=True, slots=True)
class _Repository:
    top: Path
    common: Path | None
    """The git directory shared by all worktrees; None behind a `.git` file that leads nowhere."""


def _repository(here: Path) -> _Repository | None:
    """Walk up, as git does not beyond a mount point, to the repository that contains `here`."""
    device = _device(here)
    for folder in (here, *here.parents):
        if _device(folder) != device:
            return None
        entry = folder / ".git"
        if os.path.isfile(entry):
            git_dir = _linked_git_dir(entry)
            common = _common_dir(git_dir) if git_dir else None
            if common is None:  # still the mark of a checkout: git stops here too, and does not take what lies above
                return _Repository(folder, None)
            return _Repository(_top_of(common, folder if common == git_dir else None), common)
        if (common := _common_dir(entry)) is not None:
            return _Repository(_top_of(common, folder), common)
        if (common := _common_dir(folder)) is not None:  # inside a bare repository or a .git folder
            return _Repository(_top_of(common, None), common)
    return None


def _top_of(common: Path, checkout: Path | None) -> Path:
    """The top level that all worktrees of `common` share; `checkout` is the main one, where it is known."""
    if checkout is not None:
        return checkout
    if common.name == ".git":
        return common.parent
    configured = _configured_worktree(common)  # submodules, and repositories kept apart from their files
    if configured is not None:
        return configured
    if _linked_git_dir(common.parent / ".git") == common:
        return common.parent  # a bare repository beside its worktrees, tied together by a .git file
    return common


def _device(folder: Path) -> int:
    try:
        return os.stat(folder).st_dev
    except OSError:
        return -1


def _read_small(path: Path) -> str | None:
    if not os.path.isfile(path):  # opening a FIFO would wait for ever
        return None
    try:
        with open(path, "rb") as stream:
            return os.fsdecode(stream.read(_SMALL_FILE))
    except (OSError, ValueError):
        return None


def _linked_git_dir(entry: Path) -> Path | None:
    """Where a `.git` file points; None if it is not one."""
    text = _read_small(entry)
    if text is None or not text.startswith("gitdir: "):
        return None
    return _resolved(entry.parent, text.removeprefix("gitdir: ").rstrip("\r\n"))


def _resolved(base: Path, target: str) -> Path | None:
    if not target or "\0" in target:
        return None
    return Path(os.path.realpath(os.path.join(base, target)))


def _common_dir(git_dir: Path) -> Path | None:
    """The git directory all worktrees share; None if `git_dir` is none, or points to none."""
    if not os.path.lexists(git_dir / "HEAD"):
        return None
    common = Path(os.path.realpath(git_dir))
    linked = _read_small(git_dir / "commondir")
    if linked is not None:
        found, places = _resolved(git_dir, linked.rstrip("\r\n")), common.parent
        # Where git puts a worktree's folder. Otherwise an unpacked archive could claim any project, and its pool.
        if found is None or places != found / "worktrees":
            return None
        common = found
    if not os.path.isdir(common / "objects") or not os.path.isdir(common / "refs"):
        return None
    return common


def _configured_worktree(common: Path) -> Path | None:
    """`core.worktree` of a git directory, if that folder says the same by its `.git` file."""
    for name in ("config.worktree", "config"):
        section = ""
        for raw in (_read_small(common / name) or "").splitlines():
            line = raw.strip()
            if line.startswith("["):
                section = line.strip("[]").strip().lower()
            key, _, value = line.partition("=")
            if section == "core" and key.strip().lower() == "worktree":
                found = _resolved(common, value.strip().strip('"'))
                if found is not None and _linked_git_dir(found / ".git") == common:
                    return found
    return None


def first_commit(root: Path, wait_s: float = _GIT_WAIT_S) -> str | None:
    """The repository's first commit, by which a moved one is known again; None if git cannot tell in time."""
    repository = _repository(root)
    program = shutil.which("git")
    if repository is None or repository.common is None or program is None:
        return None
    if os.path.lexists(repository.common / "shallow"):
        return None  # what it has is not the first commit but where the history was cut
    output = _run_with_timeout([program, "-C", str(root), "rev-list", "--max-parents=0", "HEAD"], wait_s) or b""
    lines = output.decode("ascii", "replace").split()
    return lines[-1] if lines and re.fullmatch(r"[0-9a-f]{40,64}", lines[-1]) else None


def checkout(cwd: Path) -> Path | None:
    """The top of the working tree `cwd` stands in, which for a worktree is not the project's root; None outside one."""
    here = Path(os.path.realpath(cwd))
    repository = _repository(here)
    if repository is None or repository.common is None:
        return None
    found = next((folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), None)
    return None if found is None or _is_no_project(found) else found


def git_output(folder: Path, arguments: Sequence[str], wait_s: float) -> bytes | None:
    """The output of a git command in `folder`; None without git, if it fails, or takes longer.

    It starts nothing that the repository's own settings name: no hook, no file system monitor.
    """
    program = shutil.which("git")
    if program is None:
        return None
    quiet = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.untrackedCache=false")
    settings = [word for setting in quiet for word in ("-c", setting)]
    return _run_with_timeout([program, "-C", str(folder), *settings, *arguments], wait_s)


def _run_with_timeout(command: list[str], wait_s: float) -> bytes | None:
    """The output of a program; None if it fails or takes longer. It can neither prompt, fetch nor lock."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    environment["GIT_ALLOW_PROTOCOL"] = "none"  # a repository's own settings may name programs to fetch with
    silent = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            command,
            stdin=silent,
            stdout=subprocess.PIPE,
            stderr=silent,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    _running.add(process)
    try:
        output, _ = process.communicate(timeout=wait_s)
    except subprocess.TimeoutExpired:
        _end(process)
        return None
    except BaseException:
        _end(process)
        raise
    finally:
        _running.discard(process)
    return output if process.returncode == 0 else None


@atexit.register
def _kill_running() -> None:
    """A git that hangs, started by a background thread, must not outlive the program."""
    for process in tuple(_running):
        _kill(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program with all it started."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a program with all it started, without waiting for a pipe that a grandchild may hold open."""
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    if process.stdout is not None:
        process.stdout.close()
