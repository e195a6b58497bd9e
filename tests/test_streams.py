"""A descriptor that takes little at a time, and says so at once, loses nothing."""

from __future__ import annotations

import io
import os
import threading

import pytest

from lacli.streams import BlockingWriter, blocking

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs pipes that do not block")


def _pipe() -> tuple[int, int]:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    return reader, writer


def _all_of(reader: int, into: list[bytes]) -> None:
    with open(reader, "rb") as file:
        into.append(file.read())


@pytest.mark.parametrize("unbuffered", [False, True])
def test_everything_arrives_through_a_pipe_that_does_not_block(unbuffered: bool) -> None:
    reader, writer = _pipe()
    raw = io.FileIO(writer, "w")
    given = io.TextIOWrapper(raw if unbuffered else io.BufferedWriter(raw), "utf-8", write_through=unbuffered)  # type: ignore[type-var]
    stream = blocking(given)
    assert stream is not None
    assert stream is not given
    read: list[bytes] = []
    thread = threading.Thread(target=_all_of, args=(reader, read))
    text = "".join(f"{number}\n" for number in range(200_000))
    thread.start()
    stream.write(text)
    stream.flush()
    given.close()
    thread.join()
    assert read == [text.encode()]


def test_a_failure_names_the_stream() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb", buffering=0) as full:
        with pytest.raises(OSError, match="No space left") as failed:
            BlockingWriter(full.fileno(), "stdout").write(b"x")
        assert failed.value.filename == "stdout"


def test_what_is_no_descriptors_own_stays_as_it_is() -> None:
    for stream in (None, io.StringIO(), io.TextIOWrapper(io.BytesIO())):
        assert blocking(stream) is stream
