"""Whether a completion keeps to its place, judged from the file alone: by none of the code that ends completions.

Knows four languages as far as strings, comments, brackets and indentation go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STRINGS = {
    "py": r"'''.*?(?:'''|\Z)|\"\"\".*?(?:\"\"\"|\Z)|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?|#[^\n]*",
    "js": r"//[^\n]*|/\*.*?(?:\*/|\Z)|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?|`(?:\\.|[^`\\])*`?"
    r"|(?<=[(,=:!&|?;{}\n] )/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/"
    r"|(?<=\()/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/",
    "go": r"//[^\n]*|/\*.*?(?:\*/|\Z)|'(?:\\.|[^'\\\n])+'|\"(?:\\.|[^\"\\\n])*\"?|`[^`]*`?",
    "rs": r"//[^\n]*|/\*.*?(?:\*/|\Z)|b?'(?:\\[^\n]|[^'\\\n])'|\"(?:\\.|[^\"\\])*\"?",
}
_CLOSES = {")": "(", "]": "[", "}": "{"}
_WORD = re.compile(r"\w")
_FUNCTIONS = {
    "py": r"(?m)^ *(?:async )?(?:def|class)\b",
    "js": r"(?m)^(?:export )?(?:default )?(?:async )?(?:function|class)\b",
    "go": r"(?m)^func\b",
    "rs": r"(?m)^ *(?:pub(?:\([a-z]+\))? )?(?:fn|struct|impl|enum|trait)\b",
}


def brackets(code: str, language: str) -> list[str]:
    """The brackets of a text, those in strings and comments left out."""
    bare = re.sub(_STRINGS[language], lambda found: " " * len(found[0]), code, flags=re.DOTALL)
    return [character for character in bare if character in "()[]{}"]


def unbalanced(code: str, language: str) -> tuple[list[str], list[str]]:
    """Closing brackets that close nothing, and opening ones that are not closed."""
    opened: list[str] = []
    wrong: list[str] = []
    for each in brackets(code, language):
        if each not in _CLOSES:
            opened.append(each)
        elif opened and opened[-1] == _CLOSES[each]:
            opened.pop()
        else:
            wrong.append(each)
    return wrong, opened


def in_text(prefix: str, language: str) -> bool:
    """Whether a string or a comment stands open at the end of this."""
    return "\0" not in re.sub(_STRINGS[language], "", prefix + "\0", flags=re.DOTALL)


def faults(prefix: str, text: str, suffix: str, language: str) -> Iterator[str]:
    """What is wrong with a text between two parts of a file that was whole without it or needs balanced lines."""
    if not text:
        return
    if not text.strip():
        yield "only blanks"
        return
    lines, rest = text.split("\n"), suffix.partition("\n")[0]
    following = next((line for line in suffix.split("\n") if line.strip()), "") if not rest.strip() else rest
    before = prefix.rpartition("\n")[2]
    yield from _repetitions(before, lines, rest, following)
    if "```" in text:
        yield "a fence"
    wrong, _ = unbalanced(text, language)
    left = len(unbalanced(prefix, language)[1]) - len(unbalanced(suffix, language)[0])
    if len(wrong) > left:
        yield f"closes {''.join(wrong)}, of which {left} stood open"
    if re.search(_FUNCTIONS[language], "\n".join(lines[1:])) and language != "py":
        yield "begins another function"
    if language == "py":
        floor = _indent_of_function(prefix)
        for line in lines[1:]:
            if line.strip() and _indent(line) <= floor and not line.lstrip().startswith((")", "]", "}")):
                yield f"leaves the function: {line!r}"
                break
    again = [line.strip() for line in lines if line.strip()]
    for size in (1, 2, 3, 4):
        for at in range(len(again) - 3 * size + 1):
            part = again[at : at + size]
            if part * 3 == again[at : at + 3 * size] and len(_WORD.findall("".join(part))) > 4:
                yield f"says {part} over and over"
                return


def _repetitions(before: str, lines: list[str], rest: str, following: str) -> Iterator[str]:
    if not _WORD.search(following):
        return
    whole = [line for line in ([before + lines[0]] if not before.strip() else []) + lines[1:] if line.strip()]
    if rest.strip():
        if "".join(lines).rstrip().endswith(rest.strip()) and len(rest.strip()) > 2:
            yield f"repeats the rest of the line, {rest!r}"
        if not before.strip() and any(line == before + rest for line in whole):
            yield f"repeats the line of the cursor, {rest!r}"
        return
    if following in whole:
        yield f"repeats the next line, {following!r}"
    last = lines[-1].strip() if len(lines) > 1 else ""
    left = following.strip().removeprefix(last)
    if len(last) >= 6 and 2 * len(last) >= len(following.strip()) > len(left) > 0 and _is_half(last, left):
        yield f"ends in a part of the next line, {last!r}"


def _is_half(line: str, left: str) -> bool:
    """Whether a line cannot have ended where the other goes on: in a word, an expression, an assignment."""
    return bool(re.match(r"\w", left) and re.search(r"[^\W\d]\Z", line)) or bool(
        re.search(r"[=.,*&|+(\[]\Z", line) or re.match(r"\s*[=.,*&|+)\]]", left)
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _indent_of_function(prefix: str) -> int:
    """Of the line that begins the innermost function before the end of this text."""
    lines = prefix.split("\n")
    inner = next((_indent(line) for line in reversed(lines) if line.strip()), 0)
    for line in reversed(lines):
        if line.strip() and _indent(line) <= inner:
            if re.match(r" *(?:async )?def\b", line):
                return _indent(line)
            inner = min(inner, _indent(line))
    return -1
