"""A reply ends with the block it was asked for, at the same byte whatever steps it came in."""

from __future__ import annotations

import pytest

from lacli.edits.reply.ending import BlockEnd
from lacli.engine.step import Finish
from lacli.text.stops import StopStrings

OLD = "class A:\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n"
NEW = OLD.replace("one", "uno")
FENCES = "# T\n\n```\na\n```\n\nmiddle\n\n```\nb\n```\n\nend of it\n"


def end_of(reply: str, original: str = OLD) -> int | None:
    """After how many bytes the reply ends by itself."""
    watcher = BlockEnd(original)
    return next((end for byte in reply.encode() if (end := watcher.feed(byte)) is not None), None)


class TestEnds:
    @pytest.mark.parametrize(
        "begin", ["", "Sure:\n\n", "```\n    def uno(self):\n```\n", f"```\n{OLD}```\n", "é漢👩‍💻\n"]
    )
    def test_behind_the_block_that_holds_it_all(self, begin: str) -> None:
        reply = f"{begin}```python\n{NEW}```\n"
        assert end_of(f"{reply}\nI renamed it.\n\n```\nx = A()\n```\n") == len(reply.encode())

    def test_not_at_inner_fences(self) -> None:
        new = FENCES.replace("middle", "between")
        for fence in ("```", "````"):
            reply = f"{fence}md\n{new}{fence}\n"
            assert end_of(f"{reply}Done.\n", FENCES) == len(reply)

    def test_whatever_the_steps_are(self) -> None:
        reply = f"```\n{NEW}```\n"
        text = f"{reply}Now some words."

        class Letters:
            def token_bytes(self, token_id: int) -> bytes:
                return bytes([token_id])

        for size in range(1, len(text)):
            rule = StopStrings(Letters(), (), (BlockEnd(OLD),))
            shown = ""
            for start in range(0, len(text), size):
                cut = rule.cut(list(text[start : start + size].encode()))
                shown += rule.take()
                if cut.finish is not None:
                    break
            assert (cut.finish, shown + rule.finish()) == (Finish.STOP, reply)


class TestGoesOn:
    @pytest.mark.parametrize(
        "reply",
        [
            f"```\n{NEW}",  # no fence yet
            f"```\n{NEW}```",  # no end of its line
            f"```\n{NEW}```python\n",  # an opening one
            f"```\n{OLD}```\n",  # the old text: the new one may follow
            "```\n        return 2\n```\n",  # a piece that ends as it does
            f"```\n{NEW[:40]}\n```\n",
            f"{NEW}\n",
            "no code\n",
        ],
    )
    def test_while_it_is_not_sure(self, reply: str) -> None:
        assert end_of(reply) is None
        watcher = BlockEnd(OLD)
        for byte in reply.encode():
            watcher.feed(byte)
        assert watcher.safe == len(reply.encode())
        assert watcher.end(True) is None
