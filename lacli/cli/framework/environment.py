"""The variables that set options, `LACLI_*`: their names, their values, and a warning about unknown ones.
Values are read by typer; only what it cannot read, the variable of a `--no-x`, is read here.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable
from typing import Any

from lacli.cli.framework.parameters import long_name
from lacli.cli.framework.typer_private import typed_name
from lacli.cli.run import Run
from lacli.cli.terminal import diagnostics
from lacli.errors import UsageError

_PREFIX = "LACLI_"
POOL_MB, POOLS_MB = "LACLI_POOL_MB", "LACLI_POOLS_MB"
"""Most megabytes a pool, and all pools, may take on the disk."""
KV_MB, KVS_MB = "LACLI_KV_MB", "LACLI_KVS_MB"
"""The same of the KV caches of what was read."""
SIZES = {"project-mb": POOL_MB, "total-mb": POOLS_MB, "kv-project-mb": KV_MB, "kv-total-mb": KVS_MB}
"""The same by their keys in a configuration file."""
OTHERS = {
    "LACLI_HOME": "Everything lacli reads and writes lies below this folder.",
    "LACLI_CONFIG": "As --config: this configuration file and no other.",
    "LACLI_NO_X": "As --no-x for each option that is a pair: LACLI_NO_POOL=1.",
    "LACLI_KERNEL": "The instruction set of the C kernels, or torch: for tests and comparisons.",
    POOL_MB: "Most megabytes kept of one project; 0 keeps nothing.",
    POOLS_MB: "Most megabytes kept of all projects together.",
    KV_MB: "Most megabytes of the KV cache kept of one project; 0 keeps none.",
    KVS_MB: "Most megabytes of KV caches kept of all projects together.",
    "LACLI_CACHE_SEED": "A LACLI_HOME with the default model, for the tests.",
}
"""Variables that are no options."""
MOST_MB = 1_000_000
_YES = ("1", "true", "t", "yes", "y", "on")
_NO = ("0", "false", "f", "no", "n", "off", "")


def name_of(option: str) -> str:
    """The variable of an option: LACLI_TOP_P for --top-p."""
    return _PREFIX + option.lstrip("-").replace("-", "_").upper()


def is_true(name: str) -> bool:
    """Whether this variable is set to yes."""
    text = os.environ.get(name, "").strip().lower()
    if text not in _YES + _NO:
        raise UsageError(f"{name}={text} says neither yes nor no", "set it to 1 or 0")
    return text in _YES


def megabytes(name: str) -> float | None:
    """The size this variable or a configuration file sets; None where neither does."""
    text = os.environ.get(name, "").strip()
    if not text:
        return Run.current.config_files.pool_sizes.get(name)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MOST_MB:
        raise UsageError(f"{name}={text} is not a size", f"set it to megabytes from 0 (keep nothing) to {MOST_MB:,}")
    return value


def in_range(name: str, value: float) -> float:
    """A size in megabytes, checked."""
    if not 0 <= value <= MOST_MB:
        raise UsageError(f"{name} {value} is not a size", f"give megabytes from 0 (keep nothing) to {MOST_MB:,}")
    return value


def from_variable(context: Any, parameter: str | None) -> bool:
    """Whether a parameter's value in this typer context comes from its variable."""
    return _source(context, parameter) == "ENVIRONMENT"


def was_typed(context: Any, parameter: str | None) -> bool:
    """Whether it was given on the command line, where it wins over every variable."""
    return _source(context, parameter) == "COMMANDLINE"


def from_file(context: Any, parameter: str | None) -> bool:
    """Whether it comes from a configuration file."""
    return _source(context, parameter) == "DEFAULT_MAP"


def shown_name(context: Any, parameter: Any) -> str:
    """What a message calls an option: the variable that gave its value, else as it was typed, or its long name."""
    if from_variable(context, parameter.name):
        return str(parameter.envvar)
    return typed_name(context, parameter.name) or long_name(parameter.opts) or str(parameter.opts[0])


def shown_names(context: Any) -> dict[str, str]:
    """`shown_name` of every option and argument of a command."""
    return {each.name: shown_name(context, each) for each in context.command.params}


def _source(context: Any, parameter: str | None) -> str:
    return getattr(context.get_parameter_source(parameter), "name", "")


def warn_of_unknown(common: Iterable[str], all_options: Callable[[], Iterable[str]]) -> None:
    """Warn about each variable that looks like one of lacli's but is not, with the nearest name.

    `all_options` is only asked, as that takes a while, where some variable is none of the `common` ones.
    """
    known = [*common, *OTHERS]
    strange = [name for name in sorted(os.environ) if name.startswith(_PREFIX) and name not in known]
    if strange:
        known += all_options()
    for name in strange:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.0)[0]
            diagnostics.warning(f"the variable {name} is not one of lacli's; did you mean {near}?")
