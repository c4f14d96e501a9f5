"""A terminal shows what its program prints, takes what is typed, and leaves no process running."""

from __future__ import annotations

import sys

import pytest

from tests.support.programs.processes import wait_until_gone
from tests.support.programs.terminal import Terminal

ASKS = "import os; print('tty', os.isatty(0)); print('\\x1b[1mgot', input('> '), '\\x1b[0m')"


def test_a_program_sees_a_terminal_and_what_is_typed() -> None:
    with Terminal([sys.executable, "-c", ASKS]) as terminal:
        assert "tty True" in terminal.wait_for("> ")
        terminal.type("hello\r")
        assert "got hello" in terminal.read_to_end()


def test_a_text_that_does_not_come_is_a_failure_that_shows_what_came() -> None:
    with (
        Terminal([sys.executable, "-c", "print('something else')"]) as terminal,
        pytest.raises(AssertionError, match="something else"),
    ):
        terminal.wait_for("nothing")


def test_a_program_that_goes_on_is_ended_with_its_terminal() -> None:
    with Terminal([sys.executable, "-c", ASKS]) as terminal:
        terminal.wait_for("> ")
    assert wait_until_gone(terminal.process.pid, deadline_seconds=5.0)
