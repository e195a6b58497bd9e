"""A notebook as the text of its cells: what is shown, where its places are, and that all else stays byte for byte."""

from __future__ import annotations

import json

import pytest

from lacli.edits.write.notebook import Notebook, is_notebook
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError

DOCUMENT = {
    "cells": [
        {"cell_type": "markdown", "id": "a1", "metadata": {}, "source": ["# Title\n", "\n", "Some **text**"]},
        {
            "cell_type": "code",
            "execution_count": 3,
            "id": "b2",
            "metadata": {"tags": ["x"]},
            "outputs": [
                {"data": {"image/png": "iVBORw0KGgo=", "text/plain": ["# %%\n"]}, "output_type": "display_data"}
            ],
            "source": ["import math\n", 'print("naïve\\n", math.pi)'],
        },
        {"cell_type": "code", "execution_count": None, "id": "c3", "metadata": {}, "outputs": [], "source": []},
    ],
    "metadata": {"kernelspec": {"language": "julia", "name": "j"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
SHOWN = """\
# %% [markdown]
# # Title
#
# Some **text**
# %%
import math
print("naïve\\n", math.pi)
# %%

"""


def notebook(data: bytes | None = None, indent: int | None = 1) -> Notebook:
    raw = json.dumps(DOCUMENT, indent=indent, ensure_ascii=False).encode() if data is None else data
    assert is_notebook("x.ipynb", raw)
    return Notebook.of(TextFile.of_bytes(raw, "x.ipynb"))


@pytest.mark.parametrize("indent", [1, 2, None])
@pytest.mark.parametrize("listed", [True, False])
class TestBothForms:
    def made(self, indent: int | None, listed: bool) -> Notebook:
        document = json.loads(json.dumps(DOCUMENT))
        if not listed:
            for cell in document["cells"]:
                cell["source"] = "".join(cell["source"])
        return notebook((json.dumps(document, indent=indent, ensure_ascii=False) + "\n").encode(), indent)

    def test_cells_are_shown_and_outputs_are_not(self, indent: int | None, listed: bool) -> None:
        made = self.made(indent, listed)
        assert made.text == SHOWN
        assert made.language == "julia"
        assert made.changed(made.text) == made.file.data

    def test_only_the_source_that_changed_is_written(self, indent: int | None, listed: bool) -> None:
        made = self.made(indent, listed)
        data = made.changed(SHOWN.replace("import math\n", 'import math\nx = "é"\n').replace("Title", "Titel"))
        after, before = json.loads(data), json.loads(made.file.data)
        lines = ["import math\n", 'x = "é"\n', 'print("naïve\\n", math.pi)']
        assert after["cells"][1].pop("source") == (lines if listed else "".join(lines))
        assert "".join(after["cells"][0].pop("source")) == "# Titel\n\nSome **text**"
        for cell in before["cells"][:2]:
            del cell["source"]
        assert after == before
        if listed and indent is not None:
            assert data.decode().splitlines()[:8] == made.file.text.replace("Title", "Titel").splitlines()[:8]
            added = set(data.decode().splitlines()) - set(made.file.text.splitlines())
            assert {line.strip() for line in added} == {'"# Titel\\n",', '"x = \\"é\\"\\n",'}

    def test_an_empty_cell_is_filled(self, indent: int | None, listed: bool) -> None:
        made = self.made(indent, listed)
        end = made.end()
        data = made.replaced(end, end, "x = 1\ny = 2")
        assert json.loads(data)["cells"][2]["source"] == (["x = 1\n", "y = 2"] if listed else "x = 1\ny = 2")
        assert made.text[:end] == SHOWN[:-1]

    def test_a_place_in_the_file_is_one_in_the_cells(self, indent: int | None, listed: bool) -> None:
        made = self.made(indent, listed)
        for raw, shown in (("math.pi)", "math.pi)"), ("ve\\\\n", "ve\\n"), ("text**", "text**"), ("Title", "Title")):
            assert made.at(made.file.text.index(raw)) == SHOWN.index(shown)
        with pytest.raises(UsageError, match="is not in the source of a cell"):
            made.at(made.file.text.index("iVBOR") if indent else 1)


def test_the_end_of_a_line_of_the_file_is_that_of_the_line_of_source() -> None:
    made = notebook()
    lines = made.file.text.splitlines()
    at = sum(len(line) + 1 for line in lines[: lines.index('    "import math\\n",')])
    end = at + len('    "import math\\n",')
    assert SHOWN[: made.at(end)].endswith("import math")
    assert SHOWN[: made.at(at)].endswith("# %%\n")
    assert SHOWN[: made.at(end + 1)].endswith("import math\n")


def test_an_empty_list_of_lines_is_found_by_its_line() -> None:
    made = notebook()
    at = made.file.text.index('"source": []')
    assert made.at(at) == made.at(at + len('"source": []')) == made.end()


def test_a_line_of_source_may_look_like_a_boundary() -> None:
    document = {"cells": [{"cell_type": "code", "source": "a\n# %%\nb"}, {"cell_type": "code", "source": "c"}]}
    made = notebook(json.dumps(document).encode())
    after = json.loads(made.changed(made.text.replace("c", "d")))
    assert [cell["source"] for cell in after["cells"]] == ["a\n# %%\nb", "d"]


@pytest.mark.parametrize(
    "text", ["", "x\n" + SHOWN, SHOWN.replace("# %%\n\n", ""), SHOWN.replace("[markdown]", "[raw]")]
)
def test_cells_are_neither_added_nor_removed(text: str) -> None:
    with pytest.raises(UsageError, match="would be others"):
        notebook().changed(text)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.py", b'{"cells": []}'),
        ("a.ipynb", b"{"),
        ("a.ipynb", b"[]"),
        ("a.ipynb", b'{"worksheets": []}'),
        ("a.ipynb", b'{"cells": [{"source": 1}]}'),
        ("a.ipynb", b"[" * 100_000),
    ],
)
def test_what_is_no_notebook(path: str, data: bytes) -> None:
    assert not is_notebook(path, data)


def test_escapes_stay_as_the_file_has_them() -> None:
    raw = b'{"cells": [{"cell_type": "code", "source": ["a = \'\\u00e9\\ud83d\\ude00\'\\n", "b"]}], "metadata": {}}'
    made = notebook(raw)
    assert made.text == "# %%\na = 'é😀'\nb\n"
    assert made.at(made.file.text.index("'\\n")) == made.text.index("😀") + 1
    data = made.changed(made.text.replace("b\n", "b = 'ü'\n"))
    assert data == raw.replace(b'"b"', b"\"b = '\\u00fc'\"")
