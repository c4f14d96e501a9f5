"""Progress of the departures: `rillway top` on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import sys

import pytest

from rillway.demo.departures.progress import LineProgress
from tests.support.programs.servers import PROGRAM_PATH, RunningServer
from tests.support.programs.terminal import Terminal

PROGRAM = """
import sys, time
from rillway.demo.departures.progress import LineProgress
from rillway.demo.departures.progress import ScreenProgress
progress = ScreenProgress(sys.argv[1], lambda: LineProgress(10))
progress.note("consumer-04 was killed")
for sent in range(600):
    progress.update(sent, sent)
    time.sleep(0.05)
    if sys.argv[2] == "end" and sent == 60:
        break
progress.close()
print("the report")
"""


def test_progress_without_a_terminal_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = LineProgress(total=1_000)
    progress.update(100, 50)
    progress.update(101, 51)
    progress.note("something happened")
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["100", "sent", "50", "acknowledged", "of", "1,000"],
        ["something", "happened"],
    ]


def demo(port: int, how: str) -> Terminal:
    argv = [sys.executable, "-c", PROGRAM, f"redis://127.0.0.1:{port}", how]
    return Terminal(
        argv, rows=24, columns=80, environment=os.environ | {"PYTHONPATH": PROGRAM_PATH}
    )


@pytest.mark.integration
def test_at_the_end_the_terminal_is_given_back_and_what_happened_is_printed(
    rillway_server: RunningServer,
) -> None:
    with demo(rillway_server.port, "end") as terminal:
        terminal.wait_until(lambda lines: lines[0].startswith("rillway top 127.0.0.1"))
        text = terminal.read_to_end()
        assert text.rstrip().endswith("consumer-04 was killed\r\nthe report")
        assert terminal.process.wait() == 0


@pytest.mark.integration
def test_after_q_lines_go_on(rillway_server: RunningServer) -> None:
    with demo(rillway_server.port, "q") as terminal:
        terminal.wait_until(lambda lines: lines[0].startswith("rillway top 127.0.0.1"))
        terminal.type("q")
        terminal.wait_for("consumer-04 was killed")
        terminal.wait_for(" sent ")
