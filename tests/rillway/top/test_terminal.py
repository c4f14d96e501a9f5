"""Keys in, lines out. The rest is tried on a terminal of its own, by test_command.py."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from rillway.top.terminal import STYLES, keys_of, painter
from rillway.top.text import Line, Span


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("q/ö", ["q", "/", "ö"]),
        ("\x1b[A\x1bOB\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        (
            "\x1b[5~\x1b[6~\x1b[H\x1b[F\x1b[1~\x1b[4~",
            ["pgup", "pgdn", "home", "end", "home", "end"],
        ),
        ("\x1b[1;5A\x1b[5;2~", ["up", "pgup"]),
        ("\r\n\x7f\x08", ["enter", "enter", "backspace", "backspace"]),
        ("\x1b", ["esc"]),
        ("\x1bq", ["esc", "q"]),
        ("\x1b[99~\x01", []),
    ],
)
def test_what_terminals_send_becomes_names_of_keys(typed: str, keys: list[str]) -> None:
    assert keys_of(typed) == keys


LINE = Line((Span("a", "dead"), Span(" [bold]b[/bold]")))


def test_rich_makes_colours_of_styles_and_nothing_of_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    painted = painter()(LINE)
    assert painted.startswith("\x1b[") and painted.endswith(" [bold]b[/bold]")
    assert set(STYLES) >= {span.style for span in LINE.spans if span.style}


def test_without_rich_lines_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fake(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", fake)
    assert painter()(LINE) == "a [bold]b[/bold]"
