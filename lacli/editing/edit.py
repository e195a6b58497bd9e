"""An edit of one file from its instruction to its result: find the part, ask for it, check, mend, ask again.

Prints nothing and writes nothing. The model is behind a callable, so that `edit`, the bench and the tests share all of
it. What is not picked cannot change; a result in which something is missing is never given out as sound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lacli.editing import opening as edit_opening
from lacli.editing.by_tree import by_its_tree, notes_of, with_deletions
from lacli.editing.context import context_of, lines_of
from lacli.editing.placer import REMOVES, Made, Placer
from lacli.editing.question import Form, Question
from lacli.editing.replies import given_up
from lacli.editing.source import Source
from lacli.edits.checks.checks import Fault, faults
from lacli.edits.direct.surgery import deletable
from lacli.edits.find.find import Part, Picked, find
from lacli.edits.find.intent import Intent
from lacli.edits.find.reading import intent_of
from lacli.edits.mend.mend import mended
from lacli.edits.reply.answer import Unusable
from lacli.edits.reply.placing import dedented
from lacli.edits.tree.outline import Outline, defined_names, outline
from lacli.edits.tree.pieces import pieces
from lacli.edits.tree.syntax import is_sound
from lacli.edits.write.apply import EditResult, Problem
from lacli.edits.write.diff import target_of, unified
from lacli.edits.write.splice import visible
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Attachment, Finished, Message
from lacli.models.spec import EDIT_LINES
from lacli.prompts import editing
from lacli.shared.wording import counted
from lacli.text.fences import longer_than_any

_TRIES = 3
_MOST_UNSURE = 60
"""Lines of a file that is rewritten as a whole, where the instruction does not surely name a part of it."""
_OF_BLANKS = re.compile(
    r"\b(?:blank|empty|white ?space|spac\w*|indent\w*|tabs?|format\w*|new ?lines?|lines?|wrap\w*|trailing|align\w*)\b",
    re.IGNORECASE,
)
"""How an instruction speaks of how a text is set."""
_UNCHANGED = Fault("asked", "nothing is changed yet")


@dataclass(frozen=True, slots=True)
class Try:
    """One answer and what was found of it."""

    label: str
    form: Form
    faults: tuple[str, ...]
    finished: Finished
    reply: str
    """All of it, with what it was begun with."""
    taken: bool = False
    """Whether the result holds it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an edit came to."""

    result: EditResult
    picked: Picked
    tries: tuple[Try, ...]

    def replies(self, force: bool = False) -> list[Finished]:
        """The answers in order, given up where nothing of them is used. `force`: what is wrong with the result is put
        up with."""
        is_refused = any(problem.final or not force for problem in self.result.problems)
        return [each.finished if each.taken and not is_refused else given_up(each.finished) for each in self.tries]

    def story(self) -> Iterator[str]:
        """Part, form and tries, line by line, for whoever asks why."""
        yield self.picked.why
        for number, each in enumerate(self.tries, 1):
            verdict = "; ".join(each.faults) or "sound"
            yield f"try {number}, {each.label}, {each.form}: {verdict}"


class Interrupted(Exception):
    """A reply was cancelled or timed out; nothing comes of the edit."""

    def __init__(self, finished: Finished) -> None:
        super().__init__()
        self.finished = finished


Ask = Callable[[Question], Finished]


@dataclass(slots=True)
class Edit:
    """One edit of one file."""

    file: TextFile
    instruction: str
    label: str
    """What the model is told the file is called."""
    parts: tuple[Part, ...] = ()
    """What the user said is to be changed; without any the instruction tells."""
    others: tuple[Attachment, ...] = ()
    """Content that the instruction is about."""
    unseen: Collection[str] = ()
    """Characters that the model neither sees nor writes."""
    longest: int = EDIT_LINES
    """Lines of a part that the model is asked to give again; of a longer one it is asked for SEARCH/REPLACE blocks."""
    picked: Picked = field(init=False)
    _intent: Intent = field(init=False)
    _source: Source = field(init=False)
    _text: str = field(init=False)
    _language: str = field(init=False)
    _placer: Placer = field(init=False)
    _outline: Outline | None = field(init=False)
    _deletable: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        self._source = Source(self.file)
        self._text = visible(self._source.text, self.unseen)
        self._language = self._source.language
        self._outline = outline(self._text, self._language)
        self._intent = intent_of(self.instruction, self._text, self._outline)
        self._deletable = [] if self.parts or self._outline is None else deletable(self._outline, self._intent)
        if self.parts:
            self.picked = Picked(self.parts, "rewrite", None, None, "the lines you gave", True)
        else:
            self.picked = self._found()
        parts = tuple(map(self._source.begin_of, self.picked.parts))
        if not parts:  # something new at the end of the file
            end = self._text.count("\n")
            parts = (Part(end, end, self.label, "file"),)
        self.picked = replace(self.picked, parts=parts)
        self._placer = Placer(self._source, self._intent, self.picked)

    def _found(self) -> Picked:
        """What the instruction is about. Where that is not sure, all of the file: a wrong part is never taken."""
        found = find(self._text, self._outline, self._intent)
        asked = tuple(each for each in found.parts if each.label not in self._deletable)
        found = replace(found, parts=asked or found.parts)
        if found.sure or any(part.kind == "file" for part in found.parts):
            return found
        part = Part(0, self._text.count("\n") + (not self._text.endswith("\n")), "", "file")
        return Picked((part,), why=f"{found.why}, which is not sure: the whole file is the part", sure=False)

    def _is_too_vague(self) -> bool:
        """Whether the instruction names nothing of a file that is too long to be trusted to a model as a whole: no
        check could tell then what of it was not to change."""
        if self.picked.sure or self._outline is None or not self._outline.definitions:
            return False
        part = self.picked.parts[0]
        is_long = part.kind == "file" and part.end - part.start > _MOST_UNSURE
        return is_long and not (self._intent.names or self._intent.adds or self._intent.renames)

    def without(self, unseen: Collection[str]) -> Edit:
        """The same edit for a model that does not see these characters."""
        if not unseen:
            return self
        return Edit(self.file, self.instruction, self.label, self.parts, self.others, unseen, self.longest)

    def doubt(self, data: bytes) -> str:
        """What speaks against a file of some of the result's hunks: empty where nothing does."""
        text = self.file.reads(data)
        if is_sound(self.file.text, self._language) and is_sound(text, self._language) is False:
            return "with these changes alone the file does not parse"
        return ""

    def questions(self) -> list[Question]:
        """What is asked first of each part."""
        return [self._question(part, self._text) for part in (*self.picked.parts, *self.picked.beside)]

    def without_model(self) -> Outcome | None:
        """The result where no model is needed for it: a rename, say, or a refusal; else None."""
        if self._outline is None or self.parts:
            return None
        made = self._by_its_tree(self._outline)
        if made is None and self._is_too_vague():
            lines = counted(self.picked.parts[0].end, "line", "lines")
            why = f"{self.label} has {lines}, and the instruction names none of its parts"
            return Outcome(_refused(self.file, why), self.picked, ())
        return made

    def _by_its_tree(self, outline: Outline) -> Outcome | None:
        """What a rename, a removal or a move makes of it."""
        spans = [(part.start, part.end) for part in self.picked.parts]
        made = by_its_tree(self._text, outline, self._intent, spans)
        if made is None:
            return None
        found = faults(self._text, made.text, self._language, self._intent, spans)
        problems = [Fault("rename", each) for each in made.problems]
        problems += [fault for fault in found if fault.kind != "rename"]  # what stays is said in a note
        return Outcome(self._result(made.text, problems, made.notes), self.picked, ())

    def run(self, ask: Ask) -> Outcome:
        """Ask, check, mend, ask again. Raises Interrupted, and whatever `ask` raises."""
        tries: list[Try] = []
        notes: list[str] = []
        text, moved = self._text, 0
        left: tuple[Fault, ...] = ()
        same: list[Part] = []
        for part in (*self.picked.parts, *self.picked.beside):
            here = self._now(part, text, moved)
            made = self._part(here, text, ask, tries)
            if isinstance(made, str):
                return Outcome(_refused(self.file, made), self.picked, tuple(tries))
            if self._is_same(text, made.text) and self._has_to_change(part):
                same.append(part)
            moved += made.text.count("\n") - text.count("\n")
            text = made.text
            notes += made.notes
            left += made.faults
        if self._is_same(self._text, text) and not left:
            none = "nothing the model changes was asked for, and it is put back"
            why = none if notes else "the model changes nothing"
            why += f", asked {counted(len(tries), 'time', 'times')}"
            return Outcome(_refused(self.file, why), self.picked, tuple(tries))
        text = with_deletions(text, self._language, self._deletable)
        notes += notes_of(self._deletable)
        if self._are_several:
            spans = [(part.start, part.end) for part in (*self.picked.parts, *self.picked.beside)]
            text, more = mended(self._text, text, self._language, self._intent, spans)
            notes += more
            left = faults(self._text, text, self._language, self._intent, spans)
            left += tuple(Fault("asked", f"`{part.label}` is not changed") for part in same)
            left = tuple(dict.fromkeys(left))
        return Outcome(self._result(text, left, notes), self.picked, tuple(tries))

    @property
    def _are_several(self) -> bool:
        return len(self.picked.parts) + len(self.picked.beside) > 1

    def _now(self, part: Part, text: str, moved: int) -> Part:
        """Where a part is after those before it have become `moved` lines longer."""
        if part in self.picked.beside and (now := outline(text, self._language)) is not None:
            found = next((each for each in now.definitions if each.label == part.label), None)
            if found is not None:
                return replace(part, start=found.start, end=found.end)
        return replace(part, start=part.start + moved, end=part.end + moved)

    def _part(self, part: Part, text: str, ask: Ask, tries: list[Try]) -> Made | str:
        """What becomes of one part; what to say where there is nothing that could be taken."""
        question = self._question(part, text)
        best: Made | None = None
        best_at, why = 0, ""
        for attempt in range(_TRIES):
            finished = ask(question)
            if finished.reason in ("cancelled", "timeout"):
                raise Interrupted(finished)
            reply = question.whole(finished.text)
            try:
                made = self._checked(part, text, reply, question.form, finished.reason == "stop")
                found = made.faults
                if self._is_same(text, made.text) and self._has_to_change(part):
                    found = (*found, _UNCHANGED)
                if best is None or len(made.faults) < len(best.faults) or self._is_same(text, best.text):
                    best, best_at = made, len(tries)
            except Unusable as error:
                why = str(error) + _length(finished)
                found = (Fault("form", str(error)),)
            tries.append(Try(part.label, question.form, tuple(each.text for each in found), finished, reply))
            if not found:
                break
            question = self._next(part, text, question, reply, found, attempt)
        if best is None:
            return why
        tries[best_at] = replace(tries[best_at], taken=True)
        return best

    def _next(
        self, part: Part, text: str, question: Question, reply: str, found: Sequence[Fault], attempt: int
    ) -> Question:
        """What is asked after an answer in which something is wrong: the same with the fault named, at last in another
        form, as a model that copied a part twice copies it again."""
        if question.form == "rewrite" and attempt == _TRIES - 2:
            return self._asked(part, text, "search")
        said = (
            Message("assistant", reply.rstrip("\n")),
            editing.again([each.told for each in found], self._name(part), question.form),
        )
        begun = question.begun
        if question.form == "rewrite":
            now = outline(text, self._language)
            whole = now.at(part.start, part.end) if now is not None and len(self._placer.names(part)) == 1 else None
            begun = self._fence(question.part) + edit_opening.of_all(whole, question.part)
        return replace(question, messages=(*question.messages, *said), begun=begun)

    def _checked(self, part: Part, text: str, reply: str, form: Form, ended: bool) -> Made:
        """The file with what a reply gives for a part, mended where it can be. Raises Unusable."""
        made = self._placer.placed(part, text, reply, form, ended)
        spans = [(part.start, part.end)]
        new, notes = mended(text, made.text, self._language, self._intent, spans)
        whole = with_deletions(made.text if new == text else new, self._language, self._deletable)
        found = faults(text, whole, self._language, self._intent, spans)
        if self._source.notebook is not None:
            try:
                self._source.changed(new)
            except UsageError as error:  # not for the user but for the model to mend
                raise Unusable(f"{error.message}: {error.hint}") from None
        if self._are_several:  # what one part renames, the next one still calls by its old name
            found = tuple(fault for fault in found if fault.kind not in ("undefined", "rename", "asked"))
        return Made(new, found, (*made.notes, *notes))

    def _is_same(self, before: str, after: str) -> bool:
        """Whether nothing came of an answer: a change of blank lines alone is none, where they are not asked for."""
        if before == after or _OF_BLANKS.search(self.instruction):
            return before == after
        one, other = ([line.rstrip() for line in text.split("\n") if line.strip()] for text in (before, after))
        return one == other

    def _has_to_change(self, part: Part) -> bool:
        """Whether the edit is not done while this part is as it was: one that only uses a name may stay."""
        if not self._are_several:
            return True
        return not self._intent.everywhere and not self._intent.renames

    def _question(self, part: Part, text: str) -> Question:
        """The first question for a part of this text."""
        return self._asked(part, text, self._form(part))

    def _asked(self, part: Part, text: str, form: Form) -> Question:
        old = "" if form == "insert" else dedented(lines_of(text.split("\n"), part))
        shown = None if self.parts else self._outline
        context = context_of(part, text, form, self._text, shown, self.picked, self.label)
        name, others = self._name(part), self.others
        if form == "insert":
            message = editing.inserting(name, self.instruction, context=context, others=others)
            head = edit_opening.of_something_new(
                self._only_new, self.picked, self._outline, self._language, self.instruction
            )
            if self._language == "markdown":
                head = edit_opening.of_section(self._only_new, self.picked.after, self._text, self.instruction)
            return Question((message,), form, old, self._fence(self._text) + head * bool(self._only_new))
        if form == "search":
            message = editing.searching(name, old, self.instruction, context=context, others=others)
            return Question((message,), form, old, "")
        message = editing.rewriting(name, old, self.instruction, context=context, others=others)
        return Question((message,), form, old, self._fence(old))

    @property
    def _only_new(self) -> str:
        """The name of what is new, where that is one thing."""
        return next(iter(self._intent.adds)) if len(self._intent.adds) == 1 else ""

    def _fence(self, part: str) -> str:
        return f"{longer_than_any(part)}{self._language}\n"

    def _form(self, part: Part) -> Form:
        if self.picked.form == "insert" and part.label not in [each.label for each in self.picked.beside]:
            return "insert"
        unsure = part.kind == "file" and not self.picked.sure
        longest = min(self.longest, _MOST_UNSURE) if unsure else self.longest
        return "rewrite" if part.end - part.start <= longest or part.kind == "lines" else "search"

    def _name(self, part: Part) -> str:
        if part.kind == "file":
            return self.label
        if part.kind == "lines":
            return f"lines {part.start + 1}-{part.end} of {self.label}"
        return part.label.rpartition(".")[2] if part.kind == "definition" else f"{part.label} in {self.label}"

    def _result(self, text: str, left: Sequence[Fault], notes: Sequence[str]) -> EditResult:
        data = self._source.changed(text, self.unseen) if text != self._text else self.file.data
        unseen = sum(self.file.text.count(each) - self.file.reads(data).count(each) for each in self.unseen)
        problems = [Problem(fault.text, final=False) for fault in left]
        if unseen > 0 and not problems and not REMOVES.search(self.instruction):
            lost = counted(unseen, "character", "characters")
            problems.append(Problem(f"with the lines it changes the reply loses {lost} the model cannot see", False))
        diff = unified(self.file.data, data, target_of(self.file.name))
        gone = defined_names(self._text, self._language) - defined_names(text, self._language)
        every_note = dict.fromkeys((*notes, *self._still_named(gone, text)))
        return EditResult(data, diff, tuple(problems), tuple(every_note), gone=tuple(sorted(gone)))

    def _still_named(self, gone: Collection[str], text: str) -> Iterator[str]:
        """A note for each name that is no longer defined but still occurs in the file's code. It may refer to a method
        of another type, so it is no fault."""
        tokens = pieces(text, self._language).tokens() if gone else ()
        for name in sorted(gone):
            if count := tokens.count(name):
                yield f"{self.label} still has `{name}` in {counted(count, 'place', 'places')}"


def _refused(file: TextFile, why: str) -> EditResult:
    return EditResult(file.data, b"", (Problem(why, final=True),))


def _length(finished: Finished) -> str:
    return f" after {finished.stats.predicted_n} tokens" if finished.reason in ("length", "context") else ""
