"""How much a completion shows where reading has a price: within the budget, nearest first, and what is free goes on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lacli.completion import window
from lacli.completion.fim import Completion, completion
from lacli.completion.layout import _GOES_ON, _MOST_AT_ANCHOR, AGAIN_SHARE, LEAST_AFTER, LEAST_BEFORE, Budget, Shown
from lacli.events import Attachment, Place
from lacli.kv import blocks
from lacli.models.registry.fim_markers import FimMarkers
from lacli.models.registry.registry import load_registry
from lacli.text.tokenizer import Tokenizer
from tests.prompts.test_fim_formats import FAMILIES, vocabulary
from tests.slow import TEN

SOURCES = sorted((Path(__file__).parents[1] / "data" / "sources").iterdir())
ORDERS = ("qwen2.5-coder", "codestral", "codellama", "starcoder2", "")
"""Families of either order, one with its path inside, and a model without fill-in-the-middle."""
MARKS = 3
Free = Callable[[Sequence[int]], int]


class Store:
    """What the KV store does with names of blocks alone."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def add(self, token_ids: Sequence[int]) -> None:
        self.names.update(blocks.chain(b"", token_ids))

    def free(self, token_ids: Sequence[int]) -> int:
        count = 0
        for name in blocks.chain(b"", token_ids[:-1]):
            if name not in self.names:
                break
            count += blocks.POSITIONS
        return count


def nothing(token_ids: Sequence[int]) -> int:
    return 0


class Editor:
    """A file with a cursor in it, and completions asked for there."""

    def __init__(self, family: str, path: Path, at: int, context: tuple[Attachment, ...] = (), named: int = 0) -> None:
        self.lines = path.read_text().split("\n")
        self.at = at
        self.family = family
        self.tokenizer: Tokenizer = vocabulary(family or "qwen2.5-coder")
        self.fim: FimMarkers | None = FAMILIES[family] if family else None
        self.context, self.named, self.name = context, named, path.name

    @property
    def place(self) -> Place:
        line = self.lines[self.at]
        prefix = "\n".join([*self.lines[: self.at], line[: len(line) // 2]])
        suffix = "\n".join([line[len(line) // 2 :], *self.lines[self.at + 1 :]])
        return Place(prefix, suffix, self.name, project="p", context=self.context, named=self.named)

    def type(self, line: str) -> None:
        self.lines.insert(self.at, line)
        self.at += 1

    def ask(self, tokens: int, free: Free = nothing, room: int | None = None) -> tuple[tuple[int, ...], Shown]:
        made = self.made(tokens, free, room)
        assert made.shown is not None
        assert made.shown.free == free(made.token_ids)
        return made.token_ids, made.shown

    def made(self, tokens: int, free: Free = nothing, room: int | None = None) -> Completion:
        return completion(self.place, self.fim, self.tokenizer, room, Budget(tokens, free))

    def whole(self) -> tuple[int, ...]:
        return completion(self.place, self.fim, self.tokenizer).token_ids


@pytest.mark.parametrize("family", ORDERS)
@pytest.mark.default_cases(1)
@pytest.mark.parametrize("seed", range(TEN))
def test_never_over_the_budget_but_for_the_least_there_is_to_show(family: str, seed: int) -> None:
    drawn = random.Random(seed)
    for _ in range(6):
        path = drawn.choice(SOURCES)
        editor = Editor(family, path, drawn.randrange(1, 120))
        tokens = drawn.choice((1, 100, 300, 1_000, 2_000))
        ids, shown = editor.ask(tokens)
        heading = 120 * (not family)
        assert len(ids) <= max(tokens, _MOST_AT_ANCHOR + LEAST_AFTER + MARKS + heading)
        least = len(editor.tokenizer.encode(editor.place.prefix.rstrip()[-LEAST_BEFORE:]))
        assert shown.tokens >= least
        assert shown.tokens <= shown.whole


@pytest.mark.parametrize("family", ORDERS)
def test_what_fits_is_shown_as_a_whole_and_no_less_than_without_a_bound(family: str) -> None:
    for at in (3, 60, 118):
        editor = Editor(family, SOURCES[0], at)
        ids, shown = editor.ask(20_000)
        assert shown.tokens == shown.whole
        assert len(ids) >= len(editor.whole()) - MARKS
        assert editor.ask(1, lambda ids: len(ids) - 1)[1].tokens >= shown.tokens


def test_what_is_nearest_is_shown_first_with_a_share_behind_the_cursor() -> None:
    editor = Editor("qwen2.5-coder", SOURCES[0], 100)
    ids, shown = editor.ask(1_000)
    place, text = (
        editor.place,
        editor.tokenizer.spelled(ids).removeprefix("<|fim_prefix|>").removesuffix("<|fim_middle|>"),
    )
    before, _, after = text.partition("<|fim_suffix|>")
    assert place.prefix.rstrip(" ").endswith(before)
    assert place.suffix.startswith(after)
    assert 250 <= len(editor.tokenizer.encode(after)) < 500
    assert len(editor.tokenizer.encode(before)) >= 350
    assert shown.whole > 1_500


@pytest.mark.parametrize("family", ORDERS)
def test_a_beginning_stays_over_thirty_lines_typed_and_only_what_is_new_is_read(family: str) -> None:
    editor, store = Editor(family, SOURCES[2], 70), Store()
    ids, _ = editor.ask(400, store.free)
    begins, sizes = [], []
    for number in range(30):
        store.add(ids)
        editor.type(f"    value_{number} = {number}")
        ids, shown = editor.ask(400, store.free)
        cost = len(ids) - shown.free
        assert cost <= 400
        begins.append(ids[: blocks.POSITIONS])
        sizes.append(shown.tokens)
    assert len(set(begins)) <= 2  # it may once find a longer one
    assert sizes[-1] > sizes[0] + 300, "the window grows with what is stored"


@pytest.mark.parametrize("tokens", [1, 100, 180, 400, 900])
def test_a_line_further_reads_little_and_a_small_budget_does_not_begin_anew(tokens: int) -> None:
    editor, store = Editor("qwen2.5-coder", SOURCES[2], 70), Store()
    editor.lines = [f"v{number}={number}" for number in range(200)]  # a token a byte: with anchors near the cursor
    assert editor.fim is not None
    mark = editor.tokenizer.id_of(editor.fim.suffix)
    ids, _ = editor.ask(tokens, store.free)
    for _ in range(8):
        store.add(ids)
        before, behind = ids.index(mark), len(ids) - ids.index(mark)
        editor.type("    x = 1")
        ids, shown = editor.ask(tokens, store.free)
        assert shown.free > 0
        assert len(ids) - shown.free <= max(tokens, _GOES_ON)
        assert ids.index(mark) > before
        assert len(ids) - ids.index(mark) >= min(behind, tokens // window.SUFFIX_SHARE) - LEAST_AFTER


def test_what_is_computed_with_every_line_keeps_to_its_share_where_the_rest_is_free() -> None:
    editor, store = Editor("qwen2.5-coder", SOURCES[2], 70), Store()
    ids, first = editor.ask(4_000, store.free)
    store.add(ids)
    editor.type("    value = 1")
    ids, second = editor.ask(800, store.free)
    assert first.tokens == first.whole
    assert 0 <= len(ids) - second.free - 800 // AGAIN_SHARE <= blocks.POSITIONS + 16
    assert ids.index(editor.tokenizer.id_of("<|fim_suffix|>")) > first.whole - window.MOST_AFTER - MARKS


@pytest.mark.default_cases(2)
@pytest.mark.parametrize("seed", range(TEN))
def test_a_window_is_never_smaller_when_more_is_free(seed: int) -> None:
    drawn = random.Random(seed)
    editor = Editor("qwen2.5-coder", drawn.choice(SOURCES), drawn.randrange(20, 120))
    known: list[tuple[int, ...]] = []

    def free(ids: Sequence[int]) -> int:
        return max((_common(ids, each) for each in known), default=0)

    sizes = []
    for _ in range(8):
        ids, shown = editor.ask(300, free)
        sizes.append(shown.tokens)
        known.append(ids)
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    same = (left == right for left, right in zip(one, other, strict=False))
    return min(next((at for at, equal in enumerate(same) if not equal), min(len(one), len(other))), len(one) - 1)


def test_a_change_behind_the_cursor_costs_what_stands_there() -> None:
    editor, store = Editor("qwen2.5-coder", SOURCES[2], 70), Store()
    store.add(editor.ask(400, store.free)[0])
    editor.lines[72] += "  # changed"
    ids, shown = editor.ask(400, store.free)
    assert len(ids) - shown.free <= 100 + blocks.POSITIONS + MARKS


PIECES = tuple(Attachment(f"other_{number}.py", f"def other_{number}():\n    return {number}\n") for number in range(3))


def test_other_files_come_last_but_for_those_that_were_asked_for() -> None:
    def names(tokens: int, named: int, free: Free = nothing) -> int:
        editor = Editor("qwen2.5-coder", SOURCES[0], 100, PIECES, named)
        ids, _ = editor.ask(tokens, free)
        return editor.tokenizer.spelled(ids).count("def other_")

    assert names(300, 0) == 0
    assert names(1, 2) == 2
    alone, beside = (Editor("qwen2.5-coder", SOURCES[0], 100, PIECES[:count], count).ask(400) for count in (0, 2))
    assert beside[1].tokens == alone[1].tokens, "they take nothing from the text around the cursor"
    assert names(20_000, 0) == 3
    assert names(300, 0, lambda ids: len(ids) - 1) == 3


def test_it_has_room_in_the_context() -> None:
    editor = Editor("qwen2.5-coder", SOURCES[0], 100)
    for room in (150, 400, 900):
        ids, _ = editor.ask(20_000, nothing, room)
        assert len(ids) <= room
    assert completion(editor.place, editor.fim, editor.tokenizer, 40, Budget(20_000, nothing)).shown is None


def test_without_a_bound_the_window_is_the_fixed_one() -> None:
    editor = Editor("qwen2.5-coder", SOURCES[0], 100)
    made = completion(editor.place, editor.fim, editor.tokenizer)
    assert made.shown is None
    assert len(made.token_ids) == window.MOST_BEFORE + window.MOST_AFTER + MARKS


def test_the_registrys_families_are_all_of_a_known_order() -> None:
    assert {fim.order for fim in load_registry().fim.values()} == {"psm", "spm"}


class TestReadingAhead:
    """What is read while nobody waits is what the next prompt begins with."""

    @pytest.mark.parametrize("family", ORDERS)
    def test_the_next_line_shows_everything_before_the_cursor_for_a_small_budget(self, family: str) -> None:
        editor, store = Editor(family, SOURCES[2], 70), Store()
        ids, shown = editor.ask(150, store.free)
        assert shown.tokens < shown.whole // 2
        later = editor.made(150, store.free).later
        (longest,) = later.ahead()
        store.add(longest)
        editor.type("    value = 1")
        ids, shown = editor.ask(150, store.free)
        assert shown.free > len(longest) - blocks.POSITIONS - MARKS  # the last token may go on in another way
        assert ids[: shown.free] == longest[: shown.free]
        assert shown.tokens >= len(editor.tokenizer.encode(editor.place.prefix[-1_000:]))
        assert len(ids) - shown.free <= max(150, _GOES_ON)

    def test_first_the_text_alone_then_all_pieces_of_other_files_and_in_the_end_nothing_new(self) -> None:
        editor, store = Editor("qwen2.5-coder", SOURCES[2], 70, PIECES), Store()
        spelled = editor.tokenizer.spelled
        alone, beside = editor.made(150, store.free).later.ahead()
        assert "def other_" not in spelled(alone)
        assert spelled(beside).count("def other_") == len(PIECES)
        store.add(alone)
        assert editor.made(150, store.free).later.ahead() == (alone, beside)
        store.add(beside)
        assert editor.made(150, store.free).later.ahead() == (beside,)
        ids, shown = editor.ask(150, store.free)
        assert ids[: len(beside)] == beside
        assert shown.free >= len(beside) - blocks.POSITIONS

    def test_it_ends_where_the_text_behind_the_cursor_begins_and_so_does_what_is_kept(self) -> None:
        editor = Editor("qwen2.5-coder", SOURCES[2], 70)
        for made in (editor.made(300), completion(editor.place, editor.fim, editor.tokenizer)):
            shared = made.later.shared
            assert shared is not None
            assert made.token_ids[shared] == editor.tokenizer.id_of("<|fim_suffix|>")
        for ids in editor.made(300).later.ahead():
            assert editor.place.prefix.rstrip(" ").endswith(editor.tokenizer.spelled(ids[-200:]))

    @pytest.mark.parametrize("family", ["codestral", ""])
    def test_where_that_text_comes_first_all_of_a_prompt_is_kept_with_its_reply(self, family: str) -> None:
        assert Editor(family, SOURCES[2], 70).made(300).later.shared is None

    def test_nothing_that_has_no_room_in_the_context(self) -> None:
        editor = Editor("qwen2.5-coder", SOURCES[2], 70)
        assert editor.made(150).later.ahead()
        assert editor.made(150, room=400).later.ahead() == ()
