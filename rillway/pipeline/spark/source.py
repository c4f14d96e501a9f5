"""Reading streams with Spark: `spark.read` and `spark.readStream` of the format `redis-streams`.

The source reads ranges of IDs, not a consumer group. A range that ends at or before the stream's
last ID changes only by deletion, so a repeated task or batch reads the same entries.

Guarantees: batches follow each other without a gap; entries trimmed before they were read are
detected (loss.py), and so is a stream with another history than the one that was read
(divergence.py). Filters are not pushed down: Spark 4.3 would apply those of one query to another
(frames.py).
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

# A batch of more entries logs how to read less.
MANY_ENTRIES = 1_000_000


class SliceTask:
    """Reads and converts the slices of a task. It is pickled and sent to the worker."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        """Raises ValueError for a schema that cannot be read."""
        self.options = options
        self.schema: pa.Schema = to_arrow(schema)
        self._decoder()  # refuses a schema now, not in a task

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark makes an empty partition if there is none.
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
    """Return an account for the task that runs in this process."""
    task = TaskContext.get()
    return TaskAccount() if task is None else TaskAccount(task.partitionId(), task.attemptNumber())


def hint_at_range(begin: Offset, facts: dict[str, StreamFacts]) -> None:
    """Log how to read less, if a batch without a range reads many entries."""
    entries = sum(backlog(each.id, each.n, facts[name]) for name, each in begin.items())
    if entries > MANY_ENTRIES:
        log.warning(
            "%sreads all of %s entries: stream_frame(spark, ..., where='ms >= ... and ms < ...'), "
            "or the options startingTimestamp and endingTimestamp, read a part",
            LOG_PREFIX,
            f"{entries:,}",
        )


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Returns offsets to Spark's triggers. One reader lives in the driver, others in tasks."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self.options = options
        self.task = SliceTask(options, schema)
        self._policy = LossPolicy(fails=options.fail_on_data_loss)
        self._connection: Connection | None = None
        self._facts: dict[str, StreamFacts] = {}
        self._target: Offset | None = None  # of AvailableNow: the end not to read beyond
        self._last_batch = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_connection": None}

    # -- what Spark asks the driver ---------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a query begins. Spark asks again, so `groupName` pins "latest"."""
        return to_json(self._ask(self._initial_offset))

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next batch; `start` itself if there is nothing to read."""
        return to_json(self._ask(lambda link: self._latest_offset(link, from_json(start), limit)))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Return the ends of the streams when the last batch was planned."""
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
        """Publish progress, as latestOffset does: Spark never commits the last batch."""
        self._publish(from_json(end))

    def stop(self) -> None:
        self._drop_connection()

    # -- how it is answered ------------------------------------------------------------------------

    def _ask(self, question: Callable[[Connection], T]) -> T:
        """Ask on the present connection, and again on a new one if it was lost."""
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
        # Spark has completed everything before `start`.
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
        """Return how far to read: the end of the stream, or AvailableNow's target."""
        facts = self._facts[stream]
        if facts.is_missing:
            return position
        target = end_of(facts) if self._target is None else self._target.get(stream, position)
        # There may have been a failover since the target was set.
        target = target if target.id <= facts.last_id else end_of(facts)
        return target if target.id > position.id else position

    def _waits(self, waiting: int) -> bool:
        """Return True if there are too few entries for a batch and its deadline has not passed."""
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
        """Share the limits in proportion to what each stream has to read."""
        max_entries, max_bytes = self._limits(limit)
        if max_entries is None and max_bytes is None:
            return targets
        entries = shares(max_entries, backlogs) if max_entries is not None else {}
        total = sum(backlogs.values())
        ends = dict(targets)
        for name, size in backlogs.items():
            position, target = positions[name], targets[name]
            if max_bytes is None and added_between(position, target) <= entries[name]:
                continue  # all of them, so nothing need be read to find the end
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
        """Return the limits in entries and bytes. Spark passes one; options may set both."""
        if isinstance(limit, ReadAllAvailable):
            return None, None
        max_entries, max_bytes = self.options.max_entries, self.options.max_bytes
        if isinstance(limit, ReadMaxRows):
            max_entries = limit.max_rows
        if isinstance(limit, ReadMaxBytes):
            max_bytes = limit.max_bytes
        return max_entries, max_bytes

    def _publish(self, offset: Offset) -> None:
        """Publish progress for operators. A failure must not end the query."""
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
    """A reader for Spark before 4.2, which passes neither the start of a batch nor a limit.

    A batch ends at the ends of the streams. The checkpoint does not record how it was shared among
    tasks: a batch that is run again may be shared differently.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._planned: Offset = {}  # the end of the last batch that Spark planned

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a query begins.

        Raises OptionError for a limit, here because Spark 4.0 hides errors of the constructor.
        """
        refuse_limits(self.options)
        offset = super().initialOffset()
        self._planned = from_json(offset)
        return offset

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802
        """Return the ends of the streams. Spark asks when all earlier batches are done."""
        refuse_limits(self.options)
        self._publish(self._planned)

        def ends(connection: Connection) -> Offset:
            names = find_streams(connection, self.options.streams, self.options.pattern)
            facts = all_facts(connection, sorted({*names, *self._planned}))
            # A stream that is missing for now, or has nothing new, keeps its position.
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
    """Refuse options that need admission control. Raises OptionError."""
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
    """Return the number of entries ever added up to `position`, if counting may continue there.

    None if entries after it were deleted: the count of the rest would be too low.
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
    """Return the ends of a batch, and its tasks.

    `begin`: where it begins, which is before `start` if entries are read again.
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
    """Return the tasks of a batch. Raises DataLost.

    A divergence that is found here and does not fail is handled by the next batch: the tasks of
    this one are planned already.
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
    """Return where each of the streams begins."""
    return {name: start.get(name) or beginning(facts[name]) for name in streams}


def added_between(position: Position, target: Position) -> float:
    """Return the greatest possible number of entries between the two."""
    return inf if position.n is None or target.n is None else target.n - position.n


def has_news(position: Position, facts: StreamFacts) -> bool:
    """Return True if entries were added since `position`, or if it is another stream."""
    return facts.last_id != position.id or position.n not in (None, facts.entries_added)


def read_on(
    connection: Connection, policy: LossPolicy, start: Offset, facts: dict[str, StreamFacts]
) -> Offset:
    """Return where to go on: after `start`, or earlier after a divergence. Raises DataLost."""
    moved = {name: each for name, each in start.items() if has_news(each, facts[name])}
    return start | checked(connection, policy, moved, facts)
