"""format.py: bytes to segments and back; bad bytes never raise."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from lacli.pool.format import (
    CREDIT,
    MAGIC,
    REFRESH,
    SEGMENT,
    Damage,
    Header,
    Record,
    decode_header,
    decode_records,
    encode_header,
    encode_record,
    header_size,
    impossible,
)

HEADER = Header("f" * 64, 200_000, "a model, ünïcode", 1_700_000_000_000, "0011")


def _segment(*ids: int) -> Record:
    return Record(np.array(ids, np.uint32), 5)


def _file(*segments: Record) -> bytes:
    return encode_header(HEADER) + b"".join(map(encode_record, segments))


def decode_segments(data: bytes, start: int, vocab_size: int) -> tuple[list[Record], Damage | None]:
    records, damage = decode_records(data, start)
    return records, damage or impossible(records, frozenset({SEGMENT, REFRESH, CREDIT}), vocab_size)


def _ids(segments: list[Record]) -> list[list[int]]:
    return [each.words.tolist() for each in segments]


def test_what_is_written_is_read() -> None:
    data = _file(_segment(1, 2, 3), _segment(65_535, 65_536, 199_999))
    assert decode_header(data) == (HEADER, None)
    segments, damage = decode_segments(data, header_size(data), HEADER.vocab_size)
    assert damage is None
    assert _ids(segments) == [[1, 2, 3], [65_535, 65_536, 199_999]]
    assert segments[0].time_ms == 5


def test_the_layout_stays_what_it_is() -> None:
    """Golden bytes: files on users' disks must stay readable."""
    text = (
        "7b22746f6b656e697a6572223a202274222c2022766f6361625f73697a65"
        "223a20372c20226d6f64656c223a20226d222c2022637265617465645f6d73223a20302c20226e6f6e6365223a20226e227d"
    )
    first = bytes.fromhex("894c41434c490d0a01000000500000004372c7ab" + text)
    second = bytes.fromhex("894c41434c490d0a0200000050000000" + "68aa8853" + text)
    assert encode_header(Header("t", 7, "m", 0, "n")) == second
    assert decode_header(first) == (Header("t", 7, "m", 0, "n", version=1), None)
    assert encode_record(_segment(1, 2)).hex() == "020000000000000005000000000000007c17810370c8a9de0100000002000000"


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_a_file_cut_anywhere_in_its_last_record_loses_only_that(cut: int) -> None:
    sound = _file(_segment(1, 2, 3))
    data = sound + encode_record(_segment(*range(50)))
    data = data[: len(sound) + 1 + cut]
    segments, damage = decode_segments(data, header_size(data), 100)
    assert _ids(segments) == [[1, 2, 3]]
    assert damage is not None
    assert (damage.kind, damage.offset) == ("tail", len(sound))


def test_blocks_of_zeros_at_the_end_are_a_torn_tail() -> None:
    """What a power cut leaves on file systems that lengthen a file before they fill it."""
    sound = _file(_segment(1, 2, 3))
    for zeros in (24, 4096):
        segments, damage = decode_segments(sound + bytes(zeros), header_size(sound), 100)
        assert _ids(segments) == [[1, 2, 3]]
        assert damage is not None
        assert (damage.kind, damage.offset) == ("tail", len(sound))


def test_a_flipped_length_is_damage_and_not_a_torn_tail() -> None:
    """Otherwise one bad bit would silently cut off everything behind it."""
    data = bytearray(_file(_segment(1, 2, 3), _segment(4, 5, 6), _segment(7, 8, 9)))
    data[header_size(bytes(data)) + 2] ^= 0x40
    segments, damage = decode_segments(bytes(data), header_size(bytes(data)), 100)
    assert segments == []
    assert damage is not None
    assert damage.kind == "record"


def test_ids_outside_the_vocabulary_are_damage() -> None:
    data = _file(_segment(1, 2), _segment(1, 100), _segment(3, 4))
    _, damage = decode_segments(data, header_size(data), 100)
    assert damage is not None
    assert damage.kind == "ids"


def test_every_single_bit_flip_is_noticed() -> None:
    data = _file(_segment(1, 2, 3), _segment(4, 5))
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        _, damage = decode_header(bytes(flipped))
        if damage is None:
            _, damage = decode_segments(bytes(flipped), header_size(bytes(flipped)), HEADER.vocab_size)
        assert damage is not None, bit


def test_random_bytes_never_raise() -> None:
    rng = random.Random(3)
    good = _file(*(_segment(*range(k, k + 20)) for k in range(10)))
    for _ in range(2_000):
        bad = bytearray(good[: rng.randrange(len(good) + 1)])
        for _ in range(rng.randrange(6)):
            if bad:
                bad[rng.randrange(len(bad))] = rng.randrange(256)
        header, damage = decode_header(bytes(bad))
        assert (header is None) != (damage is None)
        decode_segments(bytes(bad), header_size(bytes(bad)), 100)
    for body in (b"[" * 60_000, b"{}", b"[]", b"null", b'{"tokenizer": 1}', b"\xff" * 8, b"1" * 9000, b'"x"'):
        data = _header_with(body)
        assert decode_header(data)[0] is None


def _header_with(text: bytes) -> bytes:
    import struct
    import zlib

    text += b" " * (-len(text) % 4)
    sizes = struct.pack("<II", 1, len(text))
    return MAGIC + sizes + struct.pack("<I", zlib.crc32(text, zlib.crc32(sizes))) + text


def test_a_newer_version_is_told_from_damage() -> None:
    data = MAGIC + (3).to_bytes(4, "little") + b"whatever a later lacli puts here"
    _, damage = decode_header(data)
    assert damage is not None
    assert damage.kind == "future"
    assert "format 3" in damage.text


def test_a_million_tokens_are_decoded_at_once() -> None:
    """The budget is 300 ms; this bound only tells an array from a Python loop over tokens."""
    record = encode_record(_segment(*range(250)))
    data = record * 4_000
    start = time.perf_counter()
    segments, _ = decode_segments(data, 0, 250)
    assert time.perf_counter() - start < 1.0
    assert sum(len(each.words) for each in segments) == 1_000_000
