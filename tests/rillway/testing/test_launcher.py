"""The server's process follows the test process; here with a small program in the server's place.

That it works for the server itself, and for forks and threads of the test process, is shown by
test_process.py and test_plugin.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rillway.testing.warm import IMPORT_ROOT

PROGRAM = """
import os, sys, threading
from rillway.testing.launcher import follow
threading.Thread(target=follow, args=({parent}, 0, ''), daemon=True).start()
print("following", flush=True)
while True:  # as busy as a server can be
    pass
"""


@contextmanager
def follower(parent: int) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(parent=parent)],
        cwd=IMPORT_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.integration
def test_a_process_ends_when_the_other_end_of_its_pipe_is_closed() -> None:
    with follower(os.getpid()) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "following\n"
        process.stdin.write("what comes over the pipe means nothing")
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.stdin.close()
        assert process.wait(60) == -signal.SIGKILL


@pytest.mark.integration
def test_a_process_ends_when_its_parent_is_another_although_the_pipe_is_open() -> None:
    with follower(parent=1 if os.getpid() != 1 else 2) as process:
        assert process.wait(60) == -signal.SIGKILL
