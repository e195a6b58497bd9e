"""Which definitions an edit may change: those the instruction names, and those that use what it names. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from lacli.edits.checks.purpose import Purpose, adds_documentation, purposes
from lacli.edits.find.intent import Intent
from lacli.edits.tree.annotations import HINTED
from lacli.edits.tree.outline import Definition
from lacli.edits.tree.pieces import matches, mentions, pieces, renamed

_OF_COMMENTS = re.compile(r"\bcomment(?:s|ed|ing)?\b", re.IGNORECASE)
_OF_DOCS = re.compile(r"\b(?:doc ?strings?|docs?|document\w*|comments?)\b", re.IGNORECASE)
_MOVES = re.compile(r"\b(?:mov(?:e|es|ing)|sort\w*|(?:re)?order\w*|rearrang\w*|alphabet\w*|swap\w*|group\w*)\b", re.I)
_SHORTENS = re.compile(
    r"\b(?:remov|delet|drop|strip|simplif|shorten|inlin|dedup|merg|condens|clean|refactor|rewrit|replac|extract|mov|"
    r"convert|turn|without|less|fewer|combin|use|unif|split|trim)\w*",
    re.IGNORECASE,
)
_MORE_THAN_RENAMES = re.compile(
    r"\b(?:add|mak|return|chang|set|remov|convert|fix|replac|rais|let|writ|insert|delet|mov|us|turn|check|"
    r"log)(?:e|es|s|ing)?\b",
    re.IGNORECASE,
)


class Scope:
    """An edit seen by its definitions. Places are those in `old.definitions`."""

    def __init__(
        self, before: str, after: str, language: str, intent: Intent, spans: tuple[tuple[int, int], ...]
    ) -> None:
        self.old = pieces(before, language)
        self.new = pieces(after, language)
        self.intent = intent
        self.spans = spans
        self.renames = {_last(old): _last(new) for old, new in intent.renames}
        self.became = matches(self.old, self.new, self.renames)

    @functools.cached_property
    def words(self) -> str:
        """The instruction without the names in it, which are no words of its own."""
        names = {_last(name) for name in (*self.intent.names, *self.intent.adds)}
        text = re.sub(r"`[^`]*`", " ", self.intent.text)
        for name in names:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text)
        return text

    @property
    def about_comments(self) -> bool:
        """Whether the instruction is about comments, which may then change."""
        return bool(_OF_COMMENTS.search(self.words))

    @property
    def about_docs(self) -> bool:
        """Whether the instruction is about docstrings, which may then change."""
        return bool(_OF_DOCS.search(self.words))

    @functools.cached_property
    def only_documents(self) -> bool:
        """Whether comments and docstrings are to come, and nothing else is to change."""
        return self._is_plain and adds_documentation(self.words)

    @functools.cached_property
    def only(self) -> frozenset[Purpose]:
        """All that may change, where the instruction asks for documentation or type hints alone; else empty."""
        found = purposes(self.words) if self._is_plain else frozenset[Purpose]()
        return found if "types" not in found or self.old.language in HINTED else frozenset[Purpose]()

    @property
    def _is_plain(self) -> bool:
        """Whether no name has to change or go, in a language that tells code from comments."""
        return not self.renames and not self.intent.removes and self.old.language not in ("markdown", "json")

    @property
    def moves(self) -> bool:
        """Whether definitions are to stand in another order."""
        return bool(_MOVES.search(self.words))

    @property
    def may_shorten(self) -> bool:
        """Whether statements within what the instruction names may go. Definitions never go by such words."""
        return bool(self.intent.removes or _SHORTENS.search(self.words))

    @functools.cached_property
    def only_renames(self) -> bool:
        """Whether nothing but names is to change."""
        return bool(
            self.renames
            and not self.intent.adds - {new for _, new in self.intent.renames}
            and not self.intent.removes - {old for old, _ in self.intent.renames}
            and not _MORE_THAN_RENAMES.search(self.words)
        )

    def is_named(self, definition: Definition) -> bool:
        """Whether the instruction names this definition."""
        label = definition.label
        return any(name == definition.name or label == name or label.endswith(f".{name}") for name in self.names)

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names in the instruction; without the last part of a dotted one, which would name others as well."""
        names = {name for name in (*self.intent.names, *(old for old, _ in self.intent.renames)) if name}
        for dotted in [name for name in names if "." in name and " " not in name]:
            rest = self.intent.text.replace(dotted, " ")
            known = any(f".{each.label}".endswith(f".{dotted}") for each in self.old.definitions)
            if known and not mentions([rest], [_last(dotted)]):
                names.discard(_last(dotted))
        return frozenset(names)

    def concerns(self, at: int) -> bool:
        """Whether the instruction is about this definition, or about none in particular."""
        return not self.names or at in self.free or self.is_named(self.old.definitions[at])

    def may_lose(self, definition: Definition) -> bool:
        """Whether this definition may be gone, by itself or with what it stands in."""
        family = (definition, *self.old.ancestors(definition))
        return any(
            self.intent.allows_loss_of(each.name)
            or self.intent.allows_loss_of(each.label)
            or any(each.label.endswith(f".{name}") for name in self.intent.removes if "." in name)
            for each in family
        )

    @functools.cached_property
    def targets(self) -> frozenset[int]:
        """What the instruction names within the picked parts, apart from a part itself: definitions, else the
        functions with a parameter that it names."""
        inside = [at for at, each in enumerate(self.old.definitions) if self._is_within_a_part(each)]
        named = [at for at in inside if self.is_named(self.old.definitions[at])]
        if named or any(self.is_named(each) for each in self.old.definitions if each.kind == "function"):
            return frozenset(named)
        names = self.intent.names | set(self.renames)
        functions = [at for at in inside if self.old.definitions[at].kind == "function"]
        return frozenset(at for at in functions if names.intersection(self.old.definitions[at].parameters))

    def _is_within_a_part(self, each: Definition) -> bool:
        return any(s <= each.start and each.end <= e and not self._is_span(each, (s, e)) for s, e in self.spans)

    @functools.cached_property
    def restricted(self) -> bool:
        """Whether the instruction is about some definitions of a part only, so that the others have to stay."""
        return bool(self.targets) or bool(self._added)

    @functools.cached_property
    def free(self) -> frozenset[int]:
        """The definitions whose inside may change in any way that loses nothing."""
        if self.only_renames:
            return frozenset()
        if not self.restricted:
            return frozenset(range(len(self.old.definitions)))
        found: set[int] = set()
        for at, each in enumerate(self.old.definitions):
            named = self.is_named(each) or at in self.targets
            if each.parent in found or (named and not self._holds_target(at)):
                found.add(at)
        return frozenset(found)

    def has_to_stay(self, at: int) -> bool:
        """Whether this definition has to be as it was, but for new names."""
        if at in self.free:
            return False
        each, now = self.old.definitions[at], self.became[at]
        if self.only_renames:
            return True
        if self.is_named(each) and not self._holds_target(at):
            return False
        tokens = self.old.own_tokens(each) + (self.new.own_tokens(now) if now is not None else ())
        return not mentions(tokens, self.mentionable)

    def is_as_it_was(self, at: int, whole: bool = False) -> bool:
        """Whether the tokens of a definition are the old ones, but for new names. `whole`: with what stands in it."""
        each, now = self.old.definitions[at], self.became[at]
        if now is None:
            return True
        one = self.old.tokens_of(each) if whole else self.old.own_tokens(each)
        other = self.new.tokens_of(now) if whole else self.new.own_tokens(now)
        if each.kind == "class":  # which needs a statement where its last definition went
            one, other = (
                tuple(each for each in tokens if each != "pass" and each[0] != "⇥") for tokens in (one, other)
            )
        return same_but_for(one, other, self.renames)

    @functools.cached_property
    def mentionable(self) -> frozenset[str]:
        """Names whose users may have to change: what is new, goes, gets another name or other parameters."""
        names = {*self.intent.adds, *self.intent.removes, *self.renames, *self.renames.values()}
        if self.intent.everywhere:
            names |= self.intent.names
        for at in self.targets:
            each, now = self.old.definitions[at], self.became[at]
            if now is None or each.parameters != now.parameters:
                names.add(each.name)
        holders = {self.old.definitions[at].name for at in self._holders}
        return frozenset(last for name in names if (last := _last(name)) and last not in holders)

    @functools.cached_property
    def _added(self) -> list[Definition]:
        """New definitions of names that the instruction wants to be new."""
        adds = {_last(name) for name in self.intent.adds}
        had = {each.path for each in self.old.definitions}
        return [each for each in self.new.definitions if each.name in adds and each.path not in had]

    @functools.cached_property
    def _holders(self) -> frozenset[int]:
        return frozenset(at for at in range(len(self.old.definitions)) if self._holds_target(at))

    def _holds_target(self, at: int) -> bool:
        """Whether a target stands in this definition. By path: a type's methods may stand outside of it."""
        path = self.old.definitions[at].path
        inside = [self.old.definitions[other] for other in self.targets] + self._added
        return any(len(each.path) > len(path) and each.path[: len(path)] == path for each in inside)

    def _is_span(self, definition: Definition, span: tuple[int, int]) -> bool:
        """Whether a part holds this definition and nothing beside it."""
        around = self.old.lines[span[0] : definition.start] + self.old.lines[definition.end : span[1]]
        return span[0] <= definition.start and definition.end <= span[1] and not "".join(around).strip()


@functools.lru_cache(maxsize=24)
def _scope(before: str, after: str, language: str, intent: Intent, spans: tuple[tuple[int, int], ...]) -> Scope:
    return Scope(before, after, language, intent, spans)


def scope_of(before: str, after: str, language: str, intent: Intent, spans: Sequence[tuple[int, int]]) -> Scope:
    """The edit seen by its definitions. Kept for a while: each step of mending asks for it again."""
    return _scope(before, after, language, intent, tuple((start, end) for start, end in spans))


def same_but_for(one: Sequence[str], other: Sequence[str], renames: dict[str, str]) -> bool:
    """Whether two lists of tokens are equal where each old name may stand as the new one."""
    if one == other:
        return True
    return bool(renames) and renamed(" ".join(one), renames) == renamed(" ".join(other), renames)


def _last(name: str) -> str:
    """A name without what it stands in. Headings are prose, whose dots are no paths."""
    return name if " " in name else name.rsplit(".", 1)[-1]
