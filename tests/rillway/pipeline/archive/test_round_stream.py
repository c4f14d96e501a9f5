"""A stream in a round, without a server: the counts of batches, the losses, the marker's moves."""

from __future__ import annotations

import pytest

from rillway.pipeline.archive.identity.epochs import Epoch, Source, StreamRecord, StreamState
from rillway.pipeline.archive.identity.recognition import Recognised
from rillway.pipeline.archive.identity.sources import Sighting
from rillway.pipeline.archive.report.rounds import StreamReport
from rillway.pipeline.archive.round_stream import RoundStream, RoundStreams
from rillway.pipeline.archive.stages import Stage
from rillway.pipeline.archive.table import ArchiveError
from rillway.pipeline.archive.tasks import ArchiveLossPolicy, PartRead
from rillway.pipeline.ranges.anchors import Anchor
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import MIN_ID

SOURCE = Source(0, "run")


def id_of(ms: int) -> int:
    return ms << 64


def stream(facts: StreamFacts, start: Position, *, is_proven: bool = True) -> RoundStream:
    """A stream that was archived up to `start`."""
    state = StreamState((Epoch(1, "x"),))
    seen = Sighting(SOURCE, (SOURCE,), facts, [], {}, ())
    found = Recognised(state, start, None, start.id, seen, is_proven=is_proven)
    before = StreamRecord(state, start)
    return RoundStream.recognised(
        StreamReport("s"), ArchiveLossPolicy(accepts=False), before, found, "ms"
    )


def read(one: RoundStream, ms: int, rows: int) -> list[PartRead]:
    return [PartRead(one.part(), id_of(ms), rows, (Anchor(id_of(ms), "7"),))]


def facts_of(added: int, length: int | None = None, deleted_ms: int = 0) -> StreamFacts:
    """The facts of a stream with entries of 1 ms, 2 ms and so on."""
    left = added if length is None else length
    return StreamFacts(left, id_of(added - left + 1), id_of(added), id_of(deleted_ms), added)


def test_a_batch_that_ends_early_counts_its_rows_if_nothing_was_deleted_meanwhile() -> None:
    one = stream(facts_of(10), Position(id_of(2), 2))
    reads = read(one, 5, 3)
    assert one.needs_facts(reads)
    assert one.step(reads, facts_of(12)).record.end == Position(id_of(5), 5)
    assert one.step(reads, facts_of(12, 11, deleted_ms=4)).record.end == Position(id_of(5), None)


def test_a_batch_that_ends_early_is_not_counted_if_entries_had_been_deleted_before() -> None:
    one = stream(facts_of(10, 9, deleted_ms=4), Position(id_of(2), 2))
    reads = read(one, 6, 3)
    assert not one.needs_facts(reads)
    assert one.step(reads).record.end == Position(id_of(6), None)


def test_a_batch_that_reads_everything_ends_where_the_stream_does() -> None:
    one = stream(facts_of(10), Position(id_of(2), 2))
    reads = read(one, 10, 8)
    assert not one.needs_facts(reads)
    assert one.step(reads).record.end == one.end == Position(id_of(10), 10)


def test_entries_that_a_trim_removed_before_they_were_read_are_lost() -> None:
    one = stream(facts_of(10), Position(id_of(2), 2))
    reads = read(one, 10, 7)
    assert one.needs_facts(reads)
    with pytest.raises(DataLost, match=r"s: 1 of 8 entries .* had been trimmed"):
        one.step(reads, facts_of(10, 7))


def test_entries_that_were_deleted_before_they_were_read_are_no_loss() -> None:
    one = stream(facts_of(10), Position(id_of(2), 2))
    reads = read(one, 10, 7)
    assert one.step(reads, facts_of(10, 7, deleted_ms=3)).rows == 7


def test_entries_removed_before_the_first_round_are_no_loss() -> None:
    one = stream(facts_of(10, 9, deleted_ms=1), Position(MIN_ID, 0))
    reads = read(one, 10, 9)
    assert not one.needs_facts(reads)
    assert one.step(reads).rows == 9


def test_a_commit_moves_the_marker_from_where_the_last_one_left_it() -> None:
    one = stream(facts_of(10), Position(id_of(2), 2))
    step = one.step(read(one, 5, 3), facts_of(10))
    move = one.committed(step, None, "marker")
    assert move is not None
    assert (move.expected, move.end, move.n) == (id_of(2), id_of(5), 5)
    assert (one.at.id, one.anchor, one.has_entries) == (id_of(5), Anchor(id_of(5), "7"), True)
    last = one.step(read(one, 10, 5))
    move = one.committed(last, None, "marker")
    assert move is not None and (move.expected, move.end) == (id_of(5), id_of(10))
    assert (one.has_entries, one.report.archived, one.report.batches) == (False, 8, 2)


def test_a_commit_without_entries_moves_no_marker() -> None:
    one = stream(facts_of(2), Position(id_of(2), 2))
    assert not one.has_entries
    step = one.step([PartRead(one.part(), id_of(2))])
    assert one.committed(step, None, "marker") is None
    assert one.report.batches == 0


def test_ids_that_parquet_cannot_hold_are_refused() -> None:
    with pytest.raises(ArchiveError, match="IDs of 2\\^63 ms or more"):
        stream(StreamFacts(1, id_of(2**63), id_of(2**63), MIN_ID, 1), Position(MIN_ID, 0))


def test_the_streams_of_a_round_are_finished_left_out_or_tried_again() -> None:
    streams = RoundStreams(["new", "old", "gone", "bad"], accepts_loss=False)
    for name, added in (("new", 10), ("old", 2)):
        known = stream(facts_of(added), Position(id_of(2), 2))
        streams.add(name, known.before, known.found, "ms")
    streams.miss("gone")
    streams.fail({"bad": ArchiveError("unreadable")})
    assert [one.name for one in streams.at(Stage.READING)] == ["new"]
    assert [one.name for one in streams.at(Stage.ARCHIVED)] == ["old"]
    assert streams.unrecognised() == []
    assert streams.take_archived() == []  # it has entries left
    streams.change(["new"], "another stream")
    streams.finish(["new", "old"])
    assert streams.changed() == {"new": "another stream"}
    assert streams.at(Stage.READING, Stage.ARCHIVED) == []
    streams.retry()
    assert streams.unrecognised() == ["new"]
    streams.change_all("a node is away")
    assert streams.changed() == {"new": "a node is away", "gone": "a node is away"}
    assert streams.outcome.reports.keys() == {"new", "old", "gone"}
    assert str(streams.outcome.failures["bad"]) == "unreadable"
