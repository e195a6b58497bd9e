"""Markdown as blocks, and blocks as rows of the screen: what `Prose` draws. Pure; nothing in the text is markup.

Whatever a model writes is drawn, and in little time: quotes and lists nested deeper than `_DEEPEST`, and paragraphs
longer than `_LONGEST`, as plain text. Definitions of links stay in the text, as do addresses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.token import Token
from textual.content import Content, Span

from lacli_tui.glyphs import to_terminal
from lacli_tui.widgets.rows import Part, width_of
from lacli_tui.widgets.table import HEAD, Table

_DEEPEST = 20
"""Levels of nesting; a list has two, itself and its item."""
_LONGEST = 4_000
"""The most characters of a paragraph in which emphasis, links and code are looked for."""
_TAB = 4
_LEAST_ROOM = 16
_RULE = 40
_BLANKS = re.compile(r"\s+")
_STYLES = {"em_open": "italic", "strong_open": "bold", "s_open": "strike", "link_open": "underline"}
_Rule = Callable[[StateBlock, int, int, bool], bool]


@dataclass(frozen=True, slots=True)
class Row:
    content: Content
    goes_on: bool = False
    """Whether it continues the row before."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, rule, table or code block, with the prefixes of its rows."""

    content: Content
    first: Sequence[Part] = ()
    rest: Sequence[Part] = ()
    """The prefix of the first row, and of the others."""
    gap: Sequence[Part] | None = None
    """The prefix of a blank row before it; None: there is no such row."""
    code: bool = False
    rule: bool = False
    table: Table | None = None

    def rows(self, width: int) -> Iterator[Row]:
        """Its rows at this width; prefixes are dropped if there is no room for them."""
        first, rest, gap = self.first, self.rest, self.gap
        if width - width_of(rest) < min(width, _LEAST_ROOM):
            first, rest, gap = (), (), gap if gap is None else ()
        if gap is not None:
            yield Row(Content.assemble(*gap))
        before = (Content.assemble(*first), Content.assemble(*rest))
        for index, line in enumerate(self._lines(max(1, width - width_of(rest)))):
            goes_on = index > 0 and not self.code and self.table is None
            yield Row(before[index > 0] + line if rest else line, goes_on)

    def _lines(self, width: int) -> Sequence[Content]:
        if self.table is not None:
            return self.table.lines(width)
        if self.rule:
            return [Content.styled(to_terminal("─" * min(width, _RULE)), "dim")]
        if self.code:
            lines = [part for line in self.content.split("\n", allow_blank=True) for part in line.fold(width)]
            return [line.pad_right(width - line.cell_length).stylize(".prose--block") for line in lines]
        return [line.rstrip() for line in self.content.wrap(width)]


@cache
def _parser() -> MarkdownIt:
    """Raw HTML is text like any other, and so are definitions of links."""
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False, "maxNesting": 10 * _DEEPEST})
    parser.disable(["linkify", "reference", "inline", "text_join"])
    parser.block.ruler.at("blockquote", _bounded(blockquote), {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("list", _bounded(list_block), {"alt": ["paragraph", "reference", "blockquote"]})
    return parser


def _bounded(rule: _Rule) -> _Rule:
    """The same rule up to a certain depth; deeper down it is text."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return state.level < _DEEPEST and rule(state, start, end, silent)

    return bounded


def blocks_of(text: str) -> list[tuple[int, list[Block]]]:
    """The blocks of each independent part of the text, with the line it begins on."""
    found: list[tuple[int, list[Block]]] = []
    maker = _Maker()
    for token in _parser().parse(text):
        if token.level == 0 and token.nesting >= 0 and token.map is not None:
            maker = _Maker()
            found.append((token.map[0], maker.blocks))
        maker.take(token)
    return found


def source_of(text: str) -> Block:
    """A text as it was written."""
    return Block(Content(text.expandtabs(_TAB)), code=True)


@dataclass
class _Maker:
    """Makes the blocks of one part, token by token."""

    blocks: list[Block] = field(default_factory=list)
    _outer: list[tuple[list[Part], list[Part]]] = field(default_factory=list)
    """The prefixes that the quotes and items around give to the first row and the others."""
    _items: int = 0
    """How many of them are items."""
    _gap: bool = True
    """Whether a blank row comes next in any case."""
    _fresh: bool = False
    """Whether a quote has just begun."""
    _tight: bool = False
    _style: str = ""
    _cells: list[list[Content]] = field(default_factory=list)
    _right: list[bool] = field(default_factory=list)
    _in_table: bool = False

    def take(self, token: Token) -> None:
        """Add the next token."""
        kind = token.type
        if kind == "inline":
            self._inline(token)
        elif kind in ("fence", "code_block"):
            self._add(Content(token.content.rstrip("\n").expandtabs(_TAB)), code=True)
        elif kind == "hr":
            self._add(Content(""), rule=True)
        elif kind == "heading_open":
            self._style = HEAD if token.tag != "h1" else f"{HEAD} underline"
        elif kind == "paragraph_open":
            self._tight = token.hidden
        elif kind == "blockquote_open":
            self._gap = self._gap or not self._fresh
            self._fresh = True
            bar = (to_terminal("▌ "), ".prose--quote")
            self._outer.append(([bar], [bar]))
        elif kind in ("bullet_list_open", "ordered_list_open"):
            self._gap = self._gap or not (self._fresh or self._items)
        elif kind == "list_item_open":
            self._items += 1
            mark = f"{token.info}{token.markup} " if token.info else to_terminal("• ")
            self._outer.append(([(mark, ".prose--mark")], [(" " * len(mark), "")]))
        elif kind in ("blockquote_close", "list_item_close"):
            if kind == "list_item_close":
                self._items -= 1
                if self._outer[-1][0] != self._outer[-1][1]:  # an item without a word
                    self._add(Content(""), tight=True)
            self._outer.pop()
        else:
            self._table(token)

    def _table(self, token: Token) -> None:
        """Add the next token of a table."""
        kind = token.type
        if kind == "table_open":
            self._in_table, self._cells, self._right = True, [], []
        elif kind == "tr_open":
            self._cells.append([])
        elif kind in ("th_open", "td_open"):
            self._cells[-1].append(Content(""))
            if kind == "th_open":
                self._right.append("right" in str(token.attrs.get("style", "")))
        elif kind == "table_close":
            self._in_table = False
            self._add(Content(""), table=Table(self._cells[0], self._cells[1:], self._right))

    def _inline(self, token: Token) -> None:
        content = inline(token.content)
        if self._in_table:
            self._cells[-1][-1] = content
            return
        if self._style:
            for style in self._style.split():
                content = content.stylize(style)
            self._add(content)
        else:
            self._add(content, tight=self._tight)
        self._style, self._tight = "", False

    def _add(
        self, content: Content, tight: bool = False, code: bool = False, rule: bool = False, table: Table | None = None
    ) -> None:
        first = [part for each in self._outer for part in each[0]]
        rest = [part for each in self._outer for part in each[1]]
        gap: list[Part] | None = None
        if self._gap or not (tight or self._fresh):
            before = self.blocks[-1].rest if self.blocks else ()
            gap = [now for now, _ in takewhile(lambda pair: pair[0] == pair[1], zip(rest, before, strict=False))]
        self.blocks.append(Block(content, first, rest, gap, code, rule, table))
        self._outer = [(each[1], each[1]) for each in self._outer]
        self._gap = self._fresh = False


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("gfm-like", {"html": False, "linkify": False}).disable("linkify")


def inline(source: str) -> Content:
    """The words of a paragraph, styled in place of their marks."""
    if len(source) > _LONGEST:
        return Content(_BLANKS.sub(" ", source))
    parser = _inline_parser()
    tokens: list[Token] = []
    parser.inline.parse(source, parser, {}, tokens)
    return _styled(tokens)


def _styled(tokens: Sequence[Token]) -> Content:
    parts: list[str] = []
    spans: list[Span] = []
    opened: list[tuple[int, str, str]] = []
    at = 0

    def add(text: str, style: str = "") -> None:
        nonlocal at
        parts.append(text)
        if style:
            spans.append(Span(at, at + len(text), style))
        at += len(text)

    for token in tokens:
        kind = token.type
        if kind == "text":
            add(_BLANKS.sub(" ", token.content))
        elif kind in ("softbreak", "hardbreak"):
            add("\n" if kind == "hardbreak" else " ")
        elif kind == "code_inline":
            add(token.content, ".prose--code")
        elif kind == "image":
            add(token.content)
            add(f" ({token.attrs.get('src', '')})", "dim")
        elif kind in _STYLES:
            opened.append((at, _STYLES[kind], str(token.attrs.get("href", ""))))
        elif kind.endswith("_close"):
            start, style, address = opened.pop()
            spans.append(Span(start, at, style))
            words = "".join(parts)[start:]
            if address and words not in (address, address.removeprefix("mailto:")):
                add(f" ({address})", "dim")
        elif token.content:
            add(token.content)
    return Content("".join(parts), spans)
