"""What must be known of a language to judge where a piece of code ends, and how a comment is written in it.

Data only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lacli.text.guess import language_name

Blocks = Literal["indent", "brace", ""]


@dataclass(frozen=True, slots=True)
class Language:
    """A language, roughly."""

    name: str
    endings: tuple[str, ...]
    """Of file names, with the dot; whole names without one."""
    blocks: Blocks = "brace"
    """Whether a block is what stands indented, or what stands in braces; empty: neither can be told."""
    comment: str = "//"
    """Begins a comment that ends with its line; empty: there is none."""
    long_comment: tuple[str, str] = ("", "")
    """Begins and ends any other comment."""
    quotes: str = "\"'"
    """Characters that begin and end strings within a line."""
    long_quotes: str = ""
    """Of these, three in a row or one alone (see `triple`) enclose a string of many lines."""
    triple: bool = False
    """Whether many lines take three quotes."""
    regexes: bool = False
    """Whether a slash can begin a regular expression."""
    is_code: bool = True
    """Whether brackets and quotes mean anything."""


_C = ("/*", "*/")
_SCRIPT = {"long_comment": _C, "quotes": "\"'`", "long_quotes": "`", "regexes": True}

LANGUAGES = (
    Language("python", (".py", ".pyi", ".pyw"), "indent", "#", quotes="\"'", long_quotes="\"'", triple=True),
    Language("javascript", (".js", ".jsx", ".mjs", ".cjs"), **_SCRIPT),  # type: ignore[arg-type]
    Language("typescript", (".ts", ".tsx", ".mts", ".cts"), **_SCRIPT),  # type: ignore[arg-type]
    Language("go", (".go",), long_comment=_C, quotes="\"'`", long_quotes="`"),
    Language("rust", (".rs",), long_comment=_C, quotes='"', long_quotes='"'),
    Language("c", (".c", ".h"), long_comment=_C),
    Language("cpp", (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".cu"), long_comment=_C),
    Language("csharp", (".cs",), long_comment=_C),
    Language("java", (".java",), long_comment=_C),
    Language("kotlin", (".kt", ".kts"), long_comment=_C, long_quotes='"', triple=True),
    Language("swift", (".swift",), long_comment=_C, quotes='"', long_quotes='"', triple=True),
    Language("scala", (".scala",), long_comment=_C, quotes='"', long_quotes='"', triple=True),
    Language("dart", (".dart",), long_comment=_C, long_quotes="\"'", triple=True),
    Language("php", (".php",), long_comment=_C),
    Language("zig", (".zig",), quotes='"'),
    Language("css", (".css", ".scss", ".less"), comment="", long_comment=_C),
    Language("json", (".json", ".jsonc", ".json5"), comment="", quotes='"'),
    Language("ruby", (".rb", ".rake", "Rakefile", "Gemfile"), "", "#"),
    Language("shell", (".sh", ".bash", ".zsh"), "", "#", is_code=False),
    Language("lua", (".lua",), "", "--"),
    Language("sql", (".sql",), "", "--", quotes="'"),
    Language("perl", (".pl", ".pm"), "brace", "#"),
    Language("r", (".r", ".R"), "brace", "#"),
    Language("elixir", (".ex", ".exs"), "", "#", quotes='"', long_quotes='"', triple=True),
    Language("haskell", (".hs",), "", "--", ("{-", "-}"), quotes='"'),
    Language("make", (".mk", "Makefile"), "", "#", is_code=False),
    Language("yaml", (".yaml", ".yml"), "indent", "#", is_code=False),
    Language("toml", (".toml",), "", "#", long_quotes="\"'", triple=True),
    Language("html", (".html", ".htm", ".xml", ".svg", ".vue"), "", "", ("<!--", "-->"), quotes='"', is_code=False),
    Language("markdown", (".md", ".markdown"), "", "", quotes="", is_code=False),
    Language("text", (".txt", ".rst", ".log", ".csv"), "", "", quotes="", is_code=False),
)
_ALIASES = {
    "py": "python",
    "python3": "python",
    "js": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "tsx": "typescript",
    "golang": "go",
    "rs": "rust",
    "c++": "cpp",
    "c#": "csharp",
    "sh": "shell",
    "bash": "shell",
    "zsh": "shell",
    "rb": "ruby",
    "md": "markdown",
    "yml": "yaml",
    "makefile": "make",
}
_BY_NAME = {language.name: language for language in LANGUAGES}
_BY_ENDING = {ending: language for language in LANGUAGES for ending in language.endings}
_UNKNOWN = Language("", (), "indent", "", quotes='"', is_code=False)
_IN_BRACES = Language("", (), long_comment=_C)
"""Of no language that can be named, but with blocks in braces."""
_INDENTED = re.compile(r"^[ \t]*(?:def|class|if|for|while|with|elif|else|try|except|async)\b.*:[ \t]*(?:#.*)?$", re.M)
_BRACED = re.compile(r"[{};][ \t]*$", re.M)


def names() -> list[str]:
    """All names `--language` takes, aliases among them."""
    return sorted([*_BY_NAME, *_ALIASES])


def by_name(name: str) -> Language | None:
    """The language of this name or alias."""
    name = name.lower()
    return _BY_NAME.get(_ALIASES.get(name, name))


def of_path(path: str) -> Language | None:
    """The language of a file of this name."""
    last = path.replace("\\", "/").rpartition("/")[2]
    dot = last.rfind(".")
    return _BY_ENDING.get(last) or (_BY_ENDING.get(last[dot:].lower()) if dot >= 0 else None)


def language_of(path: str, text: str = "", name: str = "") -> Language:
    """The language that is named, else a file's by its own name, else by what its text looks like; never nothing."""
    found = by_name(name) or of_path(path)
    if found is not None:
        return found
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        for name in ("python", "bash", "sh", "node", "ruby", "perl"):
            if name in first:
                return _BY_NAME[{"bash": "shell", "sh": "shell", "node": "javascript"}.get(name, name)]
    named = language_name(text)
    if named:
        return _BY_NAME[named]
    indented, braced = len(_INDENTED.findall(text)), len(_BRACED.findall(text))
    if indented > braced:
        return _BY_NAME["python"]
    return _IN_BRACES if braced > 3 * indented else _UNKNOWN
