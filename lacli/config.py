"""What shapes an assistant, as one frozen record, and whether the network is off. Imports nothing heavy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is fixed while an assistant lives; what may change from reply to reply is in `Request`."""

    model: str | None = None
    """Alias, folder or .gguf file; None is the registry's default."""
    quant: str | None = None
    """int4, int8, none, nf4 or bnb-int8; None is the model's default, or what suits its source and the device."""
    device: str = "auto"
    """auto, cpu or cuda"""
    threads: int | None = None
    """CPU threads; None is one for each physical core."""
    lookahead: bool = True
    """False decodes plainly, one row a step."""
    strict: bool = False
    """On CUDA, every forward in one shape, so that its rounding cannot depend on guesses."""
    pool: bool = True
    """Whether the project's pool on disk is read."""
    learn: bool = True
    """Whether it is extended, too."""
    pool_mb: float | None = None
    """Most megabytes kept of one project, and below of all; None is the store's default, 0 keeps nothing."""
    pools_mb: float | None = None
    keep_prompts: bool = False
    """Whether the KV cache of what was read is kept on disk, and used again."""
    kv_mb: float | None = None
    """Most megabytes of that for one project, and below for all; None is the store's default, 0 keeps nothing."""
    kvs_mb: float | None = None
    window: int | None = None
    """Most columns of the Jacobi window; None leaves it to the device's default. The same for the next two."""
    ngram: int | None = None
    guesses: int | None = None
    context: int | None = None
    """Most tokens of prompt and reply; None is the model's own bound."""
    offline: bool = False
    """Never touch the network."""
    send_anyway: bool = False
    """Whether a remote may be sent what seems to hold a secret."""
    folder: Path | None = None
    """Where the project is looked for; None is the current folder."""

    @property
    def of_model(self) -> Settings:
        """What of these decides about the loaded model: equal for all settings that one model in memory can serve."""
        return Settings(
            model=self.model,
            quant=self.quant,
            device=self.device,
            threads=self.threads,
            lookahead=self.lookahead,
            strict=self.strict,
            context=self.context,
        )


def told_offline(*variables: str) -> bool:
    """Whether HF_HUB_OFFLINE, or another of these variables, says that the network is not to be used."""
    given = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", *variables))
    return any(value.lower() in ("1", "true", "yes", "on") for value in given)
