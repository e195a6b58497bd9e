"""`lacli models default` and `lacli models fit`: which model is taken, and whether one fits into the memory."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.run import Run
from lacli.errors import OutOfMemory, UsageError


def default(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Take this one from now on; default: print the one taken.")
    ] = None,
) -> None:
    """Print or choose the model taken where none is named."""
    from lacli.cli.framework import remotes
    from lacli.cli.framework.effective import set_value
    from lacli.cli.terminal import diagnostics, output
    from lacli.configuration.remotes import PREFIX, is_remote, named
    from lacli.models.registry.registry import also_here, load_registry

    registry = load_registry()
    if name is None:
        taken, origin = default_model()
        output.line(taken or registry.default)
        diagnostics.note(f"set by {origin}" if origin else "that is what is built in, or in your models.toml")
        return
    if is_remote(name):
        chosen = f"{PREFIX}{named(name, remotes.known()).name}"
    else:
        spec = registry.resolve(name)
        if ambiguous := also_here(spec, name):
            diagnostics.note(ambiguous)
        chosen = str(spec.path) if spec.path is not None else spec.alias
    diagnostics.note(set_value(Run.current.config_files.user_file(), "model", chosen, project=False))
    taken, origin = default_model(again=True)
    if taken != chosen and taken:
        diagnostics.warning(f"{origin} says {taken} here, which wins")


def default_model(again: bool = False) -> tuple[str, str]:
    """The model that variable or configuration name, and which of them; empty where neither does."""
    from lacli.cli.framework import catalog

    if os.environ.get("LACLI_MODEL"):
        return os.environ["LACLI_MODEL"], "LACLI_MODEL"
    files = Run.current.config_files
    found = files.read_against(catalog.whole()) if again else files.applied
    setting = found.get((), "model")
    return (str(setting.value), f"{setting.file}:{setting.line}") if setting else ("", "")


def fit(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="As for `lacli ask -m`; default: the one it takes.")
    ] = None,
    ctx: Annotated[
        int | None, typer.Option("--ctx", "--ctx-size", min=1, help="A context this long; default: the model's.")
    ] = None,
    quant: Annotated[
        str | None,
        typer.Option("--quant", metavar="int4|int8|none|nf4|bnb-int8", help="As for `lacli ask`; default: as it runs."),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", metavar="auto|cpu|cuda", help="The memory of which device.")
    ] = "auto",
    as_json: JsonOption = False,
) -> None:
    """Say whether a model fits into the free memory.

    Weights, the KV cache of a full context and what a step takes, against what is free now. The exit code is 4 where
    it does not fit.
    """
    from lacli.cli.framework.options import DEVICES, QUANTS, check_choice
    from lacli.cli.terminal import output
    from lacli.models.registry.fit import fit as measure
    from lacli.models.registry.registry import load_registry

    check_choice(QUANTS)("--quant", quant)
    check_choice(DEVICES)("--device", device)
    spec = load_registry().resolve(name or default_model()[0] or None)
    if ctx and spec.context and ctx > spec.context:
        raise UsageError(
            f"--ctx {ctx} is more than the {spec.context} tokens {spec.alias} was made for",
            f"give at most {spec.context}",
        )
    found = measure(spec, ctx, quant, device)
    if as_json:
        output.document({"model": spec.alias, **_record(found)})
    else:
        for label, text in _lines(spec.alias, found):
            output.line(f"{label:<9}  {text}")
    if not found.fits:
        raise OutOfMemory(_size(found.needed) + f" needed, {_size(found.free)} free", _remedy(found))


def _record(found: Any) -> dict[str, Any]:
    names = ("quant", "device", "context", "weights", "kv_token", "cache", "work", "needed", "free", "total", "fits")
    return {name: getattr(found, name) for name in names} | {
        "measured": found.measured,
        "most_context": found.most_context,
    }


def _lines(name: str, found: Any) -> list[tuple[str, str]]:
    about = "" if found.measured else "about "
    cache = (
        f"{_size(found.cache)} with {found.context} tokens, {_size(found.kv_token)} each"
        if found.kv_token
        else "not known before the model is fetched"
    )
    return [
        ("model", f"{name} as {found.quant} on {found.device}"),
        ("weights", about + _size(found.weights)),
        ("KV cache", cache),
        ("work", f"about {_size(found.work)}, the program included"),
        ("needed", ("" if found.kv_token else "at least ") + _size(found.needed)),
        ("free", f"{_size(found.free)} of {_size(found.total)}"),
        ("fits", "yes" if found.fits else "no"),
    ]


def _remedy(found: Any) -> str:
    if found.most_context >= 512:
        return f"use --ctx {found.most_context // 256 * 256}, or a smaller model"
    stronger = " or a stronger --quant" if found.quant not in ("int4", "nf4") else ""
    return f"use a smaller model{stronger}, or end other programs"


def _size(count: int) -> str:
    if count >= 1e9:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


EXAMPLES = {
    "default": "For example: lacli models default  |  lacli models default qwen2.5-coder-1.5b  |  "
    "lacli models default ./my-model.gguf",
    "fit": "For example: lacli models fit qwen2.5-coder-7b  |  lacli models fit qwen2.5-coder-7b --ctx 4096  |  "
    "lacli models fit --json | jq .needed",
}
