"""Twelve files in seven languages, each with an edit asked of it: what misbehaving models are tried on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lacli.edits.find.intent import Intent
from lacli.edits.tree.outline import outline

_ROOT = Path(__file__).parents[2]
_SOURCES = "tests/data/sources"


@dataclass(frozen=True)
class Case:
    """An edit, with what a model that behaves makes of it."""

    file: str
    language: str
    part: str
    """The label of the definition that is picked; the whole file where it is empty."""
    intent: Intent
    allowed: tuple[tuple[str, ...], ...]
    """The paths of the definitions that may be changed or come."""
    old: str
    new: str
    """What stands in the file, and what is to stand there instead."""

    @property
    def before(self) -> str:
        """The file."""
        return (_ROOT / self.file).read_text("utf-8")

    @property
    def after(self) -> str:
        """The file with the edit made."""
        assert self.old in self.before
        return self.before.replace(self.old, self.new)

    @property
    def span(self) -> tuple[int, int]:
        """The lines of the part."""
        lines = self.before.count("\n")
        if not self.part:
            return 0, lines
        found = outline(self.before, self.language)
        assert found is not None
        return next((each.start, each.end) for each in found.definitions if each.label == self.part)

    def part_of(self, text: str) -> str:
        """The part in the file, or in one that differs from it in the part alone."""
        start, end = self.span
        lines = text.split("\n")
        behind = self.before.count("\n") + 1 - end
        return "\n".join(lines[start : len(lines) - behind]) + "\n"

    def with_part(self, part: str) -> str:
        """The file with another part in it."""
        start, end = self.span
        lines = self.before.split("\n")
        return "\n".join([*lines[:start], *part.removesuffix("\n").split("\n"), *lines[end:]])


def _intent(text: str, names: str, adds: str = "", renames: tuple[tuple[str, str], ...] = ()) -> Intent:
    return Intent(text, frozenset(names.split()), renames, adds=frozenset(adds.split()))


CASES = (
    Case(
        f"{_SOURCES}/ledger.py",
        "python",
        "Ledger",
        _intent("raise a LedgerError in close_account if name is empty", "LedgerError close_account name"),
        (("Ledger", "close_account"),),
        "        account = self._account(name)\n        if self.balance",
        '        if not name:\n            raise LedgerError("no name")\n        account = self._account(name)\n'
        "        if self.balance",
    ),
    Case(
        f"{_SOURCES}/http_cache.py",
        "python",
        "",
        _intent("add a method is_stale to Entry that is the opposite of is_fresh", "Entry is_fresh", "is_stale"),
        (("Entry", "is_fresh"), ("Entry", "is_stale")),
        "    def validators(self):\n",
        "    def is_stale(self, now):\n        return not self.is_fresh(now)\n\n    def validators(self):\n",
    ),
    Case(
        f"{_SOURCES}/scheduler.py",
        "python",
        "Backoff",
        _intent("make the default of most in Backoff.__init__ 60.0", "most Backoff.__init__ __init__"),
        (("Backoff", "__init__"),),
        "most=30.0",
        "most=60.0",
    ),
    Case(
        f"{_SOURCES}/geometry.py",
        "python",
        "",
        _intent("add a docstring to contains of Box", "Box Box.contains"),
        (("Box", "contains"),),
        "        return self.left <= point.x",
        '        """Whether a point lies in the box, its border included."""\n        return self.left <= point.x',
    ),
    Case(
        f"{_SOURCES}/event_store.js",
        "javascript",
        "",
        _intent("rename readAll to readEverything", "readAll", "", (("readAll", "readEverything"),)),
        (("EventStore", "readAll"), ("EventStore", "readEverything"), ("Projection",)),
        "readAll(",
        "readEverything(",
    ),
    Case(
        f"{_SOURCES}/rate_limiter.js",
        "javascript",
        "",
        _intent("let take of SlidingWindow count the calls it refused", "SlidingWindow SlidingWindow.take"),
        (("SlidingWindow", "take"),),
        "    if (this.stamps.length >= this.limit) {\n",
        "    if (this.stamps.length >= this.limit) {\n      this.refused = (this.refused ?? 0) + 1;\n",
    ),
    Case(
        f"{_SOURCES}/lru.go",
        "go",
        "",
        _intent("make HitRate return 1 where nothing was looked up", "HitRate"),
        (("Stats", "HitRate"),),
        "\tif total == 0 {\n\t\treturn 0\n",
        "\tif total == 0 {\n\t\treturn 1\n",
    ),
    Case(
        f"{_SOURCES}/router.go",
        "go",
        "",
        _intent("add a method Put to Router", "Router", "Put"),
        (("Router", "Put"),),
        "func (r *Router) find(",
        "// Put registers a handler for PUT.\n"
        "func (r *Router) Put(pattern string, handler Handler) { r.Handle(http.MethodPut, pattern, handler) }\n\n"
        "func (r *Router) find(",
    ),
    Case(
        f"{_SOURCES}/token_bucket.rs",
        "rust",
        "",
        _intent("let Limit.full take half of the capacity", "Limit.full full Limit"),
        (("Limit", "full"),),
        "Bucket { tokens: self.capacity, updated: now }",
        "Bucket { tokens: self.capacity / 2.0, updated: now }",
    ),
    Case(
        "lacli/kernels/src/threads.c",
        "c",
        "",
        _intent("make LACLI_MOST_SPIN 32000", "LACLI_MOST_SPIN"),
        (("LACLI_MOST_SPIN",),),
        "#define LACLI_MOST_SPIN 64000",
        "#define LACLI_MOST_SPIN 32000",
    ),
    Case(
        "models.toml",
        "toml",
        "",
        _intent("make smollm2-360m the default", "default"),
        (("default",),),
        'default = "smollm2-135m"',
        'default = "smollm2-360m"',
    ),
    Case(
        "README.md",
        "markdown",
        "",
        _intent("say under Privacy that nothing is sent anywhere", "Privacy"),
        (("lacli", "Privacy"),),
        "Everything runs on your machine; the",
        "Everything runs on your machine, and nothing is sent anywhere; the",
    ),
)
