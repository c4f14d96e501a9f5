"""Colours, the named target, and an output that its reader closes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rillway.command_line.output import STATUS, flushed, has_colour, name_target, paint, pipe_output

ROOT = Path(__file__).parents[3]


def closed_pipe() -> int:
    """The end of a pipe to write to, of which the other end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("size", [10, 100_000])
def test_what_cannot_be_written_ends_the_command(size: int) -> None:
    writing = closed_pipe()
    with os.fdopen(writing, "w", closefd=False) as stream:
        output = pipe_output(stream)
        with pytest.raises(SystemExit) as ended:
            flushed(lambda: output.write("x" * size), output)
    assert ended.value.code == STATUS == 141
    output.flush()  # what was left goes nowhere
    os.close(writing)


def test_what_is_read_arrives_whole() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        output = pipe_output(stream)
        assert flushed(lambda: output.write("é\n"), output) == 2
    with os.fdopen(reading, encoding="utf-8") as read:
        assert read.read() == "é\n"


@pytest.mark.parametrize("words", ["help", "version", "cluster --help", "completion bash"])
def test_no_command_complains_of_a_closed_pipe(words: str) -> None:
    writing = closed_pipe()
    argv = [sys.executable, "-m", "rillway", *words.split()]
    run = subprocess.run(
        argv, cwd=ROOT, check=False, stdout=writing, stderr=subprocess.PIPE, timeout=120
    )
    os.close(writing)
    assert (run.returncode, run.stderr) == (STATUS, b"")


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


def test_the_server_is_named_on_standard_error_without_a_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name_target("replay", "redis://user:secret@host:7000/1")
    assert capsys.readouterr() == ("", "rillway replay: writes to redis://user:***@host:7000/1\n")
