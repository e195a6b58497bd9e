"""The examples of a command, taken out of its epilog: for the help, the reference and `lacli spec`."""

from __future__ import annotations

import inspect
import re

_INLINE = "For example: "
_HEADING = "Examples:"


def split(epilog: str | None) -> tuple[list[str], str]:
    """The command lines, each with its remark in brackets, and the remaining text."""
    text = inspect.cleandoc(epilog or "")
    shown: list[str] = []
    rest: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split()) if not paragraph.startswith(" ") else paragraph.strip()
        if paragraph.startswith(_INLINE):
            joined = " ".join(paragraph.removeprefix(_INLINE).splitlines())
            shown += [each.strip() for each in re.split(r"\s{2,}\|\s{2,}", joined)]
        elif line == _HEADING:
            continue
        elif paragraph.startswith(" ") or line.startswith("lacli "):
            shown += [each.strip() for each in paragraph.splitlines()]
        elif line:
            rest.append(line)
    return shown, "\n\n".join(rest)


def parts(example: str) -> tuple[str, str]:
    """The command line and the remark."""
    command, _, remark = example.partition("   (")
    return command.strip(), remark.rstrip(")").strip()
