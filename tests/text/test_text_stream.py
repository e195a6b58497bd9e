"""Pieces of a reply: always whole characters, together the text, nothing the model did not write (case P5)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lacli.text.stream import TextStream
from tests.vocabularies import byte_level, made

TEXT = "Repeat: 👩‍💻 naïve 漢字 🇪🇺 ok"


class Bytes:
    """Every id is the byte of that number."""

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id])


def streamed(token_ids: Sequence[int], step: int) -> list[str]:
    stream = TextStream(Bytes())
    pieces = [stream.push(token_ids[at : at + step]) for at in range(0, len(token_ids), step)]
    return [*pieces, stream.finish()]


@pytest.mark.parametrize("step", [1, 2, 3, 5, 100])
def test_pieces_joined_are_the_text_however_the_steps_fall(step: int) -> None:
    pieces = streamed(TEXT.encode(), step)
    assert "".join(pieces) == TEXT
    assert not any("\ufffd" in piece for piece in pieces)


@pytest.mark.parametrize("budget", range(len(TEXT.encode())))
def test_a_budget_inside_a_character_drops_that_character(budget: int) -> None:
    text = "".join(streamed(TEXT.encode()[:budget], 3))
    assert TEXT.startswith(text)
    assert len(TEXT.encode()[:budget]) - len(text.encode()) < 4


def test_bytes_that_are_no_character_are_shown_as_the_model_wrote_them() -> None:
    assert "".join(streamed(b"a\xffb\xe6\x28", 1)) == "a\ufffdb\ufffd("


def test_decoding_all_ids_gives_the_same_as_streaming_them() -> None:
    tokenizer = made(byte_level())
    ids = tokenizer.encode(TEXT)
    for end in range(len(ids)):
        stream = TextStream(tokenizer)
        assert "".join(stream.push([index]) for index in ids[:end]) + stream.finish() == tokenizer.decode(ids[:end])
