"""What each name of an instruction is there for: the place to change, or something to be used or compared with.

Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lacli.edits.find.marked import KINDS, NAME
from lacli.edits.find.sentence import Sentence

USED, UNMARKED, OBJECT, PLACE = -1, 0, 1, 2
"""How surely a name is the place: used there; not said; the object of the request; said to be the place."""

_KIND = rf"(?:{KINDS}\s+)?(?:called\s+|named\s+)?"
_THE = (
    r"(?:(?:the|this|our|its|both|all|every|each|existing|current|public|private|static|entire|whole|of|unused|old|dead|obsolete"
    r"|global|local|redundant|unnecessary|first|last|nested|inner|outer)\s+)*"
)
_BEFORE = tuple(
    (re.compile(pattern.replace("THE", _THE).replace("KIND", _KIND) + "$", re.IGNORECASE), role)
    for pattern, role in (
        (r"\b(?:as|like|same(?:\s+\w+)?(?:\s+as)?)\s+(?:it\s+is\s+|\w+\s+)?(?:in|of|with|for)\s+THEKIND", USED),
        (r"\b(?:remove|delete|drop|strip|take)\b[^.;]*\bfrom\s+THEKIND", PLACE),
        (r"\b(?:in|inside|within|under|throughout)\s+THEKIND", PLACE),
        (r"\b(?:like|as|than|via|with|by|using|through|uses?|used|calls?|called|calling|invoke|invoking|raises?|raising|throws?|returns?|returning|logs?|passing"
         r"|imports?|is|equals?|exceeds?|reaches|is\s+not|means|instead\s+of|rather\s+than|based\s+on|similar\s+to|against|subclass|implements?|inherits?\s+from)"
         r"\s+(?:an?\s+)?THEKIND", USED),
        (r"\b(?:if|when|until|while|unless|once|whether|where|that|because|since)\s+THEKIND", USED),
        (r"\b(?:make|have|let|fix|ensure|ensure\s+that|make\s+sure(?:\s+that)?)\s+THEKIND", PLACE),
        (r"\b(?:of|from|for|on|to|into|at|above|over|around)\s+THEKIND", OBJECT),
        (r"(?:^|[.;:!?,]\s*|\b(?:and|then|please|also|now|just|to|should|must|you|let's|can)\s+)(?:\w+ly\s+)?[a-z-]+\s+(?:(?:up|out|down|away)\s+)?THEKIND",
         OBJECT),
        (r"(?:^|[.;!?]\s+)THEKIND", OBJECT),
    )
)  # fmt: skip
_SUBJECT = re.compile(
    rf"(?:\s+{KINDS})?(?:\(\))?\s*(?:['’]s\b|:|\s(?:should|must|needs?|has\s+to|ought|can|could|crashes|fails|returns|raises|is|are|does|doesn't|takes|ignores|leaks"
    r"|uses|throws|currently|still|always|never|swallows|prints|forgets)\b)",
    re.IGNORECASE,
)
_LIST = re.compile(
    rf"{NAME}(?:\s+{KINDS})?\s*(?:,|,?\s+and|,?\s+or|\s*&|/|,?\s+as\s+well\s+as)\s+(?:also\s+)?(?:in\s+|the\s+|of\s+)*(?:{KINDS}\s+)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Role:
    """A name where it stands."""

    name: str
    at: int
    role: int


def roles(sentence: Sentence, ignored: frozenset[int] = frozenset()) -> list[Role]:
    """The names in the order of the sentence with what they are there for; without those at the places `ignored`."""
    found: list[Role] = []
    for match in re.finditer(NAME, sentence.text):
        if match.start() in ignored:
            continue
        found.append(Role(sentence.named(match[0]), match.start(), _role(sentence.text, match.start(), found)))
    return found


def _role(text: str, at: int, before: list[Role]) -> int:
    head, tail = text[:at], text[at + 1 :]
    if before and _LIST.search(head):
        return before[-1].role  # a list is one place
    used = (
        USED
        if re.search(r"\b(?:if|when|until|while|unless|once|whether)\s+(?:the\s+)?$", head, re.IGNORECASE)
        else None
    )
    if (
        used is None
        and _SUBJECT.match(tail)
        and not re.search(
            r"\b(?:that|which|where|because|since|with|by|via|using|like|as|than|how|what|when|if)\s+(?:the\s+)?$",
            head,
            re.IGNORECASE,
        )
    ):
        return PLACE
    if re.search(r"\b(?:raise|return)\s+(?:the\s+)?$", head, re.IGNORECASE) and re.match(r"\s+(?:to|by)\b", tail):
        return OBJECT
    for pattern, role in _BEFORE:
        if pattern.search(head):
            return role
    return UNMARKED
