"""Batches: which tasks they have, and what is checked of their outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from rillway.pipeline.archive.batches import Batch, plan_tasks, write_batch
from rillway.pipeline.archive.engine import Engine, EngineFailed, LocalEngine
from rillway.pipeline.archive.files.parquet_files import write_files
from rillway.pipeline.archive.files.store import store_of
from rillway.pipeline.archive.table import ArchiveError
from rillway.pipeline.archive.tasks import Part, PartRead, WriteTask, Written, run_task
from rillway.pipeline.ranges.plan import Planner
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.files.test_parquet_files import batch_of
from tests.rillway.pipeline.archive.scene import add_many


def part(stream: str, after: int, last: int, estimate: int = 0) -> Part:
    first = parse_id(f"{after + 1}-0")
    return Part(
        stream, parse_id(f"{after}-0"), parse_id(f"{last}-0"), first, estimate or last - after
    )


def planned(
    link: Connection, folder: Path, parts: list[Part], parallelism: int, entries: int = 1 << 62
) -> list[WriteTask]:
    job = WriteTask(link.url, store_of(folder), (), max_entries=entries)
    return plan_tasks(job, parts, Planner(link), parallelism)


class TwoTasks(LocalEngine):
    """They run here, one after the other."""

    parallelism = 2
    jobs = 0

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        self.jobs += 1
        return super().write(tasks)


def written(
    link: Connection, folder: Path, parts: list[Part], entries: int, engine: Engine | None = None
) -> Batch:
    job = WriteTask(link.url, store_of(folder), (), max_entries=entries)
    return write_batch(engine or TwoTasks(), job, parts, Planner(link), lambda: None)


def test_one_task_has_all_streams_and_the_limits(link: Connection, tmp_path: Path) -> None:
    [task] = planned(link, tmp_path, [part("b", 0, 5), part("a", 0, 50_000)], 1, entries=100)
    assert [one.stream for one in task.parts] == ["a", "b"]
    assert task.max_entries == 100


def test_small_streams_are_put_together_for_each_task(link: Connection, tmp_path: Path) -> None:
    parts = [part(f"s{n:02}", 0, 1000) for n in range(30)]
    tasks = planned(link, tmp_path, parts, 3, entries=30_000)
    assert [len(task.parts) for task in tasks] == [10, 10, 10]
    # Of more streams than a batch has room for, the first ones.
    tasks = planned(link, tmp_path, parts, 2, entries=25_000)
    assert sum(len(task.parts) for task in tasks) == 25


def test_a_large_stream_is_cut_without_a_gap(link: Connection, tmp_path: Path) -> None:
    add_many(link, 30_000, stream="large")
    add_many(link, 10, stream="small")
    parts = [part("large", 0, 30_000), part("small", 0, 10)]
    tasks = planned(link, tmp_path, parts, 2, entries=100_000)
    assert [one.stream for task in tasks for one in task.parts] == ["large", "large", "small"]
    batch = Batch([run_task(task) for task in tasks])
    batch.check(store_of(tmp_path))
    first, second = (read.rows for read in batch.reads["large"])
    assert first + second == 30_000 and abs(first - second) <= 20
    assert batch.reads["large"][-1].end == parse_id("30000-0")
    assert batch.rows == 30_010
    # A batch that is full ends before the end; estimates aim at less than it may have.
    tasks = planned(link, tmp_path, parts[:1], 2, entries=20_000)
    ends = {True: parse_id("20000-0"), False: (1 << 64) + (29_999 << 64) * 18 // 30}
    assert tasks[-1].parts[-1].last == ends[Planner(link).counts]


def add_uneven(link: Connection) -> list[Part]:
    """30,000 entries, of which all but ten come within a thirtieth of the time."""
    add_many(link, 29_990, stream="s")
    add_many(link, 10, first_ms=90_000, step_ms=90_000, stream="s")
    return [part("s", 0, 900_000, estimate=30_000)]


def test_a_task_that_finds_more_than_estimated_ends_the_batch(
    link: Connection, tmp_path: Path
) -> None:
    parts = add_uneven(link)
    batch = written(link, tmp_path, parts, 20_000)
    batch.check(store_of(tmp_path))
    # Entries that other tasks read after it are dropped.
    assert batch.rows == 20_000
    assert batch.reads["s"][-1].end == parse_id("20000-0")
    assert len(list(tmp_path.rglob("*.parquet"))) == len(batch.files)


def test_tasks_follow_where_there_is_less_than_estimated(link: Connection, tmp_path: Path) -> None:
    """Of few entries at first, and nearly all of them in the last half of the time."""
    add_many(link, 1_000, step_ms=100, stream="s")
    add_many(link, 29_000, first_ms=320_000, step_ms=10, stream="s")
    engine = TwoTasks()
    batch = written(link, tmp_path, [part("s", 0, 609_990, estimate=30_000)], 20_000, engine)
    batch.check(store_of(tmp_path))
    assert 10_000 <= batch.rows <= 20_000
    if not Planner(link).counts:
        assert engine.jobs > 1


def test_a_stream_with_more_than_a_small_one_is_read_on(link: Connection, tmp_path: Path) -> None:
    add_many(link, 9_000, stream="s")
    add_many(link, 3, stream="t")
    parts = [part("s", 0, 9_000, estimate=10), part("t", 0, 3)]
    batch = written(link, tmp_path, parts, 20_000, LocalEngine())
    batch.check(store_of(tmp_path))
    assert batch.rows == 9_003
    assert batch.reads["s"][-1].end == parse_id("9000-0")


def test_nothing_is_left_of_a_batch_that_fails(link: Connection, tmp_path: Path) -> None:
    class Failing(LocalEngine):
        def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
            if tasks[0].parts[0].after:
                raise EngineFailed("no more")
            return super().write(tasks)

    add_many(link, 9_000, stream="s")
    with pytest.raises(EngineFailed):
        written(link, tmp_path, [part("s", 0, 9_000, estimate=10)], 20_000, Failing())
    assert not list(tmp_path.rglob("*.parquet"))


def test_the_outcome_is_compared_with_the_files(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    files = write_files(store, [batch_of("1-0", "2-0")])
    one, other = (
        PartRead(part("s", after, after + 1), parse_id(f"{after + 1}-0"), 1) for after in (0, 1)
    )
    Batch([Written(files, [other]), Written([], [one])]).check(store)
    assert [read.part.after for read in Batch([Written([], [other, one])]).reads["s"]] == [
        0,
        parse_id("1-0"),
    ]
    with pytest.raises(ArchiveError, match="the files lack rows"):
        Batch([Written(files, [one])]).check(store)
    with pytest.raises(ArchiveError, match="leaves a gap"):
        later = PartRead(part("s", 5, 6), parse_id("6-0"), 1)
        Batch([Written(files, [one, later])]).check(store)
    with pytest.raises(ArchiveError, match="not what was written"):
        wrong = replace(files[0], last_ms=7)
        Batch([Written([wrong], [one, other])]).check(store)
    assert files[0].date == date(1970, 1, 1)
