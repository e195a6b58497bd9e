"""Downloads one file of a hub repository: arguments REPO REVISION FILE FOLDER. A process of its own, so that a network
that hangs can be ended. Prints one JSON object: the "file", or what went wrong."""

from __future__ import annotations

import json
import sys

from lacli.models.hub_child import told
from lacli.models.parent import end_with_parent


def main() -> int:
    """Download and print; the exit status only says whether an object was printed."""
    end_with_parent()
    repo, revision, file, folder = sys.argv[1:5]
    try:
        from huggingface_hub import hf_hub_download

        print(json.dumps({"file": hf_hub_download(repo, file, revision=revision, local_dir=folder)}))
    except Exception as error:  # whatever the library raises is reported to the parent, in one form
        print(json.dumps(told(error)))
    return 0
