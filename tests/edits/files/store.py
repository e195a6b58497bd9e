"""A small store of notes in a JSON file."""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_NAME = "notes.json"
MAX_TITLE = 80
_WORD = re.compile(r"\w+")


class StoreError(Exception):
    """Something is wrong with the file."""


@dataclass
class Note:
    """One note."""

    title: str
    body: str = ""
    tags: list[str] = field(default_factory=list)

    def matches(self, query):
        words = _WORD.findall(query.lower())
        return all(word in self.body.lower() for word in words)


class Store:
    """All notes of a folder."""

    def __init__(self, folder, name=DEFAULT_NAME):
        self.path = Path(folder) / name
        self.notes = []
        self.dirty = False

    def load(self, strict=False):
        # an old file has no version
        try:
            data = json.loads(self.path.read_text())
        except FileNotFoundError:
            return
        for item in data["notes"]:
            self.notes.append(Note(**item))

    def save(self):
        text = "%s" % json.dumps([vars(note) for note in self.notes])  # noqa: UP031
        self.path.write_text(text)
        self.dirty = False

    def add(self, note):
        self.notes.append(note)
        self.dirty = True

    def find(self, query, limit=10):
        found = [note for note in self.notes if note.matches(query)]
        return found[:limit]


class MemoryStore(Store):
    """Keeps nothing on disk."""

    def load(self, strict=False):
        pass

    def save(self):
        self.dirty = False


def clean(title, width=MAX_TITLE):
    title = " ".join(title.split())
    return title[:width]


def export(store, path, sep=","):
    with open(path, "w") as out:
        for note in store.find("", limit=None):
            out.write(sep.join([clean(note.title), note.body]) + "\n")


def main(argv):
    store = Store(os.getcwd())
    store.load()
    export(store, argv[1])
    return 0


if __name__ == "__main__":
    raise SystemExit(main([]))
