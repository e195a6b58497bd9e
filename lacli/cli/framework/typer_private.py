"""The only file that uses private parts of Typer and of the click inside it; its version is pinned for this reason.

Everything else of `lacli.cli` goes through here; tests/imports/test_private.py searches for what does not.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import replace
from types import NoneType, UnionType
from typing import Any, get_args

import typer
from typer._click.core import ParameterSource
from typer._click.parser import _OptionParser, _ParsingState
from typer._coercion import RuntimeParam, build_runtime_param

_TYPED_NAMES = "lacli.typed_names"
_NUMBERS = {int: re.compile("-?[0-9]{1,18}"), float: re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")}
"""Numbers as they are nearly always written; Typer knows further ways."""


class TextParser(_OptionParser):
    """Takes a token that begins with a dash but cannot be an option as text. Remembers how options were spelled, for
    messages about them."""

    ctx: Any

    def _process_opts(self, arg: str, state: _ParsingState) -> None:
        if self._is_text(arg):
            state.largs.append(arg)
            return
        try:
            super()._process_opts(arg, state)
        except typer.TyperException as error:
            error.ctx = getattr(error, "ctx", None) or self.ctx  # type: ignore[attr-defined]  # tells whose help helps
            raise

    def _is_text(self, token: str) -> bool:
        """Whether a token has blanks in the place of an option's name: `- a list`, `--x is misspelt`, but not
        `--system=be brief`."""
        name = token.partition("=")[0]
        if token.startswith("--"):
            return any(character.isspace() for character in name)
        known = token[:2] in self._short_opt
        return not known and any(character.isspace() for character in token)

    def _match_long_opt(self, opt: str, explicit_value: str | None, state: _ParsingState) -> None:
        if opt in self._long_opt:
            self._remember(self._long_opt[opt].dest, opt)
        super()._match_long_opt(opt, explicit_value, state)

    def _match_short_opt(self, arg: str, state: _ParsingState) -> None:
        for character in arg[1:]:
            option = self._short_opt.get(f"-{character}")
            if option is None:
                break
            self._remember(option.dest, f"-{character}")
            if option.takes_value:  # the rest of the token is the value
                break
        super()._match_short_opt(arg, state)

    def _remember(self, parameter: str | None, name: str) -> None:
        if self.ctx is not None:
            self.ctx.meta.setdefault(_TYPED_NAMES, {})[parameter] = name


def typed_name(context: Any, parameter: str | None) -> str:
    """How an option was spelled on the command line; empty where it was not typed."""
    return str(context.meta.get(_TYPED_NAMES, {}).get(parameter, ""))


def parser_for(command: Any, context: Any) -> TextParser:
    """The parser of this command's own parameters."""
    parser = TextParser(context)
    for each in command.get_params(context):
        each.add_to_parser(parser, context)
    return parser


def parse_for_completion(command: Any, context: Any, args: list[str]) -> list[str]:
    """Parse for a shell's completion: what was typed, as text. Converting values would import pydantic, a tenth of a
    second, and none of them is used."""
    parser = command.make_parser(context)
    found, rest, _ = parser.parse_args(args=args)
    for each in command.get_params(context):
        context.params[each.name] = found.get(each.name)
        source = "COMMANDLINE" if found.get(each.name) is not None else "DEFAULT"
        context.set_parameter_source(each.name, ParameterSource[source])
    context._opt_prefixes.update(parser._opt_prefixes)
    context._protected_args, context.args = (rest[:1], rest[1:]) if hasattr(command, "commands") else ([], rest)
    return list(rest)


def has_subcommand(context: Any) -> bool:
    """Whether the command line goes on with a command below this group."""
    return bool(context._protected_args)


def completion_item(word: str, help: str) -> Any:  # noqa: A002
    """A completion as commands answer with."""
    from typer._click.shell_completion import CompletionItem

    return CompletionItem(word, help=help)


def at_cursor(root: Any, words: list[str], incomplete: str) -> tuple[Any, Any, str]:
    """The context of a half-typed line, the command or parameter at the cursor, and what is typed of it."""
    from typer._click.shell_completion import _resolve_context, _resolve_incomplete

    context = _resolve_context(root, {}, "lacli", words)
    return context, *_resolve_incomplete(context, list(words), incomplete)


def take_pairs(option: Any) -> None:
    """Have an option take two values each time; Typer has no such option, click has."""
    option.nargs = 2
    option.type_descriptor = replace(option.type_descriptor, annotation=list[tuple[str, str]])


def annotation_of(parameter: Any) -> Any:
    """The type of a parameter's value."""
    return parameter.type_descriptor.annotation


def hide_type(argument: Any) -> None:
    """Leave an argument's Python type out of the help."""
    argument.display_type_rich = lambda ctx: None


class _AsTyped(RuntimeParam):
    """Converts what it surely can, and leaves the rest to Typer."""

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
        info = self.parameter_info
        converted = None if info.parser is not None or param.type_descriptor.is_path else self._converted(value)
        if converted is not None:
            return converted
        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)

    def _converted(self, value: Any) -> Any:
        """The value in the option's type and within its bounds, else None: Typer knows how to refuse it."""
        least, most = self.parameter_info.min, self.parameter_info.max
        converted = _converted(value, self.annotation)
        if converted is None or (least is None and most is None):
            return converted
        fits = (least is None or converted >= least) and (most is None or converted <= most)
        return converted if fits else None


def _converted(value: Any, annotation: Any) -> Any:
    """The value in the option's type where nobody can doubt it: it has the type, is a plain number, or a list of text.
    Else None."""
    options = [each for each in get_args(annotation) if each is not NoneType]
    wanted = options[0] if isinstance(annotation, UnionType) and len(options) == 1 else annotation
    if wanted in (str, int, float, bool):
        if type(value) is wanted:
            return value
        if isinstance(value, str) and wanted in _NUMBERS and _NUMBERS[wanted].fullmatch(value):
            return wanted(value)
        return None
    if wanted not in (list[str], list[tuple[str, str]]) or not isinstance(value, (list, tuple)):
        return None
    if wanted == list[str]:
        return list(value) if all(type(each) is str for each in value) else None
    pairs = [tuple(each) for each in value if isinstance(each, (list, tuple))]
    whole = len(pairs) == len(value) and all(len(pair) == 2 and set(map(type, pair)) == {str} for pair in pairs)
    return pairs if whole else None


def without_variable(options: Sequence[Any]) -> list[Any]:
    """Copies of options that read no variable and check nothing: the command that has the same option does both."""
    copies = [copy.copy(each) for each in options]
    for each in copies:
        each.envvar, each.callback = None, None
    return copies


def skip_conversion(options: Sequence[Any]) -> None:
    """Convert only what must be: Typer's conversion imports pydantic, a twentieth of a second or more each time."""
    for each in options:
        descriptor = each.type_descriptor
        each._runtime_param = _AsTyped(annotation=descriptor.annotation, parameter_info=descriptor.parameter_info)
