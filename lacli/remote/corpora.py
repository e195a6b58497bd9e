"""SGLang's external corpora: texts that its n-gram drafts are taken from, sent by HTTP under a name of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lacli.errors import LacliError, UsageError
from lacli.remote import failures, server
from lacli.remote.server import Server


def push(found: Server, name: str, texts: Sequence[str]) -> int:
    """Put these texts in place of those of this name; returns how many tokens the server made of them."""
    listed = server.ask(found, f"{found.remote.root}/list_external_corpora") or {}
    if name in (listed.get("corpus_token_counts") or {}):
        _post(found, "remove_external_corpus", {"corpus_id": name})
    done = _post(found, "add_external_corpus", {"corpus_id": name, "documents": list(texts)})
    count = done.get("loaded_token_count")
    return count if type(count) is int else 0


def _post(found: Server, door: str, body: dict[str, Any]) -> dict[str, Any]:
    head, data = server.told(found.remote, found.limits, f"{found.remote.root}/{door}", body)
    if head.status in (404, 405, 501):
        raise UsageError(
            f"{found.remote.title} takes no texts to draft from",
            "start SGLang as `lacli remote recipe sglang MODEL` says; no other server can",
        )
    if head.status != 200:
        raise failures.refused(found.remote, head, data[: failures.MOST_BYTES], found.model)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or value.get("success") is False:
        said = failures.message_of(data)
        raise LacliError(f"{found.remote.title} took no texts" + (f": {said}" if said else ""), "its log says more")
    return value
