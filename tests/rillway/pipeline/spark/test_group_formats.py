"""The formats that show groups, as Spark uses them, but without Spark."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict, DataSource, DataSourceReader

from rillway.pipeline.arrow.schema import to_arrow
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.spark.group_formats import RedisStreamsGroups, RedisStreamsPending
from rillway.pipeline.spark.options import OptionError
from tests.rillway.pipeline.group_scene import deliver_again, pending_stream
from tests.rillway.pipeline.scene import add

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
