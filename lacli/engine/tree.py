"""Merges drafts on shared prefixes and grows them, with followers, into one tree of rows. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lacli.drafts.base import TAIL, Draft
from lacli.models.base import Rows


class Tree:
    """Rows under construction; row 0 is the last emitted token."""

    def __init__(self, root: int) -> None:
        self.token_ids = [root]
        self.parents = [-1]
        self.sources = [""]
        """Who guessed each row first."""
        self.chances = [1.0]
        """That each row is right, as far as that was guessed."""
        self._children: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.token_ids)

    def add(self, parent: int, token_id: int, source: str, chance: float = 0.0) -> int:
        """The row of this token below `parent`, made if it is not there."""
        row = self._children.get((parent, token_id))
        if row is None:
            row = len(self.token_ids)
            self._children[parent, token_id] = row
            self.token_ids.append(token_id)
            self.parents.append(parent)
            self.sources.append(source)
            self.chances.append(chance)
        return row

    def rows(self, wanted: Sequence[int] | None = None) -> Rows:
        """Freeze. `wanted`: rows whose scores are needed, all by default."""
        every = range(len(self.token_ids)) if wanted is None else sorted(set(wanted))
        return Rows(tuple(self.token_ids), tuple(self.parents), tuple(every))


_HOPELESS = 0.1  # other sources may make a chain's prefix likelier, hardly more than ten times


class _Node:
    """A guessed token in the trie of all chains."""

    __slots__ = ("chance", "children", "source")

    def __init__(self) -> None:
        self.chance = 0.0
        """That it is right, given that all above it are."""
        self.source = ""
        self.children: dict[int, _Node] = {}


_NOTHING: dict[int, _Node] = {}


def _trie(drafts: Sequence[Draft], depth: int, least: float) -> _Node:
    """All chains merged, as far as they could matter; a node reached by several keeps the highest chance and who gave
    it."""
    root = _Node()
    for draft in drafts:
        node, above = root, 1.0
        for token_id, chance in zip(draft.token_ids[:depth], draft.chances, strict=False):
            if chance < _HOPELESS * least:
                break
            node = node.children.setdefault(token_id, _Node())
            given = chance / above if above > 0 else 0.0
            if given > node.chance:
                node.chance, node.source = given, draft.source
            above = chance
    return root


@dataclass(frozen=True, slots=True)
class Offer:
    """What a step has to choose from."""

    drafts: Sequence[Draft]
    """Chains; of equally likely rows the earlier draft's comes first."""
    follow: Callable[..., Sequence[tuple[int, float]]] | None = None
    """Followers of any last tokens, each with its chance given them: hung below every node; None: nobody knows any."""
    follower: str = ""
    """The name of the source behind `follow`."""
    trust: float = 1.0
    """By how much to multiply its chances."""


def build(
    context: Sequence[int],
    offer: Offer,
    depth: int,
    vocab_size: int,
    most: int,
    least: float,
    buy: Callable[[Sequence[float]], int],
    chain: bool = False,
) -> Tree:
    """The best rows of all that is offered, likeliest prefix first, chains and followers grown into one tree.

    context: its last token is the root; depth: most tokens below the root; most: rows the tree may have below the
    root; least: chance below which no row can be worth its price; buy: given the chances in descending order, how many
    of these rows are worth it; chain: no row has siblings, so the likeliest token at each depth is taken.
    """
    tree = Tree(context[-1])
    if most <= 0 or depth <= 0:
        return tree
    # heap: -chance, tie-breaker, token, those before it, its chains, rank of the parent, depth, who guessed it
    ahead: list[tuple[float, int, int, tuple[int, ...], _Node | None, int, int, str]] = []
    count = 0

    def push(node: _Node | None, tail: tuple[int, ...], chance: float, rank: int, level: int) -> None:
        nonlocal count
        known = node.children if node is not None else _NOTHING
        claims = dict(offer.follow(*tail)) if offer.follow is not None else {}
        for follower, child in known.items():
            given, source = child.chance, child.source
            if follower in claims:
                # Two reasons to expect it, taken as independent of each other.
                other = offer.trust * claims.pop(follower)
                given, source = given + other - given * other, source if given >= other else offer.follower
            if given * chance >= least and 0 <= follower < vocab_size:
                count += 1
                heapq.heappush(ahead, (-given * chance, count, follower, tail, child, rank, level, source))
        for follower, claimed in claims.items():
            joint = offer.trust * claimed * chance
            if joint >= least and 0 <= follower < vocab_size:
                count += 1
                heapq.heappush(ahead, (-joint, count, follower, tail, None, rank, level, offer.follower))

    push(_trie(offer.drafts, depth, least), tuple(context[-TAIL:]), 1.0, 0, 1)
    picked: list[tuple[float, int, int, str]] = []
    while ahead and len(picked) < most:
        negative, _, token_id, tail, child, parent_rank, level, source = heapq.heappop(ahead)
        picked.append((-negative, token_id, parent_rank, source))
        if chain:
            ahead.clear()
        if level < depth:
            push(child, (*tail, token_id)[-TAIL:], -negative, len(picked), level + 1)
    worth = buy([chance for chance, *_ in picked])
    for chance, token_id, parent_rank, source in picked[:worth]:
        tree.add(parent_rank, token_id, source, chance)
    return tree
