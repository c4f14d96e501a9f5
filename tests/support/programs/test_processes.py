"""A process that the tests start ends with them, however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from tests.support.programs import processes
from tests.support.programs.servers import ROOT

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


def test_a_child_dies_when_the_test_run_is_killed(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import pathlib, time
        from tests.support.programs import processes
        folder = pathlib.Path({str(tmp_path)!r})
        child = processes.start({SLEEPER!r}, folder=folder, output=folder / "child.log")
        print(child.pid, flush=True)
        time.sleep(600)
        """
    )
    run = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
    assert run.stdout is not None
    child = int(run.stdout.readline())
    os.kill(child, 0)
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert processes.wait_until_gone(child, deadline_seconds=5.0)


def test_what_a_child_prints_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    child = processes.start(SLEEPER, folder=tmp_path, output=log)
    deadline = time.monotonic() + 60
    while not log.read_text() and time.monotonic() < deadline:
        time.sleep(processes.POLL_SECONDS)
    assert processes.stop(child) == -signal.SIGTERM
    assert log.read_text() == "up\n"
