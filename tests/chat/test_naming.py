"""Which file a block is for, as answers of models say it."""

from __future__ import annotations

import pytest

from lacli.chat.blocks import code_of, file_meant
from lacli.errors import UsageError
from lacli.events import Attachment


@pytest.mark.parametrize(
    ("answer", "file"),
    [
        ("```python inventory.py\nx\n```", "inventory.py"),
        ("```python:src/inventory.py\nx\n```", "src/inventory.py"),
        ("```inventory.py\nx\n```", "inventory.py"),
        ('```js title="web/app.js"\nx\n```', "web/app.js"),
        ("**inventory.py**\n\n```python\nx\n```", "inventory.py"),
        ("### `src/inventory.py`\n```python\nx\n```", "src/inventory.py"),
        ("File: inventory.py\n```python\nx\n```", "inventory.py"),
        ("Here is the changed `inventory.py`:\n\n```python\nx\n```", "inventory.py"),
        ("Here:\n```python\n# src/inventory.py\nx\n```", "src/inventory.py"),
        ("1. `Makefile`:\n   ```make\n   x\n   ```", "Makefile"),
        ("In Node.js you write:\n```js\nx\n```", ""),
        ("Call `list.sort`:\n```python\nx\n```", ""),
        ("```python\n# 3.14\nx\n```", ""),
        ("```python /etc/passwd\nx\n```", ""),
        ("`../../up.py`:\n```python\nx\n```", ""),
        ("`.git/hooks/pre-commit.sh`:\n```sh\nx\n```", ""),
    ],
)
def test_a_name_is_taken_where_answers_put_it_and_never_one_that_leads_out(answer: str, file: str) -> None:
    assert file_meant(answer, ()) == file


def test_what_was_attached_is_meant_where_its_end_is_named_or_nothing_is() -> None:
    files = [Attachment("src/inventory.py", "x"), Attachment("src/other.py", "y")]
    assert file_meant("`inventory.py`:\n```python\nx\n```", files) == "src/inventory.py"
    assert file_meant("```python\nx\n```", files) == ""
    assert file_meant("```python\nx\n```", files[1:]) == "src/other.py"
    assert file_meant("```python\nx\n```", [Attachment("stdin", "z")]) == ""


def test_without_a_number_it_is_the_last_block_that_is_code() -> None:
    answer = "```python\nx\n```\n```\n1\n```\n```text\n2\n```\n"
    assert code_of(answer) == ("x\n", "code block 1 of 3")
    assert code_of("```\n1\n```\n```\n2\n```\n") == ("2\n", "code block 2 of 2")
    assert code_of(answer, "3") == ("2\n", "code block 3 of 3")
    with pytest.raises(UsageError, match="there is no code block 4"):
        file_meant(answer, (), "4")
