"""Reading streams with Spark: `spark.read` and `spark.readStream` of the format `redis-streams`.

Ranges of IDs are read, not a consumer group: a range that ends at or before the stream's last ID
never changes but by deletion, so a task that is repeated, or a batch, reads the same entries.

Guarantees: batches follow each other without a gap; what was trimmed before it was read is noticed
(loss.py), and so is a stream with another history than the one that was read (divergence.py). Spark
pushes no filters down: in 4.3 it would apply those of one query to another (frames.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.column_parser import TimeText
from rillway.pipeline.arrow.decoder import (
    Decoder,
    Payload,
    columns_decoder,
    fields_decoder,
    map_decoder,
)
from rillway.pipeline.arrow.schema import FIELDS_MODE, JSON_MODE, MAP_MODE, to_arrow
from rillway.pipeline.ranges.account import TaskAccount, log_batch
from rillway.pipeline.ranges.discovery import find_streams, streams_to_read
from rillway.pipeline.ranges.divergence import anchored, check_ends, checked
from rillway.pipeline.ranges.loss import LOG_PREFIX, LossPolicy, log
from rillway.pipeline.ranges.offsets import Offset, Position, beginning, from_json, to_json
from rillway.pipeline.ranges.plan import Planner, backlog, shares
from rillway.pipeline.ranges.reader import SliceReader, decoded_pages
from rillway.pipeline.ranges.tasks import Task, share, tasks
from rillway.pipeline.spark.options import EARLIEST, LATEST, OptionError, SourceOptions
from rillway.pipeline.spark.shadow_group import publish, shadow_group
from rillway.pipeline.spark.starts import ending_offset, starting_offset
from rillway.pipeline.spark.versions import (
    VERSION,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection, ConnectionLost
from rillway.pipeline.wire.facts import StreamFacts, all_facts

T = TypeVar("T")

# A batch read of more entries says how to read less.
MANY_ENTRIES = 1_000_000


class SliceTask:
    """Reads and converts the slices of a task. It is pickled to wherever the task runs."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        """Raises ValueError for a schema that cannot be read."""
        self.options = options
        self.schema: pa.Schema = to_arrow(schema)
        self._decoder()  # refuse a schema now, not in a task

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark makes a partition of nothing where there is none.
        if not partition.value:
            return iter(())
        account = account_of_task() if self.options.logs_batches else TaskAccount()
        batches = self._read(partition.value, account)
        return account.counted(batches) if self.options.logs_batches else batches

    def _read(self, task: Task, account: TaskAccount) -> Iterator[pa.RecordBatch]:
        with paused_collector(), connect(self.options.url) as connection:
            yield from decoded_pages(self._readers(connection, task, account), self._decoder())

    def _readers(
        self, connection: Connection, task: Task, account: TaskAccount
    ) -> Iterator[SliceReader]:
        policy = LossPolicy(fails=self.options.fail_on_data_loss)
        for part in task:
            reader = SliceReader(connection, part, policy, self.options.page_size)
            yield reader
            account.received_bytes += reader.received_bytes
            account.repeats += reader.repeats

    def _decoder(self) -> Decoder:
        options = self.options
        if options.mode == FIELDS_MODE:
            return fields_decoder("", options.columns)
        if options.mode == MAP_MODE:
            return map_decoder("", options.columns)
        return columns_decoder(
            "",
            self.schema,
            strict=options.strict_columns,
            times=TimeText(options.epoch_unit, options.time_format),
            payload=Payload(options.payload_field) if options.mode == JSON_MODE else None,
        )


class BatchReader(DataSourceReader):
    """One range of each stream, fixed when Spark plans the query."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self.options = options
        self.task = SliceTask(options, schema)

    def partitions(self) -> Sequence[InputPartition]:
        options = self.options
        with connect(options.url) as connection:
            streams = streams_to_read(connection, options, one_is_enough=options.is_partitioned)
            start = starting_offset(connection, options, streams, default=EARLIEST)
            facts = all_facts(connection, streams)
            end = ending_offset(connection, options, streams)
            begin = begun(start, end, facts)
            if not options.has_range:
                hint_at_range(begin, facts)
            end = plan(connection, options, begin, begin, end, facts)
            policy = LossPolicy(fails=options.fail_on_data_loss)
            return partitions(connection, options, start, end, facts, policy)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.task.read(partition)


def account_of_task() -> TaskAccount:
    """An account for the task that runs here."""
    task = TaskContext.get()
    return TaskAccount() if task is None else TaskAccount(task.partitionId(), task.attemptNumber())


def hint_at_range(begin: Offset, facts: dict[str, StreamFacts]) -> None:
    """Log how to read less, where a batch reads all of many entries."""
    entries = sum(backlog(each.id, each.n, facts[name]) for name, each in begin.items())
    if entries > MANY_ENTRIES:
        log.warning(
            "%sreads all of %s entries: stream_frame(spark, ..., where='ms >= ... and ms < ...'), "
            "or the options startingTimestamp and endingTimestamp, read a part",
            LOG_PREFIX,
            f"{entries:,}",
        )


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets by Spark's triggers. One lives in the driver all the time, others in tasks."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self.options = options
        self.task = SliceTask(options, schema)
        self._policy = LossPolicy(fails=options.fail_on_data_loss)
        self._connection: Connection | None = None
        self._facts: dict[str, StreamFacts] = {}
        self._target: Offset | None = None  # of AvailableNow: not to be passed
        self._last_batch = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_connection": None}

    # -- what Spark asks the driver ---------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Called more than once before the first batch is done: `groupName` pins "latest"."""
        return to_json(self._ask(self._initial_offset))

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch; `start` itself if there is nothing to read."""
        return to_json(self._ask(lambda link: self._latest_offset(link, from_json(start), limit)))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """The ends of the streams, as they were when the last batch was planned."""
        return to_json({name: end_of(facts) for name, facts in self._facts.items()}) or None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        if self.options.max_entries is not None:
            return ReadMaxRows(self.options.max_entries)
        if self.options.max_bytes is not None:
            return ReadMaxBytes(self.options.max_bytes)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Set the present ends of the streams as the target."""

        def fix(connection: Connection) -> None:
            names = find_streams(connection, self.options.streams, self.options.pattern)
            facts = all_facts(connection, names)
            self._target = {name: end_of(each) for name, each in facts.items()}

        self._ask(fix)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first, last = from_json(start), from_json(end)

        def cut(connection: Connection) -> Sequence[InputPartition]:
            facts = all_facts(connection, last)
            return partitions(connection, self.options, first, last, facts, self._policy)

        return self._ask(cut)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.task.read(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Comes late, or not at all for the last batch; so latestOffset publishes as well."""
        self._publish(from_json(end))

    def stop(self) -> None:
        self._drop_connection()

    # -- how it is found out ----------------------------------------------------------------------

    def _ask(self, question: Callable[[Connection], T]) -> T:
        """Ask on the present connection; again on a new one if it was lost meanwhile."""
        if self._connection is not None:
            try:
                return question(self._connection)
            except ConnectionLost:
                self._drop_connection()
        self._connection = connect(self.options.url)
        try:
            return question(self._connection)
        except BaseException:
            self._drop_connection()
            raise

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _initial_offset(self, connection: Connection) -> Offset:
        streams = streams_to_read(
            connection, self.options, one_is_enough=self.options.is_partitioned
        )
        return starting_offset(connection, self.options, streams, default=LATEST)

    def _latest_offset(self, connection: Connection, start: Offset, limit: ReadLimit) -> Offset:
        # Whatever Spark now starts from, it has completed.
        self._publish(start)
        names = find_streams(connection, self.options.streams, self.options.pattern)
        self._facts = all_facts(connection, sorted({*names, *start}))
        positions = begun(start, self._facts, self._facts)
        begin = read_on(connection, self._policy, positions, self._facts)
        targets = {name: self._end(name, begin[name]) for name in self._facts}
        backlogs = {
            name: backlog(position.id, position.n, self._facts[name])
            for name, position in begin.items()
            if targets[name].id > position.id
        }
        if backlogs and self._waits(sum(backlogs.values())):
            return start
        ends = self._ends_within(Planner(connection), begin, targets, backlogs, limit)
        if all(ends[name].id == position.id for name, position in positions.items()):
            return start
        self._last_batch = time.monotonic()
        ends = anchored(connection, begin, ends, self._facts)
        return plan(connection, self.options, positions, begin, ends, self._facts)

    def _end(self, stream: str, position: Position) -> Position:
        """Where reading is to come to: the end of the stream, or AvailableNow's target."""
        facts = self._facts[stream]
        if facts.is_missing:
            return position
        target = end_of(facts) if self._target is None else self._target.get(stream, position)
        # A failover may have come after the target was set.
        target = target if target.id <= facts.last_id else end_of(facts)
        return target if target.id > position.id else position

    def _waits(self, waiting: int) -> bool:
        """Return True if there are too few entries for a batch, and time for more to come."""
        if self.options.min_entries is None or self._target is not None:
            return False
        waited_s = time.monotonic() - self._last_batch
        return waiting < self.options.min_entries and waited_s < self.options.max_trigger_delay_s

    def _ends_within(
        self,
        planner: Planner,
        positions: Offset,
        targets: Offset,
        backlogs: dict[str, int],
        limit: ReadLimit,
    ) -> Offset:
        """The limits shared in proportion to what each stream has to read."""
        max_entries, max_bytes = self._limits(limit)
        if max_entries is None and max_bytes is None:
            return targets
        entries = shares(max_entries, backlogs) if max_entries is not None else {}
        total = sum(backlogs.values())
        ends = dict(targets)
        for name, size in backlogs.items():
            position, target = positions[name], targets[name]
            if max_bytes is None and added_between(position, target) <= entries[name]:
                continue  # all of them, so none need be read to find the end
            share_bytes = None if max_bytes is None else max(max_bytes * size // total, 1)
            last, counted = planner.end_within(
                name, position.id, target.id, entries.get(name), share_bytes
            )
            if last != target.id:
                n = counted_from(position, self._facts[name])
                ends[name] = Position(last, None if n is None else n + counted)
            if last == position.id:
                ends[name] = position
        return ends

    def _limits(self, limit: ReadLimit) -> tuple[int | None, int | None]:
        """Entries and bytes. Spark knows one limit; the options may have both."""
        if isinstance(limit, ReadAllAvailable):
            return None, None
        max_entries, max_bytes = self.options.max_entries, self.options.max_bytes
        if isinstance(limit, ReadMaxRows):
            max_entries = limit.max_rows
        if isinstance(limit, ReadMaxBytes):
            max_bytes = limit.max_bytes
        return max_entries, max_bytes

    def _publish(self, offset: Offset) -> None:
        """Progress for operators to see. It must not end a query that is well otherwise."""
        if self.options.group_name is None:
            return
        group = shadow_group(self.options.group_name)

        def move(connection: Connection) -> None:
            for stream, position in offset.items():
                publish(connection, stream, group, position)

        try:
            self._ask(move)
        except ConnectionLost as error:
            self._policy.unclear(f"progress of {group} is not shown: {error}")


class UnlimitedStreamReader(StreamReader):
    """For Spark before 4.2, which says neither where a batch starts nor how large it may be.

    A batch goes to the ends of the streams. How it is shared among tasks is not in the checkpoint:
    a batch that is run again may be shared in another way.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._planned: Offset = {}  # the end of the batch that Spark planned last

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Raises OptionError for a limit. Spark 4.0 hides what the constructor raises."""
        refuse_limits(self.options)
        offset = super().initialOffset()
        self._planned = from_json(offset)
        return offset

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802
        """The ends of the streams. Spark asks when all that it planned before is done."""
        refuse_limits(self.options)
        self._publish(self._planned)

        def ends(connection: Connection) -> Offset:
            names = find_streams(connection, self.options.streams, self.options.pattern)
            facts = all_facts(connection, sorted({*names, *self._planned}))
            # A stream that is missing for now, or has nothing new, stays where it was read up to.
            moved = {
                name: end_of(each)
                for name, each in facts.items()
                if name not in self._planned or has_news(self._planned[name], each)
            }
            known = {name: each for name, each in moved.items() if not facts[name].is_missing}
            return self._planned | anchored(connection, self._planned, known, facts)

        return to_json(self._ask(ends))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first, self._planned = from_json(start), from_json(end)

        def cut(connection: Connection) -> Sequence[InputPartition]:
            facts = all_facts(connection, self._planned)
            positions = begun(first, self._planned, facts)
            begin = read_on(connection, self._policy, positions, facts)
            last = plan(connection, self.options, positions, begin, self._planned, facts)
            return partitions(connection, self.options, first, last, facts, self._policy)

        return self._ask(cut)


def refuse_limits(options: SourceOptions) -> None:
    """Raises OptionError for options that need admission control."""
    limits = {
        "maxEntriesPerTrigger": options.max_entries,
        "maxBytesPerTrigger": options.max_bytes,
        "minEntriesPerTrigger": options.min_entries,
    }
    for name, value in limits.items():
        if value is not None:
            raise OptionError(f"{name} needs Spark 4.2, and this is {VERSION}")


def end_of(facts: StreamFacts) -> Position:
    return Position(facts.last_id, facts.entries_added)


def counted_from(position: Position, facts: StreamFacts) -> int | None:
    """Return the number of entries ever added up to `position`, if one may count on from there.

    None if entries after it were deleted: counting what is left would be too few.
    """
    if position.n is not None and facts.max_deleted_id <= position.id:
        return max(position.n, facts.trimmed) if facts.first_id > position.id else position.n
    if position.id < facts.first_id and not facts.has_holes:
        return facts.trimmed
    return None


def plan(
    connection: Connection,
    options: SourceOptions,
    start: Offset,
    begin: Offset,
    end: Offset,
    facts: dict[str, StreamFacts],
) -> Offset:
    """The ends of a batch, and how it is shared among tasks.

    `begin`: where it begins, which is not at `start` where entries are read again.
    """
    shared = share(
        Planner(connection),
        begin,
        end,
        facts,
        every=options.entries_per_partition,
        minimum=options.min_partitions,
    )
    return {
        name: position
        if begin[name].id == start[name].id
        else replace(position, after=begin[name].id)
        for name, position in shared.items()
    }


def partitions(
    connection: Connection,
    options: SourceOptions,
    start: Offset,
    end: Offset,
    facts: dict[str, StreamFacts],
    policy: LossPolicy,
) -> list[InputPartition]:
    """The tasks of a batch. Raises DataLost.

    What is found here and does not fail is read again by the next batch: the tasks of this one are
    known already.
    """
    again = {
        name: Position(each.after, None) for name, each in end.items() if each.after is not None
    }
    begin = begun(start, end, facts) | again
    read = {name: each for name, each in end.items() if each.id > begin[name].id}
    checked(connection, policy, {name: begin[name] for name in read}, facts)
    check_ends(connection, policy, read, facts)
    planned = tasks(Planner(connection), begin, end, facts, policy)
    if options.logs_batches:
        log_batch(begin, end, facts, planned)
    return [InputPartition(task) for task in planned]


def begun(start: Offset, streams: Iterable[str], facts: dict[str, StreamFacts]) -> Offset:
    """Where each of the streams begins."""
    return {name: start.get(name) or beginning(facts[name]) for name in streams}


def added_between(position: Position, target: Position) -> float:
    """How many entries there are between the two at most."""
    return inf if position.n is None or target.n is None else target.n - position.n


def has_news(position: Position, facts: StreamFacts) -> bool:
    """Return True if a stream has had entries since `position`, or is another stream."""
    return facts.last_id != position.id or position.n not in (None, facts.entries_added)


def read_on(
    connection: Connection, policy: LossPolicy, start: Offset, facts: dict[str, StreamFacts]
) -> Offset:
    """Where to read on: after `start`, or earlier if histories diverged. Raises DataLost."""
    moved = {name: each for name, each in start.items() if has_news(each, facts[name])}
    return start | checked(connection, policy, moved, facts)
