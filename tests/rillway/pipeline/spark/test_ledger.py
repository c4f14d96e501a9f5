"""What a task has written, beside what it wrote."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rillway.pipeline.arrow.origins import Mark, Origins
from rillway.pipeline.spark.ledger import Ledger, LedgerConflict, Record, parse_record
from rillway.pipeline.wire.connection import Connection, ServerError, pack
from rillway.pipeline.wire.ids import make_id

pytestmark = pytest.mark.integration

KEY = "__spark:ledger:w:3"
# Requests that change nothing.
ONE, TWO = pack("ECHO", 1), pack("ECHO", 2)


def test_a_record_is_text() -> None:
    record = Record(7, 1200, "abc")
    assert str(record) == "7 1200 abc"
    assert parse_record(b"7 1200 abc") == record
    for text in (b"", b"x", b"7", b"7 x y"):
        with pytest.raises(LedgerConflict, match="did not write"):
            parse_record(text)


def requests(*rows: bytes) -> pa.BinaryArray:
    return pa.array(rows, pa.binary())


def rows_of(*ids: str) -> Origins:
    return Origins.read(pa.repeat("s", len(ids)), pa.array(ids, pa.string()))


def test_a_record_may_name_the_last_entry() -> None:
    record = Record(7, 1200, "abc", Mark("a b", make_id(5, 1), 3))
    assert str(record) == "7 1200 abc a%20b 5-1 3"
    assert parse_record(str(record).encode()) == record
    with pytest.raises(LedgerConflict, match="did not write"):
        parse_record(b"7 1200 abc s 5-1")


def test_a_first_attempt_has_nothing_to_skip(link: Connection) -> None:
    ledger = Ledger(link, "w", 3, batch=5)
    assert ledger.key == KEY
    assert ledger.skip(requests(ONE), None) == 0
    ledger.finish()


def test_an_earlier_batch_is_history(link: Connection) -> None:
    link.call("SET", KEY, "4 100 abc")
    assert Ledger(link, "w", 3, batch=5).skip(requests(ONE), None) == 0


def test_a_later_batch_is_refused(link: Connection) -> None:
    link.call("SET", KEY, "6 100 abc")
    with pytest.raises(LedgerConflict, match="is at batch 6, and this is batch 5"):
        Ledger(link, "w", 3, batch=5)


def recorded(link: Connection, origins: Origins | None = None) -> None:
    ledger = Ledger(link, "w", 3, batch=5)
    assert ledger.write(memoryview(ONE + TWO), 2, origins, [pack("PING")]) == [b"1", b"2", b"PONG"]


def test_rows_of_an_earlier_attempt_are_skipped_if_they_are_the_same(link: Connection) -> None:
    recorded(link)
    ledger = Ledger(link, "w", 3, batch=5)
    assert ledger.skip(requests(ONE), None) == 1
    assert ledger.skip(requests(TWO, b"three"), None) == 1
    assert ledger.skip(requests(b"four"), None) == 0
    ledger.finish()


def test_other_rows_than_those_of_the_earlier_attempt_are_refused(link: Connection) -> None:
    recorded(link)
    ledger = Ledger(link, "w", 3, batch=5)
    with pytest.raises(LedgerConflict, match="are not those of its first attempt"):
        ledger.skip(requests(TWO, ONE), None)


def test_fewer_rows_than_were_written_are_refused(link: Connection) -> None:
    recorded(link)
    ledger = Ledger(link, "w", 3, batch=5)
    ledger.skip(requests(ONE), None)
    with pytest.raises(LedgerConflict, match="has 1 row, and an earlier attempt had written 2"):
        ledger.finish()


def test_rows_that_name_their_entries_are_skipped_by_them(link: Connection) -> None:
    """The first of the two that were written is deleted, and one of them makes two rows."""
    recorded(link, rows_of("1-0", "2-0"))
    assert link.call("GET", KEY).endswith(b" s 2-0 1")
    ledger = Ledger(link, "w", 3, batch=5)
    assert ledger.skip(requests(TWO, TWO, b"three"), rows_of("2-0", "2-0", "3-0")) == 1
    assert ledger.skip(requests(b"four"), rows_of("4-0")) == 0
    ledger.finish()


def test_all_rows_that_were_written_may_be_gone(link: Connection) -> None:
    recorded(link, rows_of("1-0", "2-0"))
    ledger = Ledger(link, "w", 3, batch=5)
    assert ledger.skip(requests(b"three"), rows_of("3-0")) == 0
    ledger.finish()
    Ledger(link, "w", 3, batch=5).finish()


def test_rows_that_do_not_ascend_have_their_number_and_digest(link: Connection) -> None:
    recorded(link, rows_of("2-0", "1-0"))
    assert link.call("GET", KEY).split(b" ")[:2] == [b"5", b"2"]
    assert len(link.call("GET", KEY).split(b" ")) == 3
    ledger = Ledger(link, "w", 3, batch=5)
    assert ledger.skip(requests(ONE, TWO), rows_of("2-0", "1-0")) == 2


def test_rows_must_go_on_naming_their_entries(link: Connection) -> None:
    recorded(link, rows_of("1-0", "2-0"))
    ledger = Ledger(link, "w", 3, batch=5)
    with pytest.raises(LedgerConflict, match="do not say which entries they come from"):
        ledger.skip(requests(ONE), None)


def test_a_change_by_another_attempt_is_noticed(link: Connection) -> None:
    ledger = Ledger(link, "w", 3, batch=5)
    with Connection(link.url) as other:
        other.call("SET", KEY, "5 1 abc")
    with pytest.raises(LedgerConflict, match="another attempt of this task has changed"):
        ledger.write(memoryview(ONE), 1, None, [])


def test_what_the_server_refuses_is_not_counted(link: Connection) -> None:
    ledger = Ledger(link, "w", 3, batch=5, tag="x")
    assert ledger.key == "__spark:ledger:{x}:w:3"
    with pytest.raises(ServerError, match="unknown command"):
        ledger.write(memoryview(ONE + pack("NOSUCH")), 2, None, [])
    with Connection(link.url) as other:
        assert other.call("EXISTS", ledger.key) == 0
        assert Ledger(other, "w", 3, batch=5, tag="x").skip(requests(ONE, TWO), None) == 0


def test_a_chunk_of_which_nothing_was_added_is_not_counted(link: Connection) -> None:
    link.call("SET", "text", "x")
    bad = pack("XADD", "text", "*", "a", "b")
    ledger = Ledger(link, "w", 3, batch=5)
    with pytest.raises(ServerError, match="WRONGTYPE"):
        ledger.write(memoryview(bad), 1, None, [])
    assert link.call("GET", KEY) is None
    with Connection(link.url) as other:
        ledger = Ledger(other, "w", 3, batch=5)
        with pytest.raises(LedgerConflict, match="1 of 2 entries had been added before"):
            ledger.write(memoryview(ONE + bad), 2, None, [])
