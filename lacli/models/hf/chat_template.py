"""Renders a model's chat template without trusting it.

A template comes with a downloaded model, so it runs sandboxed, with a time limit, and its failures become one line.
Knows nothing of tokens and reads no files.
"""

from __future__ import annotations

import ctypes
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lacli.errors import ModelUnavailable

_SECONDS = 5.0  # honest templates take milliseconds
_MOST_TEXT = 10_000_000  # characters a template may make by repeating or formatting
_REMEDY = "correct the template, or use another model"


class Refused(Exception):
    """The template itself raised (`raise_exception`): it does not take these messages."""


class Fails(ModelUnavailable):
    """The template cannot work with these messages, or with any."""


class _TooLong(BaseException):
    """Thrown into the rendering thread; not an Exception, so that nothing in there swallows it."""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A template and where it stands."""

    source: str
    """Jinja text."""
    path: str
    """File it came from, for messages."""

    def render(
        self,
        messages: Sequence[Mapping[str, str]],
        specials: Mapping[str, str],
        now: datetime,
        reply_follows: bool = True,
        parts: bool = False,
    ) -> str:
        """The conversation as the model wants it, up to where its reply begins if one follows.

        `parts`: each content as a list of parts, of which one is its text, as templates of models that also see
        pictures want it. Raises `Refused` where the template does not take these messages, `Fails` where it cannot.
        """
        given = [{**message, "content": _parts(message["content"])} if parts else dict(message) for message in messages]
        return _within(_SECONDS, lambda: self._render(given, specials, now, reply_follows), self.path)

    def _render(
        self, messages: Sequence[Mapping[str, object]], specials: Mapping[str, str], now: datetime, reply_follows: bool
    ) -> str:
        try:
            return _compiled(self.source).render(
                **specials,
                messages=messages,
                add_generation_prompt=reply_follows,
                tools=None,
                strftime_now=now.strftime,
            )
        except jinja2.TemplateSyntaxError as error:
            raise ModelUnavailable(
                f"the chat template {self.path} is damaged, line {error.lineno}: {error.message}", _REMEDY
            ) from error
        except Refused:
            raise
        except Exception as error:  # a template can raise anything Python can
            where = _line(error)
            raise Fails(
                f"the chat template {self.path} fails{where}: {str(error) or type(error).__name__}", _REMEDY
            ) from error


def _parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}] if text else []


class _Generation(Extension):
    """`{% generation %}` marks the assistant's part for training; here only its content matters."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Stand for the content of the block."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Sandbox(ImmutableSandboxedEnvironment):
    """Also refuses operators that make huge values from small ones: they cannot be interrupted."""

    intercepted_binops = frozenset(["*", "**", "%"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """One operator of a template."""
        for text, count in ((left, right), (right, left)):
            repeats = operator == "*" and isinstance(text, (str, list, tuple)) and isinstance(count, int)
            if repeats and len(text) * count > _MOST_TEXT:
                raise SecurityError("it repeats a value too often")
        if operator == "**" and isinstance(right, int) and abs(right) > 64:
            raise SecurityError("it computes too large a power")
        if operator == "%" and isinstance(left, str):
            _refuse_wide(left)
        return super().call_binop(context, operator, left, right)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """One call in a template: (context, callable, arguments…)."""
        if any(isinstance(value, int) and value > _MOST_TEXT for value in (*args[2:], *kwargs.values())):
            raise SecurityError("it asks for too wide a text")
        return super().call(*args, **kwargs)


def _refuse_wide(pattern: str) -> None:
    if re.search(r"\d{5}", pattern):
        raise SecurityError("it asks for too wide a text")


def _format(pattern: object, *args: Any, **kwargs: Any) -> str:
    _refuse_wide(str(pattern))
    return str(pattern) % (kwargs or args)


def _center(value: object, width: int = 80) -> str:
    return str(value).center(min(width, _MOST_TEXT))


def _raise_exception(message: object) -> None:
    raise Refused(str(message))


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON; jinja2's own filter escapes for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@lru_cache(maxsize=4)
def _compiled(source: str) -> jinja2.Template:
    environment = _Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
    environment.filters.update(tojson=_tojson, format=_format, center=_center)
    environment.globals["raise_exception"] = _raise_exception
    return environment.from_string(source)


def _line(error: BaseException) -> str:
    """Where in the template an error came from, as far as Python can tell."""
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = f", line {trace.tb_lineno}"
        trace = trace.tb_next
    return line


def _within(seconds: float, work: Callable[[], str], path: str) -> str:
    """Run `work` in a thread that is stopped when its time is over: a template may loop for ever."""
    outcome: list[str | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # handed to the caller's thread below
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True, name="chat template")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_TooLong))
        thread.join(1.0)
    result = outcome[0] if outcome else _TooLong()
    if isinstance(result, _TooLong):
        raise ModelUnavailable(f"the chat template {path} does not end (stopped after {seconds:g} s)", _REMEDY)
    if isinstance(result, BaseException):
        raise result
    return result
