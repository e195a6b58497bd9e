"""An answer of a chat put into a file, for /apply and the terminal UI: checked and mended as an edit is."""

from __future__ import annotations

from dataclasses import replace

from lacli.editing.source import Source
from lacli.edits.checks.checks import faults
from lacli.edits.find.reading import intent_of
from lacli.edits.mend.mend import mended
from lacli.edits.reply.answer import Unusable, as_block, given
from lacli.edits.reply.merging import merged
from lacli.edits.reply.placing import in_place_of
from lacli.edits.tree.outline import outline
from lacli.edits.write.apply import EditResult, Problem
from lacli.edits.write.diff import target_of, unified
from lacli.edits.write.textfile import TextFile


def applied(file: TextFile, reply: str, instruction: str, ended: bool = True, code: str | None = None) -> EditResult:
    """What an answer of a chat makes of a file, or one block of it, `code`: checked and mended as an edit is.

    A block of some of the file's definitions replaces these; a diff or SEARCH/REPLACE blocks are applied as such.
    """
    source = Source(file)
    text, language = source.text, source.language
    known = outline(text, language)
    intent = intent_of(instruction, text, known)
    try:
        made = given(reply if code is None else as_block(code), text, ended)
        made = replace(made, text=source.shown(made.text))
    except Unusable as error:
        return EditResult(file.data, b"", (Problem(str(error), final=True),))
    notes: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ((0, text.count("\n") + 1),)
    piece = merged(text, made.text, known)
    if piece is not None:
        intent = replace(intent, names=intent.names | set(piece.names))
        new, spans, notes = piece.text, piece.spans, (f"only {', '.join(piece.names)} is put into the file",)
    else:
        new = in_place_of(text, made.text, alone=True)
    whole, mends = mended(text, new, language, intent, spans)
    if whole == text:  # mended until nothing is left of it: shown as it is, for the user to judge
        mends = ()
    else:
        new = whole
    found = faults(text, new, language, intent, spans)
    data = source.changed(new) if new != text else file.data
    problems = tuple(Problem(fault.text, final=False) for fault in found)
    return EditResult(data, unified(file.data, data, target_of(file.name)), problems, (*notes, *mends), made.text)
