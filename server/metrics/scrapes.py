"""Scrapes that share their work: one runs at a time, and its page serves for a second.

Who asks while one runs gets the same page. A scrape is a task of the instance's background work, so
that it takes turns with the requests of clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from commands.core.instance import Instance
from server.metrics.collection import Collection

# How long a page serves.
PAGE_US = 1_000_000

# The parts of a page; None if collecting it failed.
Take: TypeAlias = Callable[[list[bytes] | None], None]


class Scrapes:
    """The scrapes of one instance."""

    def __init__(
        self,
        instance: Instance,
        schedule: Callable[[], None],
        clock_us: Callable[[], int],
        unix_ms: Callable[[], int],
    ) -> None:
        """`schedule` makes sure that the background work goes on; `clock_us` never goes back."""
        self._instance = instance
        self._schedule = schedule
        self._clock_us = clock_us
        self._unix_ms = unix_ms
        self._page: list[bytes] | None = None
        self._ended_us = 0
        self._last_s = 0.0
        self._count = 0
        self._waiting: list[Take] = []

    def ask(self, take: Take) -> None:
        """Call `take` with a page: at once if there is one, else when it is complete."""
        if self._page is not None and self._clock_us() - self._ended_us < PAGE_US:
            take(self._page)
            return
        self._waiting.append(take)
        if len(self._waiting) == 1:
            self._page = None
            self._instance.background_work.answer(self._scrape())
            self._schedule()

    def _scrape(self) -> Iterator[None]:
        started_us, page = self._clock_us(), None
        self._count += 1
        collection = Collection(self._instance, self._unix_ms(), self._count, self._last_s)
        try:
            yield from collection.steps()
            page = list(collection.page.pieces())
        finally:
            self._ended_us = self._clock_us()
            self._last_s = (self._ended_us - started_us) / 1e6
            self._page = page
            waiting, self._waiting = self._waiting, []
            for take in waiting:
                take(page)
