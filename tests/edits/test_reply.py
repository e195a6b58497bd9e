"""Which text of a reply is the rewritten one. Aider-AI/aider#22: replies were cut at the first inner fence."""

from __future__ import annotations

import random

import pytest

from lacli.edits.reply.reply import ends_alike, rewritten
from lacli.text.fences import blocks

CODE = "import os\n\n\ndef load(path):\n    return open(path).read()\n\n\nprint(load('x'))\n"
README = """# Title

Teh first lines.

```sh
pip install x
```

- an item

  ```python
  import x
  ```

~~~
plain
~~~

````md
```
inner
```
````

    ```
    indented
    ```

Last words.
"""
BARE = "# T\n\n```\na\n```\n\nmiddle\n\n```\nb\n```\n\nend\n"
DOCSTRING = (
    'def f():\n    """Do.\n\n    ```\n    f()\n    ```\n    """\n\n\ndef g():\n    """Go.\n\n```\ng()\n```\n"""\n'
)
FILES = {"code": CODE, "readme": README, "bare fences": BARE, "docstring": DOCSTRING}


def text_of(reply: str, original: str, ended: bool = True) -> str | None:
    found = rewritten(reply, original, ended)
    return found.text if found is not None and found.whole else None


def changed(text: str) -> str:
    return text.replace("Teh", "The").replace("load", "read").replace("middle", "between").replace("Do.", "Done.")


@pytest.mark.parametrize("name", FILES)
class TestWholeReplies:
    @pytest.mark.parametrize("fence", ["```", "````", "`````", "~~~", "~~~~"])
    @pytest.mark.parametrize("prose", ["", "Here it is:\n\n"])
    def test_in_a_block(self, name: str, fence: str, prose: str) -> None:
        """Also where the inner fences are as long as the outer one, which no Markdown reader can tell apart."""
        new = changed(FILES[name])
        assert text_of(f"{prose}{fence}text\n{new}{fence}\n", FILES[name]) == new

    def test_prose_and_other_blocks_behind_it(self, name: str) -> None:
        new = changed(FILES[name])
        reply = f"```\n{new}```\n\nI changed one word. Use it so:\n\n```\nmake\n```\n"
        assert text_of(reply, FILES[name]) == new

    def test_a_small_block_before_it(self, name: str) -> None:
        new = changed(FILES[name])
        assert text_of(f"This part:\n\n```\nx = 1\n```\n\nThe file:\n\n`````\n{new}`````\n", FILES[name]) == new

    def test_the_old_text_before_the_new_one(self, name: str) -> None:
        new = changed(FILES[name])
        assert text_of(f"Old:\n\n`````\n{FILES[name]}`````\n\nNew:\n\n`````\n{new}`````\n", FILES[name]) == new

    def test_without_a_fence(self, name: str) -> None:
        new = changed(FILES[name])
        assert text_of(new, FILES[name]) == new
        assert text_of(f"Here it is:\n\n{new}", FILES[name]) == new

    def test_an_unchanged_text(self, name: str) -> None:
        assert text_of(f"````\n{FILES[name]}````", FILES[name]) == FILES[name]

    def test_the_last_fence_was_forgotten(self, name: str) -> None:
        new = changed(FILES[name])
        assert text_of(f"`````\n{new}", FILES[name]) == new


class TestUnfinished:
    @pytest.mark.parametrize("name", FILES)
    @pytest.mark.parametrize("fence", ["", "```\n", "````\n"])
    def test_cut_anywhere_by_the_token_limit_it_is_never_taken(self, name: str, fence: str) -> None:
        whole = f"{fence}{changed(FILES[name])}"
        for size in range(len(whole) - 1):
            assert text_of(whole[:size], FILES[name], ended=False) is None, whole[:size]

    def test_ended_by_the_model_in_the_middle_it_is_not_taken(self) -> None:
        assert text_of("```\nimport os\n\n\ndef load(", CODE) is None

    def test_complete_and_cut_in_the_words_behind_it_it_is_taken(self) -> None:
        assert text_of(f"```\n{changed(CODE)}```\n\nI have ren", CODE, ended=False) == changed(CODE)


class TestNoText:
    @pytest.mark.parametrize("reply", ["", "I cannot do that.", "Use `os.path`.\n\n1. Open it\n2. Change it\n"])
    def test_prose_alone(self, reply: str) -> None:
        assert rewritten(reply, CODE) is None

    def test_a_reply_for_an_empty_file_needs_a_block(self) -> None:
        assert rewritten("x = 1", "") is None
        assert text_of("```\nx = 1\n```", "") == "x = 1\n"


class TestDetails:
    def test_all_of_it_written_anew_is_the_first_block(self) -> None:
        assert text_of("```\na = 1\n```\nor\n```\nb = 2\n```\n", "zzz\n") == "a = 1\n"

    def test_a_block_in_a_list_item_loses_its_indentation(self) -> None:
        reply = "1. So:\n\n   ```python\n" + "".join(f"   {line}\n" for line in CODE.splitlines()) + "   ```\n"
        assert text_of(reply, CODE) == CODE

    def test_a_fence_that_the_instruction_wanted_inside(self) -> None:
        new = CODE.replace("def load(path):\n", 'def load(path):\n    """Use:\n\n```\nload("x")\n```\n    """\n')
        assert text_of(f"```python\n{new}```\n", CODE) == new

    def test_line_separators_of_unicode_are_letters(self) -> None:
        assert text_of("```\na\u2028b\x0c\n```", "a\u2028c\n") == "a\u2028b\x0c\n"

    def test_many_fences_are_searched_in_no_time(self) -> None:
        text = "".join(f"```\n{number}\n```\n" for number in range(1500))
        assert text_of(f"````\n{text}````", text) == text


def test_random_markdown_comes_back_whole() -> None:
    """With a longer fence, as the prompt asks for, whatever is inside."""
    chance = random.Random(2)
    lines = ["```", "```py", "~~~", "````", "  ```", "    ```", "- ```", "text", "", "1. a", "~~~~ x", "   text"]
    for _ in range(600):
        old = "".join(chance.choice(lines) + "\n" for _ in range(chance.randrange(1, 14)))
        new = old.replace("text", "word", 1) + "end\n" * chance.randrange(2)
        found = rewritten(f"``````\n{new}``````\n", old)
        assert found is not None
        assert (found.text, found.whole) == (new, True)
        assert len(blocks(f"``````\n{new}``````\n")) == 1


def test_a_line_of_data_is_compared_by_its_ends() -> None:
    """Case F7: one of ten megabytes, and its letters would be compared for seconds."""
    data = "x" * 10_000_000
    assert ends_alike(f"a = '{data}'", f"a = '{data}y'")
    assert not ends_alike(f"a = '{data}'", f"b = [{'z' * 9_000_000}]")
