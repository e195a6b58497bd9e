"""More than fifty ways in which a model spoils the part of a file it was asked to rewrite.

Each takes the text of the part as a model that behaves would give it, and the language, and gives a reply. Where a part
has nothing of the kind to spoil, lines in its middle go instead.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from lacli.edits.tree.outline import Definition, outline

Misbehaviour = Callable[[str, str], str]

_MARK = {"python": "#", "toml": "#", "yaml": "#", "markdown": "<!--"}


def fenced(text: str, language: str, before: str = "", behind: str = "") -> str:
    """The text as models give it, in a fence that nothing in it ends."""
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{before}{fence}{language}\n{text.rstrip(chr(10))}\n{fence}\n{behind}"


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _inner(text: str, language: str, *kinds: str) -> list[Definition]:
    """The definitions in the part that are not all of it."""
    found = outline(text, language)
    wanted = kinds or ("function", "class", "table", "heading", "key")
    count = len(_lines(text))
    return [
        each
        for each in (found.definitions if found else ())
        if each.kind in wanted and each.end - each.start < count - 1
    ]


def _without(text: str, language: str, start: int, end: int) -> str:
    lines = _lines(text)
    return fenced(_text(lines[:start] + lines[end:]), language)


def _middle_gone(text: str, language: str) -> str:
    count = len(_lines(text))
    return _without(text, language, count // 2, count // 2 + max(1, count // 10))


def _line_gone(text: str, language: str, pattern: str) -> str:
    rows = [row for row, line in enumerate(_lines(text)) if re.search(pattern, line)]
    return _without(text, language, rows[-1], rows[-1] + 1) if rows else _middle_gone(text, language)


def _line_changed(text: str, language: str, pattern: str, new: str, last: bool = True) -> str:
    lines = _lines(text)
    rows = [row for row, line in enumerate(lines) if re.search(pattern, line)]
    if not rows:
        return _middle_gone(text, language)
    row = rows[-1 if last else 0]
    lines[row] = re.sub(pattern, new, lines[row], count=1)
    return fenced(_text(lines), language)


def _mark(language: str) -> str:
    return _MARK.get(language, "//")


def drops_the_last_definition(text: str, language: str) -> str:
    found = _inner(text, language)
    return _without(text, language, found[-1].start, found[-1].end) if found else _middle_gone(text, language)


def drops_the_first_definition(text: str, language: str) -> str:
    found = _inner(text, language)
    return _without(text, language, found[0].start, found[0].end) if found else _middle_gone(text, language)


def drops_a_definition_in_the_middle(text: str, language: str) -> str:
    found = _inner(text, language)
    each = found[len(found) // 2] if found else None
    return _without(text, language, each.start, each.end) if each else _middle_gone(text, language)


def drops_an_import(text: str, language: str) -> str:
    return _line_gone(text, language, r"^(?:import|from|use|#include|const .*require\()|^\t\"[\w/]+\"$")


def drops_a_docstring(text: str, language: str) -> str:
    return _line_gone(text, language, r'^\s*""".*"""$|^\s*///?\s|^\s*/\*\*.*\*/$|^\s*# ')


def drops_all_comments(text: str, language: str) -> str:
    kept = [line for line in _lines(text) if not re.match(r"\s*(?:#(?!include|define|if|el|end)|//|/\*|\*)", line)]
    return fenced(_text(kept), language)


def drops_a_decorator(text: str, language: str) -> str:
    return _line_gone(text, language, r"^\s*(?:@|#\[)")


def drops_a_branch(text: str, language: str) -> str:
    lines = _lines(text)
    rows = [row for row, line in enumerate(lines) if re.match(r"\s+if\b", line)]
    if not rows:
        return _middle_gone(text, language)
    indent = len(lines[rows[-1]]) - len(lines[rows[-1]].lstrip())
    end = rows[-1] + 1
    while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > indent:
        end += 1
    return _without(text, language, rows[-1], end + (lines[end : end + 1] != [] and lines[end].strip() == "}"))


def drops_the_middle(text: str, language: str) -> str:
    return _middle_gone(text, language)


def drops_a_single_line(text: str, language: str) -> str:
    rows = [row for row, line in enumerate(_lines(text)) if re.search(r"\w", line)]
    return _without(text, language, rows[len(rows) * 2 // 3], rows[len(rows) * 2 // 3] + 1)


def reorders(text: str, language: str) -> str:
    inner = _inner(text, language)
    found = [each for each in inner if each.parent == inner[0].parent]
    if len(found) < 2:
        return _middle_gone(text, language)
    one, other, lines = found[-2], found[-1], _lines(text)
    swapped = lines[other.start : other.end] + lines[one.end : other.start] + lines[one.start : one.end]
    return fenced(_text(lines[: one.start] + swapped + lines[other.end :]), language)


def comments_out(text: str, language: str) -> str:
    found, lines = _inner(text, language), _lines(text)
    if not found:
        return _middle_gone(text, language)
    for row in range(found[-1].start, found[-1].end):
        lines[row] = f"{_mark(language)} {lines[row]}"
    return fenced(_text(lines), language)


def retypes_quotes(text: str, language: str) -> str:
    return fenced(re.sub(r"'(\w[\w ]*)'", r'"\1"', re.sub(r'"(\w[\w ]*)"', r"'\1'", text)), language)


def wraps_in_prose(text: str, language: str) -> str:
    return fenced(text, language, "Sure! Here is the updated code:\n\n", "\nI kept everything else as it was.\n")


def gives_a_sketch_first(text: str, language: str) -> str:
    head = _text(_lines(text)[: max(1, len(_lines(text)) // 4)])
    return fenced(head, language, "First:\n", "\n") + fenced(text, language, "Then all of it:\n")


def gives_two_halves(text: str, language: str) -> str:
    lines = _lines(text)
    half = len(lines) // 2
    return fenced(_text(lines[:half]), language) + fenced(_text(lines[half:]), language, "\nAnd the rest:\n\n")


def cuts_off(text: str, language: str) -> str:
    lines = _lines(text)
    return f"````{language}\n" + "\n".join(lines[: len(lines) * 3 // 4])[:-3]


def cuts_off_and_closes(text: str, language: str) -> str:
    lines = _lines(text)
    return fenced(_text(lines[: len(lines) * 3 // 4]), language)


def doubles_indentation(text: str, language: str) -> str:
    return fenced(_text([re.sub(r"^[ \t]+", lambda lead: lead[0] * 2, line) for line in _lines(text)]), language)


def swaps_tabs_and_blanks(text: str, language: str) -> str:
    def swapped(lead: re.Match[str]) -> str:
        return lead[0].replace("\t", "    ") if "\t" in lead[0] else "\t" * (len(lead[0]) // 2)

    return fenced(_text([re.sub(r"^[ \t]+", swapped, line) for line in _lines(text)]), language)


def sets_smart_quotes(text: str, language: str) -> str:
    return fenced(re.sub(r'"([^"\n]*)"', "“\\1”", re.sub(r"(?<=\w)'(?=\w)", "’", text)), language)


def ends_lines_with_crlf(text: str, language: str) -> str:
    return fenced(text, language).replace("\n", "\r\n")


def ends_one_line_with_cr(text: str, language: str) -> str:
    lines = _lines(text)
    lines[len(lines) // 2] += "\r"
    return fenced(_text(lines), language)


def adds_a_note_behind(text: str, language: str) -> str:
    return fenced(text.rstrip("\n") + "\n\nNote: I changed only what you asked for.\n", language)


def adds_a_note_before(text: str, language: str) -> str:
    return fenced("Here is the updated code:\n\n" + text, language)


def leaves_a_placeholder(text: str, language: str) -> str:
    lines = _lines(text)
    third = len(lines) // 3
    return fenced(_text([*lines[:third], f"{_mark(language)} ... rest of the code stays the same ..."]), language)


def leaves_a_placeholder_inside(text: str, language: str) -> str:
    lines = _lines(text)
    third = len(lines) // 3
    return fenced(_text([*lines[:third], f"{_mark(language)} existing code", *lines[third * 2 :]]), language)


def ends_with_dots(text: str, language: str) -> str:
    lines = _lines(text)
    return fenced(_text([*lines[: -max(1, len(lines) // 5)], "..."]), language)


def defines_twice(text: str, language: str) -> str:
    found, lines = _inner(text, language), _lines(text)
    if not found:
        return _middle_gone(text, language)
    last = found[-1]
    return fenced(_text([*lines[: last.end], "", *lines[last.start : last.end], *lines[last.end :]]), language)


def gives_all_twice(text: str, language: str) -> str:
    return fenced(text + "\n" + text, language)


def numbers_lines(text: str, language: str) -> str:
    return fenced(_text([f"{row}: {line}" for row, line in enumerate(_lines(text), 1)]), language)


def gives_a_diff(text: str, language: str) -> str:
    lines = _lines(text)
    body = [f" {line}" for line in lines[:3]] + [f"-{lines[3] if len(lines) > 3 else ''}", "+changed"]
    return fenced(_text(["--- a/file", "+++ b/file", "@@ -1,4 +1,4 @@", *body]), "diff")


def gives_search_and_replace(text: str, language: str) -> str:
    lines = _lines(text)
    return fenced(_text(["<<<<<<< SEARCH", *lines[:3], "=======", *lines[1:3], ">>>>>>> REPLACE"]), language)


def writes_html_entities(text: str, language: str) -> str:
    return fenced(html.escape(text, quote=False), language)


def renames_a_neighbour(text: str, language: str) -> str:
    found = _inner(text, language, "function", "table", "key") or _inner(text, language)
    names = [each.name for each in found if re.fullmatch(r"\w+", each.name)]
    return (
        fenced(re.sub(rf"\b{names[-1]}\b", f"{names[-1]}_2", text), language) if names else _middle_gone(text, language)
    )


def changes_a_number(text: str, language: str) -> str:
    return _line_changed(text, language, r"(?<=[\s(=])(\d+)", r"7\1")


def negates_a_condition(text: str, language: str) -> str:
    return _line_changed(text, language, r"\bis None\b|===?|\bnot\b", "!=")


def drops_blank_lines(text: str, language: str) -> str:
    return fenced(_text([line for line in _lines(text) if line.strip()]), language)


def adds_a_function(text: str, language: str) -> str:
    new = {
        "python": "\ndef unrelated():\n    return 1",
        "go": "\nfunc unrelated() int {\n\treturn 1\n}",
        "rust": "\nfn unrelated() -> i32 {\n    1\n}",
        "c": "\nint unrelated(void)\n{\n    return 1;\n}",
        "javascript": "\nfunction unrelated() {\n  return 1;\n}",
        "toml": '\n[unrelated]\nname = "x"',
    }.get(language, "\n## Unrelated\n\nText.")
    return fenced(text.rstrip("\n") + "\n" + new + "\n", language)


_USES = {
    "python": "print(unrelated(1))",
    "javascript": "console.log(unrelated(1));",
    "rust": 'println!("{}", unrelated(1));',
    "go": "var _ = unrelated(1)",
    "c": "static int unrelated_use = unrelated(1);",
}
_MAINS = {
    "python": 'if __name__ == "__main__":\n    unrelated(1)',
    "javascript": "if (require.main === module) {\n  unrelated(1);\n}",
    "rust": "fn main() {\n    unrelated(1);\n}",
    "go": "func main() {\n\tunrelated(1)\n}",
    "c": "int main(void)\n{\n    return unrelated(1);\n}",
}
_EXPORTS = {
    "python": "__all__ += ('unrelated',)",
    "javascript": "module.exports.unrelated = unrelated;",
    "rust": "pub const UNRELATED: i32 = 1;",
    "go": "const unrelated = 1",
    "c": "#define UNRELATED 1",
}
_IMPORTS = {
    "python": "import os",
    "javascript": "import fs from 'fs';",
    "rust": "use std::fs;",
    "go": 'import "unsafe"',
    "c": "#include <time.h>",
}


def _beside(text: str, language: str, of: dict[str, str], before: bool = False) -> str:
    if language not in of:
        return _middle_gone(text, language)
    new = of[language]
    return fenced(f"{new}\n\n\n{text}" if before else f"{text.rstrip(chr(10))}\n\n\n{new}\n", language)


def uses_it_behind(text: str, language: str) -> str:
    return _beside(text, language, _USES)


def uses_it_behind_with_a_comment(text: str, language: str) -> str:
    return _beside(text, language, {key: f"{_mark(key)} Example usage:\n{use}" for key, use in _USES.items()})


def uses_it_before(text: str, language: str) -> str:
    return _beside(text, language, _USES, before=True)


def adds_a_main(text: str, language: str) -> str:
    return _beside(text, language, _MAINS)


def exports_it(text: str, language: str) -> str:
    return _beside(text, language, _EXPORTS)


def adds_all_of_these(text: str, language: str) -> str:
    return _beside(text, language, {key: f"{_EXPORTS[key]}\n\n{use}\n\n\n{_MAINS[key]}" for key, use in _USES.items()})


def imports_before_it(text: str, language: str) -> str:
    return _beside(text, language, _IMPORTS, before=True)


def imports_behind_it(text: str, language: str) -> str:
    return _beside(text, language, _IMPORTS)


def removes_type_hints(text: str, language: str) -> str:
    return fenced(
        re.sub(
            r"\) -> [\w\[\], |]+:|\bstatic |\bpub |\*Router\)", lambda hint: "):" if hint[0][0] == ")" else "", text
        ),
        language,
    )


def translates_comments(text: str, language: str) -> str:
    pattern = r'^(\s*(?:#(?!include|define|if|el|end|\[)|//+!?|/\*+|""")\s?)[A-Z].*?((?:\*/|""")?)$'
    return fenced(re.sub(pattern, r"\1Ein ganz anderer Satz.\2", text, flags=re.MULTILINE), language)


def merges_lines(text: str, language: str) -> str:
    lines = _lines(text)
    row = len(lines) * 2 // 3
    return fenced(
        _text(
            [
                *lines[:row],
                " ".join([lines[row], *(line.strip() for line in lines[row + 1 : row + 3])]),
                *lines[row + 3 :],
            ]
        ),
        language,
    )


def adds_a_shebang(text: str, language: str) -> str:
    return fenced("#!/usr/bin/env something\n" + text, language)


def gives_the_file_name_first(text: str, language: str) -> str:
    return fenced(f"{_mark(language)} src/file.{language[:2]}\n{text}", language)


def gives_one_definition_only(text: str, language: str) -> str:
    found = _inner(text, language)
    each = found[len(found) // 2] if found else None
    return fenced(_text(_lines(text)[each.start : each.end]), language) if each else _middle_gone(text, language)


def gives_nothing(text: str, language: str) -> str:
    return fenced("", language)


def stubs_a_body(text: str, language: str) -> str:
    found = [each for each in _inner(text, language, "function") if each.end - each.signature_end > 2]
    if not found:
        return _middle_gone(text, language)
    each, lines = found[-1], _lines(text)
    indent = re.match(r"\s*", lines[each.signature_end])
    close = lines[each.end - 1 : each.end] if language != "python" else []
    stub = [(indent[0] if indent else "") + ("pass" if language == "python" else "// TODO: implement")]
    return fenced(_text(lines[: each.signature_end] + stub + close + lines[each.end :]), language)


def leaves_blanks_at_line_ends(text: str, language: str) -> str:
    return fenced(_text([f"{line}  " for line in _lines(text)]), language)


MISBEHAVIOURS: tuple[Misbehaviour, ...] = tuple(
    each
    for name, each in list(globals().items())
    if callable(each) and not name.startswith("_") and getattr(each, "__module__", "") == __name__ and name != "fenced"
)
"""All of them, in the order above."""
