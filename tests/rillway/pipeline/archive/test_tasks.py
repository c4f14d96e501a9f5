"""Tasks: parts of several streams into files, with real servers."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from rillway.pipeline.archive import tasks
from rillway.pipeline.archive.files.rows import Segment, StreamRows
from rillway.pipeline.archive.files.store import store_of
from rillway.pipeline.archive.tasks import (
    Part,
    PartLost,
    ServerChanged,
    WriteTask,
    Written,
    run_task,
)
from rillway.pipeline.ranges.anchors import Anchor, entry_hash
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import format_id, parse_id
from tests.rillway.pipeline.archive.scene import add, add_many


def part(stream: str, after: int, last: int, estimate: int | None = None) -> Part:
    """Of entries `N-0`."""
    first = parse_id(f"{after + 1}-0")
    return Part(
        stream,
        parse_id(f"{after}-0"),
        parse_id(f"{last}-0"),
        first,
        last - after if estimate is None else estimate,
    )


def task(link: Connection, folder: Path, *parts: Part) -> WriteTask:
    return WriteTask(link.url, store_of(folder), parts)


def ids_of(folder: Path, written: Written, stream: str) -> list[str]:
    rows = StreamRows(store_of(folder), stream, written.files, [Segment(1)])
    return [entry for _, batch in rows.batches() for entry in batch.column("id").to_pylist()]


def ids(first: int, last: int) -> list[str]:
    return [f"{n}-0" for n in range(first, last + 1)]


@pytest.mark.parametrize("estimate", [None, 5_000, 100_000])
def test_parts_of_all_sizes_are_read(
    link: Connection, tmp_path: Path, estimate: int | None
) -> None:
    names = [f"s{n:03}" for n in range(70)]
    for name in names:
        add_many(link, 4, stream=name)
    add_many(link, 2_500, stream="t")
    parts = [part(name, 1, 4) for name in names] + [part("t", 0, 2_500, estimate)]
    done = run_task(pickle.loads(pickle.dumps(task(link, tmp_path, *parts))))
    assert [read.rows for read in done.parts] == [3] * 70 + [2_500]
    assert all(read.end == read.part.last for read in done.parts)
    assert len(done.files) == (2 if estimate == 100_000 else 1)
    assert ids_of(tmp_path, done, "s042") == ids(2, 4)
    assert ids_of(tmp_path, done, "t") == ids(1, 2_500)
    anchors = done.parts[-1].anchors
    assert [a.back for a in anchors[:3]] == [1, 10, 100] and 100 < anchors[3].back <= 1000
    assert anchors[0] == Anchor(parse_id("2500-0"), entry_hash([b"n", b"2499"]))


@pytest.mark.parametrize("estimate", [30, 5_000])
def test_entries_are_limited(link: Connection, tmp_path: Path, estimate: int) -> None:
    for name in "abc":
        add_many(link, 30, stream=name)
    limited = replace(
        task(link, tmp_path, *(part(name, 0, 30, estimate) for name in "abc")), max_entries=40
    )
    done = run_task(limited)
    reads = {read.part.stream: (read.rows, format_id(read.end)) for read in done.parts}
    assert reads == {"a": (30, "30-0"), "b": (10, "10-0")}
    assert ids_of(tmp_path, done, "b") == ids(1, 10)


def test_bytes_are_limited_but_for_one_entry(link: Connection, tmp_path: Path) -> None:
    for n in range(1, 6):
        link.call("XADD", "s", f"{n}-0", "n", "x" * 10_000)
    for limit, rows in ((25_000, 2), (10, 1)):
        done = run_task(replace(task(link, tmp_path, part("s", 0, 5)), max_bytes=limit))
        assert [(read.rows, read.end) for read in done.parts] == [(rows, parse_id(f"{rows}-0"))]


def test_a_reply_that_is_too_long_is_read_in_smaller_pages(
    link: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "MAX_REPLY_BYTES", 300_000)
    for n in range(1, 8):
        link.call("XADD", "large", f"{n}-0", "n", "x" * 100_000)
    for name in ("a", "z"):
        add_many(link, 3, stream=name)
    done = run_task(task(link, tmp_path, *(part(*p) for p in (("a", 0, 3), ("large", 0, 7)))))
    assert [read.rows for read in done.parts] == [3, 7]
    parts = (part("a", 0, 3), part("large", 0, 7), part("z", 0, 3))
    done = run_task(task(link, tmp_path, *parts))
    assert [read.rows for read in done.parts] == [3, 7, 3]
    assert ids_of(tmp_path, done, "z") == ids(1, 3)


@pytest.mark.parametrize("estimate", [30, 5_000])
def test_a_trim_is_noticed_and_a_deletion_is_none(
    link: Connection, tmp_path: Path, estimate: int
) -> None:
    add_many(link, 30, stream="s")
    planned = task(link, tmp_path, part("s", 0, 30, estimate))
    link.call("XDEL", "s", "1-0")
    [read] = run_task(planned).parts
    assert read.rows == 29 and "deleted" in read.notes[0]
    link.call("DEL", "s")
    add_many(link, 30, stream="s")
    link.call("XTRIM", "s", "MAXLEN", 4)
    with pytest.raises(PartLost, match="--accept-loss") as lost:
        run_task(planned)
    assert lost.value.stream == "s"
    assert pickle.loads(pickle.dumps(lost.value)).stream == "s"
    [read] = run_task(replace(planned, accepts_loss=True)).parts
    assert read.rows == 4 and len(read.notes) == 1


@pytest.mark.parametrize("estimate", [30, 5_000])
@pytest.mark.parametrize("change", [("XDEL", "s", "5-0"), ("DEL", "s")])
def test_the_last_archived_entry_has_to_be_there(
    link: Connection, tmp_path: Path, estimate: int, change: tuple[str, ...]
) -> None:
    add(link, *ids(1, 30), stream="s")
    anchor = Anchor(parse_id("5-0"), entry_hash([b"n", b"5-0"]))
    begun = replace(part("s", 5, 30, estimate), first=anchor.id, anchor=anchor)
    [read] = run_task(task(link, tmp_path, begun)).parts
    assert read.rows == 25
    link.call(*change)
    link.call_all([("XADD", "s", "5-0", "n", "another"), ("XADD", "s", "31-0", "n", "1")])
    add(link, *ids(1, 3), stream="t")
    written = run_task(task(link, tmp_path, begun, part("t", 0, 3)))
    assert [(read.rows, read.is_changed) for read in written.parts] == [(0, True), (3, False)]
    assert [file.rows for file in written.files] == [3]


def test_another_server_is_noticed(link: Connection, tmp_path: Path) -> None:
    add_many(link, 3, stream="s")
    with pytest.raises(ServerChanged):
        run_task(replace(task(link, tmp_path, part("s", 0, 3)), run_ids=frozenset({"another"})))
    assert not list(tmp_path.rglob("*.parquet"))
