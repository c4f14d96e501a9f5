"""Drives a sampler in a thread, so that keys work while a server does not answer.

A lost connection is retried each second; the figures stay. Nothing is sent while paused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from rillway.pipeline.wire.connection import Connection, ConnectionLost
from rillway.pipeline.wire.sampling import sample_round
from rillway.queues.finder import Finder
from rillway.sampler import Sampler
from rillway.top.tables import local_clock

RETRY_S = 1.0
LEAST_WAIT_S = 0.02


class Feed:
    """The thread. `sampler`: use it only with `lock` held. `lost`: why there is no connection."""

    def __init__(self, url: str, sampler: Sampler, connection: Connection) -> None:
        self.url = url
        self.sampler = sampler
        # The queues, found and measured only while `wants_queues`.
        self.finder = Finder()
        self.wants_queues = False
        self.lock = threading.Lock()
        self.lost: str | None = None
        self.is_paused = False
        self._seen_s = time.monotonic()
        self._connection: Connection | None = connection
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rillway-top", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, without waiting for a reply."""
        self._has_ended.set()

    @property
    def now_ms(self) -> int:
        """The estimated time of the server, which continues without a connection."""
        if not self.sampler.time_ms:
            return 0
        since_s = time.monotonic() - self._seen_s
        return self.sampler.time_ms + round(since_s * 1000)

    def focus(
        self, visible: Iterable[bytes], opened: Iterable[bytes], entries_of: bytes | None
    ) -> None:
        with self.lock:
            self.sampler.focus(visible, opened, entries_of)

    def _run(self) -> None:
        while not self._has_ended.is_set():
            try:
                wait_s = self._step()
            except (ConnectionLost, OSError) as error:
                self._lose(error)
                wait_s = RETRY_S
            self._has_ended.wait(wait_s)

    def _step(self) -> float:
        """Send one batch, if it is due. Returns how long to wait. Raises ConnectionLost."""
        if self.is_paused:
            return LEAST_WAIT_S
        if self._connection is None:
            self._connection = Connection(self.url)
        self.lost = None
        now_s = time.monotonic()
        with self.lock:
            requests = self.sampler.plan(now_s)
        if requests:
            replies = self._connection.call_all(requests)
            with self.lock:
                time_ms = self.sampler.time_ms
                self.sampler.accept(replies, time.monotonic())
                if self.sampler.time_ms != time_ms:
                    self._seen_s = now_s
        wait_s = self._find_queues() if self.wants_queues else 1.0
        with self.lock:
            return max(min(self.sampler.wait_s(time.monotonic()), wait_s), LEAST_WAIT_S)

    def _find_queues(self) -> float:
        """Send one batch of the finder, if it is due. Returns how long it waits."""
        assert self._connection is not None
        with self.lock:
            requests = self.finder.plan(time.monotonic())
        if requests:
            replies = self._connection.call_all(requests)
            with self.lock:
                self.finder.accept(replies, time.monotonic())
        return self.finder.wait_s(time.monotonic())

    def _lose(self, error: Exception) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        with self.lock:
            self.sampler.reset()
            self.finder.reset()
        if self.lost is None:
            self.lost = f"no connection since {local_clock(round(time.time() * 1000))}: {error}"


def run_rounds(
    connection: Connection, sampler: Sampler, show: Callable[[], None], goes_on: Callable[[], bool]
) -> None:
    """Run rounds of sampling, and call `show` after each, as long as `goes_on` returns True."""
    while True:
        sample_round(connection, sampler)
        show()
        if not goes_on():
            return
