"""The memory in use, in bytes: INFO's used_memory, and what `maxmemory` limits.

A count, not a measurement: neither Python nor the C library says cheaply how much of the process's
memory is in use, and the resident size hardly falls when keys are removed. Four parts:

  the process at its start   resident then, before any data
  databases                  keys, values and tables (storage/keyspace/database.py), always
                             up to date
  clients                    their structures and buffers (commands/connection/client_memory.py)
  the rest                   the backlog, tracked keys, cached entries, interpreters, scripts,
                             libraries: updated several times a second

What goes to replicas beyond the backlog, and what waits for the append-only file, does not count
towards the limit, as in Redis: evicting keys makes more of it.
"""

from __future__ import annotations

import cython

from commands.connection.client_memory import ClientMemory
from commands.connection.invalidation_table import TrackingTable
from commands.core.instance import Instance
from commands.core.stats import ScriptingFigures
from commands.scripting.evaluation import Scripting
from storage.keyspace.database import Database

# A key of the table of client-side caching, with one reader.
_TRACKED_KEY_BYTES = 300


def scripting_figures(instance: Instance) -> ScriptingFigures:
    """The figures of scripts and functions."""
    scripting = instance.feature_if_used(Scripting)
    return ScriptingFigures() if scripting is None else scripting.figures()


@cython.cclass
class MemoryUse:
    """The memory that one instance uses."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._databases: list[Database] = instance.databases
        self._clients: ClientMemory = instance.feature(ClientMemory)
        self.startup_bytes = 0  # the server sets it
        self.rest_bytes = 0  # as of the last `update`
        self.peak_bytes = 0
        self.peak_ms = 0  # when it was reached

    def update(self) -> int:
        """Measure what is not always up to date; return `used_bytes`."""
        instance = self._instance
        backlog = instance.replication.backlog
        figures = scripting_figures(instance)
        self.rest_bytes = (
            (0 if backlog is None else backlog.length)
            + instance.entry_cache.used_bytes
            + _TRACKED_KEY_BYTES * len(instance.feature(TrackingTable).readers)
            + figures.eval_bytes
            + figures.script_bytes
            + figures.function_bytes
            + figures.library_bytes
        )
        return self.used_bytes()

    def used_bytes(self) -> int:
        """The memory in use, as `maxmemory` counts it."""
        used: cython.longlong = self.startup_bytes + self.rest_bytes
        used += self._clients.total_bytes - self._clients.replica_bytes
        db: Database
        for db in self._databases:
            if db.values:
                used += db.memory_bytes()
        if used > self.peak_bytes:
            self.peak_bytes, self.peak_ms = used, self._instance.now_ms
        return used

    def recount(self, limit: int) -> None:
        """Count up to `limit` values of each database again that no command has changed.

        Work in the background makes some smaller: idempotent IDs expire, nodes are packed.
        """
        for db in self._databases:
            db.recount(limit)
