"""A completion for an editor: the place as `lacli complete` has it, asked of the engine of its project. Blocks."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pygls.uris import to_fs_path

from lacli.assistant.cancel import CancelToken
from lacli.completion.around import other_files, project_of
from lacli.completion.window import REACH
from lacli.events import Finished, Place
from lacli.models.registry.inventory import presence
from lacli.models.registry.registry import load_registry
from lacli.server.lsp.start import Start
from lacli.server.stdio.engine import Engines, ProjectEngine
from lacli.server.stdio.streams import clean
from lacli.text import languages


class Completer:
    """Completes in any project, with one model."""

    def __init__(self, start: Start, engines: Engines) -> None:
        self._start = start
        self._engines = engines

    def load(self, folder: str) -> None:
        """Have the model loaded for this folder, unless it is to be fetched first. Raises LacliError."""
        if presence(load_registry().resolve(self._start.settings.model)).ready:
            self._engine(Path(folder) if folder else None).load()

    def text(self, uri: str, language: str, before: str, after: str, cancel: CancelToken) -> str:
        """What belongs between these texts of a file; empty where nothing does, or it was cancelled.

        Raises LacliError.
        """
        path = to_fs_path(clean(uri)) or ""
        if path.lower().endswith(".ipynb"):  # the file itself, not its cells
            return ""
        place = self._place(path, language, _shown(before), _shown(after))
        if cancel():  # looking at other files may take a moment
            return ""
        request = replace(self._start.request, place=place, drop_oldest=True, begins_again=True, tried_once=True)
        folder = Path(os.path.dirname(path)) if path else None
        for event in self._engine(folder).until(cancel).reply(request):
            if isinstance(event, Finished):
                return "" if event.reason == "cancelled" else event.text
        return ""

    def _place(self, path: str, language: str, before: str, after: str) -> Place:
        start = self._start
        root = project_of(path) if path else None
        known = languages.by_name(language) if not path or languages.of_path(path) is None else None
        named = known.name if known is not None else ""
        text, at = before + after, len(before)
        model = start.settings.model
        context = other_files(text, at, path, root, model, named, searched=start.neighbours)[0] if path else ()
        return Place(
            prefix=before[-REACH:],
            suffix=after[:REACH],
            path=_label(path, root),
            language=named,
            project=root.name if root is not None else "",
            lines_before=start.lines_before,
            lines_after=start.lines_after,
            read_ms=start.read_ms,
            scope=start.scope,
            max_lines=start.max_lines,
            context=context,
        )

    def _engine(self, folder: Path | None) -> ProjectEngine:
        settings = self._start.settings
        there = folder is not None and folder.is_dir()
        return self._engines.of(replace(settings, folder=folder) if there else settings)


def _label(path: str, root: Path | None) -> str:
    """What the model is told a file is called."""
    real = os.path.realpath(path) if path else ""
    inside = root is not None and Path(real).is_relative_to(root)
    return (os.path.relpath(real, root) if inside else os.path.basename(path)).replace(os.sep, "/")


def _shown(text: str) -> str:
    """The text as a model can be shown it: with \\n line ends, and nothing that is no character."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))
