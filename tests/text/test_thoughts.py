"""What a model thinks is told apart from its answer, in whatever pieces the reply comes."""

from __future__ import annotations

import pytest

from lacli.text.stops import StopString
from lacli.text.thoughts import AfterThought, Split, Thoughts, knows_thoughts, opens_thought


def split(text: str, opened: bool | None = False, size: int = 1 << 20) -> Split:
    """The whole reply, given in pieces of so many characters."""
    thoughts, found = Thoughts(opened), Split()
    for at in range(0, len(text), size):
        found += thoughts.push(text[at : at + size])
    return found + thoughts.finish()


REPLIES = [
    ("<think>\nhm\n</think>\n\nYes.", False, "Yes.", "\nhm\n"),
    ("hm\n</think>\n\nYes.", True, "Yes.", "hm\n"),
    ("<think>hm</think>Yes.", True, "Yes.", "hm"),
    (" \n<thinking>hm</thinking> Yes.", False, "Yes.", "hm"),
    ("[THINK]a[/THINK]b", False, "b", "a"),
    ("<think></think>\n\n    x = 1\n", False, "    x = 1\n", ""),
    ("<think>a</think>\n<think>b</think>\nc", False, "c", "a\n\nb"),
    ("<think>a </thinking> b</think>c", False, "c", "a </thinking> b"),
    ("<think>never closed </thi", False, "", "never closed </thi"),
    ("<think>only thought</think>\n", False, "", "only thought"),
    ("  The mark <think> opens, </think> closes.", False, "  The mark <think> opens, </think> closes.", ""),
    ("<thin", False, "<thin", ""),
    ("<thing>x</thing>", False, "<thing>x</thing>", ""),
    ("", False, "", ""),
    ("<think>a</think>b", None, "<think>a</think>b", ""),
]


@pytest.mark.parametrize(("reply", "opened", "answer", "thought"), REPLIES)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_reply_is_split_the_same_whatever_pieces_it_comes_in(
    reply: str, opened: bool | None, answer: str, thought: str, size: int
) -> None:
    assert split(reply, opened, size) == Split(answer, thought)


def test_text_comes_as_soon_as_it_is_certain() -> None:
    thoughts = Thoughts()
    assert thoughts.push("<think>a b") == Split(thought="a b")
    assert thoughts.push(" </th") == Split(thought=" ")
    assert thoughts.push("ing") == Split(thought="</thing")
    assert thoughts.push("</think>") == Split()
    assert not thoughts.is_over
    assert thoughts.push("\n\nYes") == Split("Yes")
    assert thoughts.is_over
    assert thoughts.push("<think>") == Split("<think>")


def test_a_whole_reply_without_its_thoughts() -> None:
    assert split("<think>a</think>\nb").answer == "b"
    assert split("a</think>\nb", opened=True).answer == "b"
    assert split("a</think>\nb").answer == "a</think>\nb"


@pytest.mark.parametrize(
    ("prompt", "opens"),
    [
        ("<|im_start|>assistant\n<think>\n", True),
        ("<|im_start|>assistant\n<think>", True),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", False),
        ("<|im_start|>assistant\n", False),
        ("what is <think>?<|im_end|>\n<|im_start|>assistant\n", False),
    ],
)
def test_the_prompt_tells_whether_the_template_opened_a_thought(prompt: str, opens: bool) -> None:
    assert opens_thought(prompt) is opens


def test_a_template_tells_whether_its_model_may_think() -> None:
    assert knows_thoughts("{% set content = m.content.split('</think>')[-1] %}")
    assert not knows_thoughts("{{ m.content }}")


class TestAfterThought:
    """Nothing that is merely thought ends a reply."""

    def fed(self, text: bytes, opened: bool = False, stop: str = "END") -> tuple[int | None, list[int]]:
        """Where the text is cut, and after each byte how much is safe."""
        watcher = AfterThought(StopString(stop), opened)
        safe = []
        for byte in text:
            end = watcher.feed(byte)
            safe.append(watcher.safe)
            if end is not None:
                return end, safe
        return watcher.end(early=False), safe

    @pytest.mark.parametrize("opened", [False, True])
    def test_a_stop_counts_in_the_answer_only_and_at_its_place_in_the_reply(self, opened: bool) -> None:
        text = b"" if opened else b"<think>"
        text += "über END\xff".encode("latin-1") + b"</think>\n\nyes END"
        assert self.fed(text, opened)[0] == len(text) - 3

    @pytest.mark.parametrize("text", [b"no thought END", b"END", b"<thEND", b" \n END"])
    def test_without_a_thought_it_is_as_ever(self, text: bytes) -> None:
        assert self.fed(text)[0] == len(text) - 3

    def test_a_stop_that_looks_like_the_beginning_of_a_mark_is_found(self) -> None:
        assert self.fed(b"<thing", stop="<thing")[0] == 0

    def test_what_is_called_safe_is_never_cut(self) -> None:
        text = b"<think>END</think> a <b END"
        end, safe = self.fed(text)
        assert end == len(text) - 3
        assert safe == sorted(safe)
        assert max(safe[:-1]) <= end
        assert safe[9] == len(b"<think>END")  # a thought is shown while it is thought
