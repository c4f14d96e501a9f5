"""Writing rows to streams: at least once, exactly once, and with IDs of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from rillway.pipeline.spark import writer
from rillway.pipeline.spark.ledger import LedgerConflict
from rillway.pipeline.spark.options import SinkOptions
from rillway.pipeline.spark.writer import EntryWriter, IdConflict, Written, chunk_bounds
from rillway.pipeline.wire.connection import Connection, ServerError
from tests.rillway.pipeline.scene import add, stream_ids

pytestmark = pytest.mark.integration

LEDGER = ("w", 0, 0)
LEDGER_KEY = "__spark:ledger:w:0"


def rows(first: int, last: int, **columns: Any) -> pa.RecordBatch:
    return pa.record_batch({"n": [str(n) for n in range(first, last + 1)]} | columns)


def write(
    link: Connection,
    *batches: pa.RecordBatch,
    ledger: tuple[str, int, int] | None = None,
    **more: Any,
) -> Written:
    chosen: dict[str, Any] = {"stream": "s", "batch_size": 10} | more
    options = SinkOptions(url=link.url, **chosen)
    return EntryWriter(options, ledger).write(iter(batches))


def written(link: Connection, stream: str = "s") -> list[int]:
    return [int(entry[1][1]) for entry in link.call("XRANGE", stream, "-", "+")]


def test_rows_are_added_in_order(link: Connection) -> None:
    assert write(link, rows(1, 37), rows(38, 95)) == Written(95, 0)
    assert written(link) == list(range(1, 96))


def test_no_rows_write_nothing(link: Connection) -> None:
    assert write(link) == Written()
    assert link.call("DBSIZE") == 0


def test_rows_go_to_the_streams_of_their_column(link: Connection) -> None:
    write(link, rows(1, 4, stream=["a", "b", "a", "b"]), stream=None)
    assert (written(link, "a"), written(link, "b")) == ([1, 3], [2, 4])


def test_streams_are_trimmed_as_they_are_written(link: Connection) -> None:
    write(link, rows(1, 95), trim=("MAXLEN", "=", "20"))
    assert written(link) == list(range(76, 96))


def test_an_error_of_the_server_ends_the_write(link: Connection) -> None:
    link.call("SET", "s", "no stream")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        write(link, rows(1, 25))


def test_chunks_are_bounded_by_bytes(link: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CHUNK_BYTES", 10_000)
    sizes = [10, 9000, 9000, 20_000, 10, 10, 4000, 4000, 4000]
    requests = pa.array([b"x" * size for size in sizes], pa.binary())
    assert list(chunk_bounds(requests, 3)) == [(0, 2), (2, 1), (3, 1), (4, 3), (7, 2)]
    assert list(chunk_bounds(requests.slice(4), 2)) == [(0, 2), (2, 2), (4, 1)]
    large = pa.record_batch({"n": [str(n) for n in range(30)], "x": ["x" * 3000] * 30})
    assert write(link, large, ledger=LEDGER) == Written(30, 0)
    assert written(link) == list(range(30))


# -- IDs of their own ----------------------------------------------------------------------------


def with_ids(first: int, last: int) -> pa.RecordBatch:
    return rows(first, last, id=[f"{n}-0" for n in range(first, last + 1)])


def test_ids_are_kept_and_nothing_is_added_twice(link: Connection) -> None:
    assert write(link, with_ids(1, 25), keeps_ids=True) == Written(25, 0)
    assert write(link, with_ids(1, 40), keeps_ids=True) == Written(15, 25)
    assert stream_ids(link, "s") == [f"{n}-0" for n in range(1, 41)]


def test_another_entry_under_an_id_is_a_conflict(link: Connection) -> None:
    add(link, "s", ["5-0"], "n", "other")
    with pytest.raises(IdConflict, match="s: 5-0: another entry is there"):
        write(link, with_ids(5, 5), keeps_ids=True)


def test_an_id_that_the_stream_has_passed_is_a_conflict(link: Connection) -> None:
    add(link, "s", ["9-0"])
    with pytest.raises(IdConflict, match="s: 5-0: the stream has passed it"):
        write(link, with_ids(5, 5), keeps_ids=True)


def test_conflicts_are_skipped_if_that_is_wanted(link: Connection) -> None:
    add(link, "s", ["15-0"], "n", "0")
    assert write(link, with_ids(1, 30), keeps_ids=True, skips_known_ids=True) == Written(15, 15)
    assert written(link) == [0, *range(16, 31)]


# -- exactly once --------------------------------------------------------------------------------


def test_a_task_that_is_run_again_adds_nothing(link: Connection) -> None:
    assert write(link, rows(1, 25), ledger=LEDGER) == Written(25, 0)
    assert write(link, rows(1, 25), ledger=LEDGER) == Written(0, 25)
    assert written(link) == list(range(1, 26))


class Killed(Exception):
    """What ends a task in these tests."""


def test_a_task_that_ended_in_the_middle_goes_on_where_it_was(link: Connection) -> None:
    def dying() -> Iterator[pa.RecordBatch]:
        yield rows(1, 33)
        raise Killed

    options = SinkOptions(url=link.url, stream="s", batch_size=10)
    with pytest.raises(Killed):
        EntryWriter(options, LEDGER).write(dying())
    assert written(link) == list(range(1, 34))
    # In other batches and chunks than before: it is the rows that count.
    again = write(link, rows(1, 7), rows(8, 50), ledger=LEDGER, batch_size=9)
    assert again == Written(17, 33)
    assert written(link) == list(range(1, 51))


def test_the_ledger_expires(link: Connection) -> None:
    write(link, rows(1, 5), ledger=("w", 0, 0))
    assert 2_591_000 < link.call("TTL", LEDGER_KEY) <= 2_592_000
    write(link, rows(6, 9), ledger=("w", 0, 1), ledger_ttl_s=60)
    assert 50 < link.call("TTL", LEDGER_KEY) <= 60
    link.call("RENAME", "s", "t")
    link.call("SET", "s", "no stream")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        write(link, rows(10, 15), ledger=("w", 0, 2), ledger_ttl_s=60)
    assert 50 < link.call("TTL", LEDGER_KEY) <= 60
    link.call("RENAME", "t", "s")
    write(link, rows(10, 15), ledger=("w", 0, 2), ledger_ttl_s=0)
    assert link.call("TTL", LEDGER_KEY) == -1
    assert written(link) == list(range(1, 16))


def test_the_next_batch_starts_from_its_own_beginning(link: Connection) -> None:
    write(link, rows(1, 5), ledger=("w", 0, 0))
    write(link, rows(6, 9), ledger=("w", 0, 1))
    assert written(link) == list(range(1, 10))


def test_other_rows_in_a_second_attempt_are_refused(link: Connection) -> None:
    write(link, rows(1, 25), ledger=LEDGER)
    with pytest.raises(LedgerConflict, match="not those of its first attempt"):
        write(link, rows(2, 40), ledger=LEDGER)
    with pytest.raises(LedgerConflict, match="this task has 20 rows"):
        write(link, rows(1, 20), ledger=LEDGER)
    assert written(link) == list(range(1, 26))


def test_two_attempts_at_once_do_not_both_write(link: Connection) -> None:
    def interrupted() -> Iterator[pa.RecordBatch]:
        yield rows(1, 10)
        write(link, rows(1, 20), ledger=LEDGER)  # the other attempt, from end to end
        yield rows(11, 20)

    options = SinkOptions(url=link.url, stream="s", batch_size=10)
    with pytest.raises(LedgerConflict, match="another attempt of this task"):
        EntryWriter(options, LEDGER).write(interrupted())
    assert written(link) == list(range(1, 21))


def test_the_ledger_does_not_count_what_the_server_refused(link: Connection) -> None:
    link.call("SET", "s", "no stream")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        write(link, rows(1, 5), ledger=LEDGER)
    assert link.call("EXISTS", LEDGER_KEY) == 0
    link.call("DEL", "s")
    write(link, rows(1, 10), ledger=LEDGER)
    link.call("SET", "s", "no stream")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        write(link, rows(1, 15), ledger=LEDGER)
    link.call("DEL", "s")
    assert write(link, rows(1, 15), ledger=LEDGER) == Written(5, 10)


def test_a_transaction_that_the_server_refuses_writes_nothing(link: Connection) -> None:
    with pytest.raises(ServerError, match="wrong number of arguments"):
        write(link, rows(1, 5), ledger=LEDGER, trim=("MAXLEN",))
    assert link.call("DBSIZE") == 0


def test_a_trim_that_fails_ends_the_write_but_not_the_ledger(link: Connection) -> None:
    with pytest.raises(ServerError, match="not an integer"):
        write(link, rows(1, 5), ledger=LEDGER, trim=("MAXLEN", "=", "many"))
    assert write(link, rows(1, 5), ledger=LEDGER) == Written(0, 5)
