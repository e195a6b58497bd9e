"""`lacli remote`: prints how to start a server for `-m remote:NAME`. It starts nothing and connects to nothing."""

from __future__ import annotations

import json
import shlex
from typing import Annotated

import typer

from lacli.cli.framework.options import check_choice

app = typer.Typer(
    help="Servers that -m remote:NAME uses: how to start one.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    epilog="For example: lacli remote recipe vllm qwen2.5-coder-7b  |  lacli remote recipe sglang qwen2.5-coder-7b",
)

ENGINES = ("vllm", "sglang")
_DRAFTED = 8
"""Tokens drafted in a step: vLLM's suffix trees on the GPU always draft all of them, and adaptive verification drops
those that do not pay."""
_SAM_BUDGET = 8
"""Drafted tokens of a step that SGLang takes from external corpora, such as `lacli pool push` sends."""
_PORTS = {"vllm": 8000, "sglang": 30000}


@app.callback()
def remote() -> None:
    """See the help."""


@app.command(epilog="For example: lacli remote recipe vllm qwen2.5-coder-7b  |  lacli remote recipe sglang ./my-model")
def recipe(
    engine: Annotated[str, typer.Argument(metavar="|".join(ENGINES), help="Which engine.")],
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A name of `lacli models list`, or what the engine calls it.")
    ],
) -> None:
    """Print the command that starts an engine with drafts from what was said before, and statistics of each reply.

    Run it where the engine is to be; what to add to your configuration is said on stderr.
    """
    from lacli.cli.terminal import diagnostics, output

    check_choice(ENGINES)("the engine", engine)
    output.line(command_line(engine, _repository(model)))
    diagnostics.note(
        f"then `lacli config set remotes.NAME.url http://HOST:{_PORTS[engine]}`, and ask it with -m remote:NAME"
    )


def command_line(engine: str, model: str) -> str:
    """The command that starts the engine."""
    if engine == "vllm":
        speculative = {
            "method": "suffix",
            "num_speculative_tokens": _DRAFTED,
            "enable_adaptive_verification": True,
        }
        words = ["vllm", "serve", model, "--speculative-config", json.dumps(speculative)]
        words += ["--per-request-spec-decode-metrics", "summary"]
    else:
        words = ["python", "-m", "sglang.launch_server", "--model-path", model, "--speculative-algorithm", "NGRAM"]
        words += ["--speculative-ngram-external-sam-budget", str(_SAM_BUDGET)]
    return shlex.join(words)


def _repository(model: str) -> str:
    """The repository of a model of the registry, of which engines fetch the weights; else what was given."""
    from lacli.models.registry.registry import load_registry

    spec = load_registry().models.get(model)
    repositories = [source.repo for source in spec.sources if source.repo] if spec is not None else []
    whole = [source.repo for source in spec.sources if source.kind == "hub"] if spec is not None else []
    return next(iter([*whole, *repositories]), model)
