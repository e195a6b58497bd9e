"""The names that a file has and the lines that mention them: what the words of an instruction are compared with.

Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict

from lacli.edits.tree.outline import Definition, Outline
from lacli.edits.tree.syntax import parsed, text_of, walk

DATA = ("toml", "json", "yaml")
"""Languages of keys and values: their names are often ordinary words."""
_CONTAINERS = ("class", "table", "heading")
_GENERICS = re.compile(r"<.*>")


def normal(name: str) -> str:
    """A name as the instruction wrote it, without what is no part of it: `self.`, `()`, sigils, other separators."""
    name = name.strip().strip("`").strip()
    name = re.sub(r"\(.*\)$", "", name, flags=re.DOTALL)
    name = name.replace("::", ".").replace("->", ".").replace(".prototype.", ".")
    name = re.sub(r"^(?:self|this|cls)\.", "", name)
    if name.startswith("[") and name.endswith("]"):
        name = name.strip("[]")
    return re.sub(r"^[@*&$]+|[!;:,.]+$", "", name).strip()


def words_of(name: str) -> str:
    """The words of a name or heading, in lower case: `line-length`, `MAX_RETRIES`, `## Getting *started*`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[^\W_]+", spaced)).casefold()


class Vocabulary:
    """What a file names."""

    def __init__(self, text: str, outline: Outline) -> None:
        self.outline = outline
        self.lines = text.split("\n")
        self.is_prose = outline.language == "markdown"
        self.is_data = outline.language in DATA
        self._labels = [_label(each) for each in outline.definitions]
        self._by_name: dict[str, list[Definition]] = defaultdict(list)
        self._by_words: dict[str, list[Definition]] = defaultdict(list)
        self.parameters: dict[str, list[Definition]] = defaultdict(list)
        for label, each in zip(self._labels, outline.definitions, strict=True):
            self._by_name[label.rsplit(".", 1)[-1] if each.kind not in ("heading", "table") else label].append(each)
            if each.kind == "table" and "." in label:
                self._by_name[label.rsplit(".", 1)[-1]].append(each)
            self._by_words[words_of(each.name)].append(each)
            for parameter in each.parameters:
                self.parameters[parameter].append(each)
        self._mentions: dict[str, list[int]] = defaultdict(list)
        self._read_identifiers(text)
        self.imported = frozenset(
            word
            for start, end in outline.imports
            for word in re.findall(r"[A-Za-z_]\w*", "\n".join(self.lines[start:end]))
            if word not in ("import", "from", "as", "use", "include", "require", "crate", "type", "extern")
        )

    def _read_identifiers(self, text: str) -> None:
        tree = parsed(text, self.outline.language)
        if tree is None:
            return
        for node in walk(tree.root_node):
            if node.child_count == 0 and (
                node.type.endswith("identifier") or node.type in ("bare_key", "string_content")
            ):
                if node.type == "string_content" and not self.is_data:
                    continue
                name = text_of(node)
                self._mentions[name].append(node.start_point[0])

    def is_imported(self, name: str) -> bool:
        """Whether an import of this file brings this name in."""
        return all(part in self.imported for part in name.split("."))

    def definitions_of(self, name: str) -> list[Definition]:
        """The definitions that a name may stand for; of one within another of the same name, the outer."""
        name = normal(name)
        found = self._exact(name)
        if not found and "." in name:
            head, _, rest = name.partition(".")
            if not self.is_imported(head) and not any(each.kind in _CONTAINERS for each in self._exact(head)):
                found = self.definitions_of(rest)  # the head is a module or a variable
        if not found and (self.is_prose or self.is_data):
            found = self._by_words.get(words_of(name), []) if words_of(name) else []
        return [
            each
            for each in found
            if not any(other is not each and other.start <= each.start and each.end <= other.end for other in found)
        ]

    def _exact(self, name: str) -> list[Definition]:
        if not name:
            return []
        if "." not in name:
            return list(self._by_name.get(name, ())) or list(self._by_name.get(f"#{name}", ()))
        return [
            each
            for label, each in zip(self._labels, self.outline.definitions, strict=True)
            if label == name or label.endswith(f".{name}")
        ]

    def defines(self, name: str) -> bool:
        """Whether the file defines the name, as anything but a local variable."""
        name = normal(name)
        return bool(self.definitions_of(name)) or name in self.parameters

    def knows(self, name: str) -> bool:
        """Whether the file has the name in whatever way: defined, imported or used."""
        name = normal(name)
        return self.defines(name) or self.is_imported(name) or name.rsplit(".", 1)[-1] in self._mentions

    def mentions(self, name: str, prose: bool = False) -> list[int]:
        """The lines with an identifier of this name; with `prose` also those with the word in a comment or string."""
        last = normal(name).rsplit(".", 1)[-1]
        lines = set(self._mentions.get(last, ()))
        if prose and last:
            word = re.compile(rf"(?<![\w-]){re.escape(last)}(?![\w-])")
            lines.update(row for row, line in enumerate(self.lines) if word.search(line))
        return sorted(lines)

    def innermost(self, row: int) -> Definition | None:
        """The smallest definition that holds a line."""
        found = [each for each in self.outline.definitions if each.start <= row < each.end]
        return min(reversed(found), key=lambda each: each.end - each.start, default=None)

    def is_inside(self, inner: Definition, outer: Definition) -> bool:
        """Whether a definition stands in another, or belongs to it from elsewhere in the file (Go, Rust)."""
        if inner is outer:
            return False
        if outer.start <= inner.start and inner.end <= outer.end:
            return True
        own, others = _label(inner).split("."), _label(outer).split(".")
        return outer.kind == "class" and len(own) > len(others) and own[: len(others)] == others

    def is_impl(self, each: Definition) -> bool:
        """Whether a definition of Rust is an `impl` block rather than a type."""
        return self.outline.language == "rust" and re.match(r"\s*(unsafe\s+)?impl\b", self.lines[each.head]) is not None

    def is_prototype(self, each: Definition) -> bool:
        """Whether a definition of C announces a function whose body stands elsewhere."""
        text = "\n".join(self.lines[each.head : each.end])
        return (
            self.outline.language in ("c", "cpp")
            and each.kind == "function"
            and text.rstrip().endswith(";")
            and "{" not in text
        )

    def by_phrase(self) -> list[tuple[str, Definition]]:
        """Definitions that prose can name by two or more words: headings, and keys and constants of several words."""
        return [
            (words, each)
            for words, found in self._by_words.items()
            for each in found
            if " " in words and each.kind in ("heading", "table", "key", "variable")
        ]


def _label(definition: Definition) -> str:
    """Its path with dots; a Rust `impl` block by its type alone, a heading by its words."""
    if definition.kind == "heading":
        return words_of(definition.name)
    return ".".join(_simple(part) for part in definition.path)


def _simple(part: str) -> str:
    return _GENERICS.sub("", part.rsplit(" for ", 1)[-1]).strip()
