"""Where colours are written."""

from __future__ import annotations

import io

import pytest

from rillway.command_line.colour import has_colour, paint


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_terminal_gets_colours_and_a_file_does_not() -> None:
    assert paint("bad", "red", Terminal()) == "\x1b[31mbad\x1b[0m"
    assert paint("bad", "red", io.StringIO()) == "bad"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_variable_switches_them_off(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert not has_colour(Terminal())


def test_without_term_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TERM")
    assert not has_colour(Terminal())


def test_an_empty_no_color_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert has_colour(Terminal())
