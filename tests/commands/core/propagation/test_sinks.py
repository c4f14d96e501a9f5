"""commands/core/propagation/sinks.py: what is in a batch."""

from __future__ import annotations

from commands.core.propagation.sinks import units_in
from storage.append_only.requests import encode_requests

XADD, SET = [b"XADD", b"s", b"1-1", b"f", b""], [b"SET", b"k", b"\r\n"]
MULTI, EXEC, SELECT = [b"MULTI"], [b"EXEC"], [b"SELECT", b"5"]


def test_units_of_one_request_each_are_told_apart_and_transactions_are_not() -> None:
    transaction = [MULTI, XADD, SET, EXEC]
    wire = encode_requests([XADD, SET, *transaction, XADD])
    assert list(units_in(2, wire)) == [(2, [XADD]), (2, [SET]), (2, transaction), (2, [XADD])]


def test_a_unit_is_in_the_database_of_its_first_request() -> None:
    transaction = [MULTI, XADD, SELECT, SET, EXEC]
    assert list(units_in(0, encode_requests([*transaction, XADD]))) == [
        (0, transaction),
        (5, [XADD]),
    ]
    assert list(units_in(0, encode_requests([XADD, SELECT, SET]))) == [(0, [XADD]), (5, [SET])]
