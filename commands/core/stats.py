"""Counters that INFO and LATENCY HISTOGRAM report.

Plain numbers that other code adds to. CONFIG RESETSTAT sets them to zero with `reset`; rates per
second come from samples that the server's timer takes with `sample`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Protocol

import cython

from protocol.records import frozen_record
from storage.groups.group import DeliveryLatency

MAX_DISTINCT = 256
MAX_NS = 1_000_000_000  # a longer latency counts as this
_LAST_BUCKET_END_NS = 2**30 - 1
_BUCKET_BITS = 8


class LatencyHistogram(dict[int, int]):
    """Microseconds -> the number of calls, of those that are not in a bucket yet."""

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}  # the upper end in nanoseconds -> the number of calls

    def __missing__(self, elapsed_us: int) -> int:
        if len(self) >= MAX_DISTINCT:
            self._fill_buckets()
        return 0

    def __bool__(self) -> bool:
        return bool(self._buckets) or len(self) > 0

    def _fill_buckets(self) -> None:
        buckets = self._buckets
        for elapsed_us, count in self.items():
            end_ns = bucket_end_ns(min(max(elapsed_us * 1000, 1), MAX_NS))
            buckets[end_ns] = buckets.get(end_ns, 0) + count
        self.clear()

    def _in_order(self) -> list[tuple[int, int]]:
        """(upper end in nanoseconds, number of calls) of each bucket with calls, ascending."""
        self._fill_buckets()
        return sorted(self._buckets.items())

    @property
    def calls(self) -> int:
        """The number of latencies counted."""
        return sum(self.values()) + sum(self._buckets.values())

    def percentiles_us(self, percentiles: list[float]) -> list[float]:
        """For each percentile, the latency in microseconds that this share did not exceed."""
        calls, buckets = self.calls, self._in_order()
        return [_latency_at(buckets, max(1, round(calls * p / 100))) for p in percentiles]

    def cumulative_us(self) -> list[tuple[int, int]]:
        """(microseconds, number of calls that took no longer), at powers of two where it grows."""
        rows: list[tuple[int, int]] = []
        below, limit_ns, row_end_ns = 0, 1024, 0
        for end_ns, count in self._in_order():
            below += count
            if end_ns > row_end_ns:
                while bucket_end_ns(limit_ns) < end_ns:
                    limit_ns *= 2
                row_end_ns = bucket_end_ns(limit_ns)
                rows.append((0, 0))
            rows[-1] = min(row_end_ns, _LAST_BUCKET_END_NS) // 1000, below
        return rows


def bucket_ends_us() -> Iterator[int]:
    """All ends that `cumulative_us` may report, ascending."""
    limit_ns = 1024
    while limit_ns <= _LAST_BUCKET_END_NS + 1:
        yield min(bucket_end_ns(limit_ns), _LAST_BUCKET_END_NS) // 1000
        limit_ns *= 2


def bucket_end_ns(value_ns: int) -> int:
    """The upper end of the HdrHistogram bucket that holds `value_ns`."""
    dropped_bits = max(0, value_ns.bit_length() - _BUCKET_BITS)
    return (((value_ns >> dropped_bits) + 1) << dropped_bits) - 1


def _latency_at(buckets: list[tuple[int, int]], rank: int) -> float:
    """The latency of the call at `rank`, from 1, as Redis prints it. 0 for no calls."""
    for end_ns, count in buckets:
        rank -= count
        if rank <= 0:
            return end_ns / 1000
    return 0.0


SAMPLE_INTERVAL_MS = 100
SAMPLES = 16  # a rate is the mean over the last 1.6 s, as in Redis
# Error codes that are counted one by one: a client must not fill memory with codes of its own.
MAX_ERROR_CODES = 128


class Counted(Protocol):
    """A command, by which its statistics are found (commands/core/registry.py)."""

    fullname: bytes


@cython.cclass
class CommandStats:
    """The statistics of one command that INFO commandstats and latencystats report."""

    __slots__ = ("calls", "failed_calls", "histogram", "rejected_calls", "usec")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set all counters to zero."""
        self.calls = 0
        self.usec = 0
        self.rejected_calls = 0  # refused before it ran: arity, authentication, ...
        self.failed_calls = 0  # answered with an error
        self.histogram = LatencyHistogram()


class SlowCommands:
    """How often a command was slow, as the slow log sees it."""

    def __init__(self) -> None:
        self.count = self.us = self.longest_us = 0

    def add(self, elapsed_us: int) -> None:
        """Count one more."""
        self.count += 1
        self.us += elapsed_us
        self.longest_us = max(self.longest_us, elapsed_us)


class Rate:
    """The growth of a counter per second."""

    def __init__(self) -> None:
        self._rates: deque[float] = deque([0.0] * SAMPLES, maxlen=SAMPLES)
        self._total = 0

    def sample(self, total: int, elapsed_ms: int) -> None:
        """Add a sample: the counter is at `total`, `elapsed_ms` milliseconds after the last one."""
        self._rates.append(max(0, total - self._total) * 1000 / elapsed_ms)
        self._total = total

    def per_second(self) -> float:
        """The mean of the latest samples."""
        return sum(self._rates) / SAMPLES


@frozen_record
class ScriptingFigures:
    """The figures on scripts and functions in INFO; the defaults are those without any."""

    eval_bytes: int = 0  # of the interpreter for scripts
    function_bytes: int = 0  # of the one for functions
    script_bytes: int = 0  # of texts
    library_bytes: int = 0
    scripts: int = 0
    libraries: int = 0
    functions: int = 0
    evicted_scripts: int = 0


@cython.cclass
class Stats:
    """The counters of INFO stats, errorstats and commandstats."""

    def __init__(self) -> None:
        self.commands: dict[Counted, CommandStats] = {}
        self._sampled_ms = 0
        self.exceeded_since_ms = 0  # since when more memory is in use than allowed; 0: it is not
        # Refused by access control lists. As in Redis, CONFIG RESETSTAT leaves them.
        self.acl_access_denied_auth = 0
        self.acl_access_denied_cmd = 0
        self.acl_access_denied_tls_cert = 0
        self.acl_access_denied_key = 0
        self.acl_access_denied_channel = 0
        self.reset()

    def reset(self) -> None:
        """CONFIG RESETSTAT."""
        for command in self.commands.values():
            command.reset()
        self.slow: dict[Counted, SlowCommands] = {}
        self.errors: dict[bytes, int] = {}  # by error code
        self.total_error_replies = 0
        self.unexpected_error_replies = 0  # to a primary
        self.connections_received = 0
        self.rejected_connections = 0
        self.net_input_bytes = 0
        self.net_output_bytes = 0
        self.reads_processed = 0
        self.writes_processed = 0
        self.commands_processed = 0
        self.keyspace_hits = 0
        self.keyspace_misses = 0
        self.delivery_latency = DeliveryLatency()  # of all groups
        self.expired_keys = self.expired_keys_active = 0  # in all, and by the timer
        self.evicted_keys = 0
        self.eviction_exceeded_ms = 0  # for how long more memory was in use than allowed
        self.expired_subkeys = self.expired_subkeys_active = 0  # fields of hashes
        self.expire_cycle_us = 0  # spent in active expiry
        self.expire_cycles_cut_short = 0  # rounds of it that left expired keys
        self.cycles = 0  # of the event loop, those that had something to do
        self.cycles_us = 0  # spent in them
        self.cycles_with_input = 0  # those that took input of clients
        self.inputs_processed = 0  # how often requests of a client were parsed
        self.batches = 0  # of those, the ones that found whole requests
        self.batched_requests = 0  # that they found
        self.client_query_buffer_limit_disconnections = 0
        self.client_output_buffer_limit_disconnections = 0
        self.evicted_clients = 0
        self.forks = 0
        self.latest_fork_us = 0  # how long it blocked the server
        # growth per second
        self.operations = Rate()
        self.input_bytes = Rate()
        self.output_bytes = Rate()
        self.replicated_input = Rate()
        self.replicated_output = Rate()
        self.cycle_rate = Rate()
        self.cycle_us_rate = Rate()

    @property
    def commands_us(self) -> int:
        """Time spent in commands."""
        return sum(stats.usec for stats in self.commands.values())

    def of(self, command: Counted) -> CommandStats:
        """The statistics of `command`, made at first use."""
        stats = self.commands.get(command)
        if stats is None:
            stats = self.commands[command] = CommandStats()
        return stats

    def count_slow(self, command: Counted, elapsed_us: int) -> None:
        """Count one command that the slow log records."""
        if command not in self.slow:
            self.slow[command] = SlowCommands()
        self.slow[command].add(elapsed_us)

    def count_error(self, code: bytes) -> None:
        """One error reply that starts with `code`."""
        self.total_error_replies += 1
        if code in self.errors or len(self.errors) < MAX_ERROR_CODES:
            self.errors[code] = self.errors.get(code, 0) + 1

    def sample(self, monotonic_ms: int, replicated: tuple[int, int] = (0, 0)) -> None:
        """Take a sample of the growing counters if the last one is old enough.

        `replicated`: the bytes of replication that came in and went out.
        """
        elapsed_ms = monotonic_ms - self._sampled_ms
        if elapsed_ms < SAMPLE_INTERVAL_MS:
            return
        self._sampled_ms = monotonic_ms
        self.operations.sample(self.commands_processed, elapsed_ms)
        self.input_bytes.sample(self.net_input_bytes, elapsed_ms)
        self.output_bytes.sample(self.net_output_bytes, elapsed_ms)
        self.replicated_input.sample(replicated[0], elapsed_ms)
        self.replicated_output.sample(replicated[1], elapsed_ms)
        self.cycle_rate.sample(self.cycles, elapsed_ms)
        self.cycle_us_rate.sample(self.cycles_us, elapsed_ms)
