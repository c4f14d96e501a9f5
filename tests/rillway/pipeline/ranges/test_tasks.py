"""How a batch is shared among tasks, and that this stays so whatever is deleted meanwhile."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.streaming.datasource import ReadAllAvailable

from rillway.pipeline.arrow.schema import spark_schema
from rillway.pipeline.ranges.loss import LossPolicy
from rillway.pipeline.ranges.offsets import BEGINNING, Offset, Position
from rillway.pipeline.ranges.plan import Planner
from rillway.pipeline.ranges.tasks import share, tasks
from rillway.pipeline.spark.source import StreamReader
from rillway.pipeline.wire.capabilities import Capabilities
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import all_facts
from rillway.pipeline.wire.ids import make_id
from tests.rillway.pipeline.scene import add_many, datasource, stream_ids, stream_reader

pytestmark = pytest.mark.integration


def scene(link: Connection, **sizes: int) -> tuple[Offset, Offset]:
    """Streams of these sizes; where they begin and end."""
    for name, size in sizes.items():
        add_many(link, name, size)
    return dict.fromkeys(sizes, BEGINNING), {n: Position(make_id(s), s) for n, s in sizes.items()}


def shared(link: Connection, start: Offset, end: Offset, every: int, minimum: int = 1) -> Offset:
    facts = all_facts(link, end)
    return share(Planner(link), start, end, facts, every=every, minimum=minimum)


def planned(link: Connection, start: Offset, end: Offset) -> list[list[tuple[str, int, int]]]:
    """Streams and IDs, first and last, of each task."""
    policy = LossPolicy(fails=False)
    found = tasks(Planner(link), start, end, all_facts(link, end), policy)
    return [
        [(part.stream, part.first >> 64, (part.last + 1) >> 64) for part in task] for task in found
    ]


def test_small_streams_share_a_task_and_large_ones_are_cut(link: Connection) -> None:
    start, end = scene(link, a=10, b=600, c=20, d=30)
    end = shared(link, start, end, every=300)
    assert end["b"].cuts == (make_id(301),)
    assert planned(link, start, end) == [
        [("a", 1, 10)],
        [("b", 1, 301)],
        [("b", 301, 600)],
        [("c", 1, 20), ("d", 1, 30)],
    ]


def test_a_minimum_of_tasks_is_for_each_stream(link: Connection) -> None:
    start, end = scene(link, a=10, b=10)
    end = shared(link, start, end, every=1000, minimum=2)
    assert [len(task) for task in planned(link, start, end)] == [1, 1, 1, 1]


def test_what_has_nothing_new_is_in_no_task(link: Connection) -> None:
    start, end = scene(link, a=10, b=10)
    start["a"] = Position(make_id(10), 10, cuts=(make_id(5),), opens=True)
    end = shared(link, start, end, every=1000)
    assert end["a"] == Position(make_id(10), 10)
    assert planned(link, start, end) == [[("b", 1, 10)]]


def test_a_task_of_which_nothing_is_left_stays_empty(link: Connection) -> None:
    start, end = scene(link, a=600, b=5)
    end = shared(link, start, end, every=200)
    before = planned(link, start, end)
    link.call("XDEL", "a", *(f"{number}-0" for number in range(150, 450)))
    link.call("XDEL", "b", *(f"{number}-0" for number in range(1, 6)))
    again = planned(link, start, end)
    assert len(before) == len(again) == 4
    assert again[1] == again[3] == []
    assert again[2] == [("a", 450, 600)]


# -- exactly once --------------------------------------------------------------------------------


class TaskOf:
    """What a task of Spark knows of itself."""

    def __init__(self, number: int, batch: int) -> None:
        self.number = number
        self.properties = {"sql.streaming.queryId": "q", "streaming.sql.batchId": str(batch)}

    def partitionId(self) -> int:  # noqa: N802
        return self.number

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802
        return self.properties.get(name)


class Killed(Exception):
    """What ends a task in these tests."""


class Copy:
    """A query that copies streams to `copied`, exactly once: Spark's calls, without Spark."""

    def __init__(self, link: Connection, patch: pytest.MonkeyPatch, **options: Any) -> None:
        self.link, self.patch, self.options = link, patch, options
        reader = self.reader()
        self.start, self.batch = reader.initialOffset(), 0
        self.end: dict[str, Any] | None = None

    def reader(self) -> StreamReader:
        return stream_reader(self.link, startingOffsets="earliest", **self.options)

    def plan(self) -> None:
        """The end of the next batch, as it is in the checkpoint."""
        self.end = self.reader().latestOffset(self.start, ReadAllAvailable())

    def attempt(self, rows: int | None = None, *, only: int | None = None) -> None:
        """Plan the batch, and run its tasks; each is killed after `rows` rows. Raises Killed."""
        assert self.end is not None
        reader = self.reader()
        sink = datasource(
            self.link, stream="copied", delivery="exactly-once", batchSize=50
        ).streamWriter(schema=spark_schema("map"), overwrite=False)
        was_killed = False
        for number, part in enumerate(reader.partitions(self.start, self.end)):
            self.patch.setattr(TaskContext, "get", lambda n=number: TaskOf(n, self.batch))
            content = pickle.loads(pickle.dumps(reader)).read(part)
            limit = rows if only is None or only == number else None
            try:
                pickle.loads(pickle.dumps(sink)).write(self.dying(content, limit))
            except Killed:
                was_killed = True
        if was_killed:
            raise Killed
        self.start, self.end, self.batch = self.end, None, self.batch + 1

    def dying(
        self, batches: Iterator[pa.RecordBatch], rows: int | None
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if rows is not None and rows < len(batch):
                yield batch.slice(0, rows)
                raise Killed
            yield batch

    def copied(self) -> Counter[str]:
        """How often each entry is in the copy."""
        found = self.link.call("XRANGE", "copied", "-", "+")
        return Counter(entry[1][1].decode() for entry in found)


def test_entries_deleted_between_two_attempts_shift_nothing(
    link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task fails in the second slice; then an entry of the first one, copied already, goes."""
    add_many(link, "s", 1000)
    copy = Copy(link, monkeypatch, stream="s", entriesPerPartition=250)
    copy.plan()
    with pytest.raises(Killed):
        copy.attempt(120, only=1)
    link.call("XDEL", "s", "17-0", "260-0", "300-0")
    copy.attempt()
    assert copy.copied() == Counter(f"{number}-0" for number in range(1, 1001))


@pytest.mark.parametrize("seed", range(3))
def test_random_deletions_between_attempts_lose_and_repeat_nothing(
    link: Connection, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """XDEL, XTRIM and, where it is there, XACKDEL; large streams and small ones."""
    chance = random.Random(seed)
    names = [f"s:{number}" for number in range(6)]
    added = 0
    options = {"entriesPerPartition": 150, "failOnDataLoss": "false", "streamPattern": "s:*"}
    copy = Copy(link, monkeypatch, **options)
    every: set[str] = set()
    for _ in range(4):
        for name in names:
            size = chance.choice((0, 1, 30, 400))
            add_many(link, name, size, first=added + 1)
            every |= {f"{number}-0" for number in range(added + 1, added + size + 1)}
            added += size
        copy.plan()
        for _ in range(3):
            try:
                copy.attempt(chance.randrange(1, 200))
                break
            except Killed:
                delete_some(link, chance.choice(names), chance)
        else:
            copy.attempt()
    found = copy.copied()
    assert max(found.values()) == 1
    assert set(found) <= every
    alive = {entry_id for name in names for entry_id in stream_ids(link, name)}
    assert alive <= set(found)


def delete_some(link: Connection, stream: str, chance: random.Random) -> None:
    ids = stream_ids(link, stream)
    some = chance.sample(ids, len(ids) // 3)
    kind = chance.choice(("XDEL", "XACKDEL", "XTRIM"))
    if kind == "XTRIM":
        link.call("XTRIM", stream, "MAXLEN", chance.randrange(len(ids) + 1))
    elif some and kind == "XDEL":
        link.call("XDEL", stream, *some)
    elif some:
        link.call("XGROUP", "CREATE", stream, "g", "0")
        link.call("XREADGROUP", "GROUP", "g", "c", "COUNT", 500, "STREAMS", stream, ">")
        if Capabilities(link).has_command("XACKDEL"):
            link.call("XACKDEL", stream, "g", "DELREF", "IDS", len(some), *some)
        else:
            link.call("XDEL", stream, *some)
        link.call("XGROUP", "DESTROY", stream, "g")
