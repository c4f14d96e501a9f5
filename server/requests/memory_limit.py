"""The memory limit: evicts keys while more memory is in use than `maxmemory` allows.

Checked before each request. Evicting takes a limited time, which `maxmemory-eviction-tenacity`
determines; if it is over, the request runs, and eviction goes on with the next one and with a timer
(`is_behind`). If the policy finds no more keys, requests that may use more memory are refused until
there is room (GATE_OUT_OF_MEMORY, server/requests/admission.py).

Nothing is evicted while data are loaded or a script runs, while CLIENT PAUSE or a failover keeps
the data as it is, or on a replica (`replica-ignore-maxmemory`): its primary sends the removals.

Source: Redis 8.2.
"""

from __future__ import annotations

from time import perf_counter_ns

import cython

from commands.core.gates import GATE_BUSY, GATE_LOADING, GATE_OUT_OF_MEMORY, HOLDING_GATES
from commands.core.instance import Instance
from commands.eviction.eviction import Eviction, MemoryUse
from commands.server.latency import LatencyMonitor

UNLIMITED_US = 1 << 60
# The clock is read once for this many keys.
KEYS_AT_ONCE = 8
_KEEPING = GATE_BUSY | GATE_LOADING | HOLDING_GATES
_OUT_OF_MEMORY: cython.longlong = GATE_OUT_OF_MEMORY


def tenacity_us(tenacity: int) -> int:
    """How long to evict at a time, in microseconds, for `maxmemory-eviction-tenacity` 0 to 100."""
    if tenacity <= 10:
        return 50 * tenacity
    if tenacity < 100:
        return int(500 * 1.15 ** (tenacity - 10))
    return UNLIMITED_US


@cython.cclass
class MemoryLimit:
    """Keeps one instance within its memory limit."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._eviction: Eviction = instance.feature(Eviction)
        self._memory: MemoryUse = instance.feature(MemoryUse)
        self.is_behind = False  # the time was over before there was room

    def check(self) -> None:
        """Make room, if the limit is exceeded; to be called before a request."""
        instance = self._instance
        limit_bytes: cython.longlong = instance.config.maxmemory
        if not limit_bytes or self._memory.used_bytes() <= limit_bytes:
            if instance.gates & _OUT_OF_MEMORY or instance.stats.exceeded_since_ms:
                self._end_of_excess()
        elif self._keeps_data():
            self.is_behind = False
        else:
            self._make_room(limit_bytes)

    def _keeps_data(self) -> bool:
        instance = self._instance
        if instance.gates & _KEEPING:
            return True
        return instance.replication.is_replica and instance.config.replica_ignore_maxmemory

    def _make_room(self, limit_bytes: int) -> None:
        instance = self._instance
        if not instance.stats.exceeded_since_ms:
            instance.stats.exceeded_since_ms = instance.monotonic_ms
        allowed_us = tenacity_us(instance.config.maxmemory_eviction_tenacity)
        start_ns = perf_counter_ns()
        elapsed_us, keys, found = 0, 0, True
        while self._memory.used_bytes() > limit_bytes:
            found = self._eviction.evict_one()
            keys += 1
            if not found:
                break
            if keys % KEYS_AT_ONCE == 0:
                elapsed_us = (perf_counter_ns() - start_ns) // 1000
                if elapsed_us > allowed_us:
                    break
        self._note_duration((perf_counter_ns() - start_ns) // 1000)
        if self._memory.used_bytes() <= limit_bytes:
            self._end_of_excess()
            return
        self.is_behind = found
        instance.set_gate(GATE_OUT_OF_MEMORY, is_shut=not found)

    def _note_duration(self, elapsed_us: int) -> None:
        instance = self._instance
        spike_ms = instance.config.latency_monitor_threshold
        if spike_ms and elapsed_us >= spike_ms * 1000:
            instance.feature(LatencyMonitor).sample(
                b"eviction-cycle", elapsed_us // 1000, instance.now_ms
            )

    def _end_of_excess(self) -> None:
        stats = self._instance.stats
        self.is_behind = False
        self._instance.set_gate(GATE_OUT_OF_MEMORY, is_shut=False)
        if stats.exceeded_since_ms:
            stats.eviction_exceeded_ms += self._instance.monotonic_ms - stats.exceeded_since_ms
            stats.exceeded_since_ms = 0
