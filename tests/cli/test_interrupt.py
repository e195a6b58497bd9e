"""Ctrl-C while a model is made ready."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

import pytest

from lacli.cli.terminal.live import show_progress
from lacli.events import Loading, Stage


def pressed(stage: Stage, times: int) -> None:
    """Ctrl-C while this stage is shown, with somebody who swallows what it raises."""
    with show_progress() as report:
        report(Loading(stage, 0, 2000))
        for _ in range(times):
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
                pytest.fail("nothing was raised")


def test_while_a_model_loads_it_ends_the_program_whoever_swallows_it(sandbox: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pressed("load", 1)


def test_while_first_guesses_are_learned_it_leaves_those_out(sandbox: Path) -> None:
    pressed("prime", 1)


def test_a_second_one_ends_the_program(sandbox: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pressed("prime", 2)
