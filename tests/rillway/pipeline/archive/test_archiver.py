"""From a stream to the table and out of the stream, with real servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings, Hooks
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.lease import LeaseLost, Leases, LeaseTaken
from rillway.pipeline.archive.report.rounds import RoundOutcome
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable, CommitConflict
from rillway.pipeline.archive.tasks import WriteTask, Written, run_task
from rillway.pipeline.archive.trim import TrimRules
from rillway.pipeline.ranges.discovery import StreamMissing
from rillway.pipeline.ranges.loss import DataLost
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import (
    DAY_MS,
    STEPS,
    STREAM,
    add,
    add_many,
    archive,
    archived_ids,
    commit,
    live_ids,
)


class Crash(Exception):
    """What a failpoint raises."""


def failing_at(point: str, occurrence: int = 1) -> Hooks:
    seen: list[str] = []

    def reached(name: str) -> None:
        seen.append(name)
        if name == point and seen.count(point) == occurrence:
            raise Crash(point)

    return Hooks(reached=reached)


def doing(point: str, action: Callable[[], object]) -> Hooks:
    """Does something once, when a step is reached."""
    done: list[bool] = []

    def reached(name: str) -> None:
        if name == point and not done:
            done.append(True)
            action()

    return Hooks(reached=reached)


def test_what_is_archived_leaves_the_stream(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    report = archive(link, table)
    assert (report.archived, report.trimmed, report.remaining) == (10, 9, 1)
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 11)]
    assert table.end(STREAM) == Position(parse_id("10-0"), 10)
    assert live_ids(link) == ["10-0"]


def test_a_stream_with_nothing_new_is_asked_for_once(link: Connection, table: ArchiveTable) -> None:
    """What XINFO says, and one anchor; thousands of idle streams are a round's whole time."""
    add_many(link, 30)
    archive(link, table)
    assert len(table.state(STREAM).anchors) > 1  # type: ignore[union-attr]
    link.call("CONFIG", "RESETSTAT")
    assert archive(link, table).archived == 0
    lines = link.call("INFO", "commandstats").decode().splitlines()
    calls = dict(line.removeprefix("cmdstat_").split(":calls=") for line in lines if "=" in line)
    for name in ("xinfo|stream", "xinfo|groups", "xrange"):
        assert calls[name].partition(",")[0] == "1", name
    assert "type" not in calls


def test_batches_are_bounded_by_bytes(link: Connection, table: ArchiveTable) -> None:
    """Small entries first, then large ones, and a last one that was deleted."""
    add_many(link, 15)
    for number in range(16, 31):
        link.call("XADD", STREAM, f"{number}-0", "n", "x" * 10_000)
    add(link, "31-0")
    link.call("XDEL", STREAM, "31-0")
    report = archive(link, table, batch_bytes=30_500)
    assert (report.archived, report.batches) == (30, 6)
    assert report.is_complete
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 31)]
    assert table.end(STREAM) == Position(parse_id("31-0"), 31)
    assert archive(link, table, batch_bytes=30_500).batches == 0


def test_the_next_round_continues_after_the_last(link: Connection, table: ArchiveTable) -> None:
    for first in (1, 11, 21):
        add_many(link, 10, first)
        assert archive(link, table, TrimRules(keep_ms=5)).archived == 10
    assert archive(link, table).archived == 0
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 31)]


def test_entries_of_several_days_are_in_files_of_their_own(
    link: Connection, table: ArchiveTable
) -> None:
    add(link, "1-0", f"{DAY_MS - 1}-0", f"{DAY_MS}-0", f"{2 * DAY_MS}-5")
    archive(link, table)
    assert [(file.date.day, file.rows) for file in table.files()] == [(1, 2), (2, 1), (3, 1)]


def test_a_batch_is_committed_before_the_next_one(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 25)
    with pytest.raises(Crash):
        archive(link, table, hooks=failing_at("written", 3), batch_entries=10)
    table.refresh()
    assert table.end(STREAM) == Position(parse_id("20-0"), 20)
    assert archive(link, table, batch_entries=10).archived == 5
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 26)]


@pytest.mark.parametrize("point", STEPS)
def test_a_crash_at_any_step_loses_and_doubles_nothing(
    link: Connection, table: ArchiveTable, point: str
) -> None:
    add_many(link, 10)
    with pytest.raises(Crash):
        archive(link, table, hooks=failing_at(point))
    add_many(link, 10, 11)
    archive(link, ArchiveTable.open(table.root))
    table.refresh()
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 21)]


def test_the_group_shows_how_far_it_is(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    archive(link, table, TrimRules(keep_ms=100))
    add_many(link, 3, 11)
    [group] = link.call("XINFO", "GROUPS", STREAM)
    info = dict(zip(group[::2], group[1::2], strict=True))
    state = table.state(STREAM)
    assert state is not None and info[b"name"].decode() == table.marker(state.present)
    assert (info[b"last-delivered-id"], info[b"lag"], info[b"pending"]) == (b"10-0", 3, 0)


def test_two_archives_of_a_stream_wait_for_each_other(
    link: Connection, table: ArchiveTable, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = ArchiveTable.open_or_create(tmp_path_factory.mktemp("other") / "archive")
    add_many(link, 10)
    archive(link, other, trims=False)
    add_many(link, 10, 11)
    assert archive(link, table).trimmed == 10
    archive(link, other)
    assert archived_ids(other) == archived_ids(table) == [f"{n}-0" for n in range(1, 21)]


def test_an_interruption_takes_effect_after_a_batch(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 30)
    done: list[int] = []
    hooks = Hooks(advanced=done.append, is_interrupted=lambda: bool(done))
    report = archive(link, table, hooks=hooks, batch_entries=10)
    assert (report.archived, report.is_complete, report.remaining) == (10, False, 21)


# -- loss -----------------------------------------------------------------------------------------


def test_the_number_of_entries_that_were_trimmed_first_is_reported(
    link: Connection, table: ArchiveTable
) -> None:
    add_many(link, 10)
    archive(link, table)
    add_many(link, 10, 11)
    link.call("XTRIM", STREAM, "MAXLEN", 4)
    with pytest.raises(DataLost, match=r"6 entries .*--accept-loss"):
        archive(link, table)
    assert live_ids(link) == ["17-0", "18-0", "19-0", "20-0"]
    report = archive(link, table, accepts_loss=True)
    assert report.archived == 4
    assert "6 entries" in " ".join(report.notes)
    assert archive(link, table).notes == []


def test_a_stream_that_was_created_again_is_archived_beside_the_old_one(
    link: Connection, table: ArchiveTable
) -> None:
    add_many(link, 10)
    archive(link, table)
    link.call("DEL", STREAM)
    add(link, "1-0", "2-0", "3-0")
    report = archive(link, table, accepts_loss=True)
    assert (report.archived, report.trimmed) == (3, 2)
    assert "the history diverged" in report.notes[0]
    expected = [f"{n}-0" for n in range(1, 11)] + ["1-0", "2-0", "3-0"]
    assert archived_ids(table) == expected


def test_deleted_entries_are_no_loss(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    archive(link, table)
    add_many(link, 10, 11)
    link.call("XDEL", STREAM, "11-0", "15-0", "20-0")
    assert archive(link, table).archived == 7
    add_many(link, 5, 21)
    assert archive(link, table).archived == 5
    assert archive(link, table).notes == []


def test_entries_that_are_deleted_while_a_batch_is_read_are_no_loss_later(
    link: Connection, table: ArchiveTable
) -> None:
    """The round ends within the stream: what it counts up to there is not what was added."""
    add_many(link, 1)
    archive(link, table)
    add_many(link, 20, 2)

    def reached(step: str) -> None:
        if step == "planned":
            link.call("XDEL", STREAM, "5-0")
        if step == "placed":
            raise Crash

    with pytest.raises(Crash):
        archive(link, table, hooks=Hooks(reached=reached), batch_entries=10)
    assert archive(link, table).archived == 9
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 22) if n != 5]


def test_entries_removed_before_the_first_round_are_a_note(
    link: Connection, table: ArchiveTable
) -> None:
    add_many(link, 10)
    link.call("XTRIM", STREAM, "MAXLEN", 4)
    [note] = archive(link, table).notes
    assert "6 entries had been trimmed or deleted before" in note


def test_a_trim_during_a_batch_is_noticed(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    hooks = doing("planned", lambda: link.call("XTRIM", STREAM, "MAXLEN", 4))
    with pytest.raises(DataLost):
        archive(link, table, hooks=hooks)
    assert table.end(STREAM) is None


def test_a_file_that_is_not_what_was_written_is_not_committed(
    redis_link: Connection, table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(task: WriteTask) -> Written:
        done = run_task(task)
        return Written([replace(done.files[0], rows=done.files[0].rows - 1)], done.parts)

    add_many(redis_link, 10)
    monkeypatch.setattr("rillway.pipeline.archive.engine.run_task", short)
    with pytest.raises(ArchiveError, match="not what was written"):
        archive(redis_link, table)
    assert table.end(STREAM) is None


# -- two archivers --------------------------------------------------------------------------------


def lease_key(table: ArchiveTable) -> str:
    return f"{table.group}:lease:{{{STREAM}}}"


def test_a_second_archiver_is_refused(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    keys = {STREAM: lease_key(table)}
    with Leases(link.url, keys, "archiving {}"), pytest.raises(LeaseTaken):
        archive(link, table)


def test_a_lost_lease_stops_before_the_commit(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    with pytest.raises(LeaseLost):
        archive(link, table, hooks=doing("written", lambda: link.call("DEL", lease_key(table))))
    table.refresh()
    assert table.end(STREAM) is None
    assert len(live_ids(link)) == 10


@pytest.mark.parametrize("step", ["written", "stated"])
def test_of_two_that_believe_to_hold_the_lease_one_commits(
    link: Connection, table: ArchiveTable, step: str
) -> None:
    add_many(link, 10)
    other = ArchiveTable.open(table.root)

    def steal() -> None:
        # The other one comes, archives everything, and leaves the lease as it was.
        token = link.call("GET", lease_key(table))
        link.call("DEL", lease_key(table))
        archive(link, other)
        link.call("SET", lease_key(table), token)

    archive(link, table)
    add(link, "11-0", "12-0")
    with pytest.raises(ArchiveError, match="another archiver has archived"):
        archive(link, table, hooks=doing(step, steal))
    table.refresh()
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 13)]


def test_a_commit_that_another_archiver_has_overtaken_counts_as_a_conflict(
    link: Connection, table: ArchiveTable
) -> None:
    add_many(link, 10)
    other = ArchiveTable.open(table.root)
    hooks = doing("stated", lambda: commit(other, Position(5, 1), stream=STREAM))
    outcome = archive_all(link, table, [STREAM], hooks)
    assert (outcome.conflicts, outcome.commits) == (1, 0)
    assert "another archiver" in str(outcome.failures[STREAM])


def test_a_stream_that_has_replaced_another_is_recognised_again(
    link: Connection, table: ArchiveTable
) -> None:
    """Nothing archived is live, so no anchor says so; the marker that the stream lacks does."""
    add_many(link, 10)
    archive(link, table)
    link.call("XTRIM", STREAM, "MAXLEN", 0)
    add(link, "11-0", "12-0")

    def replace_stream() -> None:
        link.call("DEL", STREAM)
        add(link, "11-0", "12-1", "12-2")

    report = archive(link, table, hooks=doing("planned", replace_stream))
    table.refresh()
    assert (report.archived, report.epoch) == (3, 2)
    assert archived_ids(table)[10:] == ["11-0", "12-1", "12-2"]


def test_a_compaction_meanwhile_is_no_obstacle(link: Connection, table: ArchiveTable) -> None:
    add_many(link, 10)
    other = ArchiveTable.open(table.root)
    hooks = doing("stated", lambda: commit(other, Position(5, 1), stream="payments"))
    assert archive(link, table, hooks=hooks).archived == 10
    assert table.end("payments") == Position(5, 1)


# -- many streams ---------------------------------------------------------------------------------


def archive_all(
    link: Connection, table: ArchiveTable, names: list[str], hooks: Hooks | None = None, **more: Any
) -> RoundOutcome:
    settings = ArchiverSettings(link.url, **more)
    return Archiver(table, LocalEngine(), settings, hooks).round(names)


NAMES = [f"s{n:02}" for n in range(60)]


def test_a_round_of_many_streams_is_one_commit(link: Connection, table: ArchiveTable) -> None:
    for name in NAMES:
        add_many(link, 3, stream=name)
    add_many(link, 2_000, stream="large")
    names = [*NAMES, "large"]
    outcome = archive_all(link, table, names)
    assert (outcome.archived, outcome.commits, outcome.files) == (2_180, 1, 1)
    assert [report.remaining for report in outcome.reports.values()] == [1] * 61
    assert archived_ids(table, "s42") == ["1-0", "2-0", "3-0"]
    assert table.end("large") == Position(parse_id("2000-0"), 2_000)
    add(link, "9-0", stream="s07")
    version = table.version
    outcome = archive_all(link, table, names)
    assert (outcome.archived, outcome.commits) == (1, 1)
    outcome = archive_all(link, table, names)
    assert (outcome.commits, table.version) == (0, version + 1)
    assert len(outcome.reports) == 61


def test_batches_end_within_streams(link: Connection, table: ArchiveTable) -> None:
    for name in NAMES[:4]:
        add_many(link, 10, stream=name)
    outcome = archive_all(link, table, NAMES[:4], batch_entries=15)
    assert (outcome.archived, outcome.commits) == (40, 3)
    for name in NAMES[:4]:
        assert archived_ids(table, name) == [f"{n}-0" for n in range(1, 11)]
        assert live_ids(link, name) == ["10-0"]


def test_a_stream_with_a_loss_is_left_out_and_the_others_go_on(
    link: Connection, table: ArchiveTable
) -> None:
    names = NAMES[:3]
    for name in names:
        add_many(link, 5, stream=name)
    archive_all(link, table, names)
    for name in names:
        add_many(link, 5, 11, stream=name)
    link.call("XTRIM", "s01", "MAXLEN", 2)
    outcome = archive_all(link, table, [*names, "missing"])
    assert sorted(outcome.failures) == ["missing", "s01"]
    assert isinstance(outcome.failures["s01"], DataLost)
    assert isinstance(outcome.failures["missing"], StreamMissing)
    assert (outcome.archived, sorted(outcome.reports)) == (10, ["s00", "s02"])
    assert len(live_ids(link, "s01")) == 2


@pytest.mark.parametrize("is_archived", [False, True])
def test_keys_that_no_file_can_hold_are_left_out_and_the_others_go_on(
    link: Connection, table: ArchiveTable, is_archived: bool
) -> None:
    names = NAMES[:3]
    for name in names:
        add_many(link, 5, stream=name)
    if is_archived:
        archive_all(link, table, names)
    link.call("SET", "s00", "text")
    add(link, f"{1 << 63}-0", stream="s01")
    add(link, "9-0", stream="s02")
    outcome = archive_all(link, table, names, allows_missing=True)
    assert (outcome.archived, list(outcome.reports)) == (1 if is_archived else 6, ["s02"])
    assert "its type is string" in str(outcome.failures["s00"])
    assert "s01: has IDs of 2^63 ms or more" in str(outcome.failures["s01"])


ODD_NAMES = [
    "",
    "a=b/c",
    "new\nline",
    "\x00",
    "%2F",
    "date=1",
    "x" * 40,
    "\U00020000",
    "\U0010ffff" * 40,
]


def test_streams_may_have_any_name(link: Connection, table: ArchiveTable) -> None:
    for name in ODD_NAMES:
        add(link, "0-1", "5-0", stream=name)
    assert archive_all(link, table, ODD_NAMES).archived == 2 * len(ODD_NAMES)
    assert [archived_ids(table, name) for name in ODD_NAMES] == [["0-1", "5-0"]] * len(ODD_NAMES)
    assert archive_all(link, table, ODD_NAMES).commits == 0


def test_a_loss_while_a_batch_is_read_drops_that_stream_alone(
    link: Connection, table: ArchiveTable
) -> None:
    for name in NAMES[:3]:
        add_many(link, 5, stream=name)
    hooks = doing("planned", lambda: link.call("XTRIM", "s01", "MAXLEN", 2))
    outcome = archive_all(link, table, NAMES[:3], hooks)
    assert (outcome.archived, list(outcome.failures)) == (10, ["s01"])
    assert table.end("s01") is None
    assert sum(file.rows for file in table.files()) == 10
    assert len(list(table.root.rglob("part-*.parquet"))) == 1


def test_streams_that_others_archive_are_left_out(link: Connection, table: ArchiveTable) -> None:
    for name in NAMES[:3]:
        add_many(link, 5, stream=name)
    keys = {"s01": f"{table.group}:lease:{{s01}}"}
    with Leases(link.url, keys, "archiving {}"):
        outcome = archive_all(link, table, NAMES[:3])
    assert (outcome.archived, list(outcome.failures)) == (10, ["s01"])
    assert isinstance(outcome.failures["s01"], LeaseTaken)
    lost = doing("written", lambda: link.call("DEL", f"{table.group}:lease:{{s00}}"))
    for name in NAMES[:2]:
        add_many(link, 5, 11, stream=name)
    outcome = archive_all(link, table, NAMES[:3], lost)
    assert (outcome.archived, list(outcome.failures)) == (10, ["s00"])
    assert isinstance(outcome.failures["s00"], LeaseLost)
    assert sum(file.rows for file in table.files()) == 20


def test_a_stream_that_another_archiver_has_committed_is_dropped_and_the_others_committed(
    link: Connection, table: ArchiveTable
) -> None:
    for name in NAMES[:3]:
        add_many(link, 5, stream=name)
    other = ArchiveTable.open(table.root)
    hooks = doing("stated", lambda: commit(other, Position(5, 1), stream="s01"))
    outcome = archive_all(link, table, NAMES[:3], hooks)
    assert (outcome.archived, list(outcome.failures)) == (10, ["s01"])
    assert table.end("s01") == Position(5, 1)
    assert sum(file.rows for file in table.files()) == 10


def test_a_stream_without_entries_that_another_archiver_has_committed_ends_no_round(
    link: Connection, table: ArchiveTable
) -> None:
    """It has lost its tail, so the next commit is to have a new epoch of it."""
    add_many(link, 3, stream="s01")
    older = link.call("DUMP", "s01")
    add_many(link, 3, 4, stream="s01")
    archive_all(link, table, ["s01"])
    link.call("RESTORE", "s01", 0, older, "REPLACE")
    add_many(link, 5, stream="s00")
    other = ArchiveTable.open(table.root)
    hooks = doing("written", lambda: commit(other, Position(7 << 64, 1), stream="s01"))
    outcome = archive_all(link, table, ["s00", "s01"], hooks)
    assert (outcome.archived, list(outcome.failures)) == (5, ["s01"])
    assert len(live_ids(link, "s01")) == 3


def diverged(link: Connection, table: ArchiveTable) -> None:
    """A stream without new entries of which the next commit has an epoch, and one with some."""
    add_many(link, 3, stream="s00")
    kept = TrimRules(keep_ms=100)
    archive_all(link, table, NAMES[:1], rules=kept)
    dumped = link.call("DUMP", "s00")
    add_many(link, 2, 4, stream="s00")
    archive_all(link, table, NAMES[:1], rules=kept)
    link.call("RESTORE", "s00", 0, dumped, "REPLACE")
    add_many(link, 5, stream="s01")


def test_an_epoch_is_committed_although_the_batch_of_others_was_dropped(
    link: Connection, table: ArchiveTable
) -> None:
    diverged(link, table)
    lost = doing("planned", lambda: link.call("XTRIM", "s01", "MAXLEN", 2))
    outcome = archive_all(link, table, NAMES[:2], lost)
    assert (list(outcome.failures), outcome.commits) == (["s01"], 1)
    state = table.state("s00")
    assert state is not None and state.present.number == 2
    [group] = link.call("XINFO", "GROUPS", "s00")
    assert group[1].decode() == table.marker(state.present)


def test_a_lease_that_is_lost_of_a_stream_without_new_entries_ends_nothing(
    link: Connection, table: ArchiveTable
) -> None:
    diverged(link, table)
    reached: list[str] = []

    def lose(name: str) -> None:
        reached.append(name)
        link.call("DEL", f"{table.group}:lease:{{s00}}")
        if reached.count("written") > 5:
            raise Crash

    outcome = archive_all(link, table, NAMES[:2], Hooks(reached=lose))
    assert (list(outcome.failures), outcome.archived) == (["s00"], 5)


def test_a_commit_whose_answer_was_lost_is_found_and_its_files_stay(
    link: Connection, table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object store's client repeats the put of a version, and learns that it exists."""
    real = ArchiveTable.append

    def unanswered(*words: Any) -> None:
        real(*words)
        raise CommitConflict

    add_many(link, 5)
    with monkeypatch.context() as patch:
        patch.setattr(ArchiveTable, "append", unanswered)
        report = archive(link, table)
    assert (report.archived, report.trimmed) == (5, 4)
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 6)]


@pytest.mark.parametrize("point", STEPS)
def test_a_crash_of_a_round_of_many_loses_and_doubles_nothing(
    link: Connection, table: ArchiveTable, point: str
) -> None:
    names = NAMES[:3]
    for name in names:
        add_many(link, 10, stream=name)
    occurrence = 1 if point in STEPS[:2] else 2
    with pytest.raises(Crash):
        archive_all(link, table, names, failing_at(point, occurrence), batch_entries=12)
    for name in names:
        add_many(link, 10, 11, stream=name)
    again = ArchiveTable.open(table.root)
    assert archive_all(link, again, names).failures == {}
    for name in names:
        assert archived_ids(again, name) == [f"{n}-0" for n in range(1, 21)]
        assert live_ids(link, name) == ["20-0"]


def test_streams_that_change_do_not_hold_up_the_others(
    redis_link: Connection, table: ArchiveTable
) -> None:
    """The last archived entries of all but one are deleted before they are read again."""
    names = [f"s{number}" for number in range(10)]
    for name in names:
        add_many(redis_link, 20, stream=name)
    settings = ArchiverSettings(redis_link.url, trims=False)
    archiver = Archiver(table, LocalEngine(), settings)
    archiver.round(names)
    for name in names:
        add_many(redis_link, 5, 21, stream=name)
    deleting = [("XDEL", name, "20-0") for name in names[1:]]
    outcome = archiver.round(names, doing("planned", lambda: redis_link.call_all(deleting)))
    assert outcome.commits == 2 and not outcome.failures
    for name in names:
        assert archived_ids(table, name) == [f"{number}-0" for number in range(1, 26)]
