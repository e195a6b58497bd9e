"""Whether a file parses with a completion in it, which text near to one that does not would do, and what is tried."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lacli.assistant.tally import Tally
from lacli.assistant.tries import Came, Tried, Try, tries
from lacli.completion.cursor import cursor_of
from lacli.completion.fim import rules_past
from lacli.completion.fit import Fit
from lacli.completion.window import REACH
from lacli.engine.step import Step
from lacli.events import Place


def tally_of(*ids: int) -> Tally:
    """Of a text of one step, whose last token was guessed."""
    tally = Tally()
    tally.count(Step(ids, ("",) * (len(ids) - 1) + ("lookup",), rows=2, drafted=1, forward_ms=1.0, draft_ms=0.0))
    return tally


def fit_at(text: str, path: str, scope: str = "block") -> Fit:
    """The place where | stands in a file."""
    prefix, suffix = text.split("|")
    return fit_of(Place(prefix, suffix, path, scope=scope))


def fit_of(place: Place) -> Fit:
    """The same of a place."""
    cursor = cursor_of(place)
    return Fit(place, cursor, lambda most: rules_past(place, cursor, most))


def found(fit: Fit | None, complete: bool, *came: Came, once: bool = False) -> tuple[str, list[Try]]:
    """What is chosen where these texts come one after the other, and what was tried."""
    search = tries(fit, complete, once)
    asked = [next(search)]
    for each in came:
        try:
            asked.append(search.send(each))
        except StopIteration as end:
            return end.value, asked
    raise AssertionError(f"another try is wanted: {asked}")


class TestNearest:
    @pytest.mark.parametrize(
        ("file", "path", "text", "wanted"),
        [
            ("if not isinstance(|], dict):\n    pass\n", "a.py", "dicts[0]", "dicts[0"),
            ("f(a, |)\n", "a.js", "b,);", "b,"),
            ("[tool|]\nx = 1\n", "a.toml", ".ruff]", ".ruff"),
            ('def f():\n    """\n    |\n    return 1\n', "a.py", "Say one.", 'Say one.\n    """'),
            ("x = |\ny = 1\n", "a.py", "max(1, (2", "max(1, (2))"),
            ("int a = |;\n", "a.c", "f(g(1)", "f(g(1))"),
            ("def f(a):\n    |\n        return 1\n", "a.py", "if a", "if a:"),
            ("void f(int a) {\n  |\n    g();\n  }\n}\n", "a.c", "if (a)", "if (a) {"),
            ("func f() {\n\t|\n}\n", "a.go", "/* Nothing yet.", "/* Nothing yet.*/"),
            ("fn f() {\n    |\n}\n", "a.rs", "let a = 1;\nlet b = a +;", "let a = 1;"),
            ("def f(a):\n    |\n", "a.py", "b = a\n    c = = b", "b = a"),
        ],
    )
    def test_closes_less_or_more_or_is_fewer_lines(self, file: str, path: str, text: str, wanted: str) -> None:
        fit = fit_at(file, path)
        assert not fit.sound(text)
        assert fit.nearest(text) == wanted
        assert fit.sound(wanted)

    @pytest.mark.parametrize("text", ["", "a b", "= 1"])
    def test_where_none_is_near_there_is_none(self, text: str) -> None:
        assert fit_at("x = |\n", "a.py").nearest(text) is None


class TestLonger:
    def test_goes_on_to_the_line_with_which_the_file_parses(self) -> None:
        fit = fit_at("if (a) {\n\tb();\n|\n\tc();\n}\n", "a.js")
        assert fit.longer("", "} else {") == "} else {"
        fit = fit_at("package a\n\n|\n\treturn 1\n}\n", "a.go")
        past = "func a() {\n}\n\nfunc b() int {\n\tx := 1\n\ty := 2"
        assert fit.longer("func a() {\n}", past) == "func a() {\n}\n\nfunc b() int {"

    def test_within_a_line_to_a_word_or_a_sign(self) -> None:
        assert fit_at("x = f(|, 2)\n", "a.py").longer("a[", "a[1] + b[2] +") == "a[1]"

    def test_of_nothing_no_part_of_a_line_is_taken(self) -> None:
        assert fit_at("function f() {\n\t|\n}\n", "a.js").longer("", "return x +") is None

    def test_never_over_the_next_line_of_the_file(self) -> None:
        fit = fit_at("function f() {\n\t|\n\treturn 1;\n}\n", "a.js")
        assert fit.longer("if (a) {", "if (a) {\n\treturn 1;\n}") is None

    def test_another_text_is_none(self) -> None:
        assert fit_at("x = |\n", "a.py").longer("f(", "1") is None


def test_the_longest_beginning_that_parses_says_something() -> None:
    assert fit_at("x = |\n", "a.py").part("a b c") == "a"
    assert fit_at("x = |\n", "a.py").part("(b c") is None


class TestWhatIsJudged:
    @pytest.mark.parametrize(("path", "judges"), [("a.py", True), ("a.rs", True), ("a.toml", True), ("a.rb", False)])
    def test_languages_with_a_grammar(self, path: str, judges: bool) -> None:
        assert fit_at("x = |\n", path).judges is judges

    def test_not_a_part_of_a_file_or_a_cell(self) -> None:
        for place in (
            Place("# " + "x" * REACH, "\n", "a.py"),
            Place("", "# " + "x" * REACH, "a.py"),
            Place("x = ", "\n", "a.py", boundary="# %%"),
        ):
            assert not fit_of(place).judges

    @pytest.mark.parametrize(
        ("file", "path", "broken"),
        [
            ("x = (1 2)\ny = 1\nz = 2\nw = |\n", "a.py", True),
            ("return 1 +;;\n" + "x = 1\n" * 12 + "w = |\n", "a.py", True),
            ("'x' = 1\n" + "x = 1\n" * 12 + "w = |\n", "a.py", True),  # only Python's own parser sees that
            ("y = 1\nz = 2\nw = |\nx = (1 2)\n", "a.py", False),
            ("function f( { }\nlet a = 1;\nlet b = 2;\nlet c = |;\n", "a.js", True),
            ("function f() {\n  let a = 1;\n|\n}}\nlet b;\n", "a.js", False),
        ],
    )
    def test_a_file_with_a_mistake_above_is_broken(self, file: str, path: str, broken: bool) -> None:
        assert fit_at(file, path).is_broken is broken


class TestTries:
    FILE = "if (a) {\n\tb();\n|\n\tc();\n}\n"

    def test_a_text_with_which_the_file_parses_is_taken(self) -> None:
        assert found(fit_at("x = |\n", "a.py"), False, Came("1")) == ("1", [Try()])

    def test_in_a_file_that_is_broken_elsewhere_every_text_is(self) -> None:
        fit = fit_at("x = (1 2)\ny = 1\nz = 2\nw = |\n", "a.py")
        assert found(fit, False, Came("f((")) == ("f((", [Try()])

    def test_nothing_is_believed_where_nothing_need_be_missing(self) -> None:
        assert found(fit_at("x = 1|\n", "a.py"), True, Came("")) == ("", [Try()])

    def test_no_text_that_breaks_the_file_either(self) -> None:
        assert found(fit_at("x = 1|\n", "a.py"), True, Came("\n  = = 2")) == ("", [Try()])

    def test_a_rule_that_ended_it_too_early_is_left_out_of_the_next(self) -> None:
        text, asked = found(fit_at(self.FILE, "a.js"), False, Came("", ruled=True), Came("} else {"))
        assert (text, [bool(each.past) for each in asked]) == ("} else {", [False, True])

    def test_then_others_come_until_one_fits(self) -> None:
        fit = fit_at("def f(a):\n    |\n        return 1\n    return 2\n", "a.py")
        text, asked = found(fit, False, Came("b = 1"), Came("c = 2"), Came("if a:"))
        assert (text, asked) == ("if a:", [Try(), Try(other=True), Try(other=True)])

    def test_where_none_fits_the_first_remains_as_far_as_it_parses(self) -> None:
        fit = fit_at("x = |\n", "a.py")
        text, asked = found(fit, False, Came("a b"), Came("= 1"), Came(""), Came("= 2"), Came("= 3"))
        assert (text, len(asked)) == ("a", 5)
        fit = fit_at("x = = |\n", "a.py")
        assert found(fit, False, Came(""), Came(""), Came("b"), Came("c"), Came(""))[0] == "b"

    def test_a_file_that_is_whole_is_not_broken_by_the_last_resort(self) -> None:
        fit = fit_at('def f(a):|\n    """A."""\n    return a\n', "a.py")
        breaking = [Came('"""A."""'), Came("("), Came("("), Came("("), Came("(")]
        text, asked = found(fit, False, *breaking)
        assert (text, len(asked)) == ("", 5)

    def test_what_was_shown_remains(self) -> None:
        fit = fit_at("def f(a):\n    |\n", "a.py")
        assert found(fit, False, Came("b = a\n    c = = b", shown="b = a\n")) == ("b = a\n", [Try()])

    def test_without_a_grammar_an_empty_text_is_begun_once_more(self) -> None:
        assert found(fit_at("x = |\n", "a.rb"), False, Came("b b")) == ("b b", [Try()])
        assert found(fit_at("x = |\n", "a.rb"), False, Came(""), Came("")) == ("", [Try(), Try(other=True)])
        assert found(None, False, Came(""), Came("b")) == ("b", [Try(), Try(other=True)])


class TestTriedOnce:
    """As editors ask: the first text that is not blank is the last."""

    def test_one_that_does_not_parse_is_mended_without_another(self) -> None:
        fit = fit_at("def f(a):\n    |\n        return 1\n", "a.py")
        assert found(fit, False, Came("if a"), once=True) == ("if a:", [Try()])

    def test_or_cut(self) -> None:
        assert found(fit_at("x = |\n", "a.py"), False, Came("a b"), once=True) == ("a", [Try()])

    def test_or_dropped_where_the_file_is_whole(self) -> None:
        fit = fit_at('def f(a):|\n    """A."""\n    return a\n', "a.py")
        assert found(fit, False, Came('"""A."""'), once=True) == ("", [Try()])

    def test_it_does_not_go_on_where_a_rule_ended_it(self) -> None:
        fit = fit_at("x = |\ny = 1\n", "a.py")
        assert found(fit, False, Came("(a b", ruled=True), once=True)[1] == [Try()]

    def test_a_blank_one_is_no_text(self) -> None:
        fit = fit_at("def f(a):\n    |\n        return 1\n", "a.py")
        text, asked = found(fit, False, Came(""), Came(" "), Came("b ="), once=True)
        assert (text, len(asked)) == ("", 3)
        assert found(None, False, Came(""), Came("b"), once=True) == ("b", [Try(), Try(other=True)])
        ruled = found(fit, False, Came("", ruled=True), Came("if a:"), once=True)
        assert ruled == ("if a:", [Try(), Try(past=12)])


class TestTried:
    FILE = "def f(a):\n    |\n"

    def test_lines_are_shown_once_the_file_parses_with_them(self) -> None:
        tried = Tried(fit_at(self.FILE, "a.py"), False)
        assert [tried.release(text, over=False) for text in ("b", "b = a\n", "b = a\n    if b:\n")] == [
            "",
            "b = a\n",
            "",
        ]
        assert not tried.nothing_shown
        assert not tried.came("b = a\n    if b:", Tally(), (1,), False)
        assert tried.chosen == "b = a\n"
        assert tried.release("b = a\n", over=True) == ""

    def test_what_was_written_when_it_was_cancelled_is_shown(self) -> None:
        tried = Tried(fit_at(self.FILE, "a.py"), False)
        assert tried.release("b = (", over=False) == ""
        assert tried.nothing_shown
        assert tried.release("b = (", over=True) == "b = ("

    def test_without_a_grammar_all_is_shown_as_it_comes(self) -> None:
        tried = Tried(fit_at(self.FILE, "a.rb"), False)
        assert [tried.release(text, over=False) for text in ("b", "b = (")] == ["b", " = ("]
        assert not tried.nothing_shown

    def test_the_first_tokens_and_the_tokens_of_what_is_chosen_are_known(self) -> None:
        tried = Tried(fit_at("x = |\n", "a.py"), False)
        words = {1: "= ", 2: "1", 3: "a", 4: ", b", 5: " c"}

        def spelled(ids: Sequence[int]) -> str:
            return "".join(words[each] for each in ids)

        given_up, chosen = tally_of(1, 2), tally_of(3, 4)
        assert tried.came("= 1", given_up, (1,), False)
        assert (tried.now, tried.without) == (Try(other=True), frozenset({1}))
        assert not tried.is_first
        assert not tried.came("a, b)", chosen, (3,), False)
        assert tried.chosen == "a, b"
        assert tried.delivered("a, b", spelled) is chosen
        assert (chosen.ids, chosen.counts.accepted_by_source) == ([3, 4], {"lookup": 1})
        assert tried.given_up(chosen) == 2
        assert tried.delivered("a", spelled) is chosen
        assert (chosen.ids, chosen.counts.accepted_by_source) == ([3], {})
        assert tried.delivered("", spelled).ids == []
