"""An edit from its instruction to its result, with a made-up model: nothing is lost, whatever it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lacli.editing.applying import applied
from lacli.editing.edit import Edit, Interrupted, Outcome
from lacli.editing.question import Question
from lacli.editing.source import parts_of
from lacli.edits.checks.fault import Fault
from lacli.edits.find.find import Part
from lacli.edits.reply.placing import dedented
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Finished, ReplyStats
from tests.edits.edit_cases import CASES, Case
from tests.edits.harm import harm
from tests.edits.misbehaving import MISBEHAVIOURS, Misbehaviour, fenced

STACK = '''import os


class Stack:
    """A pile."""

    def __init__(self):
        self.items = []

    def push(self, item):
        """Put one on top."""
        self.items.append(item)  # the newest last

    def pop(self):
        return self.items.pop()


def main():
    print(Stack(), os.sep)
'''


def of(text: str, name: str = "a.py") -> TextFile:
    return TextFile.of_bytes(text.encode(), name)


def answering(
    *replies: str, reason: str = "stop", asked: list[Question] | None = None
) -> Callable[[Question], Finished]:
    """A model with these replies, the last one again and again."""
    left = list(replies)

    def ask(question: Question) -> Finished:
        if asked is not None:
            asked.append(question)
        text = left.pop(0) if len(left) > 1 else left[0]
        return Finished(text, (1,), reason, ReplyStats(predicted_n=7, finish_reason=reason))

    return ask


def edit(
    instruction: str, *replies: str, text: str = STACK, asked: list[Question] | None = None
) -> tuple[str, Outcome]:
    made = Edit(of(text), instruction, "a.py")
    outcome = made.run(answering(*replies, asked=asked))
    return outcome.result.data.decode(), outcome


def block(text: str) -> str:
    return f"```python\n{text}```\n"


class TestParts:
    def test_only_the_method_is_asked_for_and_changed(self) -> None:
        asked: list[Question] = []
        new = "def pop(self):\n    return self.items.pop() if self.items else None\n"
        made, outcome = edit("let pop return None if there are no items", block(new), asked=asked)
        assert asked[0].part == "def pop(self):\n    return self.items.pop()\n"
        assert asked[0].begun == "```python\n"
        assert made == STACK.replace("self.items.pop()\n", "self.items.pop() if self.items else None\n")
        assert not outcome.result.problems

    def test_what_is_around_it_is_shown_in_outline(self) -> None:
        asked: list[Question] = []
        edit("let pop return 1", block("def pop(self):\n    return 1\n"), asked=asked)
        shown = asked[0].messages[0].attachments[0].text
        assert "class Stack:\n" in shown
        assert "self.items = []" in shown
        assert "append" not in shown

    def test_a_new_method_is_asked_for_alone_and_put_into_its_class(self) -> None:
        asked: list[Question] = []
        made, _ = edit(
            "add a method peek to Stack that returns the last item",
            "):\n    return self.items[-1]\n```\n",
            asked=asked,
        )
        assert asked[0].form == "insert"
        assert asked[0].begun == "```python\ndef peek(self"
        assert (
            "        return self.items.pop()\n\n    def peek(self):\n        return self.items[-1]\n\n\ndef main"
            in made
        )

    def test_an_import_the_reply_brings_goes_to_the_top(self) -> None:
        made, _ = edit(
            "let main print json.dumps of 1", block("import json\n\ndef main():\n    print(json.dumps(1), os.sep)\n")
        )
        assert made.startswith("import os\nimport json\n\n\nclass Stack")

    def test_both_of_two_named_methods_are_asked_for(self) -> None:
        asked: list[Question] = []
        made, _ = edit(
            "make push and pop return self.items",
            block(
                'def push(self, item):\n    """Put one on top."""\n    self.items.append(item)  # the newest last\n'
                "    return self.items\n"
            ),
            block("def pop(self):\n    self.items.pop()\n    return self.items\n"),
            asked=asked,
        )
        assert [question.part.split("(")[0] for question in asked] == ["def push", "def pop"]
        assert made.count("return self.items\n") == 2

    def test_of_a_part_that_is_too_long_the_changes_are_asked_for(self) -> None:
        text = "def long():\n" + "".join(f"    x{n} = {n}\n" for n in range(200))
        asked: list[Question] = []
        reply = "<<<<<<< SEARCH\n    x7 = 7\n=======\n    x7 = 8\n>>>>>>> REPLACE\n"
        made, _ = edit("let long set x7 to 8", reply, text=text, asked=asked)
        assert asked[0].form == "search"
        assert made == text.replace("x7 = 7\n", "x7 = 8\n")

    def test_lines_the_user_names_are_the_part(self) -> None:
        file = of(STACK)
        parts = parts_of(file, [(17, 19)], ["Stack.pop"])
        assert [(part.start, part.end, part.kind) for part in parts] == [(13, 15, "definition"), (16, 19, "lines")]
        with pytest.raises(UsageError, match="overlap"):
            parts_of(file, [(14, 14)], ["pop"])
        with pytest.raises(UsageError, match="does not define peek"):
            parts_of(file, [], ["peek"])

    def test_something_new_and_the_list_it_is_entered_in(self) -> None:
        text = '__all__ = ["f"]\n\n\ndef f():\n    return 1\n'
        instruction = "Add a function g() that returns 2, and add its name to __all__."
        asked: list[Question] = []
        new, listed = block("def g():\n    return 2\n\n__all__ += ['g']\n"), block('__all__ = ["f", "g"]\n')
        made, outcome = edit(instruction, new, listed, text=text, asked=asked)
        assert [question.form for question in asked] == ["insert", "rewrite"]
        assert asked[1].part == '__all__ = ["f"]\n'
        assert made == '__all__ = ["f", "g"]\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n'
        assert not outcome.result.problems
        _, outcome = edit(instruction, new, *[block('__all__ = ["f"]\n')] * 3, text=text)
        assert [problem.text for problem in outcome.result.problems] == ["`__all__` is not changed"]

    def test_one_of_two_named_parts_left_as_it_was_is_a_failure(self) -> None:
        same = block(
            'def push(self, item):\n    """Put one on top."""\n    self.items.append(item)  # the newest last\n'
        )
        _, outcome = edit(
            "make push and pop return self.items",
            *[same] * 3,
            block("def pop(self):\n    self.items.pop()\n    return self.items\n"),
        )
        assert [problem.text for problem in outcome.result.problems] == ["`Stack.push` is not changed"]

    def test_an_instruction_that_names_nothing_of_a_long_file_asks_no_model(self) -> None:
        text = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(20))
        outcome = Edit(of(text), "make it faster", "a.py").without_model()
        assert outcome is not None
        assert "names none of its parts" in outcome.result.problems[0].text
        assert Edit(of(text), "make f3 faster", "a.py").without_model() is None
        assert Edit(of(text[:200]), "make it faster", "a.py").without_model() is None
        parts = parts_of(of(text), [(1, 80)], [])
        assert Edit(of(text), "make it faster", "a.py", parts).without_model() is None

    def test_of_a_long_file_without_a_sure_part_the_changes_alone_are_asked_for(self) -> None:
        text = "".join(f"line {n}\n" for n in range(80))
        assert Edit(TextFile.of_bytes(text.encode(), "a.txt"), "say more", "a.txt").questions()[0].form == "search"
        assert (
            Edit(TextFile.of_bytes(text[:300].encode(), "a.txt"), "say more", "a.txt").questions()[0].form == "rewrite"
        )


class TestTries:
    def test_a_fault_is_named_and_the_part_asked_for_again(self) -> None:
        asked: list[Question] = []
        made, outcome = edit(
            "let pop raise a ValueError if empty",
            "I would write raise.",
            block("def pop(self):\n    if not self.items:\n        raise ValueError\n    return self.items.pop()\n"),
            asked=asked,
        )
        assert "raise ValueError" in made
        assert [each.faults for each in outcome.tries] == [("the reply is unfinished",), ()]
        assert "- the reply is unfinished" in asked[1].messages[-1].text
        assert asked[1].begun == "```python\ndef pop"
        assert asked[1].messages[:1] == asked[0].messages[:1]

    def test_orders_are_for_the_model_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        wrong = Fault("changed", "`push` is changed", "leave it as it was")
        monkeypatch.setattr("lacli.editing.edit.faults", lambda *_: (wrong,))
        asked: list[Question] = []
        _, outcome = edit("let pop return 1", block("def pop(self):\n    return 1\n"), asked=asked)
        assert "- `push` is changed: leave it as it was\n" in asked[1].messages[-1].text
        assert outcome.tries[0].faults == ("`push` is changed",)
        assert [each.text for each in outcome.result.problems] == ["`push` is changed"]

    def test_what_is_spelt_out_has_to_be_there(self) -> None:
        _, outcome = edit("let pop raise an EmptyStack", block("def pop(self):\n    return None\n"))
        found = [problem.text for problem in outcome.result.problems]
        assert "`EmptyStack`, which was asked for, is not in it" in found

    def test_after_three_tries_it_is_refused_with_the_best_kept(self) -> None:
        asked: list[Question] = []
        _, outcome = edit("let pop return 1", block("def pop(self):\n    return (\n"), asked=asked)
        assert [question.form for question in asked] == ["rewrite", "rewrite", "search"]
        assert outcome.result.problems

    def test_what_was_lost_by_the_way_is_put_back(self) -> None:
        made, outcome = edit(
            "let push return the item", block("def push(self, item):\n    self.items.append(item)\n    return item\n")
        )
        assert (
            '        """Put one on top."""\n        self.items.append(item)  # the newest last\n        return item\n'
            in made
        )
        assert outcome.result.notes

    def test_a_cancelled_reply_ends_it(self) -> None:
        with pytest.raises(Interrupted):
            Edit(of(STACK), "let pop return 1", "a.py").run(answering("```python\n", reason="cancelled"))

    def test_it_tells_its_story(self) -> None:
        _, outcome = edit("let pop return 1", block("def pop(self):\n    return 1\n"))
        assert list(outcome.story()) == ["the instruction names `pop`", "try 1, Stack.pop, rewrite: sound"]


class TestWithoutModel:
    def test_a_class_loses_its_only_method(self) -> None:
        text = STACK + "\n\nclass One:\n    def only(self):\n        return 1\n"
        outcome = Edit(of(text), "remove the method only from One", "a.py").without_model()
        assert outcome is not None
        assert not outcome.result.problems
        assert outcome.result.data.decode() == STACK + "\n\nclass One:\n    pass\n"

    def test_a_removal_beside_another_request_is_made_by_the_tree(self) -> None:
        asked: list[Question] = []
        new = "def push(self, item):\n    self.items.append(item)\n    return self\n"
        made, outcome = edit("remove pop and let push return self", block(new), asked=asked)
        assert len(asked) == 1
        assert "def pop" not in made
        assert "        return self\n\n\ndef main" in made
        assert not outcome.result.problems
        assert "removed `Stack.pop`" in outcome.result.notes
        renamed = Edit(of(STACK), "rename push to put and remove pop", "a.py").without_model()
        assert renamed is not None
        assert "def put(self, item)" in renamed.result.data.decode()
        assert "def pop" not in renamed.result.data.decode()

    def test_a_removal_that_the_tree_cannot_make_is_not_forgotten(self) -> None:
        twice = STACK + "\n\nclass Queue:\n    def pop(self):\n        return 1\n"
        _, outcome = edit(
            "add a function size and remove pop", block(twice + "\n\ndef size():\n    return 0\n"), text=twice
        )
        assert any("`pop`, which was to be removed, is still there" in each.text for each in outcome.result.problems)

    def test_a_rename_a_removal_and_a_move_ask_nothing(self) -> None:
        for instruction in ("rename push to put", "remove the method pop", "move main above Stack"):
            outcome = Edit(of(STACK), instruction, "a.py").without_model()
            assert outcome is not None
            assert not outcome.result.problems
            assert outcome.result.diff
        assert Edit(of(STACK), "rename push to put and return it", "a.py").without_model() is None


class TestForms:
    @pytest.mark.parametrize(
        "reply",
        [
            "```diff\n--- a.py\n+++ a.py\n@@ -14,2 +14,2 @@\n def pop(self):\n"
            "-    return self.items.pop()\n+    return 1\n```\n",
            "<<<<<<< SEARCH\n    return self.items.pop()\n=======\n    return 1\n>>>>>>> REPLACE\n",
            block("14: def pop(self):\n15:     # one\n16:     return 1\n").replace("15:     # one\n", "15: \n"),
            block("class Stack:\n    def pop(self):\n        return 1\n"),
            f"Sure!\n\n{block('def pop(self):' + chr(10) + '    return 1' + chr(10))}\nI changed it.\n",
        ],
    )
    def test_whatever_form_the_answer_has_it_is_taken_as_what_it_is(self, reply: str) -> None:
        made, outcome = edit("let pop return 1", reply)
        assert not outcome.result.problems
        assert made.replace("\n\n        return 1", "\n        return 1") == STACK.replace("self.items.pop()\n", "1\n")


def cases(misbehaviour: Misbehaviour) -> Sequence[Case]:
    """Two of the files for each, all of them used."""
    at = MISBEHAVIOURS.index(misbehaviour)
    return [CASES[at % len(CASES)], CASES[(at * 5 + 7) % len(CASES)]]


@pytest.mark.parametrize("misbehaviour", MISBEHAVIOURS, ids=lambda each: each.__name__)
@pytest.mark.default_cases(1)
def test_no_misbehaviour_does_harm(misbehaviour: Misbehaviour) -> None:
    for case in cases(misbehaviour):
        start, end = case.span
        kind = "definition" if case.part else "file"
        file = of(case.before, Path(case.file).name)
        part = Part(start, end, case.part, kind)  # type: ignore[arg-type]
        made = Edit(file, case.intent.text, file.name, (part,))
        reply = misbehaviour(dedented(case.part_of(case.after)), case.language)
        outcome = made.run(answering(reply))
        after = file.reads(outcome.result.data)
        if not outcome.result.problems:
            assert not harm(case.before, after, case.language, case.allowed), case.file


def test_a_model_that_behaves_is_taken_at_its_word() -> None:
    for case in CASES:
        start, end = case.span
        file = of(case.before, Path(case.file).name)
        part = Part(start, end, case.part, "definition" if case.part else "file")
        outcome = Edit(file, case.intent.text, file.name, (part,)).run(
            answering(fenced(dedented(case.part_of(case.after)), case.language))
        )
        assert not outcome.result.problems, (case.file, outcome.result.problems)
        assert file.reads(outcome.result.data) == case.after


class TestApplied:
    """What /apply and the terminal UI make of an answer."""

    def test_a_block_of_one_function_replaces_that_one(self) -> None:
        result = applied(of(STACK), block("def main():\n    print(1, os.sep)\n"), "print 1")
        assert result.data.decode() == STACK.replace("Stack(), os", "1, os")

    def test_a_method_given_alone_goes_into_its_class(self) -> None:
        result = applied(of(STACK), block("def pop(self):\n    return 1\n"), "shorten pop")
        assert result.data.decode() == STACK.replace("self.items.pop()\n", "1\n")

    def test_a_new_function_is_added(self) -> None:
        result = applied(of(STACK), block("def other():\n    return 2\n"), "write other")
        assert result.data.decode() == STACK + "\n\ndef other():\n    return 2\n"

    def test_a_diff_is_applied(self) -> None:
        reply = "```diff\n-    print(Stack(), os.sep)\n+    print(os.sep)\n```\n"
        assert applied(of(STACK), reply, "no stack").data.decode() == STACK.replace("Stack(), ", "")

    def test_marks_that_do_not_fit_are_refused(self) -> None:
        reply = block("<<<<<<< SEARCH\nnowhere\n=======\nx\n>>>>>>> REPLACE\n")
        result = applied(of(STACK), reply, "x")
        assert result.data.decode() == STACK
        assert result.problems[0].final


def test_how_long_a_part_a_model_writes_again_is_its_own_number() -> None:
    from lacli.models.registry.registry import load_registry

    registry = load_registry()
    assert registry.resolve("smollm2-135m").edit_lines < registry.resolve("qwen2.5-coder-1.5b").edit_lines
    for longest, form in ((2, "rewrite"), (1, "search")):
        question = Edit(of(STACK), "let pop return 1", "a.py", longest=longest).questions()[0]
        assert question.form == form
