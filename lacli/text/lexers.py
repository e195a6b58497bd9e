"""What takes code of a language apart: a class of Pygments, found by the word behind an opening fence.

Pygments is imported with the first question, and its plugins never: they are others' code, and looking for them takes
a while.
"""

from __future__ import annotations

from typing import Any


def lexer_of(language: str) -> Any:
    """The class; None where nobody knows the language, or there is nothing in it to tell apart."""
    from pygments.lexers import find_lexer_class, get_all_lexers

    wanted = language.lower().strip("{}. ")
    if wanted in ("", "text", "plain", "plaintext", "txt", "output"):
        return None
    names = (name for name, aliases, *_ in get_all_lexers(plugins=False) if wanted in aliases)
    name = next(names, None)
    return find_lexer_class(name) if name else None
