"""Edits of notebooks: a cell changes, and the rest of the file keeps its bytes."""

from __future__ import annotations

import json

import pytest

from lacli.editing.edit import Edit
from lacli.editing.question import Question
from lacli.editing.source import parts_of
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from tests.chat.test_editing import answering, block, of


class TestNotebooks:
    CELL = "def load(path):\n    return open(path)\n"

    def notebook(self) -> TextFile:
        cells = [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"]},
            {
                "cell_type": "code",
                "execution_count": 3,
                "metadata": {},
                "outputs": [{"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}}],
                "source": self.CELL.splitlines(keepends=True),
            },
        ]
        document = {
            "cells": cells,
            "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return of(json.dumps(document, indent=1) + "\n", "nb.ipynb")

    def test_a_cell_is_edited_and_everything_else_keeps_its_bytes(self) -> None:
        file = self.notebook()
        asked: list[Question] = []
        reply = block("def load(path):\n    return open(path).read()\n")
        outcome = Edit(file, "let load return the text", "nb.ipynb").run(answering(reply, asked=asked))
        assert "iVBORw0KGgo" not in str(asked)
        assert outcome.result.data == file.data.replace(b"open(path)", b"open(path).read()")

    def test_lines_of_the_file_are_no_lines_of_its_cells(self) -> None:
        with pytest.raises(UsageError, match="is a notebook"):
            parts_of(self.notebook(), [(3, 4)], [])
