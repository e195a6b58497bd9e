#!/usr/bin/env python3
"""Writes a table of contents into Markdown files, between two markers, and checks links to headings."""

from __future__ import annotations

import argparse
import re
import sys
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

BEGIN = "<!-- toc -->"
END = "<!-- /toc -->"
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")


@dataclass
class Heading:
    level: int
    title: str
    slug: str
    line: int
    children: list["Heading"] = field(default_factory=list)

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


class Slugs:
    """Anchors as the common hosts make them, numbered where they repeat."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    def make(self, title: str) -> str:
        plain = LINK.sub(r"\1", title)
        plain = unicodedata.normalize("NFC", plain).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        count = self.seen.get(slug, 0)
        self.seen[slug] = count + 1
        return f"{slug}-{count}" if count else slug


def headings(text: str) -> list[Heading]:
    """All headings of a document in order; those in code fences are none."""
    found: list[Heading] = []
    slugs = Slugs()
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        heading = HEADING.match(line)
        if heading:
            title = heading[2]
            found.append(Heading(len(heading[1]), title, slugs.make(title), number))
    return found


def tree(flat: list[Heading]) -> list[Heading]:
    """Headings below those they belong to."""
    roots: list[Heading] = []
    path: list[Heading] = []
    for heading in flat:
        while path and path[-1].level >= heading.level:
            path.pop()
        if path:
            path[-1].children.append(heading)
        else:
            roots.append(heading)
        path.append(heading)
    return roots


def contents(roots: list[Heading], least: int = 2, most: int = 3) -> list[str]:
    lines: list[str] = []

    def add(heading: Heading, depth: int) -> None:
        inside = least <= heading.level <= most
        if inside:
            title = LINK.sub(r"\1", heading.title)
            lines.append(f"{'  ' * depth}- [{title}](#{heading.slug})")
        for child in heading.children:
            add(child, depth + inside)

    for root in roots:
        add(root, 0)
    return lines


def replaced(text: str, lines: list[str]) -> str:
    """The document with these lines between its markers."""
    before, begin, rest = text.partition(BEGIN)
    if not begin:
        raise ValueError(f"there is no {BEGIN}")
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"there is no {END} after {BEGIN}")
    body = "\n".join(lines)
    return f"{before}{BEGIN}\n{body}\n{END}{after}"


def broken_links(text: str) -> list[tuple[int, str]]:
    """Lines and targets of links to headings that do not exist."""
    known = {heading.slug for heading in headings(text)}
    broken = []
    for number, line in enumerate(text.splitlines(), start=1):
        for _, target in LINK.findall(line):
            if target.startswith("#") and target[1:] not in known:
                broken.append((number, target))
    return broken


def process(path: Path, check: bool) -> int:
    text = path.read_text(encoding="utf-8")
    try:
        wanted = replaced(text, contents(tree(headings(text))))
    except ValueError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 2
    problems = broken_links(wanted)
    for number, target in problems:
        print(f"{path}:{number}: no heading for {target}", file=sys.stderr)
    if wanted != text:
        if check:
            print(f"{path}: the table of contents is stale", file=sys.stderr)
            return 1
        path.write_text(wanted, encoding="utf-8")
        print(f"{path}: written")
    return 1 if problems else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="change nothing, fail where something would change")
    options = parser.parse_args(arguments)
    return max(process(path, options.check) for path in options.files)


if __name__ == "__main__":
    sys.exit(main())
