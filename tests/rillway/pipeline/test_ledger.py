"""What a task has written, beside what it wrote."""

from __future__ import annotations

import pytest

from rillway.pipeline.connection import Connection
from rillway.pipeline.ledger import Ledger, LedgerConflict, Record, parse_record

pytestmark = pytest.mark.integration

KEY = "__spark:ledger:w:3"


def test_a_record_is_text() -> None:
    record = Record(7, 1200, "abc")
    assert str(record) == "7 1200 abc"
    assert parse_record(b"7 1200 abc") == record
    for text in (b"", b"x", b"7", b"7 x y"):
        with pytest.raises(LedgerConflict, match="did not write"):
            parse_record(text)


def test_a_first_attempt_has_nothing_to_skip(link: Connection) -> None:
    ledger = Ledger(link, "w", 3, batch=5)
    assert (ledger.key, ledger.to_skip, ledger.stored) == (KEY, 0, None)


def test_an_earlier_batch_is_history(link: Connection) -> None:
    link.call("SET", KEY, "4 100 abc")
    assert Ledger(link, "w", 3, batch=5).to_skip == 0


def test_a_later_batch_is_refused(link: Connection) -> None:
    link.call("SET", KEY, "6 100 abc")
    with pytest.raises(LedgerConflict, match="is at batch 6, and this is batch 5"):
        Ledger(link, "w", 3, batch=5)


def recorded(link: Connection) -> None:
    ledger = Ledger(link, "w", 3, batch=5)
    link.send(ledger.record(memoryview(b"onetwo"), 2))
    link.receive()


def test_rows_of_an_earlier_attempt_are_skipped_if_they_are_the_same(link: Connection) -> None:
    recorded(link)
    ledger = Ledger(link, "w", 3, batch=5)
    assert ledger.to_skip == 2
    ledger.skip(memoryview(b"one"), 1)
    ledger.skip(memoryview(b"two"), 1)
    assert ledger.to_skip == 0
    ledger.finish()


def test_other_rows_than_those_of_the_earlier_attempt_are_refused(link: Connection) -> None:
    recorded(link)
    ledger = Ledger(link, "w", 3, batch=5)
    with pytest.raises(LedgerConflict, match="are not those of its first attempt"):
        ledger.skip(memoryview(b"twoone"), 2)


def test_fewer_rows_than_were_written_are_refused(link: Connection) -> None:
    recorded(link)
    ledger = Ledger(link, "w", 3, batch=5)
    ledger.skip(memoryview(b"one"), 1)
    with pytest.raises(LedgerConflict, match="has 1 rows, and an earlier attempt had written 2"):
        ledger.finish()


def test_a_change_by_another_attempt_is_noticed(link: Connection) -> None:
    ledger = Ledger(link, "w", 3, batch=5)
    with Connection(link.url) as other:
        other.call("SET", KEY, "5 1 abc")
    link.send(ledger.watch_request())
    with pytest.raises(LedgerConflict, match="another attempt of this task has changed"):
        ledger.check_unchanged()
