"""Keeps secrets on this computer: the filter that guards the pool judges what would be sent, before it is sent."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.errors import UsageError

if TYPE_CHECKING:
    from lacli.pool.secrets import Refuse


class Guard:
    """Judges texts for the project of a folder; each text is judged once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clean: set[int] = set()
        """Hashes of texts in which nothing was found: the turns of a chat are sent again and again."""

    def check(self, title: str, texts: Iterable[str]) -> None:
        """Raise UsageError if one of these texts seems to hold a secret; `title` names who it would be sent to."""
        for text in texts:
            mark = hash(text)
            if mark in self._clean or not text.strip():
                continue
            found = self._refuse(text)
            if found is not None:
                raise UsageError(
                    f"nothing was sent to {title}: what would be sent seems to hold {found}",
                    "take it out, or add --send-anyway",
                )
            self._clean.add(mark)

    @functools.cached_property
    def _refuse(self) -> Refuse:
        from lacli.pool.secrets import refuse
        from lacli.project.root import project_root
        from lacli.project.values import project_refuser

        root = project_root(self._folder)
        return refuse if root is None else project_refuser(root)
