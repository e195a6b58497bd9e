"""What is known here of the model that a remote has: its markers, and where it is prepared its tokenizer and template.

Known is a model that the user's table names, or whose name or repository is the very one that the server gives. Nothing
is guessed from how a name looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.errors import LacliError
from lacli.remote.server import Server

if TYPE_CHECKING:
    from lacli.models.hf.chat_template import ChatTemplate
    from lacli.models.registry.fim_markers import FimMarkers
    from lacli.models.registry.registry import Registry
    from lacli.models.spec import ModelSpec
    from lacli.text.tokenizer import Tokenizer


@dataclass
class KnownModel:
    """A remote's model as the registry has it."""

    server: Server

    @cached_property
    def registry(self) -> Registry:
        """All models. Reads files."""
        from lacli.models.registry.registry import load_registry

        return load_registry()

    @cached_property
    def spec(self) -> ModelSpec | None:
        """Its entry; None where it is not known."""
        given = self.server.remote.tokenizer
        if given:
            return self.registry.resolve(given)
        name = self.server.model
        if name in self.registry.models:
            return self.registry.models[name]
        models = self.registry.models.values()
        return next((spec for spec in models if any(source.repo == name for source in spec.sources)), None)

    @cached_property
    def folder(self) -> Path | None:
        """Where it is prepared; None where it is not."""
        if self.spec is None:
            return None
        from lacli.models.registry.inventory import presence

        prepared = presence(self.spec).prepared
        return prepared[0] if prepared else None

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """Its tokenizer; None where it is not here."""
        if self.folder is None:
            return None
        from lacli.text.tokenizer import Tokenizer

        try:
            return Tokenizer.load(self.folder)
        except LacliError:  # a damaged folder is for those commands to name that need it
            return None

    @cached_property
    def template(self) -> ChatTemplate | None:
        """Its chat template; None where it has none, or is not here."""
        if self.folder is None:
            return None
        from lacli.prompts.template import load_template

        return load_template(self.folder)

    @cached_property
    def markers(self) -> FimMarkers | None:
        """How it is asked to fill in the middle, as far as the registry and its vocabulary tell."""
        if self.spec is None:
            return None
        if self.tokenizer is None:
            return self.spec.fim
        return self.registry.fim_of(self.spec, self.tokenizer.id_of)
