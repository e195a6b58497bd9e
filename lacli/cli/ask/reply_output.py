"""Where the reply of `ask` goes and in which form: streamed text, a code block, JSON, a file.

`ReplyOutput` is given every event while the reply is written, and writes what is left at its end. Whatever happens to
the place it was to go to, the text is never lost: it is printed instead.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lacli import streams
from lacli.cli.terminal import diagnostics, output
from lacli.cli.terminal.interrupt import WaitingInterrupt
from lacli.cli.terminal.tty import sanitize
from lacli.configuration.remotes import is_remote
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
class ReplyOutput:
    """What to print or write of a reply, and where."""

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
        """Whether no text is written while the reply is generated."""
        return bool(self.json or self.jsonl or self.extract or self.path)

    def check(self, names: Mapping[str, str]) -> None:
        """Refuse what excludes each other, and a file that cannot be written; `names` are how options were typed."""
        if self.jsonl and (self.json or self.extract or self.path):
            extract = "extract_last" if self.extract == "last" else "extract"
            other = "--json" if self.json else names[extract if self.extract else "out"]
            raise UsageError(f"--jsonl and {other} exclude each other", "leave one out")
        if self.path:
            check_output_path(self.path)

    def on_event(self, event: Event) -> None:
        """Handle an event of the reply."""
        if self.jsonl and not isinstance(event, Finished):
            if isinstance(event, Piece):  # without its statistics, which would be copied for each
                tokens = None if is_remote(event.stats.model) else len(event.sources)
                record: dict[str, Any] = {"text": event.text, "tokens": tokens}
                record |= {"thought": event.thought} if event.thought else {}
            else:
                record = asdict(event)
            diagnostics.erase_status()
            output.document({"event": _NAMES[type(event)], **record})

    def finish(self, finished: Finished, session: str) -> None:
        """Write what has not been written yet. A reply that was stopped does not replace a file."""
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
            write_record(record, path)
        elif self.silent:
            text = finished.text if code is None else code.text
            write_text(text if text.endswith("\n") or not text else f"{text}\n", path)
        if self.extract and code is None:
            diagnostics.note("the reply has no code block; this is all of it")
        elif code is not None and not code.closed:
            why = _STOPPED.get(finished.reason, "the model did not end it")
            diagnostics.warning(f"the code block is not complete: {why}")


def check_output_path(path: str) -> None:
    """Refuse a file for -o that cannot be written, before a reply is generated."""
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder", "give a file for -o")
    if streams.is_stream(path):
        if not streams.is_writable(path):
            raise UsageError(f"{path} cannot be written", "give another file for -o")
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder}", "make it first, or give another file for -o")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"{path} cannot be written", "give another file for -o, or change its permissions")


def write_record(record: dict[str, Any], path: str) -> None:
    """Write one JSON value as `put` writes a text."""
    if path:
        write_text(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n", path)
    else:
        output.document(record)


def write_text(text: str, path: str) -> None:
    """Write a text to stdout or to a file; where that fails, to stdout after all."""
    if not path or streams.descriptor_of(path) == _STDOUT:
        output.text(text)
        output.end_text("\n" if output.to_terminal() and not text.endswith("\n") else "")
        return
    try:
        with WaitingInterrupt(f"before {path} could be written"):
            disk.put(path, (sanitize(text) if _is_device(path) else text).encode("utf-8", "replace"))
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
