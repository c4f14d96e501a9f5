"""The formats `redis-streams-pending` and `redis-streams-groups`: consumer groups as tables.

There is one row for each pending entry or group, as the server reports it when a task runs; each
read asks again. Batch only. As in datasource.py, Arrow is imported only when a format is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from rillway.pipeline.spark.options import (
    CONNECTION_OPTIONS,
    Taker,
    check_streams,
    parse_flag,
    parse_from_one,
    parse_names,
    take_url,
)
from rillway.pipeline.wire.pending import PAGE_SIZE
from rillway.pipeline.wire.quantities import parse_duration

GROUPS_OPTIONS = (*CONNECTION_OPTIONS, "stream", "streamPattern", "failIfMissing", "group")
PENDING_OPTIONS = (
    *GROUPS_OPTIONS,
    "consumer",
    "minIdle",
    "minPartitions",
    "entriesPerPartition",
    "pageSize",
)
DEFAULT_ENTRIES_PER_PARTITION = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringOptions:
    """The options of both formats. If `groups` is empty, all groups are read."""

    url: str
    streams: tuple[str, ...]  # empty if there is a pattern
    pattern: str | None
    fail_if_missing: bool = True
    groups: tuple[str, ...] = ()
    consumer: str | None = None
    min_idle_ms: int = 0
    min_partitions: int = 1
    entries_per_partition: int = DEFAULT_ENTRIES_PER_PARTITION
    page_size: int = PAGE_SIZE


def groups_options(raw: Mapping[str, str]) -> MonitoringOptions:
    """Parse the options of `redis-streams-groups`. Raises OptionError."""
    return _common(Taker(raw, GROUPS_OPTIONS))


def pending_options(raw: Mapping[str, str]) -> MonitoringOptions:
    """Parse the options of `redis-streams-pending`. Raises OptionError."""
    return _common(Taker(raw, PENDING_OPTIONS))


def _common(take: Taker) -> MonitoringOptions:
    streams, pattern = take("stream", parse_names), take("streamPattern", str)
    check_streams(streams, pattern)
    return MonitoringOptions(
        url=take_url(take),
        streams=streams or (),
        pattern=pattern,
        fail_if_missing=take("failIfMissing", parse_flag) is not False,
        groups=take("group", parse_names) or (),
        consumer=take("consumer", str),
        min_idle_ms=round((take("minIdle", parse_duration) or 0) * 1000),
        min_partitions=take("minPartitions", parse_from_one) or 1,
        entries_per_partition=take("entriesPerPartition", parse_from_one)
        or DEFAULT_ENTRIES_PER_PARTITION,
        page_size=take("pageSize", parse_from_one) or PAGE_SIZE,
    )


if TYPE_CHECKING:
    import pyarrow as pa

    from rillway.pipeline.spark.group_formats import MonitoringOptions


class RedisStreamsPending(DataSource):
    """Pending entries: see docs/reference/spark.md for the options and columns."""

    @classmethod
    def name(cls) -> str:
        return "redis-streams-pending"

    def schema(self) -> StructType:
        """Return the schema of the rows. Raises OptionError."""
        from rillway.pipeline.arrow.group_tables import pending_spark_schema
        from rillway.pipeline.spark.group_formats import pending_options

        pending_options(self.options)
        return pending_spark_schema()

    def reader(self, schema: StructType) -> PendingReader:
        from rillway.pipeline.spark.group_formats import pending_options

        return PendingReader(pending_options(self.options))


class PendingReader(DataSourceReader):
    """Reads pending entries; a partition is a range of IDs of one group."""

    def __init__(self, options: MonitoringOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        from rillway.pipeline.ranges.discovery import streams_to_read
        from rillway.pipeline.wire.cluster import connect
        from rillway.pipeline.wire.pending import group_names, plan_pending

        options = self.options
        with connect(options.url) as connection:
            return [
                InputPartition(part)
                for stream in streams_to_read(connection, options)
                for group in group_names(connection, stream)
                if not options.groups or group in options.groups
                for part in plan_pending(
                    connection,
                    stream,
                    group,
                    entries_per_slice=options.entries_per_partition,
                    minimum=options.min_partitions,
                )
            ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from rillway.pipeline.arrow.group_tables import pending_batch
        from rillway.pipeline.wire.cluster import connect
        from rillway.pipeline.wire.pending import PendingSlice, read_pending, server_time_ms

        part: Any = partition.value
        if not isinstance(part, PendingSlice):
            return  # Spark makes an empty partition if there is none
        options = self.options
        with connect(options.url) as connection:
            now_ms = server_time_ms(connection)
            for page in read_pending(
                connection,
                part,
                min_idle_ms=options.min_idle_ms,
                consumer=options.consumer,
                page_size=options.page_size,
            ):
                yield pending_batch(part, page, now_ms)
                now_ms = server_time_ms(connection)


class RedisStreamsGroups(DataSource):
    """Groups: see docs/reference/spark.md for the options and columns."""

    @classmethod
    def name(cls) -> str:
        return "redis-streams-groups"

    def schema(self) -> StructType:
        """Return the schema of the rows. Raises OptionError."""
        from rillway.pipeline.arrow.group_tables import groups_spark_schema
        from rillway.pipeline.spark.group_formats import groups_options

        groups_options(self.options)
        return groups_spark_schema()

    def reader(self, schema: StructType) -> GroupsReader:
        from rillway.pipeline.spark.group_formats import groups_options

        return GroupsReader(groups_options(self.options))


class GroupsReader(DataSourceReader):
    """Reads all groups in one partition, with a few requests for each stream."""

    def __init__(self, options: MonitoringOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from rillway.pipeline.arrow.group_tables import groups_batch
        from rillway.pipeline.ranges.discovery import streams_to_read
        from rillway.pipeline.wire.cluster import connect
        from rillway.pipeline.wire.sampling import group_sampler, sample_groups

        options = self.options
        with connect(options.url) as connection:
            streams = streams_to_read(connection, options)
            samples = sample_groups(connection, group_sampler(streams))
        chosen = [one for one in samples if not options.groups or one.group in options.groups]
        yield groups_batch(chosen)
