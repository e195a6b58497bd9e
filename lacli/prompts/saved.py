"""Templates of questions: files of the user's, filled in with what is given for their placeholders.

NAME.toml holds `prompt`, `system`, `[defaults]` of parameters and `[options]` of the reply; NAME.txt and NAME.md are a
prompt as it stands. `$input` stands for the words (or what is piped in), `$name` for a parameter, `$$` for a dollar.
Reads and writes the templates' folder only, privately, as prompts may quote anything.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacli import paths
from lacli.configuration.document import literal, parse
from lacli.errors import LacliError, UsageError, unwritable
from lacli.prompts.content import text_of
from lacli.storage import atomic, files

OPTIONS = (
    "model",
    "max-tokens",
    "temperature",
    "top-p",
    "top-k",
    "repetition-penalty",
    "seed",
    "stop",
    "ctx",
    "truncate",
    "extract",
    "extract-last",
)
"""What a template may set of the reply; typed options and variables win over it."""
INPUT = "input"
_SUFFIXES = (".toml", ".txt", ".md")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Saved:
    """A template as it is kept."""

    name: str
    prompt: str = ""
    """Empty: the words alone."""
    system: str = ""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """What a parameter is where none is given."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """By flag name; `OPTIONS` lists them."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """All placeholders, in the order in which they first stand."""
        found = [*self._names(self.prompt, "prompt"), *self._names(self.system, "system")]
        return tuple(dict.fromkeys(found))

    def takes_input(self) -> bool:
        """Whether the prompt says where the words go."""
        return INPUT in self._names(self.prompt, "prompt")

    def filled(self, words: str, given: Mapping[str, str]) -> str:
        """The prompt with its placeholders filled in; words that it has no place for stand behind it."""
        if not self.prompt.strip():
            return words
        text = self._fill(self.prompt, "prompt", {INPUT: words, **given})
        return text if self.takes_input() or not words.strip() else f"{text.rstrip()}\n\n{words}"

    def filled_system(self, words: str, given: Mapping[str, str]) -> str:
        """The system message with its placeholders filled in."""
        return self._fill(self.system, "system", {INPUT: words, **given})

    def check(self, given: Mapping[str, str]) -> None:
        """Refuse parameters it has no place for, and missing ones."""
        known = self.parameters
        for name in given:
            if name not in known or name == INPUT:
                named = ", ".join(each for each in known if each != INPUT)
                raise UsageError(
                    f"template {self.name} has no parameter {name}", f"it has {named}" if named else "leave -p away"
                )
        for name in known:
            if name != INPUT and name not in given and name not in self.defaults:
                raise UsageError(
                    f"template {self.name} needs the parameter {name}",
                    f"give -p {name} VALUE (or write $${name} in it, if that is no placeholder)",
                )

    def _fill(self, text: str, part: str, given: Mapping[str, str]) -> str:
        self._names(text, part)
        return string.Template(text).substitute({**self.defaults, **given})

    def _names(self, text: str, part: str) -> list[str]:
        """Placeholders of one part; a dollar that begins none is a mistake."""
        names = []
        for found in string.Template.pattern.finditer(text):
            if found["invalid"] is not None:
                line = text.count("\n", 0, found.start()) + 1
                raise UsageError(f"template {self.name}, line {line} of its {part}: a lone $", "write $$ for a dollar")
            name = found["named"] or found["braced"]
            if name:
                names.append(name)
        return names


def folder() -> Path:
    """KeyPath the templates are; need not exist."""
    return paths.config_dir() / "templates"


def names() -> list[str]:
    """All templates."""
    try:
        found = [Path(name) for name in os.listdir(folder())]
    except OSError:
        return []
    return sorted({path.stem for path in found if path.suffix in _SUFFIXES and _NAME.fullmatch(path.stem)})


def checked(name: str) -> str:
    """The name, if it can be a template's."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a template", "use up to 64 letters, digits, dots, - and _")
    return name


def file_of(name: str) -> Path:
    """The file of an existing template. Raises UsageError with the nearest name."""
    checked(name)
    for suffix in _SUFFIXES:
        path = folder() / f"{name}{suffix}"
        if os.path.lexists(path):
            return path
    import difflib

    near = difflib.get_close_matches(name, names(), 1)
    hint = f"did you mean {near[0]}?" if near else "`lacli templates` lists them"
    raise UsageError(f"there is no template {name}", hint)


def load(name: str) -> Saved:
    """Read a template. Raises UsageError that names the file and, where it is known, the line."""
    path = file_of(name)
    return read(name, path, _bytes_of(path))


@dataclass(frozen=True, slots=True)
class Named:
    """A template with what stands behind its name: `review lang=Python be brief`."""

    template: Saved
    given: Mapping[str, str]
    words: str

    @property
    def missing(self) -> tuple[str, ...]:
        """Parameters that have no value yet."""
        known = (INPUT, *self.given, *self.template.defaults)
        return tuple(name for name in self.template.parameters if name not in known)

    def filled(self, more: Mapping[str, str] | None = None) -> tuple[str, str]:
        """The system message and the question. Raises UsageError where a parameter is missing."""
        given = {**self.given, **(more or {})}
        for name in self.missing:
            if name not in given:
                raise UsageError(
                    f"template {self.template.name} needs the parameter {name}",
                    f"write {name}=VALUE behind its name (or $${name} in it, if that is no placeholder)",
                )
        return self.template.filled_system(self.words, given), self.template.filled(self.words, given)


def named(typed: str) -> Named:
    """The template that is named first here; NAME=VALUE behind it are values of its parameters, the rest its words."""
    name, _, words = typed.partition(" ")
    found = load(name)
    known = set(found.parameters) - {INPUT}
    given: dict[str, str] = {}
    while True:
        first, _, rest = words.lstrip().partition(" ")
        parameter, equals, value = first.partition("=")
        if not equals or parameter not in known:
            return Named(found, given, words)
        given[parameter], words = value, rest


def text(name: str) -> str:
    """A template's file as it is."""
    path = file_of(name)
    return text_of(_bytes_of(path), path.name)[0]


def _bytes_of(path: Path) -> bytes:
    try:
        return files.read(path, limit=_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"the template {path} cannot be read: {error.strerror}", "correct or remove it") from None


def read(name: str, path: Path, data: bytes) -> Saved:
    """What these bytes of a template's file say."""
    if path.suffix != ".toml":
        return Saved(name, text_of(data, path.name)[0].replace("\r\n", "\n").removesuffix("\n"))
    document = parse(path, data)
    known: dict[str, type] = {"prompt": str, "system": str, "defaults": dict, "options": dict}
    for key, value in document.data.items():
        if key not in known:
            raise _wrong(path, document.line((key,)), f"there is no key {key}", f"use one of {', '.join(known)}")
        if not isinstance(value, known[key]):
            kind = "a table" if known[key] is dict else "a text"
            raise _wrong(path, document.line((key,)), f"{key} is not {kind}", f"make it {kind}")
    defaults = document.data.get("defaults", {})
    for key, value in defaults.items():
        if not isinstance(value, str):
            raise _wrong(path, document.line(("defaults", key)), f"{key} is not a text", "put it between quotes")
    options = document.data.get("options", {})
    for key in options:
        if key not in OPTIONS:
            where = document.line(("options", key))
            raise _wrong(path, where, f"a template sets no {key}", f"use {', '.join(OPTIONS)}")
    saved = Saved(name, document.data.get("prompt", ""), document.data.get("system", ""), defaults, options)
    if not saved.prompt.strip() and not saved.system.strip():
        raise _wrong(path, 1, "neither prompt nor system says anything", "give one of them")
    return saved


def save(saved: Saved, replace: bool = False) -> Path:
    """Keep a template under its name, at once or not at all; one that is there already stays unless `replace`."""
    checked(saved.name)
    for name in saved.defaults:
        if not _PARAMETER.fullmatch(name) or name == INPUT:
            raise UsageError(f"{name!r} is no name of a parameter", "use letters, digits and _, and not input")
    if not saved.prompt.strip() and not saved.system.strip():
        raise UsageError(f"template {saved.name} would be empty", "give a prompt, or a system message with -s")
    known = saved.parameters  # finds a lone dollar, too
    unused = [name for name in saved.defaults if name not in known]
    if unused:
        raise UsageError(f"nothing in template {saved.name} says ${unused[0]}", f"write ${unused[0]} where it belongs")
    if saved.name in names() and not replace:
        raise UsageError(
            f"there is a template {saved.name} already",
            f"take another name, or change it: lacli templates edit {saved.name}",
        )
    return write(f"{saved.name}.toml", _document(saved))


def write(name: str, text: str) -> Path:
    """Put a template's file in its place as it is, whatever it says."""
    path = folder() / name
    checked(path.stem)
    try:
        files.make_private(path.parent)
        atomic.put(str(path), text.encode("utf-8", "replace"))  # through links, as those of a dotfiles folder
        for suffix in _SUFFIXES:  # or the other file would be a template of the same name
            if suffix != path.suffix:
                path.with_suffix(suffix).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def remove(name: str) -> Path:
    """Delete a template's file."""
    path = file_of(name)
    try:
        path.unlink()
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def _document(saved: Saved) -> str:
    lines = [f"{key} = {_text(value)}" for key in ("prompt", "system") if (value := getattr(saved, key))]
    for table in ("defaults", "options"):
        values = getattr(saved, table)
        if values:
            lines += ["", f"[{table}]", *(f"{key} = {_text(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    """A value as TOML writes it, a text of several lines as such."""
    if not isinstance(value, str) or "\n" not in value or re.search(r"[\x00-\x08\x0b-\x1f\x7f]", value):
        return literal(value)
    escaped = re.sub(r'"(?="|\Z)', r"\"", value.replace("\\", "\\\\"))
    return f'"""\n{escaped}"""'


def _wrong(path: Path, line: int, message: str, hint: str) -> UsageError:
    return UsageError(f"{path}:{line}: {message}", hint)


def _unwritable(path: Path, error: OSError) -> LacliError:
    return unwritable(path, error, "make room, or check its folder's permissions", UsageError)
