"""The source as Spark calls it, without Spark."""

from __future__ import annotations

import logging
import pickle
import re
from typing import Any

import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows
from pyspark.sql.types import IntegerType, StringType, StructType

from rillway.pipeline.arrow.schema import arrow_schema, spark_schema
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.ranges.plan import Planner
from rillway.pipeline.spark import source
from rillway.pipeline.spark.options import OptionError
from rillway.pipeline.spark.shadow_group import read_groups
from rillway.pipeline.spark.source import StreamReader, UnlimitedStreamReader
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.scene import (
    add,
    add_many,
    batch_reader,
    ids_of,
    joined,
    read_all,
    stream_reader,
)

pytestmark = pytest.mark.integration

ALL = ReadAllAvailable()


def ids(first: int, last: int) -> list[str]:
    return [f"{number}-0" for number in range(first, last + 1)]


def at(ms: int, n: int | None = None) -> dict[str, Any]:
    return {"s": {"id": f"{ms}-0", "n": ms if n is None else n}}


def reached(offset: dict[str, Any]) -> dict[str, Any]:
    """An offset without what proves it."""
    proofs = ("h", "r")
    return {
        name: {key: value for key, value in position.items() if key not in proofs}
        for name, position in offset.items()
    }


def take(reader: StreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[str]:
    """What a batch reads, in tasks that have got the reader pickled."""
    copy = pickle.loads(pickle.dumps(reader))
    return joined(read_all(copy, reader.partitions(start, end)))


# -- batch ---------------------------------------------------------------------------------------


def test_a_stream_is_read_in_ordered_partitions(link: Connection) -> None:
    add_many(link, "s", 100)
    reader = batch_reader(link, stream="s", entriesPerPartition=30)
    parts = read_all(pickle.loads(pickle.dumps(reader)), reader.partitions())
    assert len(parts) == 4
    assert joined(parts) == ids(1, 100)


def test_batches_have_the_schema_that_spark_was_told(link: Connection) -> None:
    add_many(link, "s", 3)
    for mode in ("fields", "map"):
        reader = batch_reader(link, stream="s", schemaMode=mode)
        (part,) = reader.partitions()
        (batch,) = reader.read(part)
        assert batch.schema.equals(arrow_schema(mode))


def test_columns_of_a_schema_are_read_by_name(link: Connection) -> None:
    add(link, "s", ["1-0", "2-0"], "item", "lamp", "count", "3")
    schema = StructType().add("count", IntegerType()).add("_id", StringType())
    reader = batch_reader(link, schema, stream="s", schemaMode="columns")
    (part,) = reader.partitions()
    (batch,) = reader.read(part)
    assert batch.to_pylist() == [{"count": 3, "_id": "1-0"}, {"count": 3, "_id": "2-0"}]


def test_a_range_is_fixed_when_it_is_planned(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = batch_reader(link, stream="s", minPartitions=2)
    parts = reader.partitions()
    add_many(link, "s", 10, first=11)
    assert joined(read_all(reader, parts)) == ids(1, 10)


def test_a_range_that_is_trimmed_after_it_was_planned_is_not_read_short(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = batch_reader(link, stream="s")
    (part,) = reader.partitions()
    link.call("XTRIM", "s", "MAXLEN", 5)
    with pytest.raises(DataLost, match="trimmed before they were read"):
        list(reader.read(part))


def test_a_range_by_time(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = batch_reader(link, stream="s", startingTimestamp=3, endingTimestamp=6)
    assert joined(read_all(reader, reader.partitions())) == ids(3, 5)


def test_a_range_by_ids_begins_behind_the_first_and_has_the_last(link: Connection) -> None:
    add_many(link, "s", 10)
    start, end = '{"s": "3-0"}', '{"s": "6-0"}'
    reader = batch_reader(link, stream="s", startingOffsets=start, endingOffsets=end)
    assert joined(read_all(reader, reader.partitions())) == ids(4, 6)


def test_several_streams_are_read(link: Connection) -> None:
    for stream in ("a", "b", "c"):
        add(link, stream, ["1-0"])
    reader = batch_reader(link, streamPattern="[ab]")
    names = [
        batch.column("stream").to_pylist()
        for part in reader.partitions()
        for batch in reader.read(part)
    ]
    assert names == [["a", "b"]]


def test_small_streams_share_tasks_and_batches(link: Connection) -> None:
    for number in range(30):
        add(link, f"s:{number:02}", ["1-0", "2-0"])
    reader = batch_reader(link, streamPattern="s:*", entriesPerPartition=1020)
    parts = reader.partitions()
    assert [len(part.value) for part in parts] == [10, 10, 10]
    found = [list(pickle.loads(pickle.dumps(reader)).read(part)) for part in parts]
    assert [[len(batch) for batch in batches] for batches in found] == [[20], [20], [20]]
    assert found[1][0].column("stream").to_pylist()[:3] == ["s:10", "s:10", "s:11"]


def test_some_columns_are_read_alone(link: Connection) -> None:
    add_many(link, "s", 2)
    for mode, fields in (("fields", [{"name": b"n", "value": b"1-0"}]), ("map", [("n", "1-0")])):
        reader = batch_reader(link, stream="s", schemaMode=mode, columns="fields, ms")
        (part,) = reader.partitions()
        (batch,) = reader.read(part)
        assert batch.schema.names == ["fields", "ms"]
        assert batch.to_pylist()[0] == {"fields": fields, "ms": 1}
    reader = batch_reader(link, stream="s", schemaMode="columns", columns="n,_id")
    (part,) = reader.partitions()
    assert next(reader.read(part)).to_pylist()[1] == {"n": "2-0", "_id": "2-0"}


def test_a_large_batch_without_a_range_says_how_to_read_less(
    link: Connection, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MANY_ENTRIES", 9)
    add_many(link, "s", 10)
    batch_reader(link, stream="s", startingTimestamp=1).partitions()
    assert not caplog.records
    batch_reader(link, stream="s").partitions()
    (record,) = caplog.records
    assert record.getMessage().startswith("rillway: reads all of 10 entries: stream_frame(")


def test_batches_and_tasks_are_logged_if_that_is_wanted(
    link: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    add_many(link, "s", 10)
    add_many(link, "t", 5)
    reader = stream_reader(link, stream="s,t", logBatches="true", maxEntriesPerTrigger=6)
    end = reader.latestOffset({}, ReadMaxRows(6))
    assert joined(read_all(reader, reader.partitions({}, end))) == [*ids(1, 4), *ids(1, 2)]
    batch, task = (record.getMessage() for record in caplog.records)
    assert batch == "rillway: batch: 6 entries of 2 streams in 1 task; 9 left"
    pattern = r"rillway: task 0, attempt 0: 6 rows, \d+ bytes received in [\d.]+ s, 0 pages again"
    assert re.fullmatch(pattern, task)


def test_a_missing_stream_is_an_error(link: Connection) -> None:
    add_many(link, "s", 3)
    with pytest.raises(StreamMissing, match="there is no stream orders, t at redis"):
        batch_reader(link, stream="orders,s,t").partitions()
    with pytest.raises(StreamMissing, match="there is no stream orders at redis"):
        stream_reader(link, stream="orders").initialOffset()


def test_a_partition_may_come_later_but_not_all_of_them(link: Connection) -> None:
    with pytest.raises(StreamMissing, match=r"there is no stream orders:\{0\} at"):
        batch_reader(link, stream="orders", partitions=4).partitions()
    add_many(link, "orders:{2}", 3)
    reader = batch_reader(link, stream="orders", partitions=4)
    assert joined(read_all(reader, reader.partitions())) == ids(1, 3)


def test_a_missing_stream_may_come_later(link: Connection) -> None:
    reader = stream_reader(link, stream="s", failIfMissing="false")
    start = reader.initialOffset()
    add_many(link, "s", 3)
    assert take(reader, start, reader.latestOffset(start, ALL)) == ids(1, 3)


def test_a_missing_stream_is_empty_if_that_is_wanted(link: Connection) -> None:
    reader = batch_reader(link, stream="missing", failIfMissing="false")
    assert reader.partitions() == []
    # Spark makes a partition of its own out of none.
    assert list(reader.read(InputPartition(None))) == []


def test_filters_are_not_pushed_down(link: Connection) -> None:
    """Spark 4.3 would use those of one query for the next, and asks by looking for the method."""
    from pyspark.sql.datasource import DataSourceReader

    assert type(batch_reader(link, stream="s")).pushFilters is DataSourceReader.pushFilters


# -- streaming -----------------------------------------------------------------------------------


def test_batches_follow_each_other_without_a_gap(link: Connection) -> None:
    reader = stream_reader(link, stream="s", startingOffsets="earliest", maxEntriesPerTrigger=30)
    add_many(link, "s", 100)
    limit = reader.getDefaultReadLimit()
    offset, found = reader.initialOffset(), []
    while (end := reader.latestOffset(offset, limit)) != offset:
        found.append(take(reader, offset, end))
        offset = end
    assert [len(batch) for batch in found] == [30, 30, 30, 10]
    assert joined(found) == ids(1, 100)
    assert reached(offset) == at(100)


def test_nothing_new_is_the_same_offset(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = stream_reader(link, stream="s")
    start = reader.initialOffset()
    assert start == at(10)
    assert reader.latestOffset(start, ALL) is not None
    assert reader.latestOffset(start, ALL) == start
    assert reader.reportLatestOffset() == start


def test_the_read_limit_is_the_option(link: Connection) -> None:
    assert stream_reader(link, stream="s").getDefaultReadLimit() == ReadAllAvailable()
    rows = stream_reader(link, stream="s", maxEntriesPerTrigger=5, maxBytesPerTrigger=9)
    assert rows.getDefaultReadLimit() == ReadMaxRows(5)
    size = stream_reader(link, stream="s", maxBytesPerTrigger="1k")
    assert size.getDefaultReadLimit() == ReadMaxBytes(1024)


def test_a_limit_of_bytes_is_kept(link: Connection) -> None:
    add(link, "s", [f"{n}-0" for n in range(1, 101)], "f", "x" * 1000)
    reader = stream_reader(link, stream="s", startingOffsets="earliest", maxBytesPerTrigger="10500")
    end = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    assert reached(end) == at(10)


def test_a_limit_is_shared_in_proportion_to_what_each_stream_has(link: Connection) -> None:
    add_many(link, "big", 90)
    add_many(link, "small", 10)
    reader = stream_reader(
        link, stream="big,small", startingOffsets="earliest", maxEntriesPerTrigger=10
    )
    end = reader.latestOffset(reader.initialOffset(), ReadMaxRows(10))
    assert reached(end) == {"big": {"id": "9-0", "n": 9}, "small": {"id": "1-0", "n": 1}}


def test_no_entry_is_read_to_find_an_end_that_is_within_the_limit(
    link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_many(link, "s", 90)
    reader = stream_reader(link, stream="s", startingOffsets="earliest", maxEntriesPerTrigger=60)
    middle = reader.latestOffset(reader.initialOffset(), ReadMaxRows(60))
    monkeypatch.setattr(Planner, "end_within", None)
    end = reader.latestOffset(middle, ReadMaxRows(60))
    assert (reached(middle), reached(end)) == (at(60), at(90))


def test_a_stream_that_appears_is_read_from_its_beginning(link: Connection) -> None:
    add_many(link, "o:1", 3)
    reader = stream_reader(link, streamPattern="o:*")
    start = reader.initialOffset()
    add_many(link, "o:2", 2)
    end = reader.latestOffset(start, ALL)
    assert reached(end) == {"o:1": {"id": "3-0", "n": 3}, "o:2": {"id": "2-0", "n": 2}}
    assert take(reader, start, end) == ids(1, 2)


def test_available_now_stops_at_what_was_there(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = stream_reader(link, stream="s", startingOffsets="earliest", maxEntriesPerTrigger=6)
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    add_many(link, "s", 10, first=11)
    add_many(link, "other", 1)
    middle = reader.latestOffset(start, ReadMaxRows(6))
    end = reader.latestOffset(middle, ReadMaxRows(6))
    assert (reached(middle), reached(end)) == (at(6), at(10))
    assert reader.latestOffset(end, ReadMaxRows(6)) == end


def test_a_batch_waits_for_enough_entries_but_not_for_ever(link: Connection) -> None:
    add_many(link, "s", 5)
    options = {"stream": "s", "startingOffsets": "earliest", "minEntriesPerTrigger": 6}
    patient = stream_reader(link, **options)
    start = patient.initialOffset()
    assert patient.latestOffset(start, ALL) == start
    hasty = stream_reader(link, **options, maxTriggerDelay="0s")
    assert reached(hasty.latestOffset(start, ALL)) == at(5)
    add_many(link, "s", 1, first=6)
    assert reached(patient.latestOffset(start, ALL)) == at(6)


def test_a_batch_is_cut_in_the_same_way_when_it_is_run_again(link: Connection) -> None:
    add_many(link, "s", 100)
    options = {"stream": "s", "startingOffsets": "earliest", "entriesPerPartition": 30}
    first = stream_reader(link, **options)
    start, end = first.initialOffset(), first.latestOffset(first.initialOffset(), ALL)
    parts = read_all(first, first.partitions(start, end))
    add_many(link, "s", 100, first=101)
    again = stream_reader(link, **options, maxEntriesPerTrigger=7)
    assert read_all(again, again.partitions(start, end)) == parts
    assert len(parts) == 4


def test_a_trim_ahead_of_the_query_ends_it_with_the_number(link: Connection) -> None:
    add_many(link, "s", 100)
    reader = stream_reader(link, stream="s")
    link.call("XTRIM", "s", "MINID", "61-0")
    with pytest.raises(DataLost, match=r"up to 40-0, 40 entries.* 20 entries between the two"):
        reader.latestOffset(at(40), ALL)
    with pytest.raises(DataLost, match="20 entries between the two had been trimmed"):
        reader.partitions(at(40), at(90))
    assert reached(reader.latestOffset(at(60), ALL)) == at(100)


def test_failondataloss_false_goes_on_with_what_is_left(
    link: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    add_many(link, "s", 100)
    link.call("XTRIM", "s", "MINID", "61-0")
    reader = stream_reader(link, stream="s", failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        end = reader.latestOffset(at(40), ALL)
        assert take(reader, at(40), end) == ids(61, 100)
    assert reached(end) == at(100)
    assert "20 entries between the two had been trimmed" in caplog.text


def test_a_stream_that_was_created_again_ends_the_query(link: Connection) -> None:
    add_many(link, "s", 100)
    reader = stream_reader(link, stream="s")
    link.call("DEL", "s")
    with pytest.raises(DataLost, match="the stream is gone"):
        reader.latestOffset(at(100), ALL)
    add_many(link, "s", 10)
    with pytest.raises(DataLost, match="ends at 10-0 after 10 entries: it was created again"):
        reader.latestOffset(at(100), ALL)
    add_many(link, "s", 10, first=101)
    with pytest.raises(DataLost, match="ends at 110-0 after 20 entries"):
        reader.latestOffset(at(100), ALL)


def test_a_stream_that_was_created_again_is_read_on_if_that_is_wanted(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = stream_reader(link, stream="s", failOnDataLoss="false")
    end = reader.latestOffset(at(100), ALL)
    assert reached(end) == {"s": {"id": "10-0", "n": 10, "after": "0-0"}}
    assert take(reader, at(100), end) == ids(1, 10)
    add_many(link, "s", 5, first=11)
    assert take(reader, end, reader.latestOffset(end, ALL)) == ids(11, 15)


# -- histories that diverge -----------------------------------------------------------------------


def fail_over(link: Connection, copy: bytes) -> None:
    """The stream as a replica had it that takes over."""
    link.call("RESTORE", "s", 0, copy, "REPLACE")


def read_before_failover(link: Connection, reader: StreamReader, lost: int) -> dict[str, Any]:
    """120 entries, read as a batch, of which a failover then loses the last ones."""
    add_many(link, "s", 120 - lost)
    copy = link.call("DUMP", "s")
    add_many(link, "s", lost, first=121 - lost)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    assert take(reader, start, end) == ids(1, 120)
    fail_over(link, copy)
    return end


CLOCK_BEHIND = [(10, 5, 25), (10, 10, 25), (5, 10, 25), (10, 5, 0), (10, 0, 0)]


@pytest.mark.parametrize(("lost", "below", "above"), CLOCK_BEHIND)
def test_a_lost_tail_ends_the_query_or_is_read_again(
    link: Connection, lost: int, below: int, above: int, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"stream": "s", "startingOffsets": "earliest", "entriesPerPartition": 30}
    strict = stream_reader(link, **options)
    end = read_before_failover(link, strict, lost)
    new = [f"{120 - lost}-{n}" for n in range(1, below + 1)]
    add(link, "s", new)
    add_many(link, "s", above, first=121)
    with pytest.raises(DataLost, match="120 entries, but the history diverged: the"):
        strict.latestOffset(end, ALL)
    lenient = stream_reader(link, **options, failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        later = lenient.latestOffset(end, ALL)
    common = "115-0" if lost == 5 else "20-0"
    assert f"; reads on after {common}" in caplog.text
    assert later["s"]["after"] == common
    first = int(common.partition("-")[0]) + 1
    expected = ids(first, 120 - lost) + new + ids(121, 120 + above)
    assert take(lenient, end, later) == expected
    # The end says where the batch begins, whatever becomes of the anchors, and whatever the option.
    link.call("XDEL", "s", common)
    assert take(strict, end, later) == expected
    assert lenient.latestOffset(later, ALL) == later
    add_many(link, "s", 3, first=200)
    assert take(strict, later, strict.latestOffset(later, ALL)) == ids(200, 202)


def test_limits_hold_for_what_is_read_again(link: Connection) -> None:
    options = {"stream": "s", "startingOffsets": "earliest", "maxEntriesPerTrigger": 40}
    reader = stream_reader(link, **options, failOnDataLoss="false")
    offset = read_before_failover(link, reader, 10)
    add(link, "s", ["110-1"])
    add_many(link, "s", 25, first=121)
    found = []
    while (end := reader.latestOffset(offset, ReadMaxRows(40))) != offset:
        found.append(take(reader, offset, end))
        offset = end
    assert [len(batch) for batch in found] == [40, 40, 36]
    assert joined(found) == [*ids(21, 110), "110-1", *ids(121, 145)]


def test_a_failover_after_the_end_was_planned_is_noticed(
    link: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    add_many(link, "s", 10)
    copy = link.call("DUMP", "s")
    add_many(link, "s", 10, first=11)
    strict = stream_reader(link, stream="s", startingOffsets="earliest")
    start = strict.initialOffset()
    end = strict.latestOffset(start, ALL)
    fail_over(link, copy)
    add(link, "s", ["10-1", "10-2"])
    add_many(link, "s", 10, first=31)
    with pytest.raises(DataLost, match="was to be read up to 20-0, but the history diverged: the"):
        strict.partitions(start, end)
    lenient = stream_reader(link, stream="s", failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        assert take(lenient, start, end) == [*ids(1, 10), "10-1", "10-2"]
    assert "reads what is there, and the next batch what differs" in caplog.text
    assert take(lenient, end, lenient.latestOffset(end, ALL)) == [
        *ids(1, 10),
        "10-1",
        "10-2",
        *ids(31, 40),
    ]


def test_an_offset_of_the_version_before_is_taken_and_gains_anchors(link: Connection) -> None:
    add_many(link, "s", 20)
    reader = stream_reader(link, stream="s")
    assert reader.latestOffset(at(20), ALL) == at(20)  # nothing new is no reason for a batch
    add_many(link, "s", 5, first=21)
    end = reader.latestOffset(at(20), ALL)
    assert reached(end) == at(25)
    assert take(reader, at(20), end) == ids(21, 25)
    assert [each.partition(" ")[0] for each in end["s"]["h"].split(",")] == ids(16, 25)[::-1]
    assert end["s"]["r"] == 0


def test_a_stream_without_news_gains_anchors_with_the_others(link: Connection) -> None:
    for name in ("a", "b"):
        add_many(link, name, 3)
    reader = stream_reader(link, stream="a,b")
    start = reader.initialOffset()
    add_many(link, "b", 3, first=4)
    end = reader.latestOffset(start, ALL)
    assert [len(end[name]["h"].split(",")) for name in ("a", "b")] == [3, 6]
    link.call("DEL", "a")
    add(link, "a", ["1-0", "2-0", "3-0"], "other", "bytes")
    add(link, "a", ["4-0"])
    with pytest.raises(DataLost, match=r"a: .* the entry 3-0 is not the one that was read"):
        reader.latestOffset(end, ALL)


def test_a_target_that_a_failover_has_lost_is_not_waited_for(link: Connection) -> None:
    options = {"stream": "s", "startingOffsets": "earliest", "failOnDataLoss": "false"}
    reader = stream_reader(link, **options)
    add_many(link, "s", 10)
    copy = link.call("DUMP", "s")
    start = reader.initialOffset()
    middle = reader.latestOffset(start, ReadMaxRows(8))
    add_many(link, "s", 10, first=11)
    reader.prepareForTriggerAvailableNow()
    fail_over(link, copy)
    end = reader.latestOffset(middle, ALL)
    assert reached(end) == at(10)
    assert reader.latestOffset(end, ALL) == end


def test_a_query_survives_that_its_connection_is_lost(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = stream_reader(link, stream="s")
    start = reader.initialOffset()
    assert reader._connection is not None
    link.call("CLIENT", "KILL", "ID", reader._connection.call("CLIENT", "ID"))
    add_many(link, "s", 5, first=11)
    assert reached(reader.latestOffset(start, ALL)) == at(15)


def test_deleted_entries_do_not_stop_a_query(link: Connection) -> None:
    add_many(link, "s", 20)
    reader = stream_reader(link, stream="s", startingOffsets="earliest")
    link.call("XDEL", "s", "5-0", "20-0")
    end = reader.latestOffset(reader.initialOffset(), ReadMaxRows(10))
    assert end["s"]["id"] == "11-0"
    rest = reader.latestOffset(end, ALL)
    assert take(reader, end, rest) == ids(12, 19)
    assert reader.latestOffset(rest, ALL) == rest


# -- the shadow group ----------------------------------------------------------------------------


def test_progress_is_shown_by_a_group(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = stream_reader(link, stream="s", startingOffsets="earliest", groupName="q")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(4))
    assert read_groups(link, "s")[0].lag == 10
    reader.latestOffset(end, ALL)  # Spark asks again once the batch is done
    (group,) = read_groups(link, "s")
    assert (group.name, group.lag, group.pending) == ("__spark:q", 6, 0)
    reader.commit(at(10))
    assert read_groups(link, "s")[0].lag == 0


def test_a_commit_does_not_end_a_query_when_the_server_is_away(link: Connection) -> None:
    reader = stream_reader(link, stream="s", groupName="q", url="redis://127.0.0.1:1")
    reader.commit(at(10))


def test_latest_is_the_same_when_spark_asks_twice(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = stream_reader(link, stream="s", groupName="q")
    first = reader.initialOffset()
    add_many(link, "s", 5, first=11)
    assert stream_reader(link, stream="s", groupName="q").initialOffset() == first == at(10)
    end = reader.latestOffset(first, ALL)
    assert take(reader, first, end) == ids(11, 15)


def test_ids_come_from_batches_in_order(link: Connection) -> None:
    add_many(link, "s", 25_000)
    reader = batch_reader(link, stream="s")
    (part,) = reader.partitions()
    found = list(reader.read(part))
    assert [batch.num_rows for batch in found] == [10_100, 10_000, 4_900]
    assert ids_of(found) == ids(1, 25_000)


# -- before Spark 4.2 -----------------------------------------------------------------------------


def unlimited_reader(link: Connection, **options: Any) -> UnlimitedStreamReader:
    limited = stream_reader(link, stream="s", startingOffsets="earliest", **options)
    return UnlimitedStreamReader(limited.options, spark_schema(limited.options.mode))


def test_without_admission_control_a_batch_goes_to_the_end(link: Connection) -> None:
    add_many(link, "s", 100)
    reader = unlimited_reader(link, entriesPerPartition=30, groupName="q")
    start, end = reader.initialOffset(), reader.latestOffset()
    assert reached(end) == at(100)
    planned = reader.partitions(start, end)
    assert len(planned) == 4
    assert joined(read_all(pickle.loads(pickle.dumps(reader)), planned)) == ids(1, 100)
    # That it is asked again says that the batch is done.
    assert reader.latestOffset() == end
    assert read_groups(link, "s")[0].lag == 0


def test_without_admission_control_a_restart_begins_with_the_end(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = unlimited_reader(link)
    assert reached(reader.latestOffset()) == at(10)
    assert take(reader, at(4), at(10)) == ids(5, 10)
    link.call("DEL", "s")
    assert reader.latestOffset() == at(10)


@pytest.mark.parametrize(("lost", "below", "above"), CLOCK_BEHIND)
def test_without_admission_control_a_lost_tail_is_noticed(
    link: Connection, lost: int, below: int, above: int
) -> None:
    add_many(link, "s", 120 - lost)
    copy = link.call("DUMP", "s")
    add_many(link, "s", lost, first=121 - lost)
    strict, lenient = unlimited_reader(link), unlimited_reader(link, failOnDataLoss="false")
    start, end = strict.initialOffset(), strict.latestOffset()
    strict.partitions(start, end)
    fail_over(link, copy)
    add(link, "s", [f"{120 - lost}-{n}" for n in range(1, below + 1)])
    add_many(link, "s", above, first=121)
    later = strict.latestOffset()
    assert later != end
    with pytest.raises(DataLost, match="120 entries, but the history diverged: the"):
        strict.partitions(end, later)
    again = joined(read_all(lenient, lenient.partitions(end, later)))
    first = 116 if lost == 5 else 21
    assert len(again) == 120 - lost - first + 1 + below + above
    assert lenient.latestOffset() == later


@pytest.mark.parametrize(
    "name", ["maxEntriesPerTrigger", "maxBytesPerTrigger", "minEntriesPerTrigger"]
)
def test_without_admission_control_limits_are_refused(link: Connection, name: str) -> None:
    add_many(link, "s", 1)
    reader = unlimited_reader(link, **{name: 5})
    for ask in (reader.initialOffset, reader.latestOffset):
        with pytest.raises(OptionError, match=f"{name} needs Spark 4.2"):
            ask()
