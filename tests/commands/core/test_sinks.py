"""commands/core/sinks.py: a unit is encoded once for all sinks."""

from __future__ import annotations

from commands.core.sinks import Sink, hand_to, units_in
from storage.append_only.requests import encode_requests

UNITS = [[b"XADD", b"s", b"1-1", b"f", b""], [b"SET", b"k", b"\r\n"]]


def test_units_of_one_request_each_are_told_apart_and_transactions_are_not() -> None:
    transaction = [[b"MULTI"], UNITS[0], [b"SELECT", b"5"], UNITS[1], [b"EXEC"]]
    wire = encode_requests([*UNITS, *transaction, UNITS[0]])
    assert list(units_in(wire)) == [[UNITS[0]], [UNITS[1]], transaction, [UNITS[0]]]


def test_all_sinks_get_the_same_bytes() -> None:
    seen: list[bytes] = []
    sink = Sink(take_encoded=lambda db_index, wire, last_db: seen.append(wire))
    hand_to([sink, sink], 0, UNITS)
    assert seen[0] == encode_requests(UNITS) and seen[0] is seen[1]


def test_the_last_database_of_a_unit_is_said() -> None:
    seen: list[object] = []
    sink = Sink(take_encoded=lambda *wire: seen.append((wire[0], wire[2])))
    hand_to([sink], 3, [UNITS[1]])
    hand_to([sink], 3, [[b"MULTI"], UNITS[1], [b"SELECT", b"5"], UNITS[1], [b"EXEC"]])
    assert seen == [(3, 3), (3, 5)]
