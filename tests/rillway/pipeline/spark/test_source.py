"""The source as Spark calls it, without Spark."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows
from pyspark.sql.types import IntegerType, StringType, StructType

from rillway.pipeline.arrow.schema import arrow_schema, spark_schema
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.spark.options import OptionError
from rillway.pipeline.spark.shadow_group import read_groups
from rillway.pipeline.spark.source import StreamReader, UnlimitedStreamReader
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


def test_a_missing_stream_is_an_error(link: Connection) -> None:
    add_many(link, "s", 3)
    with pytest.raises(StreamMissing, match="there is no stream orders, t at redis"):
        batch_reader(link, stream="orders,s,t").partitions()
    with pytest.raises(StreamMissing, match="there is no stream orders at redis"):
        stream_reader(link, stream="orders").initialOffset()


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
    assert offset == at(100)


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
    assert reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit()) == at(10)


def test_a_limit_is_shared_in_proportion_to_what_each_stream_has(link: Connection) -> None:
    add_many(link, "big", 90)
    add_many(link, "small", 10)
    reader = stream_reader(
        link, stream="big,small", startingOffsets="earliest", maxEntriesPerTrigger=10
    )
    end = reader.latestOffset(reader.initialOffset(), ReadMaxRows(10))
    assert end == {"big": {"id": "9-0", "n": 9}, "small": {"id": "1-0", "n": 1}}


def test_a_stream_that_appears_is_read_from_its_beginning(link: Connection) -> None:
    add_many(link, "o:1", 3)
    reader = stream_reader(link, streamPattern="o:*")
    start = reader.initialOffset()
    add_many(link, "o:2", 2)
    end = reader.latestOffset(start, ALL)
    assert end == {"o:1": {"id": "3-0", "n": 3}, "o:2": {"id": "2-0", "n": 2}}
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
    assert (middle, end) == (at(6), at(10))
    assert reader.latestOffset(end, ReadMaxRows(6)) == end


def test_a_batch_waits_for_enough_entries_but_not_for_ever(link: Connection) -> None:
    add_many(link, "s", 5)
    options = {"stream": "s", "startingOffsets": "earliest", "minEntriesPerTrigger": 6}
    patient = stream_reader(link, **options)
    start = patient.initialOffset()
    assert patient.latestOffset(start, ALL) == start
    assert stream_reader(link, **options, maxTriggerDelay="0s").latestOffset(start, ALL) == at(5)
    add_many(link, "s", 1, first=6)
    assert patient.latestOffset(start, ALL) == at(6)


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
    with pytest.raises(DataLost, match="20 entries between the two were trimmed"):
        reader.partitions(at(40), at(90))
    assert reader.latestOffset(at(60), ALL) == at(100)


def test_failondataloss_false_goes_on_with_what_is_left(
    link: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    add_many(link, "s", 100)
    link.call("XTRIM", "s", "MINID", "61-0")
    reader = stream_reader(link, stream="s", failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        end = reader.latestOffset(at(40), ALL)
        assert take(reader, at(40), end) == ids(61, 100)
    assert end == at(100)
    assert "20 entries between the two were trimmed" in caplog.text


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
    assert end == at(10)
    assert take(reader, at(100), end) == []
    add_many(link, "s", 5, first=11)
    assert take(reader, end, reader.latestOffset(end, ALL)) == ids(11, 15)


def test_a_query_survives_that_its_connection_is_lost(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = stream_reader(link, stream="s")
    start = reader.initialOffset()
    assert reader._connection is not None
    link.call("CLIENT", "KILL", "ID", reader._connection.call("CLIENT", "ID"))
    add_many(link, "s", 5, first=11)
    assert reader.latestOffset(start, ALL) == at(15)


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
    assert end == at(100)
    planned = reader.partitions(start, end)
    assert len(planned) == 4
    assert joined(read_all(pickle.loads(pickle.dumps(reader)), planned)) == ids(1, 100)
    # That it is asked again says that the batch is done.
    assert reader.latestOffset() == end
    assert read_groups(link, "s")[0].lag == 0


def test_without_admission_control_a_restart_begins_with_the_end(link: Connection) -> None:
    add_many(link, "s", 10)
    reader = unlimited_reader(link)
    assert reader.latestOffset() == at(10)
    assert take(reader, at(4), at(10)) == ids(5, 10)
    link.call("DEL", "s")
    assert reader.latestOffset() == at(10)


@pytest.mark.parametrize(
    "name", ["maxEntriesPerTrigger", "maxBytesPerTrigger", "minEntriesPerTrigger"]
)
def test_without_admission_control_limits_are_refused(link: Connection, name: str) -> None:
    add_many(link, "s", 1)
    reader = unlimited_reader(link, **{name: 5})
    for ask in (reader.initialOffset, reader.latestOffset):
        with pytest.raises(OptionError, match=f"{name} needs Spark 4.2"):
            ask()
