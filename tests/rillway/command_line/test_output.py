"""A command whose output is closed ends quietly, with the status that SIGPIPE gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rillway.command_line.output import STATUS, flushed, pipe_output

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
