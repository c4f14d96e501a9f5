"""Where a query begins, and where a batch read ends."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.pipeline.ranges.offsets import Offset, Position
from rillway.pipeline.spark.options import OptionError, source_options
from rillway.pipeline.spark.starts import ending_offset, starting_offset
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import make_id
from tests.rillway.pipeline.scene import add_many

pytestmark = pytest.mark.integration


def start(link: Connection, default: str = "earliest", **options: str) -> Offset:
    read: Any = source_options({"stream": "s"} | options)
    return starting_offset(link, read, read.streams, default=default)


def end(link: Connection, **options: str) -> Offset:
    read = source_options({"stream": "s"} | options)
    return ending_offset(link, read, read.streams)


def test_earliest_is_whatever_there_is(link: Connection) -> None:
    add_many(link, "s", 10)
    assert start(link, startingOffsets="earliest") == {"s": Position(0, 0)}
    link.call("XTRIM", "s", "MAXLEN", 5)
    assert start(link, startingOffsets="earliest") == {"s": Position(0, None)}


def test_latest_is_the_end_with_its_count(link: Connection) -> None:
    add_many(link, "s", 10)
    assert start(link, "latest") == end(link) == {"s": Position(make_id(10), 10)}


def test_latest_stays_where_it_was_for_a_query_with_a_name(link: Connection) -> None:
    add_many(link, "s", 10)
    expected = {"s": Position(make_id(10), 10)}
    assert start(link, "latest", groupName="q") == expected
    add_many(link, "s", 10, first=11)
    assert start(link, "latest", groupName="q") == expected


def test_a_stream_that_is_not_there_yet_is_read_from_its_beginning(link: Connection) -> None:
    assert start(link, "latest") == start(link, "latest", groupName="q") == {"s": Position(0, 0)}
    assert link.call("EXISTS", "s") == 0


def test_a_query_begins_where_a_group_stands(link: Connection) -> None:
    add_many(link, "s", 10)
    link.call("XGROUP", "CREATE", "s", "billing", "4-0", "ENTRIESREAD", 4)
    expected = {"s": Position(make_id(4), 4)}
    assert start(link, startingOffsets="group:billing") == expected
    link.call("XGROUP", "CREATE", "s", "__spark:q", "4-0", "ENTRIESREAD", 4)
    assert start(link, startingOffsets="group", groupName="q") == expected
    with pytest.raises(OptionError, match="the stream s has no group nobody"):
        start(link, startingOffsets="group:nobody")


def test_a_time_is_included_at_the_start_and_not_at_the_end(link: Connection) -> None:
    add_many(link, "s", 10)
    assert start(link, startingTimestamp="4") == {"s": Position(make_id(4) - 1, None)}
    assert end(link, endingTimestamp="4") == {"s": Position(make_id(4) - 1, None)}
    assert end(link, endingTimestamp="11") == {"s": Position(make_id(10), 10)}
    assert end(link, endingTimestamp="0") == {"s": Position(0, None)}


def test_a_time_before_the_stream_is_its_beginning(link: Connection) -> None:
    add_many(link, "s", 10)
    link.call("XTRIM", "s", "MINID", "5-0")
    assert start(link, startingTimestamp="5") == {"s": Position(0, None)}
    assert start(link, startingTimestamp="1") == {"s": Position(0, None)}


def test_ids_must_name_the_streams_that_are_read(link: Connection) -> None:
    ids = '{"s": "5-0"}'
    assert start(link, startingOffsets=ids) == {"s": Position(make_id(5), None)}
    assert end(link, endingOffsets=ids) == {"s": Position(make_id(5), None)}
    with pytest.raises(OptionError, match="startingOffsets names s, which is not read"):
        start(link, stream="t", startingOffsets=ids)
    with pytest.raises(OptionError, match="endingOffsets does not say where t is"):
        end(link, stream="s,t", endingOffsets=ids)


def test_each_stream_may_have_a_place_of_its_own(link: Connection) -> None:
    for stream in ("a", "b", "c", "d"):
        add_many(link, stream, 10)
    places = '{"a": "earliest", "b": "latest", "c": "5-0", "*": "Latest"}'
    streams = {"stream": "a,b,c,d"}
    last = Position(make_id(10), 10)
    assert start(link, **streams, startingOffsets=places) == {
        "a": Position(0, 0),
        "b": last,
        "c": Position(make_id(5), None),
        "d": last,
    }
    found = end(link, **streams, endingOffsets='{"a": "3-0", "*": "latest"}')
    assert found == {"a": Position(make_id(3), None), "b": last, "c": last, "d": last}
    with pytest.raises(OptionError, match='does not say where d is: "\\*" is for all others'):
        start(link, **streams, startingOffsets='{"a": "earliest", "b": "latest", "c": "5-0"}')


def test_each_stream_may_have_a_time_of_its_own(link: Connection) -> None:
    for stream in ("a", "b"):
        add_many(link, stream, 10)
    times = '{"a": 4, "*": "1970-01-01T00:00:00.007Z"}'
    expected = {"a": Position(make_id(4) - 1, None), "b": Position(make_id(7) - 1, None)}
    assert start(link, stream="a,b", startingTimestamp=times) == expected
    assert end(link, stream="a,b", endingTimestamp=times) == expected
    with pytest.raises(OptionError, match="endingTimestamp names x"):
        end(link, stream="a,b", endingTimestamp='{"x": 1, "*": 2}')


def test_streams_of_a_pattern_need_not_all_be_named(link: Connection) -> None:
    read = source_options({"streamPattern": "*", "startingOffsets": '{"a": "5-0"}'})
    found = starting_offset(link, read, ["a", "b"], default="latest")
    assert found == {"a": Position(make_id(5), None), "b": Position(0, 0)}
