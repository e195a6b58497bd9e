"""An instruction in which each name of the file has become one character, so that phrases can be matched around names.

Which words are names is decided here: what is written as code or in quotes, and ordinary words only where the sentence
marks them as a name. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lacli.edits.find.marked import KINDS, is_name
from lacli.edits.find.vocabulary import Vocabulary, normal

_FIRST_NAME, _FIRST_VALUE = 0xE000, 0xF000
LONGEST = 500
"""Characters of an instruction that are read: who writes more explains, and the patterns take quadratic time."""
_QUOTED = re.compile(r"(`+)(.+?)\1|\"([^\"\n]+)\"|“([^”]+)”|(?<![\w'])'([^'\n]+)'(?!\w)|‘([^’]+)’", re.DOTALL)
_CODE = re.compile(
    r"(?<![\w/.])(?:\(\*?(?P<type>\w+)\)\.(?P<method>\w+)"
    r"|\[\[?(?P<table>[A-Za-z][\w.-]*)\]\]?|@?#?[A-Za-z_]\w*(?:(?:\.prototype\.|\.|::|->|#)[A-Za-z_][\w-]*)+(?:\(\))?"
    r"|[A-Za-z_]\w*\((?:[^()]|\([^()]*\))*\)"
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
        text = re.sub("[\ue000-\uf8ff]", " ", text[:LONGEST])  # no mark of ours
        text = _QUOTED.sub(self._quoted, text)
        text = " ".join(text.split())
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
            if name and is_name(word, text[: match.start()], text[match.end() :], self._vocabulary):
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
