"""Notebooks whose cells hold lines of IPython."""

from __future__ import annotations

import json

import pytest

from lacli.editing.applying import applied
from lacli.editing.edit import Edit, Outcome
from lacli.edits.tree.syntax import is_sound
from lacli.edits.write.magics import Magics
from lacli.edits.write.textfile import TextFile
from lacli.events import Finished, ReplyStats

CELLS = [
    "%matplotlib inline\n!pip install \\\n  pandas\nimport pandas as pd",
    "def load(path):\n    return pd.read_csv(path)",
    "if True:\n    !ls\nfiles = !ls *.csv\nload?",
    "%%bash\n  echo hi\nfor f in *; do echo $f; done",
    "%%time\nload('a.csv').plot()",
]


def notebook(*cells: str) -> TextFile:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return TextFile.of_bytes(json.dumps({"cells": made, "metadata": {}, "nbformat": 4}).encode(), "n.ipynb")


def shown(*cells: str) -> str:
    return "".join(f"# %%\n{cell}\n" for cell in cells)


def edited(instruction: str, *replies: str) -> Outcome:
    left = list(replies)
    return Edit(notebook(*CELLS), instruction, "n.ipynb").run(
        lambda _: Finished(left.pop(0) if len(left) > 1 else left[0], (1,), "stop", ReplyStats())
    )


def cells_of(outcome: Outcome) -> list[str]:
    return [each["source"] for each in json.loads(outcome.result.data)["cells"]]


def test_every_magic_becomes_a_statement_and_comes_back() -> None:
    text = shown(*CELLS)
    magics = Magics.of(text)
    assert is_sound(text, "python") is False
    assert is_sound(magics.text, "python") is True
    assert magics.text.count("\n") == text.count("\n")
    assert magics.unmasked(magics.text) == text
    assert "files = None  # files = !ls *.csv\n" in magics.text
    assert "load('a.csv').plot()\n" in magics.text


@pytest.mark.parametrize("text", ["x = (5\n     %y)\n", 's = """\n!important\n"""\npass  # nothing\n', "def (:\n!ls\n"])
def test_what_parses_has_none_and_what_never_parses_stays(text: str) -> None:
    assert Magics.of(text).text == text
    assert Magics.of(text).unmasked(text) == text


def test_a_statement_that_does_nothing_is_no_magic() -> None:
    text = "!ls\nif True:\n    pass  # nothing yet\n"
    magics = Magics.of(text)
    assert magics.unmasked(magics.text) == text


def test_a_function_beside_magics_is_changed_and_nothing_else() -> None:
    new = "def load(path):\n    if not path:\n        raise ValueError\n    return pd.read_csv(path)"
    outcome = edited("let load raise a ValueError if path is empty", f"```python\n{new}\n```\n")
    assert not outcome.result.problems
    assert cells_of(outcome) == [CELLS[0], new, *CELLS[2:]]
    outcome = Edit(notebook(*CELLS), "rename load to read", "n.ipynb").without_model()
    assert outcome is not None
    assert cells_of(outcome)[1].startswith("def read(")
    assert cells_of(outcome)[4] == "%%time\nread('a.csv').plot()"


def test_a_magic_the_model_writes_is_one() -> None:
    whole = shown(*CELLS).replace("pandas\n", "pandas numpy\n").replace("%matplotlib inline", "%matplotlib notebook")
    outcome = edited("use matplotlib notebook and install numpy, too", f"```python\n{whole}```\n")
    assert not outcome.result.problems
    assert cells_of(outcome)[0] == CELLS[0].replace("inline", "notebook").replace(
        "pandas\nimport", "pandas numpy\nimport"
    )


def test_a_lost_magic_is_put_back_or_the_edit_refused() -> None:
    outcome = edited("let files be sorted", f"```python\n{shown(*CELLS).replace('!ls' + chr(10), '')}```\n")
    assert outcome.result.problems or cells_of(outcome) == CELLS


def test_cells_that_would_be_others_are_asked_for_again() -> None:
    new = shown(*CELLS[1:])
    outcome = edited("drop the magics", f"```python\n{new}```\n")
    assert outcome.result.problems
    assert not outcome.result.diff


def test_an_answer_of_a_chat_may_hold_magics() -> None:
    whole = shown(CELLS[0].replace("inline", "notebook"), *CELLS[1:])
    made = applied(notebook(*CELLS), f"```python\n{whole}```\n", "use matplotlib notebook")
    assert not made.problems
    assert b"%matplotlib notebook" in made.data
