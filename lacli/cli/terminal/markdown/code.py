"""Lines of code coloured one by one, with what a line leaves open carried into the next.

Colours are the terminal's own eight, so that they can be read on dark and on light ground alike. The text is never
changed: where a lexer would, or fails, the block goes on uncoloured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lacli.cli.terminal.markdown.inline import Part
from lacli.text.lexers import lexer_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 2_000
"""Characters of a line that is still coloured: no expression of a lexer's may take for ever."""
_KEYWORD, _NAME, _STRING, _COMMENT, _NUMBER, _REMOVED = "35", "1", "32", "2", "36", "31"
_COLOURS = {
    "Token.Keyword": _KEYWORD,
    "Token.Keyword.Constant": _NUMBER,
    "Token.Keyword.Type": _NUMBER,
    "Token.Operator.Word": _KEYWORD,
    "Token.Name.Function": _NAME,
    "Token.Name.Class": _NAME,
    "Token.Name.Builtin": _NUMBER,
    "Token.Name.Decorator": _NUMBER,
    "Token.Name.Tag": _KEYWORD,
    "Token.Name.Attribute": _NUMBER,
    "Token.Literal.String": _STRING,
    "Token.Literal.Number": _NUMBER,
    "Token.Comment": _COMMENT,
    "Token.Generic.Inserted": _STRING,
    "Token.Generic.Deleted": _REMOVED,
    "Token.Generic.Heading": _NAME,
    "Token.Generic.Subheading": _NUMBER,
}
_SPANNING = (("/*", "*/"), ("<!--", "-->"), ("`", "`"))
"""Tokens that lexers match with a single expression, so that they miss one that does not end on its line."""


def highlighter(language: str) -> Highlighter | None:
    """The highlighter for the word after the opening fence; None for an unknown language."""
    found = lexer_of(language)
    return Highlighter(found()) if found else None


class Highlighter:
    """One block of code, line by line."""

    def __init__(self, lexer: Any) -> None:
        from pygments.lexer import RegexLexer

        self._lexer = lexer
        self._steps = isinstance(lexer, RegexLexer) and (
            type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed
        )
        """Whether we can carry the lexer's state from line to line; other lexers see each line alone."""
        self._stack = ["root"]
        self._inside: tuple[str, str] | None = None
        """The end of what is open, and its colour."""
        self._spans = [(begin, end, colour) for begin, end in _SPANNING if (colour := self._whole(f"{begin} x {end}"))]
        self._broken = False

    def line(self, text: str, complete: bool = True) -> list[Part]:
        """This line, without its end, in colours; an incomplete line does not change the state."""
        if self._broken or len(text) > _LONGEST:
            return [Part(text)]
        before = list(self._stack), self._inside
        try:
            parts = list(self._line(text))
        except Exception:  # one of 500 lexers, on arbitrary text
            parts = []
        if "".join(part.text for part in parts) != text:
            self._broken = True
            return [Part(text)]
        if not complete:
            self._stack, self._inside = before
        return parts

    def _line(self, text: str) -> Iterator[Part]:
        if self._inside is not None:
            end, colour = self._inside
            at = text.find(end)
            if at < 0:
                yield Part(text, colour)
                return
            self._inside = None
            yield Part(text[: at + len(end)], colour)
            text = text[at + len(end) :]
        stack = list(self._stack)
        tokens = self._tokens(text + "\n")
        opened = self._opened(text, tokens)
        if opened is not None:  # the lexer's tokens for the rest are meaningless
            self._stack = stack
            tokens = self._tokens(text[:opened])
        for _, kind, value in tokens:
            yield Part(value.rstrip("\n"), _colour(kind))
        if opened is not None and self._inside is not None:
            yield Part(text[opened:], self._inside[1])

    def _opened(self, text: str, tokens: list[tuple[int, Any, str]]) -> int | None:
        """Where a token begins that does not end on this line; it is remembered."""
        for begin, end, colour in self._spans:
            at = text.rfind(begin)
            if at < 0 or text.find(end, at + len(begin)) >= 0 or (begin == end and text.count(begin) % 2 == 0):
                continue
            kind, start = next((kind, start) for start, kind, value in tokens if start <= at < start + len(value))
            if start == at or not str(kind).startswith(("Token.Literal.String", "Token.Comment")):
                self._inside = end, colour
                return at
        return None

    def _tokens(self, text: str) -> list[tuple[int, Any, str]]:
        if not self._steps:
            return list(self._lexer.get_tokens_unprocessed(text))
        return list(self._stepped(text))

    def _stepped(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """The lexer's tokens, from the state the last line left and to the one it leaves."""
        from pygments.token import Error, Whitespace, _TokenType

        states, stack = self._lexer._tokens, self._stack
        position = 0
        for _ in range(100 + 20 * len(text)):  # a lexer may lead in a circle; then the text is found to be short
            if position >= len(text):
                return
            for match_at, action, change in states[stack[-1]]:
                match = match_at(text, position)
                if match is None or (match.end() == position and change is None):
                    continue
                if isinstance(action, _TokenType):
                    yield position, action, match[0]
                elif action is not None:
                    yield from action(self._lexer, match)
                position = match.end()
                _change(stack, change)
                break
            else:
                if text[position] == "\n":
                    stack[:] = ["root"]
                yield position, Whitespace if text[position] == "\n" else Error, text[position]
                position += 1

    def _whole(self, text: str) -> str:
        """The colour of this text where the lexer takes it for one string or comment."""
        kept, self._stack = self._stack, ["root"]
        try:
            tokens = self._tokens(text + "\n")
        except Exception:  # as in `line`
            tokens = []
        self._stack = kept
        kinds = {_colour(kind) for _, kind, value in tokens if value.strip()}
        return kinds.pop() if len(kinds) == 1 and kinds <= {_STRING, _COMMENT} else ""


def _change(stack: list[str], change: Any) -> None:
    """Go where a rule leads: to a state, back, or along several such steps."""
    if isinstance(change, int):
        del stack[max(1, len(stack) + change) :]
        return
    for step in change or () if not isinstance(change, str) else (change,):
        if step == "#pop":
            del stack[max(1, len(stack) - 1) :]
        else:
            stack.append(stack[-1] if step == "#push" else step)


def _colour(kind: Any) -> str:
    while kind is not None:
        colour = _COLOURS.get(str(kind))
        if colour is not None:
            return colour
        kind = kind.parent
    return ""
