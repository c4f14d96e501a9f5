"""Replays the tutorials' transcripts: every reply must be as redis-cli prints it.

Each script in this folder runs on a server of its own, without sockets, its clock set by the
script, so that generated IDs and idle times come out as in the text.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from server.inprocess.server import InProcessServer
from tests.golden import script

pytestmark = pytest.mark.golden

SCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_tutorial_transcript_comes_out_as_printed(path: Path) -> None:
    script.run(script.parse(path.read_text()), InProcessServer(now_ms=0))


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 8
