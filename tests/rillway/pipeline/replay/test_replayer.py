"""Replays into real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.replay.command import main
from rillway.pipeline.replay.ledger import ReplayRefused, key_of
from rillway.pipeline.replay.replayer import (
    CHUNK_ROWS,
    AtOnce,
    Hooks,
    Rate,
    Replayed,
    Replayer,
    Speed,
)
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MIN_ID, parse_id
from tests.rillway.pipeline.scene import add, add_many, stream_ids

STREAM, INTO = "orders", "orders-replayed"
COUNT = 2500


@pytest.fixture
def table(link: Connection, tmp_path: Path) -> ArchiveTable:
    """2,500 entries, all archived and trimmed."""
    add_many(link, STREAM, COUNT)
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    Archiver(table, LocalEngine(), ArchiverSettings(link.url, id_unit="ms")).archive(STREAM)
    return table


def replay(
    link: Connection, table: ArchiveTable, first: int = MIN_ID, into: str = INTO, **options: object
) -> Replayed:
    return Replayer(link.url, table, STREAM, into, **options).run(first)  # type: ignore[arg-type]


def values(link: Connection) -> list[str]:
    """The field `n`, which is the ID that an entry once had."""
    return [entry[1][1].decode() for entry in link.call("XRANGE", INTO, "-", "+")]


EXPECTED = [f"{n}-0" for n in range(1, COUNT + 1)]


def interrupted_after(chunks: int) -> Hooks:
    asked: list[float] = []

    def wait(seconds: float) -> bool:
        asked.append(seconds)
        return len(asked) >= chunks

    return Hooks(wait=wait)


@pytest.mark.parametrize("keeps_ids", [False, True])
def test_every_entry_is_written_once_however_often_it_is_run(
    link: Connection, table: ArchiveTable, keeps_ids: bool
) -> None:
    first = replay(link, table, keeps_ids=keeps_ids, hooks=interrupted_after(1))
    assert (first.rows, first.is_complete) == (CHUNK_ROWS, False)
    second = replay(link, table, keeps_ids=keeps_ids)
    assert (second.rows, second.before) == (COUNT - CHUNK_ROWS, CHUNK_ROWS)
    third = replay(link, table, keeps_ids=keeps_ids)
    assert (third.rows, third.before) == (0, COUNT)
    assert values(link) == EXPECTED
    assert (stream_ids(link, INTO) == EXPECTED) is keeps_ids


@pytest.mark.parametrize("keeps_ids", [False, True])
def test_rows_that_another_program_has_put_in_another_order_are_replayed_in_theirs(
    link: Connection, table: ArchiveTable, keeps_ids: bool
) -> None:
    DeltaTable(str(table.root)).optimize.z_order(["fields"])
    table.refresh()
    replay(link, table, keeps_ids=keeps_ids)
    assert values(link) == EXPECTED


def test_more_that_was_archived_since_is_added(link: Connection, table: ArchiveTable) -> None:
    replay(link, table, keeps_ids=True)
    add_many(link, STREAM, 10, COUNT + 1)
    Archiver(table, LocalEngine(), ArchiverSettings(link.url, id_unit="ms")).archive(STREAM)
    assert replay(link, table, keeps_ids=True).rows == 10
    assert len(stream_ids(link, INTO)) == COUNT + 10


def test_the_origin_is_added_where_it_is_wanted(link: Connection, table: ArchiveTable) -> None:
    replay(link, table, marks_origin=True)
    [entry] = link.call("XRANGE", INTO, "-", "+", "COUNT", 1)
    assert entry[1] == [b"n", b"1-0", b"_orig_stream", b"orders", b"_orig_id", b"1-0"]


def test_gaps_are_kept_in_proportion(link: Connection, table: ArchiveTable) -> None:
    now = [0.0]

    def wait(seconds: float) -> bool:
        now[0] += seconds
        return False

    hooks = Hooks(wait=wait, clock=lambda: now[0])
    replay(link, table, pace=Speed(10), hooks=hooks)
    assert now[0] == pytest.approx((COUNT - 1) / 1000 / 10, rel=0.05)
    assert values(link) == EXPECTED


# -- what would corrupt ---------------------------------------------------------------------------


def test_a_stream_that_is_archived_there_is_refused(link: Connection, table: ArchiveTable) -> None:
    with pytest.raises(ReplayRefused, match="archived once more"):
        replay(link, table, into=STREAM, appends=True)


@pytest.mark.parametrize("keeps_ids", [False, True])
def test_a_stream_that_no_replay_made_is_refused(
    link: Connection, table: ArchiveTable, keeps_ids: bool
) -> None:
    link.call("XADD", INTO, "1-0", "n", "mine")
    with pytest.raises(ReplayRefused, match="no replay created it"):
        replay(link, table, keeps_ids=keeps_ids)
    assert values(link) == ["mine"]


def test_it_may_be_appended_to(link: Connection, table: ArchiveTable) -> None:
    link.call("XADD", INTO, "1-0", "n", "mine")
    replay(link, table, appends=True)
    assert values(link) == ["mine", *EXPECTED]


def test_another_replay_into_the_same_stream_is_refused(
    link: Connection, table: ArchiveTable
) -> None:
    replay(link, table, keeps_ids=True)
    with pytest.raises(ReplayRefused, match="--keep-ids"):
        replay(link, table)
    with pytest.raises(ReplayRefused, match="--from"):
        replay(link, table, parse_id("5-0"), keeps_ids=True)


def test_an_entry_of_another_client_between_kept_ids_is_noticed(
    link: Connection, table: ArchiveTable
) -> None:
    def wait(seconds: float) -> bool:
        with Connection(link.url) as other:
            other.call("XADD", INTO, "999999-0", "n", "mine")
        return False

    with pytest.raises(ReplayRefused, match="another"):
        replay(link, table, keeps_ids=True, hooks=Hooks(wait=wait))
    assert values(link) == [*EXPECTED[:CHUNK_ROWS], "mine"]
    with pytest.raises(ReplayRefused, match="ends at 999999-0"):
        replay(link, table, keeps_ids=True)


def test_two_replays_at_once_double_nothing(link: Connection, table: ArchiveTable) -> None:
    done: list[bool] = []

    def wait(seconds: float) -> bool:
        if not done:
            done.append(True)
            replay(link, table)
        return False

    with pytest.raises(ReplayRefused, match="another"):
        replay(link, table, hooks=Hooks(wait=wait))
    assert values(link) == EXPECTED


def test_a_stream_that_was_deleted_since_is_refused(link: Connection, table: ArchiveTable) -> None:
    replay(link, table)
    link.call("DEL", INTO)
    with pytest.raises(ReplayRefused, match="was deleted"):
        replay(link, table)
    link.call("DEL", key_of(link, INTO))
    assert replay(link, table).rows == COUNT


def test_a_key_of_another_type_is_refused(link: Connection, table: ArchiveTable) -> None:
    link.call("SET", INTO, "x")
    with pytest.raises(ReplayRefused, match="WRONGTYPE"):
        replay(link, table)


# -- the command ----------------------------------------------------------------------------------


def test_the_command_says_what_it_did(
    link: Connection, table: ArchiveTable, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--from-archive", str(table.root), "--stream", STREAM, "--into", INTO]
    words += ["--url", link.url]
    assert main([*words, "--to", "1001-0"]) == 0
    assert capsys.readouterr().out.startswith("orders-replayed: 1,001 entries in ")
    assert main([*words, "--rate", "1000000"]) == 0
    assert "1,001 had been replayed before" in capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == (
        "orders-replayed: nothing was left to replay; 2,500 had been replayed before; "
        "replayed up to 2500-0\n"
    )
    capsys.readouterr()
    assert main([*words, "--keep-ids"]) == 1
    assert capsys.readouterr().err.startswith(f"rillway replay: writes to {link.url}\n")


@pytest.mark.parametrize(
    "words",
    [
        ["--speed", "fast"],
        ["--speed", "10x", "--rate", "5"],
        ["--rate", "0"],
        ["--keep-ids", "--append"],
    ],
)
def test_bad_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--from-archive", "p", "--stream", "s", "--into", "t", *words])
    assert ended.value.code == 2


# -- epochs ---------------------------------------------------------------------------------------


@pytest.fixture
def parted(link: Connection, tmp_path: Path) -> ArchiveTable:
    """1-0 to 10-0, of which a failover lost 6-0 to 10-0; then 5-1 to 5-5 and 11-0 came."""
    table = ArchiveTable.open_or_create(tmp_path / "parted")
    archiver = Archiver(table, LocalEngine(), ArchiverSettings(link.url, trims=False, id_unit="ms"))
    add_many(link, STREAM, 5)
    older = link.call("DUMP", STREAM)
    add_many(link, STREAM, 5, 6)
    archiver.archive(STREAM)
    link.call("RESTORE", STREAM, 0, older, "REPLACE")
    add(link, STREAM, [*(f"5-{n}" for n in range(1, 6)), "11-0"])
    archiver.archive(STREAM)
    return table


LINE = [*(f"{n}-0" for n in range(1, 6)), *(f"5-{n}" for n in range(1, 6)), "11-0"]
ALL_EPOCHS = [f"{n}-0" for n in range(1, 11)] + LINE[5:]


def test_kept_ids_are_those_of_the_present_history(link: Connection, parted: ArchiveTable) -> None:
    assert replay(link, parted, keeps_ids=True).rows == len(LINE)
    assert stream_ids(link, INTO) == values(link) == LINE
    assert replay(link, parted, keeps_ids=True).rows == 0


def test_with_new_ids_each_epoch_follows_the_other(link: Connection, parted: ArchiveTable) -> None:
    assert replay(link, parted).rows == len(ALL_EPOCHS)
    assert values(link) == ALL_EPOCHS
    assert replay(link, parted).rows == 0
    add_many(link, STREAM, 3, 12)
    Archiver(parted, LocalEngine(), ArchiverSettings(link.url, id_unit="ms")).archive(STREAM)
    assert replay(link, parted).rows == 3
    with pytest.raises(ReplayRefused, match="another --epochs"):
        replay(link, parted, epochs="current")


@pytest.mark.parametrize("chunks", range(1, 4))
def test_a_replay_of_all_epochs_goes_on_where_it_was(
    link: Connection, parted: ArchiveTable, chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rillway.pipeline.replay.replayer.CHUNK_ROWS", 4)
    assert not replay(link, parted, hooks=interrupted_after(chunks)).is_complete
    replay(link, parted)
    assert values(link) == ALL_EPOCHS


def test_a_history_that_parted_before_what_was_replayed_is_refused(
    link: Connection, tmp_path: Path
) -> None:
    table = ArchiveTable.open_or_create(tmp_path / "parting")
    archiver = Archiver(table, LocalEngine(), ArchiverSettings(link.url, trims=False, id_unit="ms"))
    add_many(link, STREAM, 5)
    older = link.call("DUMP", STREAM)
    add_many(link, STREAM, 5, 6)
    archiver.archive(STREAM)
    replay(link, table, keeps_ids=True)
    link.call("RESTORE", STREAM, 0, older, "REPLACE")
    add(link, STREAM, ["5-1"])
    archiver.archive(STREAM)
    with pytest.raises(ReplayRefused, match="has diverged from what was replayed"):
        replay(link, table, keeps_ids=True)


def test_kept_ids_of_all_epochs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--from-archive", "a", "--stream", "s", "--into", "t", "--keep-ids"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--epochs", "all"])
    assert ended.value.code == 2
    assert "do not ascend" in capsys.readouterr().err


TIMES_MS = [1000, 1000, 2000, 11_000]


def test_at_once_everything_is_due() -> None:
    assert AtOnce().due(TIMES_MS, 1, 1, 0.0) == 3


def test_a_rate_lets_so_many_pass_a_second() -> None:
    pace = Rate(2)
    assert pace.due(TIMES_MS, 0, 0, 0.0) == 1
    assert pace.due(TIMES_MS, 1, 1, 0.4) == 0
    assert pace.wait_seconds(1000, 1, 0.4) == 0.09999999999999998
    assert pace.due(TIMES_MS, 1, 1, 1.0) == 2
    assert pace.due(TIMES_MS, 1, 1, 100.0) == 3


def test_a_speed_keeps_the_gaps_in_proportion() -> None:
    pace = Speed(10)
    assert pace.due(TIMES_MS, 0, 0, 0.0) == 2
    assert pace.due(TIMES_MS, 2, 2, 0.09) == 0
    assert pace.due(TIMES_MS, 2, 2, 0.1) == 1
    assert pace.wait_seconds(11_000, 3, 0.1) == 0.9
    assert pace.due(TIMES_MS, 3, 3, 1.0) == 1
