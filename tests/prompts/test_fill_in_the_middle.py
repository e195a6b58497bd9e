"""Completions: the middle where a model knows it, else the prefix alone and no repetition of what follows."""

from __future__ import annotations

import pytest

from lacli.completion.cursor import cursor_of
from lacli.completion.fim import completion, rules
from lacli.engine.step import Finish
from lacli.errors import UsageError
from lacli.events import Place
from lacli.models.registry.fim_markers import FimMarkers
from lacli.text.stops import StopStrings
from lacli.text.tokenizer import Tokenizer
from tests.vocabularies import byte_level, made

P, S, M = "<fim_prefix>", "<fim_suffix>", "<fim_middle>"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    fields = byte_level()
    fields["tokenizer.ggml.tokens"] += [P, S, M, "<file_sep>"]
    fields["tokenizer.ggml.token_type"] += [3, 4, 4, 4]
    return made(fields)


def spelled(ids: tuple[int, ...], tokenizer: Tokenizer) -> str:
    return "".join(
        tokenizer.text_of(index) if index in tokenizer.control_ids else tokenizer.token_bytes(index).decode("latin-1")
        for index in ids
    )


class TestPrompt:
    markers = FimMarkers(P, S, M, stop=("<file_sep>", "<nowhere>"))

    def test_prefix_suffix_middle(self, tokenizer: Tokenizer) -> None:
        made = completion(Place("a\n", "\nb"), self.markers, tokenizer)
        assert spelled(made.token_ids, tokenizer) == f"{P}a\n{S}\nb{M}"
        assert made.notes == ()

    def test_suffix_first(self, tokenizer: Tokenizer) -> None:
        made = completion(Place("a", "b"), FimMarkers(P, S, "", order="spm"), tokenizer)
        assert spelled(made.token_ids, tokenizer) == f"{S}b{P}a"

    def test_suffix_first_and_a_marker_of_the_middle_at_the_end(self, tokenizer: Tokenizer) -> None:
        made = completion(Place("a", "b"), FimMarkers(P, S, M, order="spm"), tokenizer)
        assert spelled(made.token_ids, tokenizer) == f"{S}b{P}a{M}"

    def test_an_empty_suffix_is_a_line_end(self, tokenizer: Tokenizer) -> None:
        assert spelled(completion(Place("a", ""), self.markers, tokenizer).token_ids, tokenizer) == f"{P}a{S}\n{M}"

    def test_it_ends_at_the_familys_markers_by_id(self, tokenizer: Tokenizer) -> None:
        expected = {tokenizer.id_of(text) for text in (P, S, M, "<file_sep>")}
        assert set(completion(Place("a", "b"), self.markers, tokenizer).stop_ids) == expected

    def test_markers_in_the_file_are_text(self, tokenizer: Tokenizer) -> None:
        made = completion(Place(f"x{M}y", f"{P}"), self.markers, tokenizer)
        assert sum(index in tokenizer.control_ids for index in made.token_ids) == 3

    def test_a_marker_of_several_tokens_is_refused(self, tokenizer: Tokenizer) -> None:
        with pytest.raises(UsageError, match="not one token"):
            completion(Place("a", "b"), FimMarkers("<PRE>", S, M), tokenizer)

    @pytest.mark.parametrize("room", [8, 40, 64])
    def test_what_does_not_fit_is_cut_far_from_the_cursor(self, tokenizer: Tokenizer, room: int) -> None:
        made = completion(Place("a" * 5000 + "P", "S" + "b" * 5000), self.markers, tokenizer, room)
        text = spelled(made.token_ids, tokenizer)
        assert len(made.token_ids) <= room
        assert f"aP{S}S" in text
        assert len(made.notes) == 1

    def test_bos_is_there_once(self) -> None:
        fields = byte_level(add_bos_token=True, bos_token_id=0)
        assert completion(Place("a", ""), None, made(fields)).token_ids[:2].count(0) == 1


class TestPrefixOnly:
    def test_it_is_said_where_something_follows(self, tokenizer: Tokenizer) -> None:
        assert len(completion(Place("a", "\nb"), None, tokenizer).notes) == 1
        assert completion(Place("a", "\n  "), None, tokenizer).notes == ()

    def test_what_follows_is_shown_first_and_blanks_before_the_cursor_are_left_to_the_model(
        self, tokenizer: Tokenizer
    ) -> None:
        made = completion(Place("def f():\n", "\nb", "a.py"), None, tokenizer)
        assert spelled(made.token_ids, tokenizer) == "# a.py, the end:\nb\n\n# a.py, the beginning:\ndef f():"
        made = completion(Place("int f() {\n  ", "\n}\n", "a.c"), None, tokenizer)
        assert spelled(made.token_ids, tokenizer) == "// a.c, the end:\n}\n\n// a.c, the beginning:\nint f() {"

    def test_where_nothing_follows_or_it_does_not_fit_the_text_before_is_all(self, tokenizer: Tokenizer) -> None:
        assert spelled(completion(Place("def f():\n", " \n"), None, tokenizer).token_ids, tokenizer) == "def f():"
        assert spelled(completion(Place("def f():", "\nb"), None, tokenizer, 30).token_ids, tokenizer) == "def f():"

    def test_what_is_far_from_the_cursor_is_left_out(self, tokenizer: Tokenizer) -> None:
        shown = spelled(completion(Place("x" * 9_000, "\nb"), None, tokenizer).token_ids, tokenizer)
        assert shown.startswith("# file, the end:\nb\n")
        assert 1_000 < shown.count("x") < 1_100
        lines = spelled(completion(Place("a = 1\n" * 2_000 + "b", "\nb"), None, tokenizer).token_ids, tokenizer)
        assert "beginning:\na = 1\n" in lines

    def test_the_prompt_is_not_written_again(self, tokenizer: Tokenizer) -> None:
        made = completion(Place("x = 1\n", "y = 2\n", "a.py"), None, tokenizer)
        for own in ("# a.py, the end:\ny", "# a.py, the beginning:\nx"):
            rule = StopStrings(Bytes(), (), made.watchers)
            made = completion(Place("x = 1\n", "y = 2\n", "a.py"), None, tokenizer)
            rule.cut(list(f"\nz = 3\n# a.py\n{own}".encode()))
            assert (rule.take(), rule.fired) == ("z = 3\n# a.py\n", True)

    def test_an_empty_file_begins_with_its_name(self, tokenizer: Tokenizer) -> None:
        assert spelled(completion(Place("", "", "a.py"), None, tokenizer).token_ids, tokenizer) == "# a.py"

    def test_an_empty_file_begins_with_some_token(self, tokenizer: Tokenizer) -> None:
        assert completion(Place("", ""), None, tokenizer).token_ids == (1,)


class Bytes:
    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id])


def completed(prefix: str, suffix: str, generated: str, path: str = "") -> tuple[str, Finish | None]:
    """What is inserted, the same whatever the steps."""
    results = set()
    for step in (1, 2, 5, 1000):
        place = Place(prefix, suffix, path)
        rule = StopStrings(Bytes(), (), [rules(place, cursor_of(place))])
        text, finish, data = "", None, generated.encode()
        for at in range(0, len(data), step):
            finish = rule.cut(list(data[at : at + step])).finish
            text += rule.take()
            if finish:
                break
        results.add((text + rule.finish(), finish))
    assert len(results) == 1
    return results.pop()


class TestRepetition:
    """Without fill-in-the-middle the model would go on and write the rest of the file once more."""

    def test_it_ends_before_the_next_line_of_the_file(self) -> None:
        text, finish = completed("def f():\n    y = 1", "\n    return y\n", "\n    z = 2\n    return y\nfoo")
        assert (text, finish) == ("\n    z = 2", Finish.STOP)

    def test_the_line_end_belongs_to_the_text_where_the_file_has_none(self) -> None:
        assert completed("y = 1\n", "    return y\n", "    z = 2\n    return y\n")[0] == "    z = 2\n"

    def test_indentation_before_the_cursor_is_written_again(self) -> None:
        assert completed("y = 1\n    ", "return y\n", "z = 2\n    return y\n")[0] == "z = 2\n    "

    def test_other_numbers_of_blank_lines_do_not_hide_it(self) -> None:
        suffix = "\n\n\ndef g():\n    pass"
        assert completed("y = 1", suffix, "\n    return 1\n\ndef g():\n")[0] == "\n    return 1"
        assert completed("y = 1", "\ndef g():", "\n    return 1\n\n\ndef g():\n")[0] == "\n    return 1\n\n"

    def test_what_follows_on_the_cursors_line_goes_with_it(self) -> None:
        assert completed("print(", ")\nnext()\n", "x)\nnext()\n")[0] == "x"

    def test_a_line_like_it_that_goes_on_or_stands_elsewhere_is_text(self) -> None:
        assert completed("x", "\nreturn", "y\nreturned\nret")[0] == "y\nreturned\nret"
        assert completed("if x {\n", "}\n", "  if b {\n  }\n}\n")[0] == "  if b {\n  }\n"

    def test_a_line_that_was_there_before_is_no_repetition(self) -> None:
        assert completed("a\n    pass", "\n    pass\n", "\n    x\n    pass\n")[0] == "\n    x"

    def test_at_the_end_of_the_reply_the_line_needs_no_line_end(self) -> None:
        assert completed("a", "\nend", "\nb\nend")[0] == "\nb"

    def test_blanks_behind_the_cursor_are_nothing_to_repeat(self) -> None:
        assert completed("x", " \n", "a\n\n\nb")[0] == "a\n\n\nb"
