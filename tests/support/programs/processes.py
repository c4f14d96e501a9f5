"""Child processes of a test run that never outlive it.

A server started here is killed by the kernel when the thread that started it ends, even when
pytest itself is killed and no clean-up of ours can run. What it prints goes to a file, so that it
can neither block on a full pipe nor be lost when it dies.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from rillway.testing.warm import WarmProcess

# A program, or a Rillway that was forked.
Process: TypeAlias = subprocess.Popen[bytes] | WarmProcess

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 30.0
POLL_SECONDS = 0.01


def start(
    argv: Sequence[str],
    *,
    folder: Path,
    output: Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Starts `argv` in `folder`, its stdout and stderr appended to the file `output`."""
    parent = os.getpid()
    with output.open("ab") as sink:
        return subprocess.Popen(
            argv,
            cwd=folder,
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: _die_with(parent),
        )


def stop(process: Process) -> int:
    """Ends the process: asks first, then insists. Returns its exit status."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def wait_until_gone(pid: int, *, deadline_seconds: float) -> bool:
    """Whether the process ends within the time. One that waits to be reaped counts as gone."""
    deadline = time.monotonic() + deadline_seconds
    while time.monotonic() < deadline:
        if _is_gone(pid):
            return True
        time.sleep(POLL_SECONDS)
    return False


def _is_gone(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def _die_with(parent: int) -> None:
    """Runs in the child before it becomes the server."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent died before the wish was known to the kernel.
        os._exit(1)
