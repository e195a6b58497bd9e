"""Where a reply of `ask` goes, and as what: streamed text, code blocks, JSON, a file.

`Delivery` hears every event while the reply is written and finishes it at the end. Whatever happens to the place it was
to go to, the text is never lost: it is printed instead.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass
from typing import Any

from lacli import streams
from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.tty import plain
from lacli.edits.write import disk
from lacli.errors import LacliError, UsageError
from lacli.events import Event, Finished, Loading, Notice, Piece, Prefill
from lacli.shared.wording import turn_record
from lacli.text import fences

_NAMES = {Loading: "loading", Prefill: "prefill", Notice: "notice", Piece: "piece"}
_STDOUT = 1
_STOPPED = {
    "length": "the reply was cut at its most tokens",
    "context": "the context was full",
    "cancelled": "the reply was stopped",
    "timeout": "the time was over",
}


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is made of a reply."""

    json: bool = False
    """One object at the end."""
    jsonl: bool = False
    """Every event as it comes, the object last."""
    extract: str = ""
    """first or last: that fenced block instead of the text."""
    path: str = ""
    """A file instead of stdout."""

    @property
    def silent(self) -> bool:
        """Whether nothing is written while the reply comes."""
        return bool(self.json or self.jsonl or self.extract or self.path)

    def check(self) -> None:
        """Refuse what excludes each other, and a file that cannot be written."""
        if self.jsonl and (self.json or self.extract or self.path):
            other = "--json" if self.json else "-x" if self.extract else "-o"
            raise UsageError(f"--jsonl and {other} exclude each other", "leave one away")
        if self.path:
            check_place(self.path)

    def hear(self, event: Event) -> None:
        """An event of the reply, as it comes."""
        if self.jsonl and not isinstance(event, Finished):
            if isinstance(event, Piece):  # without its statistics, which would be copied for each
                told: dict[str, Any] = {"text": event.text, "tokens": len(event.sources)}
                told |= {"thought": event.thought} if event.thought else {}
            else:
                told = asdict(event)
            diagnostics.erase_status()
            output.document({"event": _NAMES[type(event)], **told})

    def finish(self, finished: Finished, session: str) -> None:
        """Write what was not written yet. A reply that was stopped is no reason to replace a file."""
        path = self.path
        if path and finished.reason in ("cancelled", "timeout"):
            path = ""
            diagnostics.note(f"{self.path} is left as it is: {_STOPPED[finished.reason]}; this is the text so far")
        code = _block(finished.text, self.extract)
        record = turn_record(finished, session)
        if self.extract:
            record |= {
                "code": code.text if code else None,
                "language": code.language if code else None,
                "code_complete": bool(code and code.closed),
            }
        if self.jsonl:
            output.document({"event": "finished", **record})
        elif self.json:
            put_record(record, path)
        elif self.silent:
            text = finished.text if code is None else code.text
            put(text if text.endswith("\n") or not text else f"{text}\n", path)
        if self.extract and code is None:
            diagnostics.note("the reply has no code block; this is all of it")
        elif code is not None and not code.closed:
            why = _STOPPED.get(finished.reason, "the model did not end it")
            diagnostics.warning(f"the code block is not complete: {why}")


def check_place(path: str) -> None:
    """Refuse a file for -o that cannot be written while nothing has been spent on a reply yet."""
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder", "give a file for -o")
    if streams.is_stream(path):
        if not streams.takes(path):
            raise UsageError(f"{path} cannot be written", "give another file for -o")
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder}", "make it first, or give another file for -o")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"{path} cannot be written", "give another file for -o, or change its permissions")


def put_record(record: dict[str, Any], path: str) -> None:
    """Write one JSON value as `put` writes a text."""
    if path:
        put(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n", path)
    else:
        output.document(record)


def put(text: str, path: str) -> None:
    """Write a text to stdout or to a file; where that fails, to stdout after all."""
    if not path or streams.descriptor_of(path) == _STDOUT:
        output.text(text)
        output.end_text("\n" if output.to_terminal() and not text.endswith("\n") else "")
        return
    try:
        disk.put(path, (plain(text) if _is_device(path) else text).encode("utf-8", "replace"))
    except LacliError as error:
        output.text(text)
        output.end_text()
        error.hint = "it was printed to stdout instead"
        raise
    diagnostics.note(f"written to {path}")


def _is_device(path: str) -> bool:
    """Whether it may be a terminal, which foreign text must not steer."""
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _block(text: str, which: str) -> fences.Block | None:
    if not which:
        return None
    return fences.first(text) if which == "first" else fences.last(text)
