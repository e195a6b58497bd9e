"""Reads an instruction: which names of the file it mentions, what it renames, removes, adds. Pure.

By rules, not by a model: what it decides is what an edit may change and what may be gone afterwards, so it must be the
same every time, and an instruction it does not understand must come out as one that allows nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from lacli.edits.find.intent import Intent
from lacli.edits.find.items import impls, lists_of
from lacli.edits.find.marked import NAME
from lacli.edits.find.phrases import additions, deletions, imported, instead_of, removals, renames, separated
from lacli.edits.find.sentence import Sentence, sentence_of
from lacli.edits.find.vocabulary import Vocabulary
from lacli.edits.tree.outline import Outline

_EVERYWHERE = re.compile(
    r"\b(?:everywhere|wherever|throughout|(?:whole|entire)\s+file|all\s+over"
    r"|(?:all|every|each|both)\s+(?:of\s+)?(?:the\s+|its\s+)?(?:other\s+)?(?:\S+\s+)?"
    r"(?:calls?|uses?|usages?|occurrences?|references?|places?|callers?|call\s+sites?|mentions?|instances?)"
    rf"|(?:all|every|each)\s+(?:of\s+)?(?:the\s+)?{NAME})",
    re.IGNORECASE,
)


_VALUE = r"(?:\"[^\"]*\"|'[^']*'|`[^`]*`|[^\s,;]+)"
_SHARED_VERB = re.compile(
    r"\b(?P<verb>set|change|raise|lower|increase|decrease|reduce|bump|make|update)"
    rf"(?P<first>\s+(?:the\s+)?[`\w.-]+\s+to\s+{_VALUE})(?P<link>\s*,\s*(?:and\s+)?|\s+and\s+)"
    rf"(?=(?:the\s+)?[`\w.-]+\s+to\s+{_VALUE})",
    re.IGNORECASE,
)


def with_verbs(instruction: str) -> str:
    """The verb that several changes share before each of them: "set a to 1 and b to 2" is "… and set b to 2"."""
    while (spelled := _SHARED_VERB.sub(r"\g<verb>\g<first>\g<link>\g<verb> ", instruction)) != instruction:
        instruction = spelled
    return instruction


def intent_of(instruction: str, text: str, outline: Outline | None) -> Intent:
    """What an instruction asks of a text, as far as its words and the names of the file tell."""
    instruction = with_verbs(instruction)
    if outline is None:
        return Intent(instruction, everywhere=_EVERYWHERE.search(instruction) is not None)
    vocabulary = Vocabulary(text, outline)
    intent = intent_from(instruction, sentence_of(instruction, vocabulary), vocabulary)
    if any(map(vocabulary.defines, intent.names)) or intent.adds:
        return intent
    return replace(intent, names=intent.names | _plain_words(instruction, outline))


def _plain_words(instruction: str, outline: Outline) -> frozenset[str]:
    """Where nothing is marked as a name: words but the first that one function alone has for its name."""
    named = Counter(each.name for each in outline.definitions if each.kind in ("function", "class"))
    words = re.findall(r"(?<=[^\w.-])[a-z]\w{3,}(?![\w-])", instruction.strip())
    return frozenset(word for word in words if named[word] == 1)


def intent_from(instruction: str, sentence: Sentence, vocabulary: Vocabulary) -> Intent:
    """The same, of an instruction that is already a sentence of names."""
    renamed = renames(sentence)
    new = {_last(each.new) for each in renamed}
    added = [each for each in additions(sentence) if each.name]
    adds = {_last(each.name) for each in added if each.kind or not vocabulary.defines(each.name)}
    adds |= {each for each in separated(sentence) if not vocabulary.defines(each)}
    adds |= {each for each in imported(sentence) if not vocabulary.is_imported(each)}
    taken = {each.new_at for each in renamed} | {each.start for each in added if _last(each.name) in adds}
    written = [sentence.named(match[0]) for match in re.finditer(NAME, sentence.text) if match.start() not in taken]
    names = {each for each in written if vocabulary.knows(each)}
    names |= {each.old for each in renamed if vocabulary.knows(each.old)}
    names = {part for each in names for part in (each, _last(each))}
    names |= {each.name for each in lists_of(instruction, vocabulary)}
    blocks = impls(instruction, vocabulary)
    names |= {each.name for each in blocks if each.definition is not None}
    adds |= {each.name for each in blocks if each.definition is None and each.is_new}
    removed = {each for each in removals(sentence) if each in names}
    removed |= {
        root
        for each in (*instead_of(sentence), *removals(sentence))
        for root in {each, each.partition(".")[0]}
        if vocabulary.is_imported(root) and not vocabulary.definitions_of(root)
    }
    return Intent(
        instruction,
        names=frozenset(names),
        renames=tuple(dict.fromkeys((_last(each.old), _last(each.new)) for each in renamed)),
        removes=frozenset(part for each in removed for part in (each, _last(each)) if part in names or part in removed)
        | {each.name for each in blocks if each.definition is not None and each.goes},
        deletes=frozenset(each for each in deletions(sentence) if each in removed and vocabulary.definitions_of(each)),
        adds=frozenset(adds - (new if not added else set())),
        everywhere=_EVERYWHERE.search(sentence.text) is not None,
    )


def _last(name: str) -> str:
    """The last part of a dotted name; headings and file names are left whole."""
    return name.rsplit(".", 1)[-1] if re.fullmatch(r"[\w#$-]+(?:\.[\w#$-]+)+", name) else name
