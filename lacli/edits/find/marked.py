"""Whether a sentence uses an ordinary word as a name: `load` in "in load", and not in "load all notes". Pure.

Asked only of words that the file has as a name.
"""

from __future__ import annotations

import re

from lacli.edits.find.vocabulary import Vocabulary

NAME = "[\ue000-\uefff]"
"""A regular expression of one name."""
VALUE = "[\uf000-\uf8ff]"
"""Of one quoted text that reads as no name."""
KINDS = (
    r"(?:functions?|methods?|class(?:es)?|structs?|enums?|traits?|impls?|interfaces?|parameters?|params?|arguments?|args?"
    r"|variables?|constants?|consts?|fields?|attributes?|property|properties|keys?|sections?|tables?|headings?|chapters?"
    r"|paragraphs?|macros?|types?|typedefs?|modules?|options?|settings?|flags?|tests?|members?|helpers?|constructors?"
    r"|imports?|includes?|variants?|globals?|subsections?|dependency|dependencies|entry|entries|lists?|arrays?|getters?"
    r"|setters?|packages?|routines?|procedures?)"
)
"""The nouns for what a file defines."""

_NEVER = frozenset(
    (
        *("a", "an", "the", "and", "or", "of", "to", "in", "on", "at", "by", "for", "from", "with", "as", "is", "it"),
        *("its", "this", "that", "if", "so", "be", "i", "we", "you", "not", "no", "all", "any", "each", "my", "our"),
        *("into", "when", "where", "then", "than", "but", "do", "does", "has", "have", "are", "was", "can", "will"),
        *("up", "out", "off", "new", "one", "two", "use", "A", "I"),
    )
)
"""Words that are a name only where a noun before them says so."""
_FOLLOWS_NAME = re.compile(
    r"\s*$|\s*[.,;:!?)(]|\s+(?:so|to|if|when|and|or|that|which|with|by|instead|is|are|should|must|needs?|takes?|returns?"
    r"|raises?|uses?|for|from|into|in|on|of|at|as|can|could|may|does|do|has|have|will|throws?|accepts?|handles?|while"
    r"|before|after|above|below|because|unless|but|then|the|a|an|also|only|not|async|everywhere|prints?|calls?|even|again"
    r"|first|early|too|once|twice|always|rather|than|during|whenever|here|there|just|since|never|still|any|anymore|at"
    rf"|\w+ly)\b|\s+(?:→|->|{NAME}|{VALUE})"
)
_SUBJECT = re.compile(
    r"['’]s\b|\s+(?:should|must|needs?|has to|ought|returns?|raises?|is|isn't|can|cannot|can't|does|doesn't|takes"
    r"|crashes|fails|leaks|ignores|uses|throws)\b"
)
_NOUN_AFTER = re.compile(
    rf"\s+{KINDS}\b(?!\s+(?:hint|annotation|check|comment|docstring|alias|case))|\s+default\b", re.IGNORECASE
)
_NOUN_BEFORE = re.compile(rf"\b{KINDS}\s+(?:called\s+|named\s+)?$")
_NEW_NOUN_BEFORE = re.compile(r"\b(?:an?|new)\s+(?:\w+\s+)?(?:called\s+|named\s+)?$")
_VERB = re.compile(
    r"(?:^|[.,;]\s+|\b(?:and|then|please)\s+)(?:rename|remove|delete|drop|inline|document|test|fix|refactor|simplify|rewrite"
    r"|make|let|have|calls?|calling|debug|optimi[sz]e|split|move|merge|convert|extend|change|update|replace|annotate|type"
    r"|swap|extract|turn|mark|deprecate|run|cache|guard|clean up|get rid of|speed up)\s+$"
)
_SETS = re.compile(
    r"\b(?:set|change|bump|update|increase|decrease|lower|raise|reduce|pin|upgrade|remove|delete|drop|sort|rename|switch)"
    r"\s+(?:the\s+)?$"
)
_PLACE = re.compile(
    r"\b(?:in|inside|within|under|(?:default|value|values|type|name|limit|import|meaning|description)\s+of)\s+$"
)
_PREPOSITION = re.compile(
    r"\b(?:above|below|calls?|calling|of|from|to|into|on|for|before|after|by|via|with|using|like|and|or)\s+$"
)
_QUANTITY = re.compile(
    r"\b(?:number|list|count|set|kind|lots?|amount|sum|most|all|each|some|any|one|out|pair|sequence|instance"
    r"|part) of\s+$"
)
_ADDED_TO = re.compile(r"\b(?:add|append|put|insert|register|remove|delete|drop)\b[^.;]*\b(?:to|into|from)\s+$")
_BEGINS_WITH_PLACE = re.compile(r"(?:^|[.;:]\s+)(?:in|inside|within)\s+(?:the\s+)?$")
_IMPERATIVE = re.compile(
    r"\s+(?:please\s+)?(?:rename|change|replace|add|remove|delete|drop|make|let|raise|throw|rewrite|convert|turn|set|fix|move|guard"
    r"|document|annotate|handle|log|check|call|skip|ignore|catch|cache|swap|merge|split|simplify|allow|insert|put)\b"
)
_BLOCKS = ("function", "class", "heading", "table")
_COMMAND = re.compile(
    r"(?:add|change|convert|delete|document|drop|extract|fix|insert|make|move|remove|rename|replace|set|sort|update)"
)
_HAS_OBJECT = re.compile(rf"\s+(?:(?:an?|the|all|any|every|its|type|doc\s?strings?)\b|{NAME}|{VALUE})", re.IGNORECASE)


def is_name(word: str, before: str, after: str, vocabulary: Vocabulary) -> bool:
    """Whether a word between these two texts is meant as a name of the file."""
    defined = vocabulary.defines(word)
    before = before.casefold()
    begins = re.search(r"(?:^|[.;:!?]\s+|\bthen\s+)$", before) is not None
    if word in _NEVER and not re.search(rf"\b(?:{KINDS}|called|named|rename)\s+$", before):
        return False
    if _is_command(word, before, after):
        return False
    if not begins and _NOUN_AFTER.match(after):
        return re.search(r"\b(?:an?|another|this|every|each|all|new|no)\s+$", before) is None
    if _NOUN_BEFORE.search(before) and not _NEW_NOUN_BEFORE.search(before):
        return defined or _FOLLOWS_NAME.match(after) is not None
    if not defined and not vocabulary.is_imported(word):
        return len(word) > 1 and re.search(r"\brename\s+$", before) is not None
    if "-" in word or (len(word) > 1 and (word.isupper() or (word[0].isupper() and not begins))):
        return True  # no English word looks so there
    if begins or re.search(r"[,;]\s+$", before):
        return _SUBJECT.match(after) is not None or (begins and re.match(r":\s", after) is not None)
    return (
        re.match(r"['’]s\b", after) is not None
        or _in_list(before, after)
        or _as_object(word, before, after)
        or _after_preposition(word, before, after, vocabulary)
    )


def _is_command(word: str, before: str, after: str) -> bool:
    """Whether the word is the verb of a further request in a file that also has a method of that name: `add` in "remove
    load and add a docstring", but not in "document load and add"."""
    begins = re.search(r"(?:[,;]|\band|\bthen|\balso)\s+$", before) is not None
    return begins and _COMMAND.fullmatch(word) is not None and _HAS_OBJECT.match(after) is not None


def _in_list(before: str, after: str) -> bool:
    """Next to another name: "push and pop"."""
    beside = re.search(rf"{NAME}(?:,|,? and|,? or|,? &)\s+$", before) or re.match(
        rf"(?:,|,? and|,? or)\s+{NAME}", after
    )
    return beside is not None and _FOLLOWS_NAME.match(after) is not None


def _as_object(word: str, before: str, after: str) -> bool:
    """Behind a verb that takes a name: "rename load to", "document main", "bump the version to"."""
    if re.search(r"\b(?:rename|make|have|let|everywhere|wherever)\s+$", before):
        return True
    if re.search(r"\brename\s+(?:the\s+)?(?:\w+\s+)?$", before) and re.match(r"\s+(?:to|as|into)\b", after):
        return True
    if _SETS.search(before) and re.match(r"\s+(?:to|from|by|=|of|in)\b|\s*$", after):
        return True
    return _VERB.search(before) is not None and _FOLLOWS_NAME.match(after) is not None and not _is_plural(word)


def _after_preposition(word: str, before: str, after: str, vocabulary: Vocabulary) -> bool:
    """ "in load", "of main"; after prepositions that go with anything, only what is defined by a block of its own."""
    if _BEGINS_WITH_PLACE.search(before) and _IMPERATIVE.match(after):
        return any(each.kind in _BLOCKS for each in vocabulary.definitions_of(word))
    if not _FOLLOWS_NAME.match(after):
        return False
    if vocabulary.is_data and re.search(r"\b(?:the|to|in|under|of|from|for)\s+$", before):
        return True
    is_block = any(each.kind in _BLOCKS for each in vocabulary.definitions_of(word))
    if _PLACE.search(before):
        return not _is_plural(word) or (is_block and re.match(r"\s*(?:[,.:;]|$)", after) is not None)
    if _is_plural(word) or _QUANTITY.search(before):
        return False
    is_list = _ADDED_TO.search(before) is not None and any(
        each.kind in ("variable", "key") and each.parent is None for each in vocabulary.definitions_of(word)
    )
    return is_list or (_PREPOSITION.search(before) is not None and is_block)


def _is_plural(word: str) -> bool:
    return len(word) > 3 and word.islower() and word.endswith("s") and not word.endswith(("ss", "us", "is"))
