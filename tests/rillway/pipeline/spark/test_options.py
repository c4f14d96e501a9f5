"""Options: what is taken, and what is refused with a hint."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.client.partitions import Partitions
from rillway.pipeline.arrow.encoder import Partitioning
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.spark.options import (
    SOURCE_OPTIONS,
    OptionError,
    SinkOptions,
    sink_options,
    source_options,
)
from rillway.pipeline.wire.ids import make_id


def source(**options: Any) -> Any:
    return source_options({"stream": "s"} | {name: str(value) for name, value in options.items()})


def sink(*, streaming: bool = False, **options: Any) -> SinkOptions:
    texts = {name: str(value) for name, value in options.items()}
    return sink_options({"stream": "s"} | texts, streaming=streaming)


def test_the_defaults_of_the_source() -> None:
    options = source()
    assert options.url == "redis://127.0.0.1:6379"
    assert options.streams == ("s",)
    assert (options.start, options.end) == (None, None)
    assert options.entries_per_partition == 250_000
    assert options.page_size == 1000
    assert options.fail_on_data_loss
    assert options.mode == "map"


def test_names_are_taken_in_any_case() -> None:
    assert source(MAXENTRIESPERTRIGGER=5).max_entries == 5


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("maxOffsetsPerTrigger", "maxEntriesPerTrigger"),
        ("startingOffset", "startingOffsets"),
        ("streams", "stream"),
        ("minPartition", "minPartitions"),
        ("faileOnDataLos", "failOnDataLoss"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_name(name: str, hint: str) -> None:
    with pytest.raises(OptionError, match=f"no option {name}: did you mean {hint}\\?"):
        source(**{name: "1"})


def test_an_option_that_is_like_no_other_is_refused_without_a_guess() -> None:
    with pytest.raises(OptionError, match=r"there is no option xyzzy$"):
        source(xyzzy="1")


def test_what_spark_adds_by_itself_is_left_alone() -> None:
    assert sink(stream="s", queryName="q", checkpointLocation="c", streaming=True) == sink()
    for name in ("queryName", "checkpointLocation"):
        with pytest.raises(OptionError, match=f"no option {name}"):
            source(**{name: "x"})


def test_a_path_is_the_name_of_a_stream() -> None:
    assert source_options({"path": "orders"}).streams == ("orders",)
    assert source_options({"paths": '["a", "b"]'}).streams == ("a", "b")
    assert sink_options({"path": "copy"}, streaming=True).stream == "copy"
    with pytest.raises(OptionError, match="the option stream and the path 'p' do not go"):
        source(path="p")


def test_the_options_of_a_table_come_with_its_properties() -> None:
    raw = {"provider": "redis-streams", "owner": "me", "a": "b", "option.stream": "s"}
    assert source_options(raw | {"stream": "s"}) == source()
    with pytest.raises(OptionError, match="no option strem"):
        source_options({"provider": "redis-streams", "option.strem": "s"})
    # What Spark does with such a table when it is read or written to.
    for read in (source_options, lambda raw: sink_options(raw, streaming=False)):
        with pytest.raises(OptionError, match="CREATE TEMPORARY VIEW"):
            read({})


def test_streams_are_named_or_matched() -> None:
    assert source(stream="a, b,a").streams == ("a", "b")
    assert source_options({"streamPattern": "o*"}).pattern == "o*"
    with pytest.raises(OptionError, match="stream and streamPattern do not go together"):
        source(streamPattern="o*")
    with pytest.raises(OptionError, match="one of the options stream and streamPattern"):
        source_options({})


def test_a_stream_in_partitions_is_all_of_them() -> None:
    found = source(stream="a,b", partitions="2")
    assert found.streams == ("a:{0}", "a:{1}", "b:{0}", "b:{1}")
    assert found.is_partitioned
    partitioning = sink(partitions="2", keyColumn="customer").partitioning
    assert partitioning == Partitioning(Partitions("s", 2), "customer")
    with pytest.raises(OptionError, match="streamPattern and partitions do not go together"):
        source_options({"streamPattern": "o*", "partitions": "2"})
    with pytest.raises(OptionError, match="option partitions: the name of a partitioned stream"):
        source(stream="{a}", partitions="2")


def test_starting_offsets_are_words_or_ids() -> None:
    assert source(startingOffsets="Earliest").start == "earliest"
    assert source(startingOffsets="group:Billing").start == "group:Billing"
    assert source(startingOffsets="group", groupName="q").start == "group"
    assert source(startingOffsets='{"s": "5-1"}').start == {"s": Position(make_id(5, 1), None)}
    assert source(endingOffsets='{"s": "5"}').end == {"s": Position(make_id(5), None)}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"startingOffsets": "newest"}, "option startingOffsets: expected earliest, latest"),
        ({"startingOffsets": '{"s": "x"}'}, "option startingOffsets: 'x' is no ID"),
        ({"startingOffsets": "group"}, "needs groupName"),
        ({"endingOffsets": "earliest"}, "option endingOffsets: expected latest"),
        ({"startingOffsets": "latest", "startingTimestamp": "5"}, "do not go together"),
        ({"endingOffsets": "latest", "endingTimestamp": "5"}, "do not go together"),
        ({"startingTimestamp": "yesterday"}, "option startingTimestamp: expected Unix milli"),
        ({"minPartitions": "0"}, "option minPartitions: expected a number from 1 up, not '0'"),
        ({"failOnDataLoss": "no"}, "option failOnDataLoss: expected true or false, not 'no'"),
        ({"schemaMode": "xml"}, "option schemaMode: expected fields or map or columns or json"),
        ({"payloadField": "p"}, "payloadField goes with schemaMode=json"),
        ({"epochUnit": "ms"}, "epochUnit goes with schemaMode=columns"),
        ({"timestampFormat": "yyyy"}, "timestampFormat goes with schemaMode=columns"),
        ({"timestampFormat": "MMM"}, "option timestampFormat: 'MMM' cannot be read"),
        ({"columns": "item"}, "columns: there is no column item"),
        ({"minEntriesPerTrigger": 9, "maxEntriesPerTrigger": 5}, "must not be above"),
        ({"groupName": ""}, "option groupName: expected a name"),
        ({"stream": "a,,b"}, "option stream: expected names with commas"),
        ({"url": "http://x"}, "option url: "),
        ({"url": "redis://x", "port": 5}, "url and port do not go together"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        source(**options)


def test_a_url_is_put_together_from_its_parts() -> None:
    options = source(host="h", port=1, db=2, username="u", password="p@/:", ssl="true")
    assert options.url == "rediss://u:p%40%2F%3A@h:1/2"
    assert source(port=7).url == "redis://127.0.0.1:7/0"


def test_the_options_of_the_sink() -> None:
    assert sink() == SinkOptions(stream="s")
    assert sink(ledgerTtl="2d").ledger_ttl_s == 172_800
    assert sink(ledgerTtl="0").ledger_ttl_s == 0
    assert sink(ledgerTtl="1ms").ledger_ttl_s == 1
    assert sink(originColumns="_stream, _id").origin_columns == ("_stream", "_id")
    assert sink(maxlen="~1000").trim == ("MAXLEN", "~", "1000")
    assert sink(minid="5-1").trim == ("MINID", "=", "5-1")
    assert sink(maxlen="= 0").trim == ("MAXLEN", "=", "0")
    assert sink(ids="keep", onIdConflict="skip").skips_known_ids
    assert sink(delivery="exactly-once", writeId="w").exactly_once
    assert sink(delivery="exactly-once", streaming=True, checkpointLocation="c").exactly_once


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"maxlen": "5", "minid": "5"}, "maxlen and minid do not go together"),
        ({"maxlen": "~"}, "option maxlen: expected a number"),
        ({"partitions": "2"}, "stream, partitions and keyColumn go together"),
        ({"keyColumn": "k"}, "stream, partitions and keyColumn go together"),
        ({"minid": "x"}, "option minid: 'x' is no ID"),
        ({"delivery": "exactly-once"}, "exactly-once needs writeId"),
        ({"delivery": "exactly-once", "writeId": "w", "ids": "keep"}, "leave out exactly-once"),
        ({"originColumns": "id"}, "option originColumns: expected two columns"),
        ({"onIdConflict": "skip"}, "onIdConflict goes with ids=keep"),
        ({"batchSize": "10001"}, "option batchSize: expected at most 10,000"),
        ({"maxLength": "5"}, "no option maxLength: did you mean maxlen"),
    ],
)
def test_the_sink_refuses_what_makes_no_sense(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        sink(**options)


def test_every_option_of_the_source_is_looked_at() -> None:
    """An option that is known but not read would be ignored in silence."""
    for name in SOURCE_OPTIONS:
        if name in ("stream", "streamPattern", "host", "username", "password"):
            continue  # any text is a value
        with pytest.raises(OptionError):
            source(**{name: "" if name == "groupName" else "nonsense!"})
