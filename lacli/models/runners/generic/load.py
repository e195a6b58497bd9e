"""Loads a prepared folder as a stock transformers model, with linears that are exact by row on a CPU.

Safetensors only, nothing from the network, no code from the folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedConfig, PreTrainedModel

from lacli.errors import LacliError, ModelUnavailable
from lacli.kernels import packing
from lacli.models.base import Quant
from lacli.models.hf.tensor_names import unused
from lacli.models.registry.choice import ON_CUDA
from lacli.models.runners.dtype import dtype_on
from lacli.models.runners.generic import bnb
from lacli.models.runners.generic.attention import EXACT, FAST
from lacli.models.runners.generic.exact import make_row_exact, packed_linear
from lacli.models.runners.generic.placement import placement
from lacli.models.runners.tensors import Tensors

if TYPE_CHECKING:
    from lacli.models.prepare.prepare import PreparedModel

_BITS: dict[Quant, Literal[4, 8]] = {"int4": 4, "int8": 8}
_MATRICES = (nn.Linear, nn.Embedding)


def load_model(
    prepared: PreparedModel, quant: Quant, device: str, *, touch_layers: bool = True, spread: bool = False
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """The model on `device`, and what the user should know of it, a line each.

    `touch_layers=False` leaves its layers as transformers made them, for models that reach into their weights;
    `spread=True` puts them on all cards.
    """
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    notes: list[str] = []
    with _translated(prepared.folder):
        config = AutoConfig.from_pretrained(prepared.folder, local_files_only=True, trust_remote_code=False)
        stored = _stored_quantisation(config, prepared.folder)
        if stored:
            notes.append(f"the model is stored in bitsandbytes {stored} and used as it is")
        elif device != "cpu":
            quant = ON_CUDA.get(quant, quant)
        skeleton, attention = _skeleton(config, device)
        options: dict[str, Any] = {"config": config, "dtype": dtype_on(device), "attn_implementation": attention}
        uses_bnb = bool(stored) or quant in ("nf4", "bnb-int8")
        packed = prepared.packed_file if quant == prepared.quant and not stored else None
        folder = prepared.folder
        if uses_bnb:
            wanted = bnb.config_for(quant, device)
            if packed is not None:  # as a checkpoint that is stored so
                config.quantization_config = wanted.to_dict()
                folder, options["variant"] = packed.parent, packed.name.split(".")[1]
                options["generation_config"] = GenerationConfig()  # there may be none beside it, and none is used
            elif not stored:
                options["quantization_config"] = wanted
        if uses_bnb or device != "cpu":
            options |= placement(device, spread=spread)
        if packed is not None and not uses_bnb:
            model = _from_packed(skeleton, packed, options)
        else:
            model, found = cast("Any", type(skeleton)).from_pretrained(
                folder,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,  # reported below, by name
                output_loading_info=True,
                **options,
            )
            _refuse_incomplete(found, folder)
            notes += [note for note in unused(found["unexpected_keys"]) if note not in prepared.notes]
    if spread:
        notes.append("the model is spread over all cards and runs without graphs")
    if uses_bnb:
        bnb.ignore_outliers(model)
        notes.extend([bnb.SLOW_ON_CPU] if device == "cpu" else [])
    if device == "cpu" and attention == "eager":
        notes.append("the attention of this older family is exact only up to rounding")
    if device == "cpu" and touch_layers:
        make_row_exact(model, None if stored else _BITS.get(quant), uses_bnb=uses_bnb)
    return model, tuple(notes)


def _skeleton(config: PreTrainedConfig, device: str) -> tuple[PreTrainedModel, str]:
    """The model without weights, and the attention function it takes: ours, or its own where it knows no other."""
    ours = EXACT if device == "cpu" else FAST
    with torch.device("meta"):
        try:
            return AutoModelForCausalLM.from_config(config, attn_implementation=ours), ours
        except KeyError:  # an older family with a table of attention classes of its own
            return AutoModelForCausalLM.from_config(config, attn_implementation="eager"), "eager"


def _stored_quantisation(config: PreTrainedConfig, folder: Path) -> str:
    """`4-bit` or `8-bit` for a bitsandbytes checkpoint, empty for a plain one; others are refused."""
    stored = getattr(config, "quantization_config", None)
    if stored is None:
        return ""
    stored = stored if isinstance(stored, dict) else stored.to_dict()
    method = str(stored.get("quant_method", "unknown"))
    if method != "bitsandbytes":
        raise ModelUnavailable(
            f"the weights in {folder} are stored in {method}, which lacli cannot run",
            "get the unquantised model, a bitsandbytes one, or a GGUF file",
        )
    return "4-bit" if stored.get("load_in_4bit") or stored.get("_load_in_4bit") else "8-bit"


def _from_packed(skeleton: PreTrainedModel, file: Path, options: dict[str, Any]) -> PreTrainedModel:
    """A model whose linears come from the prepared packed file as they are.

    transformers first gets stand-ins of one element for them, so the float weights never exist.
    """
    shapes = {name: module.weight.shape for name, module in skeleton.named_modules() if isinstance(module, _MATRICES)}
    linears = {name for name, module in skeleton.named_modules() if type(module) is nn.Linear}
    tied = {
        target.removesuffix(".weight"): source.removesuffix(".weight")
        for target, source in (skeleton.all_tied_weights_keys or {}).items()
    }
    tensors = Tensors([file])
    state: dict[str, Tensor] = {}
    for name in tensors:
        stem, _, kind = name.rpartition(".")
        if kind not in packing.KINDS:
            state[name] = tensors.torch(name)
            continue
        if stem not in shapes:
            raise ModelUnavailable(f"{file} holds {name}, which this model has no place for", "prepare it again")
        shape = tuple(shapes[stem])
        if stem in linears:
            state[f"{stem}.weight"] = torch.zeros(1).expand(shape)
        else:
            state[f"{stem}.weight"] = torch.from_numpy(np.concatenate(list(tensors.unpacked(stem, *shape))))
    model, found = cast("Any", type(skeleton)).from_pretrained(
        None, state_dict=state, output_loading_info=True, **options
    )
    _refuse_incomplete(found, file)
    for name in linears:
        stem = name if tensors.is_packed(name) else tied.get(name, "")
        if tensors.is_packed(stem):
            linear = model.get_submodule(name)
            bias = None if linear.bias is None else linear.bias.data.to(torch.float32)
            rows, columns = shapes[name]
            model.set_submodule(name, packed_linear(tensors, stem, rows, columns, bias))
    return model


def _refuse_incomplete(found: dict[str, Any], where: Path) -> None:
    """transformers fills what a checkpoint lacks with random numbers; that is no model."""
    missing = sorted(found["missing_keys"])
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelUnavailable(
            f"the weights in {where} lack {missing[0]}{more}", "the download is incomplete or of another kind"
        )
    if found["mismatched_keys"]:
        raise ModelUnavailable(
            f"{len(found['mismatched_keys'])} tensors in {where} do not fit its config.json", "fetch the model again"
        )


@contextlib.contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """What transformers says about files and configurations, as our errors."""
    try:
        yield
    except LacliError:
        raise
    except (OSError, ValueError, KeyError, ImportError, StrictDataclassError) as error:
        text = " ".join(line.strip() for line in str(error).strip().split("\n")[:2])
        if "trust_remote_code" in str(error):
            text, hint = (
                f"the model in {folder} needs code of its own",
                "lacli runs no code from model folders; choose another model",
            )
        else:
            text, hint = (
                f"transformers cannot load {folder}: {text}",
                "choose a decoder-only language model in safetensors form",
            )
        raise ModelUnavailable(text, hint) from error
