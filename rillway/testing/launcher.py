"""Runs `rillway serve` in processes that end together with the test process.

This process has imported the server and waits: each server is a fork of it, so it starts in a few
milliseconds, with nothing of the servers before it. Requests come over standard input, a socket
whose other end the test process holds, as lines of JSON:

    {"serve": ["--port", "0"], "folder": "/tmp/x", "log": "/tmp/x/server.log", "temporary": false}
    {"poll": 4711}

The reply to the first is the process ID, to the second the exit status, or null while it runs.

The test process may be killed before its clean-up runs. So this one watches it: the kernel closes
the socket when that process ends. A fork of the test process would hold it too, so the parent's
process ID is checked as well, which changes when the parent ends. (Linux has PR_SET_PDEATHSIG, but
it follows the *thread* that started the child, and a fixture may be set up in a thread.) In the
same way each server watches this process, by a pipe.

Run as a script, not imported: `python -P launcher.py PARENT ROOT`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

LOOK_SECONDS = 0.5
_READ_BYTES = 1 << 16


def wait_for_end(parent: int, descriptor: int, take: Callable[[bytes], object]) -> None:
    """Return when `parent` or the other end of a pipe or socket ends; `take` gets its bytes."""
    while os.getppid() == parent:
        readable, _, _ = select.select([descriptor], [], [], LOOK_SECONDS)
        if readable:
            data = os.read(descriptor, _READ_BYTES)
            if not data:
                return
            take(data)


def follow(parent: int, descriptor: int, temporary: str) -> None:
    """End this process at once, however busy it is, when `parent` ends."""
    wait_for_end(parent, descriptor, lambda _: None)
    if temporary:
        shutil.rmtree(temporary, ignore_errors=True)
    os.kill(os.getpid(), signal.SIGKILL)


class Launcher:
    """Forks the servers of one test process."""

    def __init__(self, parent: int, requests: int) -> None:
        self._parent = parent
        self._requests = requests
        self._unfinished = b""
        self._statuses: dict[int, int] = {}  # of servers that have ended: threads may poll at once
        # Servers see the end of this process when its end of the pipe is closed.
        self._watched, self._held = os.pipe()

    def run(self) -> None:
        """Answer requests until the test process ends."""
        wait_for_end(self._parent, self._requests, self._take)

    def _take(self, data: bytes) -> None:
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        for line in lines:
            reply = json.dumps(self._answer(json.loads(line))) + "\n"
            os.write(self._requests, reply.encode())

    def _answer(self, request: dict[str, Any]) -> int | None:
        if "serve" in request:
            return self._fork(**request)
        polled = request["poll"]
        if polled not in self._statuses:
            pid, status = os.waitpid(polled, os.WNOHANG)
            if pid:
                self._statuses[pid] = os.waitstatus_to_exitcode(status)
        return self._statuses.get(polled)

    def _fork(self, serve: list[str], folder: str, log: str, temporary: bool) -> int:
        launcher = os.getpid()
        pid = os.fork()
        if pid:
            self._statuses.pop(pid, None)  # process IDs are used again
            return pid
        status = 1
        try:
            os.close(self._held)
            null = os.open(os.devnull, os.O_RDONLY)
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            for source, target in ((null, 0), (output, 1), (output, 2)):
                os.dup2(source, target)
            os.chdir(folder)
            watching = (launcher, self._watched, folder if temporary else "")
            threading.Thread(target=follow, args=watching, daemon=True).start()
            status = _server_main(serve)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


def _server_main(arguments: list[str]) -> int:
    status: int = importlib.import_module("rillway.app.server.main").main(arguments)
    return status


def main(arguments: list[str]) -> None:
    """Import the server from the package that the test process has imported, and run."""
    parent, root = arguments
    gc.disable()  # imports leave no garbage; each server switches it on again
    # `root` may be a site-packages folder, which must precede the standard library on `sys.path`
    # only while `rillway` is imported.
    sys.path.insert(0, root)
    importlib.import_module("rillway")
    del sys.path[0]
    sys.path.append(root)
    importlib.import_module("rillway.app.server.main")
    Launcher(int(parent), sys.stdin.fileno()).run()


if __name__ == "__main__":
    main(sys.argv[1:])
