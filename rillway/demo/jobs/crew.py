"""The workers of the demo: each a process, killed without warning, and replaced."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping
from itertools import count
from multiprocessing.context import SpawnProcess

from rillway.demo.jobs.worker import run_worker

JOIN_SECONDS = 10.0


class Crew:
    """`running`: the workers that should be, by name."""

    def __init__(self, url: str) -> None:
        # A new interpreter for each: they share nothing with the producer but the server.
        self._context = multiprocessing.get_context("spawn")
        self._url = url
        self._names = (f"worker-{number}" for number in count(1))
        self.running: dict[str, SpawnProcess] = {}

    def hire(self) -> str:
        """Start one more worker, under a name that no other has had."""
        name = next(self._names)
        process = self._context.Process(target=run_worker, args=(self._url, name), daemon=True)
        process.start()
        self.running[name] = process
        return name

    def kill_busiest(self, pending: Mapping[str, int]) -> str | None:
        """Kill who has most jobs in hand, as `kill -9` does. None if none has any."""
        name = max(self.running, key=lambda name: pending.get(name, 0), default=None)
        if name is None or not pending.get(name):
            return None
        process = self.running.pop(name)
        process.kill()
        process.join()
        return name

    def stop(self) -> None:
        """Let each worker finish the job in hand; kill those that do not."""
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.join(JOIN_SECONDS)
            process.kill()
