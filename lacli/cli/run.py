"""One run of the program: everything it keeps that is neither an argument nor a result.

`main` makes a `Run` and makes it the current one. The framework is handed it in the typer context (`Run.of`); the
writers of the two streams, which are called from everywhere, take `Run.current`. No other module of `lacli.cli` has
state of its own that outlives a call. A test makes its own: `monkeypatch.setattr(Run, "current", Run(quiet=True))`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from lacli.cli.framework.deadline import Deadline
from lacli.cli.terminal.tty import StreamSanitizer

if TYPE_CHECKING:
    from lacli.cli.framework.config_files import ConfigFiles


@dataclass
class Run:
    """What the options have set for the whole program, and what is under way."""

    quiet: bool = False
    verbosity: int = 0
    """How often -v was given."""
    colour: str = "auto"
    """The choice of --color."""
    sanitize: bool = False
    """Whether model text loses its control sequences where stdout is not a terminal, too."""
    sanitizer: StreamSanitizer = field(default_factory=StreamSanitizer)
    """Holds back the unfinished control sequence at the end of what was written to stdout."""
    status_eraser: str = ""
    """The sequence that removes the status line, while one is shown."""
    deadline: Deadline = field(default_factory=Deadline)
    pending_signal: int | None = None
    """A request to terminate that waits until the reply is stored."""
    exit_code: int | None = None
    """How the process ends, once `main` has run as all of it."""

    current: ClassVar[Run]
    """The run under way in this process. A plain attribute and no context variable, as threads write to stderr, too."""

    @functools.cached_property
    def config_files(self) -> ConfigFiles:
        """Which configuration files apply, and what they say; imported when it is first asked for."""
        from lacli.cli.framework.config_files import ConfigFiles

        return ConfigFiles()

    def set_output(self, quiet: bool, verbosity: int, colour: str, sanitize: bool = False) -> None:
        """Set how much is printed, and in which colours. `quiet` leaves errors and what was asked for, `verbosity` 2
        adds tracebacks to errors."""
        self.quiet, self.verbosity = quiet, verbosity
        self.colour, self.sanitize = colour, sanitize

    @classmethod
    def of(cls, context: Any) -> Run:
        """The run that a typer context belongs to."""
        return context.obj if isinstance(context.obj, cls) else cls.current


Run.current = Run()
