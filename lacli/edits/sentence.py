"""An instruction in which each name of the file has become one character, so that phrases can be matched around names.

Which words are names is decided here: what is written as code or in quotes, and ordinary words only where the sentence
marks them as a name. Pure; called by `phrases` and `reading`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lacli.edits.vocabulary import Vocabulary, normal, words_of

_FIRST_NAME, _FIRST_VALUE = 0xE000, 0xF000
NAME = "[\ue000-\uefff]"
"""A regular expression of one name."""
VALUE = "[\uf000-\uf8ff]"
"""Of one quoted text that reads as no name."""
KINDS = (
    r"(?:functions?|methods?|class(?:es)?|structs?|enums?|traits?|impls?|interfaces?|parameters?|params?|arguments?|args?|variables?"
    r"|constants?|consts?|fields?|attributes?|property|properties|keys?|sections?|tables?|headings?|chapters?|paragraphs?|macros?"
    r"|types?|typedefs?|modules?|options?|settings?|flags?|tests?|members?|helpers?|constructors?|imports?|includes?|variants?"
    r"|globals?|subsections?|dependency|dependencies|entry|entries|lists?|arrays?|getters?|setters?|packages?|routines?|procedures?)"
)
_BOUNDARY = (
    r"(?=\s*$|\s*[.,;:!?)(]|\s+(?:so|to|if|when|and|or|that|which|with|by|instead|is|are|should|must|needs?|takes?|returns?|raises?"
    r"|uses?|for|from|into|in|on|of|at|as|can|could|may|does|do|has|have|will|throws?|accepts?|handles?|while|before|after|above"
    r"|below|because|unless|but|then|the|a|an|also|only|not|async|everywhere|prints?|calls?|even|again|first|early|too|once|twice|always|rather"
    r"|than|during|whenever|here|there|just|since|after|never|still|instead|\w+ly|→|"
    + NAME
    + "|"
    + VALUE
    + r")(?:\s|$|\b))"
)
_VERBS = (
    r"(?:rename|remove|delete|drop|inline|document|test|fix|refactor|simplify|rewrite|make|let|have|call|calls|calling|debug|optimi[sz]e|split"
    r"|move|merge|convert|extend|change|update|replace|annotate|type|swap|extract|turn|mark|deprecate|run|cache|guard|clean up|get rid of|speed up)"
)
_MODAL = r"\s+(?:should|must|needs?|has to|ought|returns?|raises?|is|isn't|can|cannot|can't|does|doesn't|takes|crashes|fails|leaks|ignores|uses|throws)\b"
_STRONG = r"\b(?:in|inside|within|under|above|below|calls?|calling|of|from|to|into|on|for|before|after|by|via|with|using|like|and|or)\s+$"
_QUANTITY = r"\b(?:number|list|count|set|kind|lots?|amount|sum|most|all|each|some|any|one|out|pair|sequence|instance|part) of\s+$"
_SETS = r"\b(?:set|change|bump|update|increase|decrease|lower|raise|reduce|pin|upgrade|remove|delete|drop|sort|rename|switch)\s+(?:the\s+)?$"
_NEVER = frozenset(
    "a an the and or of to in on at by for from with as is it its this that if so be i we you not no all any each my our"
    " into when where then than but do does has have are was can will up out off new one two use add".split()
)
"""Words that are a name only where a noun before them says so."""
_QUOTED = re.compile(r"(`+)(.+?)\1|\"([^\"\n]+)\"|“([^”]+)”|(?<![\w'])'([^'\n]+)'(?!\w)|‘([^’]+)’", re.DOTALL)
_CODE = re.compile(
    r"(?<![\w/.])(?:\(\*?(?P<type>\w+)\)\.(?P<method>\w+)"
    r"|\[\[?(?P<table>[A-Za-z][\w.-]*)\]\]?|@?#?[A-Za-z_]\w*(?:(?:\.prototype\.|\.|::|->|#)[A-Za-z_][\w-]*)+(?:\(\))?"
    r"|[A-Za-z_]\w*\([^()]*\)"
    r"|[#@]?[A-Za-z]*_\w*|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Za-z]+\d\w*|#[a-z]\w+)(?![\w/])"
)
_NOT_CODE = re.compile(
    r"^(?:e\.g|i\.e|etc|utf8|python3|f-strings?|py3\w*|node\.js|next\.js|i18n|md5|sha\d+|v\d+)$", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"[#@$]?[A-Za-z_][\w-]*(?:(?:\.|::|->)[A-Za-z_][\w-]*)*(?:\(\))?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """An instruction with its names as single characters."""

    text: str
    names: tuple[str, ...]
    values: tuple[str, ...]

    def named(self, mark: str) -> str:
        """What a mark or a bare word of `text` stands for."""
        at = ord(mark[0]) if mark else 0
        if _FIRST_NAME <= at < _FIRST_VALUE:
            return self.names[at - _FIRST_NAME]
        return self.values[at - _FIRST_VALUE] if _FIRST_VALUE <= at < 0xF900 else mark


def sentence_of(instruction: str, vocabulary: Vocabulary) -> Sentence:
    """The instruction with every name and every quoted text replaced by its mark."""
    return _Marker(vocabulary).read(instruction)


class _Marker:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._names: list[str] = []
        self._values: list[str] = []

    def read(self, text: str) -> Sentence:
        text = _QUOTED.sub(self._quoted, " ".join(text.split()) if "`" not in text else text)
        text = _CODE.sub(self._code, text)
        text = self._phrases(text)
        before = ""
        while before != text:  # a word next to a name in a list is one too
            before, text = text, self._words(text)
        return Sentence(text, tuple(self._names), tuple(self._values))

    def _name(self, name: str) -> str:
        if len(self._names) >= _FIRST_VALUE - _FIRST_NAME:
            return name
        self._names.append(normal(name))
        return chr(_FIRST_NAME + len(self._names) - 1)

    def _quoted(self, match: re.Match[str]) -> str:
        content = next(group for group in match.groups()[1:] if group is not None).strip()
        as_code = match.group(1) is not None
        bare = re.sub(r"^#+\s+", "", content)
        known = self._vocabulary.knows(bare) if as_code else self._vocabulary.defines(bare)
        if bare and (known or (_IDENTIFIER.fullmatch(bare) and as_code)):
            return self._name(bare)
        if _IDENTIFIER.fullmatch(bare) and "-" not in bare and self._introduces(match):
            return self._name(bare)
        if len(self._values) >= 0xF900 - _FIRST_VALUE:
            return content
        self._values.append(content)
        return chr(_FIRST_VALUE + len(self._values) - 1)

    @staticmethod
    def _introduces(match: re.Match[str]) -> bool:
        """Whether what stands before a quoted word says that it names something."""
        before = match.string[: match.start()].casefold()
        return re.search(rf"(?:\b{KINDS}|\b(?:called|named|name|rename))\s+$", before) is not None

    def _code(self, match: re.Match[str]) -> str:
        name = f"{match['type']}.{match['method']}" if match["type"] else match[0]
        if _NOT_CODE.match(name.strip(".")) or (
            ((match["table"] and not self._vocabulary.is_data) or name.startswith("#"))
            and not self._vocabulary.defines(name)
        ):
            return match[0]
        trailing = re.search(r"[.]+$", name)
        return self._name(name) + (trailing[0] if trailing else "")

    def _phrases(self, text: str) -> str:
        """Headings, keys and constants of several words, written as prose."""
        for words, definition in sorted(self._vocabulary.by_phrase(), key=lambda each: -len(each[0])):
            pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words.split())) + r"(?!\w)"
            text = re.sub(pattern, lambda _, name=definition.name: self._name(name), text, flags=re.IGNORECASE)  # type: ignore[misc]
        return text

    def _words(self, text: str) -> str:
        for match in re.finditer(r"(?<![\w'’-])#?[A-Za-z][\w-]*", text):
            word = match[0]
            name = self._known(word)
            if name and self._is_marked(word, text[: match.start()], text[match.end() :]):
                return text[: match.start()] + self._name(name) + text[match.end() :]
        return text

    def _known(self, word: str) -> str:
        """The name of the file that a word may be; headings and keys in whatever case."""
        vocabulary = self._vocabulary
        if vocabulary.defines(word) or vocabulary.is_imported(word):
            return word
        if word.isupper() and vocabulary.knows(word):
            return word
        if vocabulary.knows(word) and "-" not in word:
            return word
        return ""

    def _is_marked(self, word: str, before: str, after: str) -> bool:
        """Whether the sentence uses the word as a name."""
        defined = self._vocabulary.defines(word)
        loose = before.casefold()
        if (word in _NEVER or word in ("A", "I")) and not re.search(rf"\b(?:{KINDS}|called|named|rename)\s+$", loose):
            return False
        begins = re.search(r"(?:^|[.;:!?]\s+|\bthen\s+)$", loose) is not None
        if (
            re.match(
                rf"(?:\s+{KINDS}\b)(?!\s+(?:hint|annotation|check|comment|docstring|alias|case))|\s+default\b", after
            )
            and not begins
        ):
            return not re.search(r"\b(?:an?|another|this|every|each|all|new|no)\s+$", loose)
        if re.search(rf"\b{KINDS}\s+(?:called\s+|named\s+)?$", loose) and not re.search(
            r"\b(?:an?|new)\s+(?:\w+\s+)?(?:called\s+|named\s+)?$", loose
        ):
            return re.match(_BOUNDARY, after) is not None or defined
        if not defined and not self._vocabulary.is_imported(word):
            return len(word) > 1 and re.search(r"\brename\s+$", loose) is not None
        if "-" in word:
            return defined
        if len(word) > 1 and (word.isupper() or (word[0].isupper() and not begins)):
            return True
        if begins:
            return (
                re.match(_MODAL, after) is not None
                or re.match(r"['’]s\b", after) is not None
                or re.match(r":\s", after) is not None
            )
        if re.match(r"['’]s\b", after):
            return True
        if re.search(rf"{NAME}(?:,|,? and|,? or|,? &)\s+$", before) or re.match(rf"(?:,|,? and|,? or)\s+{NAME}", after):
            return re.match(_BOUNDARY, after) is not None
        if re.search(r"\b(?:rename|make|have|let|everywhere|wherever)\s+$", loose):
            return True
        if re.search(r"\brename\s+(?:the\s+)?(?:\w+\s+)?$", loose) and re.match(r"\s+(?:to|as|into)\b", after):
            return True
        if re.search(rf"(?:^|[.,;]\s+|\band\s+|\bthen\s+|\bplease\s+){_VERBS}\s+$", loose):
            return re.match(_BOUNDARY, after) is not None and not _is_plural(word)
        if re.search(_SETS, loose) and re.match(r"\s+(?:to|from|by|=|of|in)\b|\s*$", after):
            return True
        if self._vocabulary.is_data and re.search(r"\b(?:the|to|in|under|of|from|for)\s+$", loose):
            return re.match(_BOUNDARY, after) is not None
        if re.search(_STRONG, loose) and re.match(_BOUNDARY, after) and not _is_plural(word):
            return re.search(_QUANTITY, loose) is None and self._is_callable(word, loose)
        return re.search(r"[,;]\s+$", before) is not None and re.match(_MODAL, after) is not None

    def _is_callable(self, word: str, before: str) -> bool:
        """After a preposition that goes with anything, only what a file defines by a block is surely meant."""
        if re.search(
            r"\b(?:in|inside|within|under|(?:default|value|values|type|name|limit|import|meaning|description)\s+of)\s+$",
            before,
        ):
            return True
        return any(each.kind not in ("variable", "key") for each in self._vocabulary.definitions_of(word))


def _is_plural(word: str) -> bool:
    return len(word) > 3 and word.islower() and word.endswith("s") and not word.endswith(("ss", "us", "is"))


__all__ = ["KINDS", "NAME", "VALUE", "Sentence", "sentence_of", "words_of"]
