"""Wrapping the lines of a draft: where textual itself wraps them."""

from __future__ import annotations

import random

import pytest
from textual._wrap import compute_wrap_offsets
from textual.expand_tabs import get_tab_widths

from lacli_tui.wrapping import tab_widths, wrap_offsets
from tests.slow import TEN


@pytest.mark.default_cases(TEN)
@pytest.mark.parametrize("seed", range(60))
def test_lines_are_wrapped_where_textual_wraps_them(seed: int) -> None:
    chance = random.Random(seed)
    letters = chance.choice(["ab ", "a" * 30 + " ", "a  ", "ab \t", "é漢 a", "a\tb" + "c" * 20])
    for _ in range(40):
        text = "".join(chance.choices(letters, k=chance.randrange(120)))
        width, tab = chance.randrange(1, 40), chance.choice([1, 4, 8])
        assert tab_widths(text, tab) == get_tab_widths(text, tab)
        sections = get_tab_widths(text, tab)
        wanted = compute_wrap_offsets(text, width, tab, precomputed_tab_sections=sections)
        assert wrap_offsets(text, width, tab, precomputed_tab_sections=sections) == wanted, (text, width, tab)
