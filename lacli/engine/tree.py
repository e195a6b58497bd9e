"""Merges drafts on shared prefixes into one tree of rows. Pure; called by `engine.loop` and `engine.window`."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from lacli.drafts.base import Draft
from lacli.models.base import Rows


class Tree:
    """Rows under construction; row 0 is the last emitted token."""

    def __init__(self, root: int) -> None:
        self.token_ids = [root]
        self.parents = [-1]
        self.sources = [""]
        """Who guessed each row first."""
        self._children: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.token_ids)

    def add(self, parent: int, token_id: int, source: str) -> int:
        """The row of this token below `parent`, made if it is not there."""
        row = self._children.get((parent, token_id))
        if row is None:
            row = len(self.token_ids)
            self._children[parent, token_id] = row
            self.token_ids.append(token_id)
            self.parents.append(parent)
            self.sources.append(source)
        return row

    def rows(self, wanted: Sequence[int] | None = None) -> Rows:
        """Freeze. `wanted`: rows whose logits are needed, all by default."""
        every = range(len(self.token_ids)) if wanted is None else sorted(set(wanted))
        return Rows(tuple(self.token_ids), tuple(self.parents), tuple(every))


class _Node:
    """A guessed token in the trie of all drafts."""

    __slots__ = ("chance", "children", "source")

    def __init__(self) -> None:
        self.chance = 0.0
        self.source = ""
        self.children: dict[int, _Node] = {}


def _trie(drafts: Sequence[Draft], depth: int, vocab_size: int) -> _Node:
    """All drafts merged; a node reached by several keeps the highest chance and who gave it."""
    root = _Node()
    for draft in drafts:
        nodes: list[_Node | None] = []
        depths: list[int] = []
        for index, token_id in enumerate(draft.token_ids):
            parent = draft.parents[index] if draft.parents else index - 1
            above = nodes[parent] if parent >= 0 else root
            depths.append(depths[parent] + 1 if parent >= 0 else 1)
            if above is None or depths[index] > depth or not 0 <= token_id < vocab_size:
                nodes.append(None)
                continue
            node = above.children.setdefault(token_id, _Node())
            nodes.append(node)
            if draft.chances[index] > node.chance:
                node.chance, node.source = draft.chances[index], draft.source
    return root


def build(
    root: int, drafts: Sequence[Draft], depth: int, vocab_size: int, most: int, buy: Callable[[Sequence[float]], int]
) -> Tree:
    """The best rows of all drafts, likeliest prefix first.

    depth: most tokens below the root; most: rows the tree may have below the root; buy: given the chances in
    descending order, how many of these rows are worth their price.
    """
    tree = Tree(root)
    if not drafts or most <= 0:
        return tree
    order: list[tuple[float, int, _Node, int, int]] = []  # heap: -chance, tie-breaker, node, token, rank of the parent
    count = 0

    def push(node: _Node, parent_rank: int) -> None:
        nonlocal count
        for token_id, child in node.children.items():
            count += 1
            heapq.heappush(order, (-child.chance, count, child, token_id, parent_rank))

    push(_trie(drafts, depth, vocab_size), 0)
    picked: list[tuple[float, int, int, str]] = []
    while order and len(picked) < most:
        negative, _, node, token_id, parent_rank = heapq.heappop(order)
        # A merged child may look likelier than its parent; its prefix is not.
        chance = min(-negative, picked[parent_rank - 1][0] if parent_rank else 1.0)
        picked.append((chance, token_id, parent_rank, node.source))
        push(node, len(picked))
    worth = buy([chance for chance, *_ in picked])
    for _, token_id, parent_rank, source in picked[:worth]:
        tree.add(parent_rank, token_id, source)
    return tree
