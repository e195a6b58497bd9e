"""Fill-in-the-middle prompts as each family publishes them: the very text, and the very ids. Case T7: one BOS.

The expected texts are written out here; the formats under test are the tables of `models.toml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lacli.completion.family import middle_ids
from lacli.completion.fim import completion
from lacli.events import Attachment, Place
from lacli.models.registry.registry import load_registry, shipped_file, spec_of_path
from lacli.text.tokenizer import Tokenizer
from tests.vocabularies import byte_level, made, sentence_piece

FAMILIES = load_registry().fim
P, S = "def f():\n    x =", "\n    return x\n"
OTHERS = (Attachment("util.py", "def u():\n    pass\n"), Attachment("b/c.py", "C = 1\n"))


def with_tokens(fields: dict[str, Any], tokens: Sequence[str]) -> Tokenizer:
    """The vocabulary with further control tokens, as its model has them."""
    fields["tokenizer.ggml.tokens"] += list(tokens)
    fields["tokenizer.ggml.token_type"] += [3] * len(tokens)
    if "tokenizer.ggml.scores" in fields:
        fields["tokenizer.ggml.scores"] += [0.0] * len(tokens)
    return made(fields)


def vocabulary(family: str, **more: Any) -> Tokenizer:
    fim = FAMILIES[family]
    tokens = dict.fromkeys((*fim.needed, *fim.stop, *filter(None, (fim.file_separator, fim.repository))))
    fresh = [token for token in tokens if token not in ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "</s>")]
    if family in ("codellama", "codestral", "codegemma"):
        return with_tokens(sentence_piece(["\u2581def", "\u2581de", "\u2581d", "\u2581", "d", "e", "f"], **more), fresh)
    return with_tokens(byte_level([("d", "e"), ("de", "f")], **more), fresh)


def text(ids: Sequence[int], tokenizer: Tokenizer) -> str:
    """The ids spelled out, markers as the vocabulary has them; SentencePiece's own blanks are blanks."""
    parts = [
        tokenizer.text_of(index).encode().replace("\u2581".encode(), b" ")
        if index in tokenizer.control_ids
        else tokenizer.token_bytes(index)
        for index in ids
    ]
    return b"".join(parts).decode()


def prompt(family: str, place: Place, **more: Any) -> tuple[str, tuple[int, ...], Tokenizer]:
    tokenizer = vocabulary(family, **more)
    made = completion(place, FAMILIES[family], tokenizer)
    return text(made.token_ids, tokenizer), made.token_ids, tokenizer


class TestOneFile:
    @pytest.mark.parametrize(
        ("family", "expected"),
        [
            ("qwen2.5-coder", f"<|fim_prefix|>{P}<|fim_suffix|>{S}<|fim_middle|>"),
            ("granite", f"<|fim_prefix|>{P}<|fim_suffix|>{S}<|fim_middle|>"),
            ("starcoder2", f"<fim_prefix>{P}<fim_suffix>{S}<fim_middle>"),
            ("deepseek-coder", f"<｜fim▁begin｜>{P}<｜fim▁hole｜>{S}<｜fim▁end｜>".replace("▁", " ")),
        ],
    )
    def test_markers_stand_around_both_parts(self, family: str, expected: str) -> None:
        assert prompt(family, Place(P, S))[0] == expected

    def test_codellama_has_blanks_before_markers_and_prefix_and_none_before_the_suffix(self) -> None:
        shown, ids, tokenizer = prompt("codellama", Place(P, S), add_bos_token=True)
        assert shown == f"<s> <PRE> {P} <SUF>{S} <MID>"
        id_of = tokenizer.id_of
        assert ids[:3] == (1, id_of("▁<PRE>"), id_of("▁def"))
        middle = ids.index(id_of("▁<SUF>"))
        assert ids[middle + 1] == id_of("<0x0A>"), "no blank of the vocabulary's own before the suffix"
        assert ids[-1] == id_of("▁<MID>")

    def test_codestral_has_the_suffix_first(self) -> None:
        shown, ids, tokenizer = prompt("codestral", Place(P, S), add_bos_token=True)
        assert shown == f"<s>[SUFFIX]{S}[PREFIX] {P}"
        assert ids[:3] == (1, tokenizer.id_of("[SUFFIX]"), tokenizer.id_of("<0x0A>"))
        assert ids[ids.index(tokenizer.id_of("[PREFIX]")) + 1] == tokenizer.id_of("▁def")

    def test_the_suffix_may_come_first_and_the_middle_have_its_marker(self) -> None:
        fim = load_registry([shipped_file()]).models["seed-coder-8b"].fim
        assert fim is not None
        tokenizer = with_tokens(byte_level([("d", "e"), ("de", "f")]), (*fim.needed, *fim.stop))
        made = completion(Place(P, S), fim, tokenizer)
        assert text(made.token_ids, tokenizer) == f"<[fim-suffix]>{S}<[fim-prefix]>{P}<[fim-middle]>"
        fim = load_registry([shipped_file()]).models["mellum-4b"].fim
        assert fim is not None
        tokenizer = with_tokens(byte_level([("d", "e"), ("de", "f")]), dict.fromkeys((*fim.needed, *fim.stop[1:])))
        made = completion(Place(P, S, "a.py", context=OTHERS), fim, tokenizer)
        files = "<filename>util.py\ndef u():\n    pass<filename>b/c.py\nC = 1"
        assert text(made.token_ids, tokenizer) == f"{files}<filename>a.py\n<fim_suffix>{S}<fim_prefix>{P}<fim_middle>"

    def test_codegemma_has_qwens_spelling_and_no_blank_of_its_own(self) -> None:
        shown, ids, _ = prompt("codegemma", Place(P, S), add_bos_token=True, add_space_prefix=False)
        assert shown == f"<s><|fim_prefix|>{P}<|fim_suffix|>{S}<|fim_middle|>"
        assert ids.count(1) == 1

    @pytest.mark.parametrize("family", list(FAMILIES))
    def test_the_ids_are_those_of_the_parts(self, family: str) -> None:
        fim = FAMILIES[family]
        _, ids, tokenizer = prompt(family, Place(P, S))
        before, after = tokenizer.encode(P), list(middle_ids(S, tokenizer))
        mark = {name: tokenizer.id_of(getattr(fim, name)) for name in ("prefix", "suffix", "middle")}
        ids = ids[tokenizer.adds_bos :]
        if fim.order == "psm":
            assert list(ids) == [mark["prefix"], *before, mark["suffix"], *after, mark["middle"]]
        else:
            assert list(ids) == [mark["suffix"], *after, mark["prefix"], *before]

    @pytest.mark.parametrize("family", list(FAMILIES))
    def test_one_bos_where_the_model_wants_it(self, family: str) -> None:
        tokenizer = vocabulary(family, add_bos_token=True)
        ids = completion(Place(P, S), FAMILIES[family], tokenizer).token_ids
        assert ids[0] == tokenizer.bos_id
        assert ids.count(ids[0]) == 1

    @pytest.mark.parametrize("family", list(FAMILIES))
    def test_it_stops_on_ids_its_own_markers_among_them(self, family: str) -> None:
        fim = FAMILIES[family]
        tokenizer = vocabulary(family)
        stops = completion(Place(P, S), fim, tokenizer).stop_ids
        assert {tokenizer.id_of(marker) for marker in (*fim.needed, *fim.stop)} - {None} == set(stops)

    def test_an_empty_suffix_is_a_line_end(self) -> None:
        assert prompt("qwen2.5-coder", Place(P, ""))[0] == f"<|fim_prefix|>{P}<|fim_suffix|>\n<|fim_middle|>"

    def test_blanks_before_the_cursor_on_its_own_line_are_the_models(self) -> None:
        shown = prompt("starcoder2", Place("def f():\n    ", "\nx"))[0]
        assert shown == "<fim_prefix>def f():\n<fim_suffix>\nx<fim_middle>"


STOPS = {
    "qwen2.5-coder": {
        *("<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>"),
        *("<|repo_name|>", "<|file_sep|>", "<|im_start|>", "<|im_end|>"),
    },
    "starcoder2": {"<|endoftext|>", "<file_sep>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    "codellama": {"\u2581<EOT>", "\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>"},
    "deepseek-coder": {
        *("<\uff5cend\u2581of\u2581sentence\uff5c>", "<\uff5cfim\u2581begin\uff5c>"),
        *("<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
    },
    "codegemma": {"<|file_separator|>", "<eos>", "<end_of_turn>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    "codestral": {"[PREFIX]", "[SUFFIX]", "</s>"},
    "granite": {"<|end_of_text|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>"},
}
"""What each family's model cards and papers name as the end of a middle; more may end it, too."""
LITERAL = {
    "qwen2.5-coder": ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    "granite": ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    "starcoder2": ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    "codellama": ("\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>"),
    "deepseek-coder": tuple(f"<\uff5cfim\u2581{word}\uff5c>" for word in ("begin", "hole", "end")),
    "codegemma": ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    "codestral": ("[PREFIX]", "[SUFFIX]"),
}


class TestLiteral:
    """The tables themselves, character by character: look-alikes of ｜ and ▁ would be other tokens."""

    def test_no_family_is_missing(self) -> None:
        assert set(FAMILIES) == set(LITERAL) == set(STOPS)

    @pytest.mark.parametrize("family", list(LITERAL))
    def test_markers(self, family: str) -> None:
        fim = FAMILIES[family]
        assert tuple(filter(None, (fim.prefix, fim.suffix, fim.middle))) == LITERAL[family]
        assert fim.order == ("spm" if family == "codestral" else "psm")

    @pytest.mark.parametrize("family", list(STOPS))
    def test_what_ends_a_middle(self, family: str) -> None:
        fim = FAMILIES[family]
        assert {*fim.needed, *fim.stop} >= STOPS[family]

    @pytest.mark.parametrize("family", list(FAMILIES))
    def test_markers_typed_into_a_file_are_text(self, family: str) -> None:
        """Case T1."""
        tokenizer = vocabulary(family)
        fim = FAMILIES[family]
        ids = completion(Place(f"a {' '.join(fim.needed)}", f"{' '.join(fim.stop)} b"), fim, tokenizer).token_ids
        controls = [index for index in ids if index in tokenizer.control_ids and index != tokenizer.bos_id]
        assert sorted(controls) == sorted(tokenizer.id_of(marker) for marker in fim.needed)


class TestOtherFiles:
    place = Place(P, S, "a.py", project="proj", context=OTHERS)

    def test_qwen(self) -> None:
        assert prompt("qwen2.5-coder", self.place)[0] == (
            "<|repo_name|>proj\n"
            "<|file_sep|>util.py\ndef u():\n    pass\n"
            "<|file_sep|>b/c.py\nC = 1\n"
            f"<|file_sep|>a.py\n<|fim_prefix|>{P}<|fim_suffix|>{S}<|fim_middle|>"
        )

    def test_starcoder2(self) -> None:
        assert prompt("starcoder2", self.place)[0] == (
            "<repo_name>proj<file_sep>util.py\ndef u():\n    pass<file_sep>b/c.py\nC = 1"
            f"<file_sep><fim_prefix>a.py\n{P}<fim_suffix>{S}<fim_middle>"
        )

    def test_the_path_and_the_prefix_are_one_text(self) -> None:
        _, ids, tokenizer = prompt("starcoder2", self.place)
        begin, end = ids.index(tokenizer.id_of("<fim_prefix>")), ids.index(tokenizer.id_of("<fim_suffix>"))
        assert list(ids[begin + 1 : end]) == tokenizer.encode(f"a.py\n{P}")

    def test_a_family_without_markers_for_files_gets_them_as_comments(self) -> None:
        others = "# Path: util.py\ndef u():\n    pass\n\n# Path: b/c.py\nC = 1\n\n"
        assert prompt("deepseek-coder", self.place)[0] == (
            f"<｜fim▁begin｜>{others}{P}<｜fim▁hole｜>{S}<｜fim▁end｜>".replace("▁", " ")
        )

    def test_so_does_a_model_without_fill_in_the_middle(self) -> None:
        tokenizer = vocabulary("qwen2.5-coder")
        made = completion(self.place, None, tokenizer)
        assert text(made.token_ids, tokenizer) == (
            "# Path: util.py\ndef u():\n    pass\n\n# Path: b/c.py\nC = 1\n\n"
            f"# a.py, the end:\n{S.strip(chr(10))}\n\n# a.py, the beginning:\n{P}"
        )

    def test_what_does_not_fit_is_left_out_whole_and_in_order(self) -> None:
        tokenizer = vocabulary("qwen2.5-coder")
        made = completion(self.place, FAMILIES["qwen2.5-coder"], tokenizer, room=120)
        assert len(made.token_ids) <= 120
        shown = text(made.token_ids, tokenizer)
        assert "<|file_sep|>util.py\ndef u():\n    pass\n<|file_sep|>a.py" in shown
        assert "b/c.py" not in shown

    def test_markers_in_other_files_are_text(self) -> None:
        place = Place(P, S, "a.py", context=(Attachment("x.py", "<|fim_middle|>"),))
        _, ids, tokenizer = prompt("qwen2.5-coder", place)
        assert ids.count(tokenizer.id_of("<|fim_middle|>")) == 1


class TestWhichFamily:
    @pytest.mark.parametrize("family", list(FAMILIES))
    def test_a_folder_that_is_not_listed_is_known_by_its_vocabulary(self, family: str, tmp_path: Any) -> None:
        spec = spec_of_path(tmp_path)
        assert load_registry().fim_of(spec, vocabulary(family).id_of) == FAMILIES[family]

    def test_a_vocabulary_without_markers_has_none(self, tmp_path: Any) -> None:
        assert load_registry().fim_of(spec_of_path(tmp_path), made(byte_level()).id_of) is None

    def test_listed_models_have_their_family(self) -> None:
        models = load_registry().models
        assert models["codellama-7b"].fim == FAMILIES["codellama"]
        assert models["smollm2-135m"].fim is None
