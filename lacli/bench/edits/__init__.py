"""The suite `edits`: real files, instructions, and checks in code of what became of them."""
