"""Code as lines of coloured runs, produced bit by bit so that a long block never delays a key press.

The kinds are those of `widgets.fence`, which has a colour for each. Imports pygments when the first block is closed.
"""

from __future__ import annotations

from collections.abc import Iterator

from lacli.text.lexers import lexer_of

Run = tuple[int, str]
"""A number of characters, and their kind."""

_MOST, _LONGEST = 200_000, 2_000
"""The most characters of a block and of a line; beyond them some regular expressions of lexers take for ever."""
_KINDS = (
    ("Token.Comment", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "name"),
    ("Token.Name.Builtin", "builtin"),
    ("Token.Name.Exception", "builtin"),
    ("Token.Generic.Inserted", "string"),
    ("Token.Generic.Deleted", "comment"),
    ("Token.Generic.Heading", "name"),
    ("Token.Generic.Subheading", "name"),
)


def highlighted(code: str, language: str) -> Iterator[list[Run]]:
    """The runs of each line in turn; nothing if the language is unknown."""
    readable = len(code) <= _MOST and max(map(len, code.split("\n"))) <= _LONGEST
    lexer_class = lexer_of(language) if readable else None
    if lexer_class is None:
        return
    kinds: dict[object, str] = {}
    line: list[Run] = []
    for _, token, value in lexer_class(stripnl=False, ensurenl=False).get_tokens_unprocessed(code):
        kind = kinds.get(token)
        if kind is None:
            kind = kinds[token] = _kind(str(token))
        first, *more = value.split("\n")
        if first:
            line.append((len(first), kind))
        for part in more:
            yield line
            line = [(len(part), kind)] if part else []
    if line:
        yield line


def _kind(token: str) -> str:
    return next((kind for name, kind in _KINDS if token == name or token.startswith(name + ".")), "")
