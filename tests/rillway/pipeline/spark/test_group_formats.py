"""The formats that show groups, as Spark uses them, but without Spark."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict, DataSource, DataSourceReader

from rillway.pipeline.arrow.schema import to_arrow
from rillway.pipeline.spark.group_formats import (
    RedisStreamsGroups,
    RedisStreamsPending,
    groups_options,
    pending_options,
)
from rillway.pipeline.spark.options import OptionError
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.group_scene import deliver_again, pending_stream
from tests.rillway.pipeline.scene import add


def test_the_defaults_are_all_groups_and_everything_that_is_pending() -> None:
    options = pending_options({"stream": "s"})
    assert (options.streams, options.pattern, options.groups) == (("s",), None, ())
    assert (options.consumer, options.min_idle_ms) == (None, 0)
    assert options == groups_options({"stream": "s"})


def test_every_option_is_read() -> None:
    options = pending_options(
        {
            "host": "h", "streamPattern": "s:*", "group": "g, h", "CONSUMER": "c",
            "minIdle": "1.5m", "minPartitions": "3", "entriesPerPartition": "7", "pageSize": "9",
        }
    )  # fmt: skip
    assert options.url == "redis://h:6379/0"
    assert (options.streams, options.pattern, options.groups) == ((), "s:*", ("g", "h"))
    assert (options.consumer, options.min_idle_ms) == ("c", 90_000)
    assert (options.min_partitions, options.entries_per_partition, options.page_size) == (3, 7, 9)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({}, "one of the options stream and streamPattern"),
        ({"stream": "s", "streamPattern": "*"}, "stream and streamPattern do not go together"),
        ({"stream": "s", "grup": "g"}, "there is no option grup: did you mean group?"),
        ({"stream": "s", "minIdle": "soon"}, "option minIdle: expected a time with a unit"),
        ({"stream": "s", "pageSize": "0"}, "option pageSize: expected a number from 1 up"),
    ],
)
def test_options_that_make_no_sense_are_refused(raw: dict[str, str], text: str) -> None:
    with pytest.raises(OptionError, match=text.replace("?", r"\?")):
        pending_options(raw)


def test_groups_have_no_page_size() -> None:
    with pytest.raises(OptionError, match="there is no option pageSize"):
        groups_options({"stream": "s", "pageSize": "5"})


pytestmark = pytest.mark.integration


def source(kind: type[DataSource], link: Connection, **options: Any) -> DataSource:
    texts = {name: str(value) for name, value in options.items()}
    return kind(CaseInsensitiveDict({"url": link.url} | texts))


def rows(kind: type[DataSource], link: Connection, **options: Any) -> list[list[dict[str, Any]]]:
    """The rows of each partition; the reader is pickled to the task, as Spark does it."""
    made = source(kind, link, **options)
    schema = made.schema()
    assert not isinstance(schema, str)
    reader: DataSourceReader = pickle.loads(pickle.dumps(made.reader(schema=schema)))
    found = []
    for partition in reader.partitions():
        batches: list[Any] = list(reader.read(partition))
        assert all(batch.schema == to_arrow(schema) for batch in batches)
        found.append([row for batch in batches for row in batch.to_pylist()])
    return found


def test_pending_entries_are_partitioned_by_group_and_range(link: Connection) -> None:
    pending_stream(link, "s", 9)
    pending_stream(link, "t", 2, group="h")
    parts = rows(
        RedisStreamsPending,
        link,
        stream="s,t,missing",
        entriesPerPartition=3,
        failIfMissing="false",
    )
    assert [len(part) for part in parts] == [3, 3, 3, 2]
    assert [row["id"] for part in parts for row in part] == [
        *(f"{number}-0" for number in range(1, 10)), "1-0", "2-0",
    ]  # fmt: skip
    assert {(row["stream"], row["group"]) for part in parts for row in part} == {
        ("s", "g"), ("t", "h"),
    }  # fmt: skip


def test_pending_entries_can_be_chosen(link: Connection) -> None:
    pending_stream(link, "s", 4)
    deliver_again(link, ["2-0", "3-0"], 5, consumer="d", idle_ms=60_000)
    [part] = rows(RedisStreamsPending, link, stream="s", group="g", minIdle="30s", consumer="d")
    assert [(row["id"], row["consumer"], row["deliveries"]) for row in part] == [
        ("2-0", "d", 5), ("3-0", "d", 5),
    ]  # fmt: skip
    assert all(60_000 <= row["idle_ms"] < 70_000 for row in part)
    assert rows(RedisStreamsPending, link, stream="s", group="other") == []


def test_groups_are_one_row_each(link: Connection) -> None:
    pending_stream(link, "s", 4)
    pending_stream(link, "t", 2, group="h")
    add(link, "t", ["3-0"])
    [found] = rows(RedisStreamsGroups, link, streamPattern="?")
    assert [(row["group"], row["lag"], row["pending"]) for row in found] == [
        ("g", 0, 4), ("h", 1, 2),
    ]  # fmt: skip
    [found] = rows(RedisStreamsGroups, link, streamPattern="?", group="h")
    assert [row["stream"] for row in found] == ["t"]


def test_a_partition_of_nothing_has_no_rows(link: Connection) -> None:
    from pyspark.sql.datasource import InputPartition

    reader = source(RedisStreamsPending, link, stream="s").reader(schema=None)  # type: ignore[arg-type]
    assert list(reader.read(InputPartition(None))) == []


@pytest.mark.parametrize("kind", [RedisStreamsPending, RedisStreamsGroups])
def test_a_wrong_option_is_refused_before_anything_is_read(kind: type[DataSource]) -> None:
    made = kind(CaseInsensitiveDict({"stream": "s", "sream": "t"}))
    with pytest.raises(OptionError, match="there is no option sream: did you mean stream"):
        made.schema()
