"""The client of launcher.py in the test process: one launcher for all servers.

It is started with the first server, and ends with this process. A fork of this process starts one
of its own.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import rillway
from rillway.net.polling import poll

LAUNCHER = Path(__file__).with_name("launcher.py")
IMPORT_ROOT = Path(rillway.__file__).parents[1]
POLL_SECONDS = 0.002


class LauncherFailed(Exception):
    """The launcher has ended; the text is what it printed."""


class Launcher:
    """A process that has imported the server, and forks."""

    def __init__(self, root: Path = IMPORT_ROOT) -> None:
        """`root`: the folder from which it imports `rillway`."""
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (it is there as long as this object)
        # RILLWAY_PORT and other such variables of the environment must have no effect.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RILLWAY_")}
        with theirs:
            self._process = subprocess.Popen(
                # -P: do not import from the launcher's own folder.
                [sys.executable, "-P", str(LAUNCHER), str(self.owner), str(root)],
                env=environment,
                stdin=theirs.fileno(),
                stdout=self._output,
                stderr=subprocess.STDOUT,
                # Ctrl-C is for the tests; their teardown still needs the servers.
                start_new_session=True,
            )
        self._replies = self._socket.makefile("rb")

    @property
    def is_usable(self) -> bool:
        """True if it runs, and belongs to this process and not to the one that forked it."""
        return self.owner == os.getpid() and self._process.poll() is None

    def ask(self, **request: Any) -> int | None:
        """Send a request; see launcher.py. Raises LauncherFailed."""
        with self._lock:
            try:
                self._socket.sendall(json.dumps(request).encode() + b"\n")
                reply = self._replies.readline()
            except OSError:
                reply = b""
            if reply:
                answer: int | None = json.loads(reply)
                return answer
            self._process.wait()
            self._output.seek(0)
            raise LauncherFailed(self._output.read().decode(errors="replace"))


class WarmProcess:
    """A server's process, with the methods of `subprocess.Popen` that are needed here."""

    def __init__(self, launcher: Launcher, arguments: list[str], **how: Any) -> None:
        """Fork the process; `how`: the other members of the request. Raises LauncherFailed."""
        self._launcher = launcher
        self.returncode: int | None = None
        pid = launcher.ask(serve=arguments, **how)
        assert pid is not None
        self.pid = pid

    def poll(self) -> int | None:
        """The exit status; None while it runs. In a fork of the test process, the last known."""
        if self.returncode is None and self._launcher.owner == os.getpid():
            try:
                self.returncode = self._launcher.ask(poll=self.pid)
            except LauncherFailed:  # then its servers have ended as well
                self.returncode = -signal.SIGKILL
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self._launcher.owner == os.getpid() and self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM, if it runs."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL, if it runs."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return its exit status. Raises subprocess.TimeoutExpired.

        In a fork of the test process it does not wait: 0 stands for an unknown status.
        """
        if self._launcher.owner != os.getpid():
            return self.returncode or 0
        seconds = timeout if timeout is not None else float("inf")
        if not poll(lambda: self.poll() is not None, seconds, pause_s=POLL_SECONDS):
            raise subprocess.TimeoutExpired("rillway serve", seconds)
        assert self.returncode is not None
        return self.returncode


_lock = threading.Lock()
_launcher: Launcher | None = None


def start(arguments: list[str], *, folder: Path, log: Path, temporary: bool) -> WarmProcess:
    """A process that runs `rillway serve` in a folder. Raises LauncherFailed."""
    global _launcher
    with _lock:
        if _launcher is None or not _launcher.is_usable:
            _launcher = Launcher()
        launcher = _launcher
    how = {"folder": str(folder), "log": str(log), "temporary": temporary}
    return WarmProcess(launcher, arguments, **how)


def _renew_lock() -> None:
    """Replace the lock in a fork: another thread may have held it when the process forked."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
