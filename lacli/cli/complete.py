"""`lacli complete`: prints what belongs at a place in a file, and nothing else. The file is read, never written."""

from __future__ import annotations

import codecs
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lacli.cli import diagnostics, live, output
from lacli.cli.options import Common, with_common
from lacli.cli.render import reply_record
from lacli.cli.stdin import MOST_BYTES, Stdin, argument, decoded
from lacli.errors import PromptTooLong, UsageError
from lacli.events import Place

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLES = """
Examples:

  lacli complete app.py                 (at the end of the file)

  lacli complete app.py:42              (at the end of line 42)

  lacli complete app.py:42:5 -n 40 --stats

Every option can be set by a variable: --top-p is LACLI_TOP_P.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A place in a file, as given."""

    path: str
    """- is stdin."""
    line: int | None = None
    """1-based; None is the last one."""
    column: int | None = None
    """1-based, in characters; None is the end of the line."""


LINES_BEFORE, LINES_AFTER = 256, 64
"""Lines around the cursor that the model sees, as llama.vim has them."""


@app.command(epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@with_common(max_tokens=128)
def complete(
    file: Annotated[str, typer.Argument(metavar="FILE[:LINE[:COL]]", help="Where to continue; - is stdin.")],
    *,
    common: Common,
) -> None:
    """Print what belongs at the end of a file, or at a line and column of it."""
    target = parse_target(argument(file))
    text = Stdin().text() if target.path == "-" else _read(target.path)
    offset = cursor_offset(text, target)
    # The model sees one kind of line ending; the position was found in the file as it is.
    prefix, suffix = around(text, offset)

    from lacli.assistant import Assistant

    assistant = Assistant(common.settings())
    try:
        live.load(assistant, common)
        request = common.request(place=Place(prefix, suffix), drop_oldest=True)
        finished = live.stream(assistant, request, common, silent=common.json, newline=False, markdown=False)
    finally:
        assistant.close()
    if common.json:
        output.document({**reply_record(finished), "file": target.path, "offset": offset})
    live.report_stats(finished, common)
    live.conclude(finished)
    if not finished.text:
        diagnostics.note("nothing to insert here")


def parse_target(text: str) -> Target:
    """FILE[:LINE[:COL]], read from the right; a file that is really called so wins."""
    if text == "-" or os.path.exists(text):
        return Target(text)
    one = re.fullmatch(r"(.+):(\d+)", text, re.DOTALL)
    if one is None:
        return Target(text)
    two = re.fullmatch(r"(.+):(\d+)", one[1], re.DOTALL)
    if two is None or os.path.exists(one[1]):
        return Target(one[1], int(one[2]))
    return Target(two[1], int(two[2]), int(one[2]))


def cursor_offset(text: str, target: Target) -> int:
    """The character the cursor stands before."""
    if target.line is None:
        return len(text)
    lines = text.split("\n")
    count = len(lines) - (1 if len(lines) > 1 and not lines[-1] else 0)  # as people count; the place after it is legal
    length = f"{target.path} has {_count(count, 'line')}"
    if not 1 <= target.line <= len(lines):
        raise UsageError(f"{length}, so there is no line {target.line}", f"give a line from 1 to {len(lines)}")
    line = lines[target.line - 1].removesuffix("\r")
    column = len(line) + 1 if target.column is None else target.column
    if not 1 <= column <= len(line) + 1:
        raise UsageError(
            f"{length} and line {target.line} {_count(len(line), 'character')}, so there is no column {column}",
            f"give a column from 1 to {len(line) + 1}",
        )
    return sum(len(before) + 1 for before in lines[: target.line - 1]) + column - 1


def around(text: str, offset: int) -> tuple[str, str]:
    """The lines before and after the cursor that the model is shown: a whole file would take a minute to read in."""
    before, after = (part.replace("\r\n", "\n") for part in (text[:offset], text[offset:]))
    shown = before.split("\n")[-LINES_BEFORE:], after.split("\n")[:LINES_AFTER]
    return "\n".join(shown[0]), "\n".join(shown[1])


def _read(path: str) -> str:
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):  # may have no end, or wait for ever
            raise UsageError(f"{path} is not a regular file", "pipe it into `lacli complete -`")
        if found.st_size > MOST_BYTES:
            raise PromptTooLong(f"{path} has {found.st_size:,} bytes", "give the part that matters")
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}", "check the path; a position is given as FILE:LINE:COL") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "give a file that can be read") from None
    if b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError(f"{path} is a binary file", "give a file of text")
    return decoded(data, path)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
