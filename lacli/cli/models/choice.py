"""`lacli models default` and `lacli models fit`: which model is taken, and whether one fits into the memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.run import Run
from lacli.errors import OutOfMemory, UsageError
from lacli.models.registry.refusal import remedy, size

if TYPE_CHECKING:
    from lacli.models.registry.fit import Fit
    from lacli.models.registry.machine import Machine
    from lacli.models.spec import ModelSpec

PLAIN = "brings nothing: this model carries a state from token to token and is decoded plainly"


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
    ram: Annotated[
        float | None, typer.Option("--ram", metavar="GB", min=0.1, help="Ask for a computer with so much memory.")
    ] = None,
    vram: Annotated[
        float | None, typer.Option("--vram", metavar="GB", min=0.1, help="Ask for a graphics card with so much memory.")
    ] = None,
    bandwidth: Annotated[
        float | None,
        typer.Option(
            "--bandwidth", metavar="GB/S", min=0.1, help="Of that memory; default: of this computer's, measured now."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a model fits into the free memory.

    Weights, the KV cache of a full context and what a step takes, against what is free now, or what --ram or --vram
    says; and how long a token takes at least, which is a projection. The exit code is 4 where the model does not fit.
    """
    from lacli.cli.framework.options import DEVICES, QUANTS, check_choice
    from lacli.cli.terminal import output
    from lacli.models.registry import fit as fits
    from lacli.models.registry.registry import load_registry

    check_choice(QUANTS)("--quant", quant)
    check_choice(DEVICES)("--device", device)
    if vram is not None and device == "cpu":
        raise UsageError("--vram is the memory of a graphics card, --device cpu takes none", "leave one of them out")
    registry = load_registry()
    spec = registry.resolve(name or default_model()[0] or None)
    _check_context(spec, ctx)
    machine = _machine(device, ram, vram)
    found = fits.fit(spec, ctx, quant, device, machine)
    speed = _Speed.of(found, machine, bandwidth)
    ways = fits.ways(spec, found, machine)
    if as_json:
        output.document({"model": spec.alias, **_record(found), **speed.record(), "ways": ways})
    else:
        for label, text in [*_lines(spec, found), *speed.lines()]:
            output.line(f"{label:<9}  {text}")
    if not found.fits:
        smaller = fits.registered_that_fit(list(registry.models.values()), found, machine)
        raise OutOfMemory(size(found.needed) + f" needed, {size(found.free)} free", remedy(ways, smaller))


def _check_context(spec: ModelSpec, ctx: int | None) -> None:
    if ctx and spec.context and ctx > spec.context:
        raise UsageError(
            f"--ctx {ctx} is more than the {spec.context} tokens {spec.alias} was made for",
            f"give at most {spec.context}",
        )


def _machine(device: str, ram: float | None, vram: float | None) -> Machine:
    from lacli.models.registry import machine

    if ram is None and vram is None:
        found = machine.this_machine(with_card=device in ("auto", "cuda"))
    else:
        found = machine.asked_machine(ram, vram)
    if device == "cuda" and found.card is None:
        raise UsageError("there is no graphics card that CUDA could use", "ask for one by --vram GB, or --device cpu")
    return found


@dataclass(frozen=True, slots=True)
class _Speed:
    """The least time of a token, where the bandwidth of the memory is known."""

    token_bytes: int
    bandwidth: float
    """Bytes a second; 0 where it is not known."""
    origin: str
    milliseconds: float | None

    @staticmethod
    def of(found: Fit, machine: Machine, given: float | None) -> _Speed:
        from lacli.models.registry.fit import floor_ms
        from lacli.models.registry.machine import read_bandwidth

        bandwidth, origin = (given or 0.0) * 1e9, "given" if given else ""
        if not given and found.device == "cpu" and not machine.is_asked:
            bandwidth, origin = read_bandwidth(found.free), "measured here"
        least = floor_ms(found, bandwidth) if bandwidth and found.token_bytes else None
        return _Speed(found.token_bytes, bandwidth, origin if bandwidth else "", least)

    def record(self) -> dict[str, Any]:
        """For JSON."""
        names = ("token_bytes", "bandwidth", "floor_ms")
        return dict(zip(names, (self.token_bytes, round(self.bandwidth), self.milliseconds), strict=True))

    def lines(self) -> list[tuple[str, str]]:
        """For people."""
        if self.milliseconds is None:
            return [("a token", f"reads {size(self.token_bytes)} of weights; --bandwidth GB/S gives its least time")]
        text = (
            f"at least {self.milliseconds:.0f} ms: {size(self.token_bytes)} of weights / "
            f"{self.bandwidth / 1e9:.1f} GB/s ({self.origin}); a projection for steps of one token"
        )
        return [("a token", text)]


def _record(found: Fit) -> dict[str, Any]:
    names = (
        *("quant", "device", "context", "weights", "kv_token", "cache", "work", "needed", "free", "total", "fits"),
        *("measured", "most_context", "decodes_plainly"),
    )
    return {name: getattr(found, name) for name in names}


def _lines(spec: ModelSpec, found: Fit) -> list[tuple[str, str]]:
    about = "" if found.measured else "about "
    cache = (
        f"{size(found.cache)} with {found.context} tokens, {size(found.kv_token)} each"
        if found.kv_token
        else "not known before the model is fetched"
    )
    lines = [
        ("model", f"{spec.alias} as {found.quant} on {found.device}"),
        ("weights", about + size(found.weights)),
        ("KV cache", cache),
        ("work", f"about {size(found.work)}, the program included"),
        ("needed", ("" if found.kv_token else "at least ") + size(found.needed)),
        ("free", f"{size(found.free)} of {size(found.total)}"),
        ("fits", "yes" if found.fits else "no"),
    ]
    if spec.recommended in ("int8", "none") and found.quant in ("int4", "nf4"):
        lines.append(("quality", f"this model answers better as {spec.recommended} than in 4 bits"))
    if found.decodes_plainly:
        lines.append(("lookahead", PLAIN))
    return lines


EXAMPLES = {
    "default": "For example: lacli models default  |  lacli models default qwen2.5-coder-1.5b  |  "
    "lacli models default ./my-model.gguf",
    "fit": "For example: lacli models fit qwen2.5-coder-7b  |  lacli models fit qwen2.5-coder-7b --ctx 4096  |  "
    "lacli models fit qwen2.5-coder-14b --vram 12 --bandwidth 504",
}
