"""The options of the formats `redis-streams-pending` and `redis-streams-groups`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rillway.pipeline.client.pending import PAGE_SIZE
from rillway.pipeline.client.quantities import parse_duration
from rillway.pipeline.spark.options import (
    CONNECTION_OPTIONS,
    Taker,
    check_streams,
    parse_flag,
    parse_from_one,
    parse_names,
    take_url,
)

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
    """Raises OptionError."""
    return _common(Taker(raw, GROUPS_OPTIONS))


def pending_options(raw: Mapping[str, str]) -> MonitoringOptions:
    """Raises OptionError."""
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
