"""Downloads one file of a hub repository, resuming after what is there: arguments REPO REVISION FILE SHA256 INTO.

A process of its own, so that a network that hangs can be ended. Prints one JSON object: the "file", or what went wrong.
What came is checked by the parent.
"""

from __future__ import annotations

import json
import os
import re
import sys

from lacli.models.fetch.hub_child import told
from lacli.models.fetch.parent import end_with_parent

_CHUNK = 1 << 18
"""Written at once, as in hub_weights.py."""


def main() -> int:
    """Download and print; the exit status only says whether an object was printed."""
    end_with_parent()
    try:
        _download(*sys.argv[1:6])
        print(json.dumps({"file": sys.argv[5]}))
    except Exception as error:  # whatever the library raises is reported to the parent, in one form
        print(json.dumps(told(error)))
    return 0


def _download(repo: str, revision: str, file: str, sha256: str, into: str) -> None:
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # as it documents it

    constants.DOWNLOAD_CHUNK_SIZE = _CHUNK
    address = hf_hub_url(repo, file, revision=revision)
    found = get_hf_file_metadata(address)
    etag = found.etag or ""
    if re.fullmatch(r"[0-9a-f]{64}", etag) and etag != sha256:  # of a large file it is the sha256 of its bytes
        raise OSError(f"another {file} is there now than lacli knows")
    descriptor = os.open(into, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(descriptor, "r+b", buffering=0) as handle:
        have = handle.seek(0, os.SEEK_END)
        http_get(address, handle, resume_size=have, headers=build_hf_headers(), expected_size=found.size)
