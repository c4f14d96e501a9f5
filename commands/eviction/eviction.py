"""The memory limit: the memory in use, in bytes, and which keys are evicted.

`MemoryUse` (commands/connection/client_memory.py) is what `maxmemory` limits, and INFO's
used_memory: a count, not a measurement. Neither Python nor the C library says cheaply how much of
the process's memory is in use, and the resident size hardly falls when keys are removed. Four
parts:

  the process at its start   resident then, before any data
  databases                  keys, values and tables (storage/keyspace/database.py), always
                             up to date
  clients                    their structures and buffers (commands/connection/client_memory.py)
  the rest                   the backlog, cached entries, interpreters, scripts, libraries, the
                             tables of channels, patterns, tracked, watched and awaited keys:
                             updated several times a second

What goes to replicas beyond the backlog, and what waits for the append-only file, does not count
towards the limit, as in Redis: evicting keys makes more of it.

`Eviction` chooses the next key by `maxmemory-policy`, and removes it. LRU, LFU and LRM compare a
few keys, as Redis does: each time `maxmemory-samples` random keys of each database join a pool of
the best candidates so far, and the best is evicted. A candidate that was used meanwhile goes back.
volatile-ttl takes the key that expires first of all, which the index of deadlines knows. An evicted
key is removed like an expired one: replicas and the append-only file get a DEL, clients that watch
or cache it are told, and `evicted` is published. When to evict, and for how long, is decided by
server/requests/admission.py.

Source: Redis 8.2; LRM since 8.6.
"""

from __future__ import annotations

from bisect import insort
from typing import TypeAlias

from commands.connection.client_memory import MemoryUse
from commands.connection.invalidation_table import TrackingTable
from commands.core import notifications
from commands.core.blocked_clients import BlockedClients
from commands.core.instance import MAX_FREQUENCY, Instance, frequency_now
from commands.core.stats import ScriptingFigures
from commands.pubsub.registry import PubSub
from commands.scripting.evaluation import Scripting
from commands.transactions.watched_keys import Watchers
from storage.keyspace.database import Database
from storage.types.value import Value


def scripting_figures(instance: Instance) -> ScriptingFigures:
    """The figures of scripts and functions."""
    scripting = instance.feature_if_used(Scripting)
    return ScriptingFigures() if scripting is None else scripting.figures()


def update_memory_use(instance: Instance) -> int:
    """Measure what is not always up to date; return the bytes in use."""
    backlog = instance.replication.backlog
    figures = scripting_figures(instance)
    memory = instance.feature(MemoryUse)
    memory.rest_bytes = (
        (0 if backlog is None else backlog.length)
        + instance.entry_cache.used_bytes
        + instance.feature(TrackingTable).memory_bytes()
        + instance.feature(PubSub).memory_bytes()
        + instance.feature(Watchers).memory_bytes()
        + instance.feature(BlockedClients).memory_bytes()
        + figures.eval_bytes
        + figures.script_bytes
        + figures.function_bytes
        + figures.library_bytes
    )
    return memory.used_bytes()


POOL_SIZE = 16

# How good a candidate is (the higher, the sooner it is evicted), its database, its key.
Candidate: TypeAlias = tuple[int, int, bytes]


class Eviction:
    """Evicts keys of one instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._policy = ""
        self._is_volatile = False  # only keys with a time to live are evicted
        self._way = ""  # "lru", "lfu", "lrm", "random", "ttl"; "" for none
        self._pool: list[Candidate] = []  # the best is the last
        self._turn = 0  # of the databases, for random keys

    def evict_one(self) -> bool:
        """Evict the next key; False if the policy finds none."""
        if self._policy != self._instance.config.maxmemory_policy:
            self._read_policy()
        chosen = self._choose()
        if chosen is None:
            return False
        self._evict(*chosen)
        return True

    def _read_policy(self) -> None:
        self._policy = self._instance.config.maxmemory_policy
        scope, _, self._way = self._policy.partition("-")
        self._is_volatile = scope == "volatile"
        self._pool.clear()

    def _choose(self) -> tuple[Database, bytes] | None:
        if not self._way:
            return None
        if self._way == "random":
            return self._choose_random()
        if self._way == "ttl":
            return self._choose_first_deadline()
        return self._choose_best()

    def _evict(self, db: Database, key: bytes) -> None:
        instance = self._instance
        instance.stats.evicted_keys += 1
        command = b"UNLINK" if instance.config.lazyfree_lazy_eviction else b"DEL"
        instance.drop(db, key, command, notifications.EVICTED, b"evicted")

    # -- choosing ------------------------------------------------------------------------------

    def _random_key(self, db: Database) -> bytes | None:
        chance = self._instance.chance
        return db.random_volatile_key(chance) if self._is_volatile else db.random_key(chance)

    def _choose_random(self) -> tuple[Database, bytes] | None:
        """A random key, of the databases in turn."""
        databases = self._instance.databases
        for _ in databases:
            self._turn = (self._turn + 1) % len(databases)
            db = databases[self._turn]
            key = self._random_key(db)
            if key is not None:
                return db, key
        return None

    def _choose_first_deadline(self) -> tuple[Database, bytes] | None:
        first: tuple[int, Database, bytes] | None = None
        for db in self._instance.databases:
            deadline = db.first_deadline()
            if deadline is not None and (first is None or deadline[0] < first[0]):
                first = deadline[0], db, deadline[1]
        return None if first is None else first[1:]

    def _choose_best(self) -> tuple[Database, bytes] | None:
        """The best candidate, after some more keys have joined the pool."""
        while self._add_candidates():
            while self._pool:
                score, index, key = self._pool.pop()
                db = self._instance.databases[index]
                value = db.get(key)
                if value is None or (self._is_volatile and not value.deadline):
                    continue
                now = self._score(value)
                if now < score and self._pool and now < self._pool[-1][0]:
                    insort(self._pool, (now, index, key))  # it was used meanwhile
                    continue
                return db, key
        return None

    def _add_candidates(self) -> bool:
        """Let keys of each database join the pool; False if there are none."""
        pool, found = self._pool, False
        for db in self._instance.databases:
            if not (db.expires if self._is_volatile else db.values):
                continue
            found = True
            for _ in range(self._instance.config.maxmemory_samples):
                key = self._random_key(db)
                assert key is not None
                candidate = self._score(db.values[key]), db.index, key
                if candidate not in pool:
                    insort(pool, candidate)
        del pool[:-POOL_SIZE]
        return found

    def _score(self, value: Value) -> int:
        instance = self._instance
        if self._way == "lfu":
            decay_minutes = instance.config.lfu_decay_time
            return MAX_FREQUENCY - frequency_now(value, instance.now_ms, decay_minutes)
        return instance.now_ms - value.access_ms
