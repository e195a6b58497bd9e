"""Which files of its own project a piece of code imports: found by simple patterns, resolved by looking what exists.

Names only: nothing is read but a `go.mod`. What is not found inside the project is no file of it. For `neighbours`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from lacli.text.languages import Language

_MOST = 32
_GO_FILES = 4
"""Of a package; it has no file that stands for it."""
_PY_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\(?([^\n#)]*)", re.M)
_PY_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.M)
_JS = re.compile(r"""(?:\bfrom|\bimport|\brequire[ \t]*\(|\bimport[ \t]*\()[ \t]*["']((?:\.{1,2}|@|~)/[^"'\n]+)["']""")
_GO = re.compile(r"""^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?"([\w./~-]+)"[ \t]*$""", re.M)
_GO_MODULE = re.compile(r"^module[ \t]+(\S+)", re.M)
_RUST_MOD = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;", re.M)
_RUST_USE = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?use[ \t]+(crate|self|super)((?:::\w+)+)", re.M)
_C = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)\"""", re.M)
_JS_ENDINGS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".d.ts")


def imported_files(text: str, name: str, root: Path, language: Language) -> list[str]:
    """Names (relative to `root`, with slashes) of the files that the file `name` with this text imports, in order."""
    here = PurePosixPath(name).parent
    find = {
        "python": _python,
        "javascript": _javascript,
        "typescript": _javascript,
        "go": _go,
        "rust": _rust,
        "c": _c,
        "cpp": _c,
    }.get(language.name)
    found: dict[str, None] = {}
    for candidates in find(text, name, here, root) if find is not None else ():
        for candidate in candidates:
            normal = os.path.normpath(candidate).replace(os.sep, "/")
            if not normal.startswith("../") and normal != name and os.path.isfile(os.path.join(root, normal)):
                found[normal] = None
                break
        if len(found) >= _MOST:
            break
    return list(found)


_Candidates = Iterator[Iterable[str]]


def _python(text: str, name: str, here: PurePosixPath, root: Path) -> _Candidates:
    tops = [*(str(folder) for folder in (here, *here.parents)), "src"]
    for found in sorted([*_PY_FROM.finditer(text), *_PY_IMPORT.finditer(text)], key=re.Match.start):
        if found.re is _PY_IMPORT:
            for module in found[1].split(","):
                words = module.split()
                if words:
                    yield _modules(tops, words[0].replace(".", "/"))
            continue
        dots, module, names = found.groups()
        folders = [str(PurePosixPath(here, *[".."] * (len(dots) - 1)))] if dots else tops
        path = module.replace(".", "/")
        for each in names.split(","):
            word = each.split()
            if word and word[0].isidentifier():  # it may be a module of the package
                yield _modules(folders, f"{path}/{word[0]}" if path else word[0], package=False)
        if path:
            yield _modules(folders, path)


def _modules(folders: Iterable[str], path: str, package: bool = True) -> list[str]:
    endings = (".py", "/__init__.py", ".pyi") if package else (".py",)
    return [f"{folder}/{path}{ending}" for folder in folders for ending in endings]


def _javascript(text: str, name: str, here: PurePosixPath, root: Path) -> _Candidates:
    for found in _JS.finditer(text):
        path = found[1]
        start = str(here / path) if path.startswith(".") else f"src/{path[2:]}"
        stem = re.sub(r"\.(?:js|mjs|cjs|jsx)$", "", start)
        yield [start, *(stem + ending for ending in _JS_ENDINGS), *(f"{start}/index{end}" for end in _JS_ENDINGS)]


def _go(text: str, name: str, here: PurePosixPath, root: Path) -> _Candidates:
    try:
        module = _GO_MODULE.search((root / "go.mod").read_text("utf-8", "replace")[:10_000])
    except OSError:
        module = None
    for found in _GO.finditer(text):
        if module is not None and found[1].startswith(module[1] + "/"):
            for file in _go_files(root, found[1][len(module[1]) + 1 :]):
                yield [file]
    for file in _go_files(root, str(here)):  # the package it is of
        yield [file]


def _go_files(root: Path, folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(root / folder))
    except (OSError, ValueError):
        return []
    return [f"{folder}/{each}" for each in names if each.endswith(".go") and not each.endswith("_test.go")][:_GO_FILES]


def _rust(text: str, name: str, here: PurePosixPath, root: Path) -> _Candidates:
    own = here if PurePosixPath(name).stem in ("mod", "lib", "main") else here / PurePosixPath(name).stem
    for found in _RUST_MOD.finditer(text):
        yield [f"{folder}/{found[1]}{end}" for folder in (own, here) for end in (".rs", "/mod.rs")]
    source = next((folder for folder in (here, *here.parents) if folder.name == "src"), PurePosixPath("src"))
    for found in _RUST_USE.finditer(text):
        start = {"crate": source, "self": own, "super": own.parent}[found[1]]
        parts = found[2].strip(":").split("::")
        yield [
            f"{PurePosixPath(start, *parts[:count])}{end}"
            for count in range(len(parts), 0, -1)
            for end in (".rs", "/mod.rs")
        ]


def _c(text: str, name: str, here: PurePosixPath, root: Path) -> _Candidates:
    for found in _C.finditer(text):
        yield [f"{folder}/{found[1]}" for folder in (here, ".", "include", "src")]
    stem = PurePosixPath(name).stem
    yield [f"{folder}/{stem}{end}" for folder in (here, "include") for end in (".h", ".hpp")]
