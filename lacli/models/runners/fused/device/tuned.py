"""Stores the kernels chosen by `linears.Tuner` in the cache folder, so that a model rounds the same at each load.

One file per GPU and versions of the libraries with kernels. Invalid entries are ignored and chosen again.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import torch

from lacli import __version__, paths
from lacli.errors import LacliError
from lacli.storage import atomic, files

_PACKAGES = ("torch", "bitsandbytes", "triton")
_LIMIT = 1 << 20

Choices = dict[str, dict[str, str]]
"""shape and ways -> bucket -> name of the way"""


def name_of(gpu: str) -> str:
    """The file for a GPU of this name and the versions that are installed."""
    versions = []
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{package}{metadata.version(package)}")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join([gpu, f"lacli{__version__}", *versions])) + ".json"


def gpu_of(device: torch.device) -> str:
    """The name of a device, as its file has it."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def read(gpu: str) -> Choices:
    """What was chosen before; nothing where that is not known."""
    with contextlib.suppress(LacliError, OSError, ValueError, AttributeError):
        stored: Any = json.loads(files.read(_folder() / name_of(gpu), limit=_LIMIT))
        return {str(key): {str(rows): str(way) for rows, way in choice.items()} for key, choice in stored.items()}
    return {}


def write(gpu: str, choices: Mapping[str, Mapping[str, str]]) -> None:
    """Keep these; if the cache cannot be written, they are made again next time."""
    with contextlib.suppress(LacliError, OSError):
        files.make_private(_folder())
        atomic.replace(_folder() / name_of(gpu), json.dumps(choices).encode(), durable=False)


def _folder() -> Any:
    return paths.cache_dir() / "kernels"
