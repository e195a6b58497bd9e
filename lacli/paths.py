"""Every directory lacli uses. Computes names only: creates nothing, reads only the environment.

`LACLI_HOME` puts everything below one folder; otherwise the platform's own places are used (platformdirs, XDG).
"""

from __future__ import annotations

import os
from pathlib import Path

from lacli.errors import ModelUnavailable


def _dir(kind: str) -> Path:
    home = os.environ.get("LACLI_HOME", "")
    if home:
        return Path(os.path.expanduser(home)).absolute() / kind
    import platformdirs  # deferred: 50 ms on the --help path

    name = {
        "cache": platformdirs.user_cache_dir,
        "config": platformdirs.user_config_dir,
        "state": platformdirs.user_state_dir,
        "data": platformdirs.user_data_dir,
    }[kind]
    try:
        path = Path(os.path.expanduser(name("lacli", appauthor=False)))
    except RuntimeError:  # no HOME, and no entry in the list of users
        path = Path()
    # HOME unset or a relative XDG_*: never write below the current directory by accident.
    if not path.is_absolute():
        raise ModelUnavailable(
            f"no home directory for lacli's {kind} files (HOME is unset or relative)",
            "set LACLI_HOME to an absolute folder",
        )
    return path


def cache_dir() -> Path:
    """Things that can be made again: fetched and prepared models, measured cost curves."""
    return _dir("cache")


def models_dir() -> Path:
    """Prepared models, a folder each."""
    return cache_dir() / "models"


def config_dir() -> Path:
    """The user's settings: config.toml, models.toml."""
    return _dir("config")


def state_dir() -> Path:
    """Things worth keeping but not settings: pools, histories."""
    return _dir("state")


def pools_dir() -> Path:
    """The n-gram pools, a folder per project and tokenizer."""
    return state_dir() / "pools"


def kv_dir() -> Path:
    """KV caches of what was read, a folder per project."""
    return state_dir() / "kv"


def data_dir() -> Path:
    """The user's own data: saved conversations."""
    return _dir("data")


def runtime_dir() -> Path:
    """Sockets and locks of what runs. Its path is short, as the path of a socket is limited to a hundred bytes."""
    home, runtime = os.environ.get("LACLI_HOME", ""), os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime, "lacli") if os.path.isabs(runtime) and not home else _dir("run") if home else _dir("state")
    if len(os.fsencode(folder)) <= _MOST_BYTES:
        return folder
    return Path(f"/tmp/lacli-{os.getuid() if hasattr(os, 'getuid') else 0}")


_MOST_BYTES = 75
"""Of a folder of sockets: some systems take 103 bytes, a name of ours has up to 27."""
