"""How far a command has come."""

from __future__ import annotations

import io

import pytest

from rillway.pipeline.cli.progress import (
    BarDisplay,
    LineDisplay,
    OncePerMinute,
    Progress,
    choose_display,
)


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_line_has_the_rate_and_the_time_left() -> None:
    clock = Clock()
    progress = Progress("archiving s", 9000, display=LineDisplay(io.StringIO()), clock=clock)
    assert progress.line() == "archiving s: 0 of 9,000 entries, 0 a second"
    clock.now += 2
    progress.advance(1)
    assert progress.summary() == "1 entry in 2.0 s, 0 a second"
    progress.advance(999)
    progress.advance(200)
    line = "archiving s: 1,200 of 9,000 entries, 600 a second, 13 s left"
    assert progress.line() == line
    assert progress.summary() == "1,200 entries in 2.0 s, 600 a second"
    progress.set_total(None)
    assert progress.line() == "archiving s: 1,200 entries, 600 a second"


def test_lines_are_printed_every_two_seconds() -> None:
    clock, stream = Clock(), io.StringIO()
    with Progress("reading", display=LineDisplay(stream, clock), clock=clock) as progress:
        for _ in range(20):
            clock.now += 0.25
            progress.advance(10)
        progress.note("a note")
    assert stream.getvalue().splitlines() == [
        "reading: 80 entries, 40 a second",
        "reading: 160 entries, 40 a second",
        "a note",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_and_a_file_gets_lines() -> None:
    assert isinstance(choose_display(Terminal()), BarDisplay)
    assert isinstance(choose_display(io.StringIO()), LineDisplay)


def test_a_bar_shows_the_line_and_keeps_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")  # others may not be able to draw one
    terminal = Terminal()
    with Progress("reading", 100, display=BarDisplay(terminal)) as progress:
        progress.advance(50)
        progress.note("half of [it]")
    assert "reading: 50 of 100" in terminal.getvalue()
    assert "half of [it]" in terminal.getvalue()


def test_what_is_said_is_not_said_again_for_a_minute() -> None:
    now = [10.0]
    said = OncePerMinute(lambda: now[0])
    assert (said.allows("a"), said.allows("a"), said.allows("b")) == (True, False, True)
    now[0] += 59.9
    assert not said.allows("a")
    now[0] += 0.2
    assert (said.allows("a"), said.allows("a")) == (True, False)
