"""Every common option, declared once, checked once. `Common` is the declaration and what a command receives.

A command writes `@with_common(max_tokens=512)` and takes `common: Common` as its last parameter; typer sees one
parameter for each field. Values out of range are usage errors that name the range and the option or variable that was
given. Imports typer only.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import typer

from lacli.cli.framework import environment
from lacli.cli.framework.parameters import long_name
from lacli.cli.run import Run
from lacli.config import Settings, told_offline
from lacli.errors import UsageError
from lacli.events import Message, Place, Request
from lacli.models.base import Quant

DEVICES = ("auto", "cpu", "cuda")
QUANTS: tuple[str, ...] = get_args(Quant)
COLOURS = ("auto", "always", "never")
CUTS = ("head", "middle", "tail")
GLOBAL = ("quiet", "verbose", "config", "color", "offline")
"""Fields that every command has, and that are legal before its name, too."""

_Check = Callable[[str, Any], Any]
"""Takes the name of the option or variable that gave the value, and the value; returns the value or raises."""


def _number(low: float, high: float, above: bool = False) -> _Check:
    """A check that the number lies from `low` (or above it) to `high`."""
    if math.isinf(high):
        wanted = f"above {low}" if above else f"{low} or more"
    else:
        wanted = f"above {low} and at most {high}" if above else f"from {low} to {high}"

    def check(name: str, value: Any) -> Any:
        if value is None:
            return None
        inside = low < value <= high if above else low <= value <= high  # both False for nan
        if not inside or value > sys.float_info.max:  # also a whole number that has no float
            raise UsageError(f"{name} {value} is out of range", f"give a number {wanted}")
        return value

    return check


def _device(name: str, value: Any) -> Any:
    if value in ("mps", "metal"):
        raise UsageError("Apple GPUs are not used", f"leave {name} out, or choose cpu")
    return check_choice(DEVICES)(name, value)


def check_choice(choices: tuple[str, ...]) -> _Check:
    """A check that a value, if there is one, is one of these."""

    def check(name: str, value: Any) -> Any:
        if value and value not in choices:
            raise UsageError(f"{name} {value!r} is unknown", f"choose one of {', '.join(choices)}")
        return value

    return check


def _stops(name: str, values: Any) -> Any:
    if any(not value for value in values or ()):
        raise UsageError(f"{name} is empty", "give the text to stop before, or leave it out")
    return values


def _option(*names: str, help: str, check: _Check | None = None, **more: Any) -> Any:  # noqa: A002
    """An option with its variable; a pair --x/--no-x has two, of which the one that says no wins."""
    variable = environment.name_of(long_name(names))
    negative = next((environment.name_of(name.partition("/")[2]) for name in names if "/" in name), "")

    def callback(context: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
        value = typed_before(context, param.name, value)
        if negative and not environment.was_typed(context, param.name):
            value = value and not environment.is_true(negative)
        if check is None:
            return value
        return check(environment.shown_name(context, param), value)

    callback.check = check  # type: ignore[attr-defined]  # for values in a configuration file
    callback.negative = negative  # type: ignore[attr-defined]  # for `variables`
    return typer.Option(*names, help=help, callback=callback, envvar=variable, show_envvar=False, **more)


def typed_before(context: Any, name: str | None, value: Any) -> Any:
    """The value typed before the command's name, if this option may stand there and was not typed after the name."""
    while name in GLOBAL and not environment.was_typed(context, name) and context.parent is not None:
        context = context.parent
        if environment.was_typed(context, name):
            return context.params[name] if name in context.params else context.meta[f"lacli.{name}"]
    return value


_INF = math.inf
NUMBERS = {
    "max_tokens": _number(0, 2**31),
    "temperature": _number(0, _INF),
    "top_p": _number(0, 1, above=True),
    "top_k": _number(0, 2**31),
    "repetition_penalty": _number(0, _INF, above=True),
    "seed": _number(0, 2**63 - 1),
}
"""The checks of what shapes a reply by a number: as an option, or in a line of a batch."""


@dataclass(frozen=True, slots=True)
class Common:
    """The options of commands that ask the model something; `with_common` says which of them have which."""

    model: Annotated[
        str | None,
        _option("-m", "--model", metavar="MODEL", help="A name from `lacli models`, a folder or a .gguf file."),
    ] = None
    max_tokens: Annotated[
        int, _option("-n", "--max-tokens", help="Most tokens to write.", check=NUMBERS["max_tokens"])
    ] = 512
    temperature: Annotated[
        float, _option("--temperature", "--temp", help="0 is greedy.", check=NUMBERS["temperature"])
    ] = 0.0
    top_p: Annotated[
        float,
        _option("--top-p", help="Sample from the likeliest tokens of this mass.", check=NUMBERS["top_p"]),
    ] = 1.0
    top_k: Annotated[
        int, _option("--top-k", help="Sample from this many tokens; 0 is all.", check=NUMBERS["top_k"])
    ] = 0
    seed: Annotated[int | None, _option("--seed", help="Makes sampling repeatable.", check=NUMBERS["seed"])] = None
    stop: Annotated[
        list[str] | None, _option("--stop", help="Stop before this text; may be repeated.", check=_stops)
    ] = None
    repetition_penalty: Annotated[
        float,
        _option("--repetition-penalty", help="1 is off.", check=NUMBERS["repetition_penalty"]),
    ] = 1.0
    system: Annotated[
        str | None, _option("-s", "--system", metavar="TEXT", help="What the model is told before everything else.")
    ] = None
    no_instructions: Annotated[
        bool, _option("--no-instructions", help="Do not tell the model what the project's AGENTS.md says.")
    ] = False
    ctx: Annotated[
        int | None,
        _option(
            "--ctx",
            "--ctx-size",
            help="Most tokens of prompt and reply; default: the model's.",
            check=_number(1, 2**31),
        ),
    ] = None
    truncate: Annotated[
        str,
        _option(
            "--truncate",
            metavar="|".join(CUTS),
            help="The part that may be left out of a prompt longer than the context.",
            show_default=False,
            check=check_choice(CUTS),
        ),
    ] = ""
    quant: Annotated[
        str | None,
        _option(
            "--quant",
            metavar="|".join(QUANTS),
            help="How weights run; by default nf4 on CUDA; on a CPU int4 for 4-bit files, else int8.",
            check=check_choice(QUANTS),
        ),
    ] = None
    device: Annotated[str, _option("--device", metavar="|".join(DEVICES), help="Where to run.", check=_device)] = "auto"
    threads: Annotated[int | None, _option("--threads", help="CPU threads.", check=_number(1, 1024))] = None
    window: Annotated[
        int | None,
        _option(
            "--window",
            help="Most columns of the lookahead window; 0 only verifies guesses.",
            check=_number(0, 1024),
        ),
    ] = None
    ngram: Annotated[int | None, _option("--ngram", help="Length of the window's n-grams.", check=_number(2, 64))] = (
        None
    )
    guesses: Annotated[
        int | None,
        _option("--guesses", help="Most n-gram guesses verified in a step.", check=_number(0, 1024)),
    ] = None
    lookahead: Annotated[
        bool, _option("--lookahead/--no-lookahead", help="Guess ahead; the text is the same either way.")
    ] = True
    strict: Annotated[
        bool,
        _option("--strict", help="On CUDA: exact to the bit, by slower steps that all have one shape."),
    ] = False
    pool: Annotated[bool, _option("--pool/--no-pool", help="Read and extend the project's pool on disk.")] = True
    no_learn: Annotated[bool, _option("--no-learn", help="Read the pool, add nothing to it.")] = False
    timeout: Annotated[
        float | None,
        _option(
            "--timeout",
            metavar="SECONDS",
            help="Stop after this long, loading included.",
            check=_number(0, _INF, above=True),
        ),
    ] = None
    no_log: Annotated[bool, _option("--no-log", help="Keep nothing of this in the log of sessions.")] = False
    no_stdin: Annotated[bool, _option("--no-stdin", help="Do not read standard input.")] = False
    stats: Annotated[bool, _option("--stats", help="One JSON line of statistics on stderr.")] = False
    usage: Annotated[
        bool, _option("-u", "--usage", help="One line of statistics for people on stderr, terminal or not.")
    ] = False
    json: Annotated[bool, _option("--json", help="One JSON object on stdout instead of text.")] = False
    plain: Annotated[bool, _option("--plain", help="Print Markdown as it is, on a terminal too.")] = False
    no_stream: Annotated[bool, _option("-S", "--no-stream", help="Print the reply when it is complete.")] = False
    sanitize: Annotated[bool, _option("--sanitize", help="Remove control sequences from the text in a pipe, too.")] = (
        False
    )
    attach: Annotated[
        bool, _option("--attach/--no-attach", help="Use the engine of `lacli serve`, where one runs.")
    ] = True
    auto_serve: Annotated[
        bool, _option("--auto-serve", help="Start that engine where none runs, for this and later commands.")
    ] = False
    offline: Annotated[bool, _option("--offline", help="Use only what is on this computer.")] = False
    send_anyway: Annotated[
        bool,
        typer.Option(
            "--send-anyway",
            help="Send a remote what seems to hold a secret, too.",
            allow_from_autoenv=False,
        ),
    ] = False
    color: Annotated[
        str, _option("--color", metavar="|".join(COLOURS), help="Colours on the terminal.", check=check_choice(COLOURS))
    ] = "auto"
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="PATH",
            help="Read this configuration file and no other.",
            is_eager=True,
            envvar="LACLI_CONFIG",
            show_envvar=False,
        ),
    ] = None
    quiet: Annotated[bool, _option("-q", "--quiet", help="No notes on stderr.")] = False
    verbose: Annotated[
        int, _option("-v", "--verbose", count=True, show_default=False, help="Print statistics; twice: tracebacks too.")
    ] = 0

    def settings(self) -> Settings:
        """The part that shapes the assistant."""
        return Settings(
            model=self.model,
            quant=self.quant,
            device=self.device,
            threads=self.threads,
            lookahead=self.lookahead,
            strict=self.strict,
            pool=self.pool,
            learn=not self.no_learn,
            keep_prompts=not self.no_log,
            pool_mb=environment.megabytes(environment.POOL_MB),
            pools_mb=environment.megabytes(environment.POOLS_MB),
            kv_mb=environment.megabytes(environment.KV_MB),
            kvs_mb=environment.megabytes(environment.KVS_MB),
            window=self.window,
            ngram=self.ngram,
            guesses=self.guesses,
            context=self.ctx,
            offline=self.offline or told_offline(),
            send_anyway=self.send_anyway,
        )

    def request(
        self, messages: tuple[Message, ...] = (), place: Place | None = None, drop_oldest: bool = False
    ) -> Request:
        """The part that shapes one reply, with its prompt."""
        return Request(
            messages=messages,
            place=place,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            repetition_penalty=self.repetition_penalty,
            seed=self.seed,
            stops=tuple(self.stop or ()),
            drop_oldest=drop_oldest,
            truncate=self.truncate,  # type: ignore[arg-type]  # checked by the option
        )


@functools.cache
def _annotations() -> dict[str, Any]:
    """The annotations that typer reads; cached, as evaluating them takes over a millisecond."""
    return inspect.get_annotations(Common, eval_str=True)


def variables() -> list[str]:
    """The names of all variables that set a common option."""
    options = [annotation.__metadata__[0] for annotation in _annotations().values()]
    return [name for option in options for name in (option.envvar, getattr(option.callback, "negative", "")) if name]


def command_of_options(only: Collection[str] | None = None) -> Any:
    """A command of the common options, or of the global ones and `only` these, and nothing else."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_common(only=only)
    def nothing(*, common: Common) -> None:
        """Is never called."""

    return typer.main.get_command(app)


def with_common(
    only: Collection[str] | None = None, without: Collection[str] = (), **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the common options as one `Common`: `only` those named and the global ones, or all but those
    `without` which it does; some with other defaults."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        fields = [
            field
            for field in dataclasses.fields(Common)
            if field.name in GLOBAL or ((only is None or field.name in only) and field.name not in without)
        ]
        annotations = _annotations()

        @functools.wraps(command)
        def run(**values: Any) -> None:
            common = Common(**{field.name: values.pop(field.name) for field in fields})
            Run.current.set_output(common.quiet, common.verbose, common.color, common.sanitize)
            Run.current.deadline.seconds = common.timeout
            command(**values, common=common)

        own = [
            parameter
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.name != "common"
        ]
        shared = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(field.name, field.default),
                annotation=annotations[field.name],
            )
            for field in fields
        ]
        parameters = [*(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own), *shared]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        del run.__wrapped__  # or inspect would show the command's own parameters
        return run

    return decorate
