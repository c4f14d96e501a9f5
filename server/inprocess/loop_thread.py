"""The thread in which servers inside of a user's process run: one loop for all of them.

One, because modules keep buffers that no two threads may use. A fork has no such thread: it gets
one of its own with the first server that is started there.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

import uvloop

P = ParamSpec("P")
T = TypeVar("T")

END_SECONDS = 1.0


class LoopThread:
    """A daemon thread that runs an event loop until the process ends."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(
            target=self.loop.run_forever, name="rillway-fake-server", daemon=True
        )
        self._thread.start()

    def call(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call a function in the thread; returns its result, or raises its exception."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function(*arguments, **named))
            except BaseException as error:
                future.set_exception(error)

        self.loop.call_soon_threadsafe(run)
        return future.result()

    def stop(self) -> None:
        """End the loop: no server answers any more."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(END_SECONDS)


_lock = threading.Lock()
_running: LoopThread | None = None


def running() -> LoopThread:
    """The thread of this process; it is started if there is none."""
    global _running
    with _lock:
        if _running is None:
            _running = LoopThread()
        return _running


def _forget() -> None:
    """In a fork: the thread has stayed in the parent."""
    global _lock, _running
    _lock, _running = threading.Lock(), None


def _stop() -> None:
    """Before Python tears down what the thread uses."""
    if _running is not None:
        _running.stop()


os.register_at_fork(after_in_child=_forget)
atexit.register(_stop)
