"""Which tensors a family's folder must have and which it may: what lacks a head is refused, what nobody uses is told.

For the families whose names are known here; of any other transformers finds out when it loads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from lacli.errors import ModelUnavailable
from lacli.models.hf.folder import OUR_KINDS, HfFolder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "starcoder2")
MORE_LINEARS = ("gemma2", "gemma3_text", "granite", "olmo2", "phi3")
"""Further families of which every linear but the head is called `…_proj`, as bitsandbytes takes them."""
EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"
_TIED_UNLESS_TOLD = ("starcoder2",)
_STORED = f"(?:weight|bias|{'|'.join(kind[1:] for kind in OUR_KINDS)})"
_COMPARED = 16
"""Rows that are compared at the beginning, in the middle and at the end of a matrix."""
Rows = Callable[[str, int, int], "NDArray[np.float32]"]
"""Reads rows [first, last) of a tensor."""


def is_tied(found: HfFolder) -> bool:
    """Whether config.json, or its silence, says that the embedding is the output head, too."""
    told = found.config.get("tie_word_embeddings")
    return told if isinstance(told, bool) else found.config["model_type"] in _TIED_UNLESS_TOLD


def refuse_headless(found: HfFolder) -> None:
    """Refuse a folder without the output head that its config.json asks for: the embedding is none."""
    if found.config["model_type"] not in FAMILIES or is_tied(found) or _has_head(found.tensors):
        return
    raise ModelUnavailable(
        f"the weights in {found.folder} lack {HEAD}",
        "fetch the model again; where the embedding is its head, config.json says tie_word_embeddings: true",
    )


def notes(found: HfFolder) -> tuple[str, ...]:
    """A line on tensors that are not used."""
    family = found.config["model_type"]
    if family not in FAMILIES:
        return ()
    known = _known(family)
    return unused(name for name in found.tensors if not known.fullmatch(name))


def unused(names: Iterable[str]) -> tuple[str, ...]:
    """A line on these tensors, if there are any."""
    found = sorted(names)
    if not found:
        return ()
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (f"the weights hold {found[0]}{more}, which this kind of model has no use for; ignored",)


def untied(found: HfFolder, rows: Rows) -> tuple[str, ...]:
    """A line on a head of its own where config.json says that the embedding is the head: it is used, as by
    transformers."""
    if not is_tied(found) or not {EMBEDDING, HEAD} <= found.tensors.keys():
        return ()
    embedding, head = found.tensors[EMBEDDING], found.tensors[HEAD]
    count = head.shape[0]
    starts = {0, max(0, count // 2 - _COMPARED), max(0, count - _COMPARED)}
    if embedding.shape == head.shape and all(
        (rows(EMBEDDING, first, first + _COMPARED) == rows(HEAD, first, first + _COMPARED)).all() for first in starts
    ):
        return ()
    return (f"config.json ties the output head to the embedding, and {HEAD} is another one; {HEAD} is used",)


def _has_head(names: Collection[str]) -> bool:
    return HEAD in names or any(f"lm_head{kind}" in names for kind in OUR_KINDS)


def _known(family: str) -> re.Pattern[str]:
    norms = ["input_layernorm", "post_attention_layernorm"]
    norms += [r"self_attn\.q_norm", r"self_attn\.k_norm"] if family == "qwen3" else []
    mlp = "c_fc|c_proj" if family == "starcoder2" else "gate_proj|up_proj|down_proj"
    layer = rf"(?:self_attn\.[qkvo]_proj|mlp\.(?:{mlp})|{'|'.join(norms)})"
    return re.compile(
        rf"(?:lm_head|model\.(?:embed_tokens|norm|layers\.\d+\.{layer}))\.{_STORED}|.*rotary_emb\.inv_freq"
    )
