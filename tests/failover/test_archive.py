"""The archive and the Spark source over a real failover that loses the last entries.

Replicas are cut off from their primary, which takes more entries and is archived; then it is
killed, and Sentinel promotes one of them. IDs are explicit, so that the clock of the new primary is
behind by what each story says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from rillway.pipeline.archive import command as archive
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.query import command as query
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.wire.connection import Connection
from tests.failover.cluster import (
    DOWN_AFTER_MS,
    Cluster,
    Node,
    cut_off,
    let_follow,
    url_of,
    wait_for,
)
from tests.rillway.pipeline.scene import ids_of, stream_reader

LAST = 120
ALL = ReadAllAvailable()


@dataclass
class Story:
    """A stream of 120 entries, of which the last `lost` never reach a replica.

    `below`: how many come in on the new primary with IDs that the old one had passed; `above`: how
    many after those. `marked`: whether half of it was archived while replicas followed.
    """

    lost: int
    below: int
    above: int
    marked: bool
    diverges: bool
    born: dict[str, str] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        return f"s:{self.lost}:{self.below}:{self.above}:{self.marked:d}"

    def add(self, link: Connection, ids: Iterator[str], era: str) -> None:
        """Entries whose value is like no other one's."""
        requests = [("XADD", self.stream, each, "n", f"{era}-{each}") for each in ids]
        assert all(isinstance(reply, bytes) for reply in link.call_all(requests))

    def kept(self) -> Iterator[str]:
        return (f"{n}-0" for n in range(1, LAST - self.lost + 1))

    def tail(self) -> Iterator[str]:
        return (f"{n}-0" for n in range(LAST - self.lost + 1, LAST + 1))

    def new(self) -> Iterator[str]:
        yield from (f"{LAST - self.lost}-{n}" for n in range(1, self.below + 1))
        yield from (f"{n}-0" for n in range(LAST + 1, LAST + self.above + 1))


# A primary that has been the only one named for this long is not replaced without a cause.
STEADY_SECONDS = 3 * DOWN_AFTER_MS / 1000

# Lost, below, above; whether the histories differ.
SHAPES = [
    (10, 5, 25, True),
    (10, 10, 25, True),
    (5, 10, 25, True),
    (10, 0, 25, False),
    (10, 0, 0, True),
    (10, 3, 0, True),
    (0, 0, 25, False),
]


def primary_of(cluster: Cluster, *, but: Node | None = None) -> Node:
    """The primary that all Sentinels name; after a failover from `but`, one that stays.

    On a loaded machine Sentinel may replace a new primary within its first seconds.
    """
    found: Node | None = None
    since = time.monotonic()

    def stays() -> bool:
        nonlocal found, since
        named = cluster.primary()
        if named is None or named is but or named.replication()["role"] != "master":
            found = None
            return False
        if named is not found:
            found, since = named, time.monotonic()
        return but is None or time.monotonic() - since >= STEADY_SECONDS

    wait_for(stays, "no primary is named that stays")
    assert found is not None
    return found


def archived(url: str, folder: Path, *words: str) -> int:
    return archive.main(
        ["--pattern", "s:*", "--to", str(folder), "--url", url, "--keep", "0", *words]
    )


def rows(folder: Path, stream: str) -> list[tuple[str, str]]:
    """ID and value of all rows of a stream, of all epochs."""
    table = ArchiveTable.open(folder)
    return [
        (entry_id.decode(), words[1].decode())
        for _, batch in table.rows(stream).batches()
        for entry_id, words in raw_entries(batch)
    ]


def live(link: Connection, stream: str) -> list[tuple[str, str]]:
    return [(i.decode(), words[1].decode()) for i, words in link.call("XRANGE", stream, "-", "+")]


def queried(
    url: str, folder: Path, stream: str, capsys: pytest.CaptureFixture[str], *words: str
) -> list[tuple[str, str]]:
    capsys.readouterr()
    names = ["--stream", stream, "--archive", str(folder), "--url", url, "--format", "json"]
    assert query.main([*names, "--from", "0", *words]) == 0
    found = map(json.loads, capsys.readouterr().out.splitlines())
    return [(each["id"], each["fields"]["n"]) for each in found]


def read_on(url: str, stream: str, offset: dict[str, Any], **options: str) -> list[str]:
    with Connection(url) as link:
        reader = stream_reader(link, stream=stream, **options)
        end = reader.latestOffset(offset, ALL)
        return [i for part in reader.partitions(offset, end) for i in ids_of(reader.read(part))]


@pytest.mark.integration
@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["rillway", "redis"])
def test_nothing_is_lost_that_a_server_or_the_archive_has(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stories = [Story(*shape[:3], marked, shape[3]) for shape in SHAPES for marked in (True, False)]
    folder = tmp_path / "archive"
    with Cluster(tmp_path / "set", (kind,) * 3) as cluster:
        old = primary_of(cluster)
        with Connection(url_of(old)) as link:
            half = [story for story in stories if story.marked]
            for story in half:
                story.add(link, (f"{n}-0" for n in range(1, LAST // 2 + 1)), "old")
            assert archived(url_of(old), folder) == 0
            for story in stories:
                first = LAST // 2 if story.marked else 0
                kept = list(story.kept())[first:]
                story.add(link, iter(kept), "old")
            assert link.call("WAIT", 2, 10_000) == 2
            replicas = [node for node in cluster.nodes if node is not old]
            cut_off(link, replicas)
            for story in stories:
                story.add(link, story.tail(), "lost")
            offsets = {}
            for story in stories:
                reader = stream_reader(link, stream=story.stream, startingOffsets="earliest")
                offsets[story.stream] = reader.latestOffset(reader.initialOffset(), ALL)
        assert archived(url_of(old), folder) == 0
        before = {story.stream: rows(folder, story.stream) for story in stories}
        old.signal(SIGKILL)
        let_follow(replicas)
        url = url_of(primary_of(cluster, but=old))
        with Connection(url) as link:
            link.call("CONFIG", "SET", "min-replicas-to-write", 0)
            for story in stories:
                story.add(link, story.new(), "new")
            present = {story.stream: live(link, story.stream) for story in stories}
            sources_go_on(url, stories, offsets, present)
            statuses = [archived(url, folder), archived(url, folder)]
            assert statuses == [0, 0], capsys.readouterr()
            for story in stories:
                found = rows(folder, story.stream)
                left = live(link, story.stream)
                # Nothing is overwritten, and nothing trimmed that no row holds.
                assert set(before[story.stream]) <= set(found)
                assert len(found) == len(set(found)), story
                assert set(present[story.stream]) <= set(found) | set(left), story
                table = ArchiveTable.open(folder)
                state = table.state(story.stream)
                assert state is not None
                assert len(state.epochs) == (2 if story.diverges else 1), story
                everything = queried(url, folder, story.stream, capsys)
                assert sorted(everything) == sorted(set(found) | set(left)), story
                current = queried(url, folder, story.stream, capsys, "--epochs", "current")
                if story.diverges:
                    there = present[story.stream]
                    assert [pair for pair in current if pair in there] == there
                    assert not [value for _, value in current if value.startswith("lost")], story
        archive_goes_on_after_the_old_primary_is_back(cluster, old, folder, stories, capsys)


def sources_go_on(
    url: str,
    stories: list[Story],
    offsets: dict[str, dict[str, Any]],
    present: dict[str, list[tuple[str, str]]],
) -> None:
    """A query that had read the old primary to its end."""
    for story in stories:
        read = {f"{n}-0" for n in range(1, LAST - story.lost + 1)}
        offset = offsets[story.stream]
        if story.lost and (story.below or story.lost >= 10):
            with pytest.raises(DataLost, match="the history diverged"):
                read_on(url, story.stream, offset)
        again = read_on(url, story.stream, offset, failOnDataLoss="false")
        assert {entry_id for entry_id, _ in present[story.stream]} <= read | set(again), story


def archive_goes_on_after_the_old_primary_is_back(
    cluster: Cluster,
    old: Node,
    folder: Path,
    stories: list[Story],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As a replica: its lost entries are gone for good, the archive still has them."""
    old.start()
    cluster.wait_until_whole()
    node = primary_of(cluster, but=old)
    with Connection(url_of(node)) as link:
        for story in stories:
            story.add(link, (f"{n}-0" for n in range(1000, 1005)), "later")
        assert archived(url_of(node), folder) == 0
        for story in stories:
            found = rows(folder, story.stream)
            assert found[-5:] == [(f"{n}-0", f"later-{n}-0") for n in range(1000, 1005)]
            assert len([1 for _, value in found if value.startswith("lost")]) == story.lost


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["rillway", pytest.param("redis", marks=pytest.mark.thorough)])
def test_a_second_failover_loses_the_marker_of_the_new_epoch(tmp_path: Path, kind: str) -> None:
    """The third server has only the marker of the first epoch: the archive goes on by itself."""
    story, folder = Story(10, 5, 25, True, True), tmp_path / "archive"
    with Cluster(tmp_path / "set", (kind,) * 3) as cluster:
        first = primary_of(cluster)
        with Connection(url_of(first)) as link:
            story.add(link, story.kept(), "old")
            assert archived(url_of(first), folder) == 0
            assert link.call("WAIT", 2, 10_000) == 2
            cut_off(link, cluster.nodes[1:])
            story.add(link, story.tail(), "lost")
        assert archived(url_of(first), folder) == 0
        first.signal(SIGKILL)
        let_follow(cluster.nodes[1:])
        second = primary_of(cluster, but=first)
        [third] = [node for node in cluster.nodes if node not in (first, second)]
        with Connection(url_of(second)) as link:
            wait_for(
                lambda: (
                    third.replication().get("master_link_status") == "up"
                    and third.replication()["master_port"] == second.port
                ),
                "the third server follows",
            )
            link.call("CONFIG", "SET", "min-replicas-to-write", 0)
            story.add(link, story.new(), "new")
            assert link.call("WAIT", 1, 10_000) == 1
            cut_off(link, [third])
            assert archived(url_of(second), folder) == 0
        second.signal(SIGKILL)
        let_follow([third])
        assert primary_of(cluster, but=second) is third
        with Connection(url_of(third)) as link:
            link.call("CONFIG", "SET", "min-replicas-to-write", 0)
            story.add(link, (f"{n}-0" for n in range(1000, 1005)), "later")
            assert archived(url_of(third), folder) == 0
    found = rows(folder, story.stream)
    assert found[-5:] == [(f"{n}-0", f"later-{n}-0") for n in range(1000, 1005)]
    state = ArchiveTable.open(folder).state(story.stream)
    assert state is not None and len(state.epochs) == 3
