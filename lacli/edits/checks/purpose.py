"""Instructions that ask for comments, docstrings or type hints and for nothing else, told from their words. Pure.

Such an edit has an invariant: with what was asked for taken out, the code is the same before and after. An instruction
that is not plainly one of these has no purpose here, and its edit is checked by the names in it alone.
"""

from __future__ import annotations

import re
from typing import Literal

Purpose = Literal["documentation", "types"]

_FILLERS = r"(?:(?!and\b|with\b|that\b|to\b|for\b|plus\b)[\w'-]*\s+){0,5}?"
_DOCS = r"(?:doc\s?strings?|doc(?:umentation)?\s+comments?|[jk]s?doc|javadoc|godoc|rustdoc|comments?|documentation)\b"
_TYPES = (
    r"(?:(?:type|typing|return|parameter)\s+(?:hint|annotation)s?|(?:type|return|parameter)\s+types|"
    r"types\s+(?=(?:to|for|of)\b))"
)
_HINTS = r"(?:(?:the|all|any|some|missing|proper|full)\s+)*(?:hints|annotations)\b"
"""Not those of another kind, as deprecation annotations."""
_GIVES = r"\s*(?:please\s+)?(?:add|write|insert|put|give|create|provide|attach|include)\s+"
_REWORDS = (
    r"\s*(?:please\s+)?(?:fix|correct|update|improve|reword|rephrase|rewrite|translate|shorten|expand|extend|remove|"
    r"delete|drop|strip)\s+"
)
_ENDS = (
    r"(?=\s*(?:$|[^\w\s]|(?:to|for|of|in|on|at|from|into|above|below|that|which|about|so|as|where|and|then|also|with|"
    r"\w+ing)\b))"
)
"""What may follow the noun: in `fix the comment parser` it only describes another one."""

_ADDS_DOCS = re.compile(
    rf"{_GIVES}{_FILLERS}{_DOCS}|\s*(?:please\s+)?(?:document|explain|describe|comment)\b(?!\s+out\b)", re.IGNORECASE
)
_REWORDS_DOCS = re.compile(rf"{_REWORDS}{_FILLERS}{_DOCS}{_ENDS}", re.IGNORECASE)
_ADDS_TYPES = re.compile(
    rf"(?:{_GIVES}|\s*(?:please\s+)?(?:complete|improve)\s+)(?:{_FILLERS}{_TYPES}|{_HINTS}){_ENDS}"
    r"|\s*(?:please\s+)?(?:fully\s+)?(?:type-)?annotate\s+"
    r"(?!.*(?:\bcomment|@|\bdecorator|\bwith\b(?!\s+(?:\w+\s+)?types?\b)))"
    r"|\s*(?:please\s+)?type\s+(?:all|the|every|each)\s+(?:functions?|methods?|parameters?|arguments?|class|file|module)",
    re.IGNORECASE,
)
_THEM = r"(?:it|them|all|every\w*)\b"
_MORE = re.compile(
    r"(?:[,;.]|\band\b|\bthen\b|\balso\b|\bwith\b)\s+(?:(?:add|write|an?|the|and|also|some)\s+)*"
    rf"(?:(?P<documentation>{_DOCS}|document\s+{_THEM})|"
    rf"(?P<types>{_TYPES}|{_HINTS}|annotate\s+(?:{_THEM}|the\s+\w+\b)))"
    rf"{_ENDS}",
    re.IGNORECASE,
)
"""How the other of the two is asked for, too."""
_AND_CODE = re.compile(
    r"(?:[,;.]|\band\b|\bthen\b|\balso\b)\s+(?:(?:and|then|also|an?|the|its?|\w+ly)\s+)*(?:add|make|let|return|raise"
    r"|throw|change|rename|remove|delete|drop|use|convert|set|move|fix|replace|guard|validate|check|type|annotate|test"
    r"|parameter|method|function|field|default|import|call|log|print|write|simplify|refactor)",
    re.IGNORECASE,
)
"""How something else is asked for, too."""


def adds_documentation(words: str) -> bool:
    """Whether comments or docstrings are to come; of those that are there none is to go.

    `words`: the instruction without the names in it.
    """
    return _ADDS_DOCS.match(words) is not None and _AND_CODE.search(words) is None


def purposes(words: str) -> frozenset[Purpose]:
    """All that an instruction asks for; empty where code may change as well. `words` as above."""
    found: set[Purpose] = set()
    if _ADDS_DOCS.match(words) or _REWORDS_DOCS.match(words):
        found.add("documentation")
    if _ADDS_TYPES.match(words):
        found.add("types")
    if not found:
        return frozenset()
    for more in _MORE.finditer(words):
        found.add("documentation" if more["documentation"] else "types")
    return frozenset() if _AND_CODE.search(_MORE.sub(" ", words)) else frozenset(found)
