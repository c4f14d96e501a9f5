"""Collects the metrics of an instance into a page, in small steps.

Everything is computed when it is asked for, by the figures of INFO and from the live objects; only
the histograms of delivery latencies are counted on the way. The steps are those of a task of
commands/core/background_work.py: commands run between any two of them. Each takes a fraction of
the scheduler's half millisecond.

Streams, groups and consumers are in server/metrics/streams.py.
"""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Iterator

from commands.core.host import REDIS_VERSION, RILLWAY_VERSION
from commands.core.instance import Instance
from commands.core.stats import bucket_ends_us
from commands.replication.replica_table import ReplicaTable
from commands.server.info_sections import SECTIONS
from commands.server.latency import LatencyMonitor
from commands.server.slowlog import SlowLog
from protocol.request import IS_COMPILED
from server.metrics import names
from server.metrics.names import INFO_FIELDS, Family, Page, labels
from server.metrics.streams import BOUNDS_S, MS, StreamMetrics

# Words of INFO that stand for a number.
_WORDS = {"ok": 1, "true": 1, "err": 0, "fail": 0, "false": 0}
# Empty databases beyond this one have no samples.
_FEW_DATABASES = 16
# Entries of a folder of /proc that are read in one step.
_FILES_PER_STEP = 500


class Collection:
    """One scrape: its page is complete when `steps` has ended."""

    def __init__(self, instance: Instance, now_ms: int, scrapes: int, last_s: float) -> None:
        """`scrapes`: how many there were, this one included. `last_s`: what the last one took."""
        self.page = Page()
        self._instance = instance
        self._now_ms = now_ms
        self._scrapes = scrapes
        self._last_s = last_s

    def steps(self) -> Iterator[None]:
        """Collect everything."""
        self._server()
        yield
        for section, fields in INFO_FIELDS.items():
            self._info(section, fields)
            yield
        self._configuration()
        self._replication()
        yield
        self._databases()
        self._events()
        yield
        yield from self._commands()
        yield from self._process()
        self.page.flush()
        streams = StreamMetrics(self._instance, self.page, self._now_ms)
        yield from streams.steps()
        self.page.add(names.STREAMS_OMITTED, streams.omitted_streams)
        self.page.add(names.GROUPS_OMITTED, streams.omitted_groups)
        self.page.add(names.CONSUMERS_OMITTED, streams.omitted_consumers)
        self._latency()
        self.page.flush()

    # -- the server ----------------------------------------------------------------------------

    def _server(self) -> None:
        add, started_s = self.page.add, self._instance.started_ms / MS
        add(names.UP, 1)
        add(names.START_TIME, started_s)
        build = labels(
            version=RILLWAY_VERSION,
            compiled="yes" if IS_COMPILED else "no",
            python=platform.python_version(),
        )
        add(names.BUILD_INFO, 1, build)
        add(names.SCRAPES, self._scrapes)
        add(names.SCRAPE_SECONDS, self._last_s)

    def _info(self, section: str, fields: dict[str, Family]) -> None:
        """The fields of a section that have a metric."""
        values = dict(SECTIONS[section](self._instance))
        for field, family in fields.items():
            self.page.add(family, _number(values.get(field), family))
        if section == "memory":
            ratio = values["mem_fragmentation_ratio"]
            self.page.add(names.FRAGMENTATION, _number(ratio, names.FRAGMENTATION))
        if section == "server":
            self._instance_info(values)

    def _instance_info(self, values: dict[str, str | int]) -> None:
        instance = self._instance
        text = labels(
            role="slave" if instance.replication.is_replica else "master",
            redis_version=REDIS_VERSION,
            redis_build_id="",
            redis_mode=str(values["redis_mode"]),
            os=str(values["os"]),
            maxmemory_policy=instance.config.maxmemory_policy,
            tcp_port=str(values["tcp_port"]),
            run_id=instance.run_id,
            process_id=str(values["process_id"]),
            master_replid=instance.replication.replication_id,
        )
        self.page.add(names.INSTANCE_INFO, 1, text)

    def _configuration(self) -> None:
        add, config = self.page.add, self._instance.config
        add(names.CONFIG_MAXCLIENTS, config.maxclients)
        add(names.CONFIG_MAXMEMORY, config.maxmemory)
        add(names.CONFIG_BACKLOG, config.repl_backlog_size)
        slowlog = self._instance.feature(SlowLog)
        latest = next(slowlog.latest(1), None)
        add(names.SLOWLOG_LENGTH, len(slowlog))
        add(names.SLOWLOG_LAST_ID, latest.id if latest else 0)
        add(names.SLOWLOG_LAST_SECONDS, latest.duration_us / 1e6 if latest else 0)

    def _replication(self) -> None:
        """The replicas; the link to the primary."""
        instance, add = self._instance, self.page.add
        replicas = {  # of two connections of one that came again, the later
            labels(slave_ip=one.ip, slave_port=str(one.port), slave_state=one.phase.value): one
            for one in instance.feature(ReplicaTable).replicas.values()
        }
        for text, replica in replicas.items():
            lag_s = (
                (self._instance.monotonic_ms - replica.heard_ms) // MS if replica.is_online else 0
            )
            add(names.REPLICA_OFFSET, replica.offset, text)
            add(names.REPLICA_LAG, lag_s, text)
        if not instance.replication.is_replica:
            return
        values = dict(SECTIONS["replication"](instance))
        host, port = str(values["master_host"]), str(values["master_port"])
        text = labels(master_host=host, master_port=port)
        add(names.SLAVE_INFO, 1, f'{text},read_only="{values["slave_read_only"]}"')
        add(names.LINK_UP, int(instance.replication.is_link_up), text)
        for family, field in (
            (names.LINK_SILENCE, "master_last_io_seconds_ago"),
            (names.LINK_SYNC, "master_sync_in_progress"),
            (names.LINK_OFFSET, "slave_repl_offset"),
        ):
            add(family, _number(values[field], family), text)

    def _databases(self) -> None:
        add, fields = self.page.add, dict(SECTIONS["keyspace"](self._instance))
        for db in self._instance.databases:
            if not len(db) and db.index >= _FEW_DATABASES:
                continue
            text = f'db="db{db.index}"'
            add(names.DB_KEYS, len(db), text)
            add(names.DB_KEYS_EXPIRING, len(db.expires), text)
            add(names.DB_EXPIRING_ITEMS, len(db.field_expires), text)
            if len(db.expires):
                words = dict(word.split("=") for word in str(fields[f"db{db.index}"]).split(","))
                add(names.DB_AVERAGE_TTL, int(words["avg_ttl"]) / MS, text)

    def _events(self) -> None:
        """Spikes of latency, errors."""
        for event, found in self._instance.feature(LatencyMonitor).events.items():
            time_s, duration_ms = found.samples[-1]
            text = labels(event_name=event)
            self.page.add(names.SPIKE_LAST, time_s, text)
            self.page.add(names.SPIKE_SECONDS, duration_ms / MS, text)
        for code, count in self._instance.stats.errors.items():
            self.page.add(names.ERRORS, count, labels(err=code))

    def _commands(self) -> Iterator[None]:
        add = self.page.add
        for declared, counted in list(self._instance.stats.commands.items()):
            text = labels(cmd=declared.fullname)
            if not (counted.calls or counted.rejected_calls or counted.failed_calls):
                continue
            add(names.COMMANDS, counted.calls, text)
            add(names.COMMAND_SECONDS, counted.usec / 1e6, text)
            add(names.COMMANDS_FAILED, counted.failed_calls, text)
            add(names.COMMANDS_REJECTED, counted.rejected_calls, text)
            if counted.histogram:
                bounds_us, counts = _steady(counted.histogram.cumulative_us())
                self.page.add_histogram(
                    names.COMMAND_LATENCIES, bounds_us, counts, counted.usec, text
                )
            yield

    def _latency(self) -> None:
        latency = self._instance.stats.delivery_latency
        self.page.add_histogram(
            names.LATENCY, BOUNDS_S, latency.cumulative(), latency.total_ms / MS
        )

    # -- the process ---------------------------------------------------------------------------

    def _process(self) -> Iterator[None]:
        add, facts = self.page.add, self._instance.host.facts()
        add(names.PROCESS_CPU, round(facts.cpu_user_s + facts.cpu_system_s, 6))
        add(names.PROCESS_RESIDENT, facts.resident_bytes)
        add(names.PROCESS_START, facts.started_ms / MS)
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        add(names.PROCESS_MAX_FILES, _infinite if limit == resource.RLIM_INFINITY else limit)
        count = 0
        try:
            with os.scandir("/proc/self/fd") as files:
                for _ in files:
                    count += 1
                    if not count % _FILES_PER_STEP:
                        yield
        except OSError:  # no such folder, or too many open files to look
            return
        add(names.PROCESS_FILES, count)


_infinite = float("inf")


def _number(text: str | int | None, family: Family) -> float | None:
    """The number that a field of INFO holds; None for another word, or no such field."""
    if text is None or isinstance(text, int):
        number: float | None = text
    elif text in _WORDS:
        return _WORDS[text]
    else:
        try:
            number = float(text)
        except ValueError:
            return None
    if family.name == "redis_latest_fork_seconds" and number is not None:
        return number / 1e6
    return number


def _steady(rows: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """(bounds, cumulative counts) of a histogram of µs, with all bounds below the greatest.

    Bounds that came and went would make rates of buckets wrong.
    """
    below = dict(rows)
    bounds, counts, count = [], [], 0
    for end_us in bucket_ends_us():
        if end_us > rows[-1][0]:
            break
        count = below.get(end_us, count)
        bounds.append(end_us)
        counts.append(count)
    return bounds, [*counts, rows[-1][1]]
