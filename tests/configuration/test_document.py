"""document.py: the line of every key, what cannot be read, and one value changed in the text."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from lacli.configuration import document
from lacli.errors import UsageError

FILE = Path("c.toml")
TEXT = '''# about the file
top-p = 0.9  # kept
stop = [
  "a]",  # ] in a comment
  'b"',
]
ask.max-tokens = 3
inline = { top-k = 4, "x y" = "}" }

# about chat
[chat]  # kept, too
system = """hi
"there" """"
"quoted key" = 'it''s'

[ pool . "build" ]
when = 1979-05-27 07:32:00 # comment
'''.replace("'it''s'", "'it'")


def read(text: str) -> document.Document:
    return document.parse(FILE, text.encode())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("where", "line"),
    [
        (("top-p",), 2),
        (("stop",), 3),
        (("ask", "max-tokens"), 7),
        (("inline", "top-k"), 8),
        (("chat",), 11),
        (("chat", "system"), 12),
        (("chat", "quoted key"), 14),
        (("pool", "build"), 16),
        (("pool", "build", "when"), 17),
        (("ask",), 7),
    ],
)
def test_every_key_has_its_line(end: str, where: tuple[str, ...], line: int) -> None:
    assert read(TEXT.replace("\n", end)).line(where) == line


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("top-p",), 0.5),
        (("stop",), ["x", 'y"\\\n']),
        (("seed",), 7),
        (("chat", "system"), "\x7f\t\u2028é"),
        (("chat", "max-tokens"), 9),
        (("pool", "build", "json"), True),
        (("edit", "stop"), []),
        (("ask", "max-tokens"), 1),
        (("with blank", "a.b"), "z"),
    ],
)
def test_one_value_is_changed_and_nothing_else(end: str, where: tuple[str, ...], value: object) -> None:
    text = TEXT.replace("\n", end)
    changed = read(text).changed(where, value)
    wanted = tomllib.loads(text)
    table = wanted
    for name in where[:-1]:
        table = table.setdefault(name, {})
    table[where[-1]] = value
    assert tomllib.loads(changed) == wanted
    before, after = text.split(end), changed.split(end)
    gone = [line for line in before if line not in after]
    assert len(gone) <= {("stop",): 4, ("chat", "system"): 2}.get(where, 1)
    assert "# kept" in changed
    assert ("\n" in changed.replace("\r\n", "")) == (end == "\n")


def test_a_comment_right_above_the_first_table_stays_there() -> None:
    changed = read("# top\n\n# about ask\n[ask]\n").changed(("seed",), 1)
    assert changed == "# top\n\nseed = 1\n# about ask\n[ask]\n"


def test_a_file_without_an_end_of_line_gets_one() -> None:
    assert read("a = 1").changed(("b",), 2) == "a = 1\nb = 2\n"


def test_a_table_written_in_one_line_is_left_to_the_user() -> None:
    with pytest.raises(UsageError, match="writes inline in one line"):
        read(TEXT).changed(("inline", "seed"), 1)


def test_a_byte_order_mark_is_fine() -> None:
    found = document.parse(FILE, b"\xef\xbb\xbftop-p = 1\r\n")
    assert found.data == {"top-p": 1}
    assert found.bom


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'a = 1\nb = "x\n', "c.toml:2: not valid TOML"),
        (b"a = 1\nb = x\n", "c.toml:2: not valid TOML"),
        (b"a = 1\na = 2\n", "c.toml:2: not valid TOML"),
        (b"[a\n", "c.toml:1: not valid TOML"),
        ("a = 1\n".encode("utf-16"), "c.toml:1: the file is UTF-16"),
        (b"\xfe\xff\0a", "c.toml:1: the file is UTF-16"),
        (b'a = 1\nb = "caf\xe9"\n', "c.toml:2: the file is not UTF-8"),
        (b"a = 1\0", "c.toml:1: not valid TOML"),
        (b"a = " + 4000 * b"[", "c.toml:1: not valid TOML"),
        (b'a = 1\nb = """\nc = 1\n', "c.toml:2: not valid TOML"),
        (b"a = 1\nb = '''\nc = 1\n", "c.toml:2: not valid TOML"),
        (b"a = 1\nb = 'x\nc = 1\n", "c.toml:2: not valid TOML"),
        (b"a = 1\nb = [1,\n", "c.toml:2: not valid TOML"),
    ],
)
def test_what_cannot_be_read_has_its_line(data: bytes, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        document.parse(FILE, data)
    assert raised.value.message.startswith(words)
    assert raised.value.hint


def test_what_is_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        document.read(tmp_path)
    with pytest.raises(UsageError, match="No such file"):
        document.read(tmp_path / "none")
    (tmp_path / "large").write_bytes(b"#" * (2 << 20))
    with pytest.raises(UsageError, match="larger than a megabyte"):
        document.read(tmp_path / "large")
    assert document.read(Path(os.devnull)).data == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_pipe_in_the_file_s_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        document.read(tmp_path / "pipe")


def test_a_file_that_may_not_be_read_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UsageError, match="cannot be read: Permission denied"):
        document.read(tmp_path / "c.toml")
