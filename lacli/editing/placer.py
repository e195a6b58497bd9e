"""The answer of a model put into the place of the part that it was asked for. Prints nothing and writes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.editing.context import lines_of
from lacli.editing.question import Form
from lacli.editing.source import Source
from lacli.edits.checks.checks import Fault
from lacli.edits.find.find import Part, Picked
from lacli.edits.find.intent import Intent
from lacli.edits.reply.answer import Given, Unusable, fitted, given, insertions
from lacli.edits.reply.placing import dedented, in_place_of, inserted, with_imports
from lacli.edits.reply.reaching import inside, reaches_out
from lacli.edits.tree.outline import outline

REMOVES = re.compile(r"\b(?:remov|delet|drop|clear|empt|strip)\w*", re.IGNORECASE)
"""How an instruction asks for less."""
_BEYOND = "the reply goes beyond the lines given; what is around them stays as it is"


@dataclass(slots=True)
class Made:
    """What came of one part."""

    text: str
    """The whole file with it."""
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placer:
    """Puts answers into one file."""

    source: Source
    intent: Intent
    picked: Picked

    def placed(self, part: Part, text: str, reply: str, form: Form, ended: bool) -> Made:
        """The file with what a reply gives for a part in its place."""
        now = outline(text, self.source.language)
        if form == "insert":
            made = self._given(reply, "", ended)
            if now is not None:
                made = insertions(made, self.picked.into, now, self.source.language)
                new = inserted(text, now, self.picked.into, self.picked.after, made.text)
            else:
                new = text.rstrip("\n") + "\n\n" + made.text
            return Made(with_imports(new, self.source.language, made.imports), (), made.notes)
        lines = text.split("\n")
        old = lines_of(lines, part)
        shown = dedented(old)
        made = self._given(reply, shown, ended)
        if old.strip() and not made.text.strip() and not REMOVES.search(self.intent.text):
            raise Unusable("the reply's code block is empty")
        if now is not None and part.kind == "definition":
            container = next((each.path[:-1] for each in now.definitions if each.label == part.label), ())
            made = fitted(made, self.names(part), container, shown, now, self.source.language)
        alone = part.start == 0 and part.end >= len(lines) - 1
        if not alone:
            made = self._within(part, lines, made)
        body = in_place_of(old, made.text, alone)
        new = "".join(line + "\n" for line in lines[: part.start]) + body + "\n".join(lines[part.end :])
        if part.end >= len(lines) and not text.endswith("\n"):
            new = new.removesuffix("\n")
        return Made(with_imports(new, self.source.language, made.imports), (), made.notes)

    def _given(self, reply: str, part: str, ended: bool) -> Given:
        made = given(reply, part, ended)
        return replace(made, text=self.source.shown(made.text))

    def _within(self, part: Part, lines: Sequence[str], made: Given) -> Given:
        """What a reply gives for a part, without what it gives for the lines around it. Raises Unusable."""
        before, behind = (
            "".join(line + "\n" for line in around) for around in (lines[: part.start], lines[part.end :])
        )
        old = "".join(line + "\n" for line in lines[part.start : part.end])
        if not reaches_out(old, before + behind, made.text):
            return made
        text = inside(before, old, behind, made.text)
        if text is None:
            raise Unusable(f"the reply rewrites more than lines {part.start + 1} to {part.end}")
        return replace(made, text=text, notes=(*made.notes, _BEYOND))

    def names(self, part: Part) -> list[str]:
        """What the definition that a part is may be called afterwards."""
        name = part.label.rpartition(".")[2]
        return [name, *(new for old, new in self.intent.renames if old == name)]
