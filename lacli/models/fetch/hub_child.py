"""Downloads one hub repository: arguments REPO REVISION CACHE. A process of its own, so that a network that hangs can
be ended.

Prints JSON, an object a line: how much of what came is checked, {"checked", "of"}; last the snapshot's "folder", or
what went wrong. `hub_file_child` reports what went wrong in the same way.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from lacli.models.fetch.parent import end_with_parent

PATTERNS = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt")
NOT = ("*/*", "consolidated*", "*training_args*", "trainer_state.json", "optimizer*")


def main() -> int:
    """Download and print; the exit status only says whether an object was printed."""
    end_with_parent()
    repo, revision, cache = sys.argv[1:4]
    try:
        from huggingface_hub import snapshot_download

        from lacli.models.fetch.hub_weights import fetch_weights

        with contextlib.suppress(ImportError, AttributeError, TypeError):  # of another version: what it can do itself
            fetch_weights(repo, revision, Path(cache), NOT, _checked)
        folder = snapshot_download(
            repo,
            revision=revision,
            cache_dir=cache,
            allow_patterns=list(PATTERNS),
            ignore_patterns=list(NOT),
            max_workers=4,
        )
        print(json.dumps({"folder": folder}))
    except Exception as error:  # whatever the library raises is reported to the parent, in one form
        print(json.dumps(told(error)))
    return 0


def _checked(done: int, total: int) -> None:
    print(json.dumps({"checked": done, "of": total}), flush=True)


def told(error: BaseException) -> dict[str, Any]:
    """The hub's response, wherever it is in the chain of causes, and the last cause in words."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    statuses = [getattr(getattr(each, "response", None), "status_code", None) for each in chain]
    hosts = []
    for each in chain:
        with contextlib.suppress(Exception):  # httpx raises where there was no request
            hosts.append(str(each.request.url.host))  # type: ignore[attr-defined]
    return {
        "errors": [type(each).__name__ for each in chain],
        "status": next((status for status in statuses if status), None),
        "text": str(error),
        "cause": str(chain[-1]),
        "host": hosts[-1] if hosts else "",
    }
