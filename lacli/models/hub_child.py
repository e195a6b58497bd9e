"""Downloads one hub repository: `python -m lacli.models.hub_child REPO REVISION CACHE`. A process of its own, so that a
network that hangs can be ended.

Prints one JSON object: the snapshot's folder, or what went wrong. Called by fetch_hub.py only.
"""

from __future__ import annotations

import json
import sys

PATTERNS = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt")
NOT = ("*/*", "consolidated*", "*training_args*", "trainer_state.json", "optimizer*")


def main() -> int:
    """Download and print; the exit status only says whether an object was printed."""
    repo, revision, cache = sys.argv[1:4]
    try:
        from huggingface_hub import snapshot_download

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
        response = getattr(error, "response", None)
        cause = error.__cause__ or error.__context__
        print(
            json.dumps(
                {
                    "error": type(error).__name__,
                    "status": getattr(response, "status_code", None),
                    "text": str(error),
                    "cause": f"{type(cause).__name__}: {cause}" if cause else "",
                }
            )
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
