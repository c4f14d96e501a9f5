"""Schedules an instance's background work (commands/core/background_work.py) between loop cycles.

One time slice takes steps for half a millisecond. If no request came since the last slice,
the next one follows as soon as the loop has polled again. Otherwise the clients have the loop to
themselves for a while, so that tasks take at most a fifth of a busy server's time. While a child
saves, they take at most a fortieth, because each page that they write is copied (copy on write),
unless a client waits for one.

`tick` does the work that needs no task. It drops cached entries that were not read for 30 to 90
seconds. When the loop has been nearly idle for a while, it returns free memory to the system: that
takes some milliseconds and cannot be split into steps. Measuring how much is free takes up to 3 ms,
so it happens only after work that may have freed memory, and the less often the longer it takes. A
loop that is never idle measures every ten seconds, and returns what takes at most 40 ms. With a
memory limit it compares its size with what it uses every half minute instead. While a child saves,
none of this happens.

The loop and the clock are handed in. `schedule_if_needed` must be called when there may be new
work; the end of each loop cycle does so.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.connection.client_memory import MemoryUse
from commands.core.client import Clients
from commands.core.instance import Instance
from server import clock
from server.allocator import FreeMemory

SLICE_US = 500
# How long clients have the loop to themselves after a slice.
BUSY_PAUSE_MS = 2
SAVING_PAUSE_MS = 20
# When the loop counts as idle: at most this many cycles in a second, for this long. (A tick is one
# cycle.)
QUIET_CYCLES_PER_SECOND = 100
QUIET_MS = 300
# After a measurement that found little to free, the next waits for this multiple of its duration:
# with ten million entries and an occasional client, measuring would take a hundredth of a core.
REST_TIMES = 400
# How often a busy loop measures, and the most that it returns at once: 0.13 ms for each megabyte.
BUSY_ROUND_MS = 10_000
MOST_WHEN_BUSY_BYTES = 256 * 1024 * 1024
# How often under a memory limit, where the amount does not matter.
EXCESS_ROUND_MS = 30_000
# How long one pass over the cache of opened entries takes.
OPENED_ROUND_MS = 30_000

Run = Callable[[], None]


class BackgroundScheduler:
    """Runs the background work of one instance."""

    def __init__(
        self,
        instance: Instance,
        call_soon: Callable[[Run], object],
        call_later: Callable[[float, Run], object],
        free_memory: FreeMemory,
        monotonic_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        """`call_soon` and `call_later` (seconds) are the loop's."""
        self._instance = instance
        self._call_soon = call_soon
        self._call_later = call_later
        self._free_memory = free_memory
        self._monotonic_us = monotonic_us
        self._is_scheduled = False
        self._is_stopped = False
        self._seen_cycles = 0  # of the loop, at the last slice
        self._ticked_cycles = 0  # of the loop, at the last tick
        self._ticked_us = self._quiet_since_us = monotonic_us()
        self._compared_us = self._looked_us = self._rested_us = self._ticked_us
        self._doings_asked: tuple[int, ...] = ()  # when free memory was last measured

    def schedule_if_needed(self) -> None:
        """Schedule a slice, if there are tasks."""
        if self._instance.background_work and not self._is_scheduled and not self._is_stopped:
            self._schedule()

    def tick(self) -> None:
        """Called several times a second; see the module."""
        at_us, cycles = self._monotonic_us(), self._instance.stats.cycles
        elapsed_us, self._ticked_us = at_us - self._ticked_us, at_us
        new_cycles, self._ticked_cycles = cycles - self._ticked_cycles, cycles
        is_busy = (new_cycles - 1) * 1_000_000 > QUIET_CYCLES_PER_SECOND * elapsed_us
        if is_busy or self._child_lives:
            self._quiet_since_us = at_us
        if not self._child_lives:
            self._instance.entry_cache.age(elapsed_us / 1000 / OPENED_ROUND_MS)
        if at_us - self._quiet_since_us >= QUIET_MS * 1000:
            self._quiet_since_us = self._looked_us = at_us
            self._give_back_if_notable(at_us)
        elif self._instance.limits_memory and not self._child_lives:
            self._give_back_excess(at_us)
        elif is_busy and not self._child_lives:
            self._give_back_when_busy(at_us)

    def _give_back_if_notable(self, at_us: int) -> None:
        if at_us < self._rested_us:
            return
        instance = self._instance
        stats, clients = instance.stats, len(instance.feature(Clients).by_id)
        counts = stats.reads_processed, stats.expired_keys, instance.background_work.steps
        doings = (*counts, clients, instance.entry_cache.used_bytes)
        if doings != self._doings_asked:
            self._doings_asked = doings
            if not self._free_memory.give_back_if_notable():
                took_us = self._monotonic_us() - at_us
                self._rested_us = at_us + took_us * REST_TIMES

    def _give_back_excess(self, at_us: int) -> None:
        if at_us - self._compared_us >= EXCESS_ROUND_MS * 1000:
            self._compared_us = at_us
            self._free_memory.give_back_beyond(self._instance.feature(MemoryUse).used_bytes())

    def _give_back_when_busy(self, at_us: int) -> None:
        if at_us - self._looked_us >= BUSY_ROUND_MS * 1000:
            self._looked_us = at_us
            in_use_bytes = self._instance.feature(MemoryUse).used_bytes()
            self._free_memory.give_back_if_notable(in_use_bytes + MOST_WHEN_BUSY_BYTES)

    def stop(self) -> None:
        """Stop: the server has ended, no task runs any more."""
        self._is_stopped = True
        self._instance.background_work.clear()

    def _schedule(self) -> None:
        self._is_scheduled = True
        pause_ms = self._pause_ms()
        if pause_ms:
            self._call_later(pause_ms / 1000, self._run_slice)
        else:
            self._call_soon(self._run_slice)

    def _pause_ms(self) -> int:
        if self._child_lives and not self._instance.background_work.is_awaited:
            return SAVING_PAUSE_MS
        return BUSY_PAUSE_MS if self._instance.stats.cycles != self._seen_cycles else 0

    @property
    def _child_lives(self) -> bool:
        state = self._instance.persistence
        return state.save_in_progress or state.rewrite_in_progress

    def _run_slice(self) -> None:
        """Run steps for one time slice, and schedule the next one."""
        self._is_scheduled = False
        tasks, child_lives = self._instance.background_work, self._child_lives
        start_us = at_us = self._monotonic_us()
        while at_us - start_us < SLICE_US and tasks.step(child_lives=child_lives):
            at_us = self._monotonic_us()
        tasks.used_us += at_us - start_us
        if tasks.has_work(child_lives=child_lives) and not self._is_stopped:
            self._schedule()
        self._seen_cycles = self._instance.stats.cycles
