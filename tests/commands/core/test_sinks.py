"""commands/core/sinks.py: a unit is encoded once; sinks that take no bytes get requests."""

from __future__ import annotations

from commands.core.sinks import Sink, hand_to
from storage.append_only.requests import encode_requests

UNITS = [[b"XADD", b"s", b"1-1", b"f", b""], [b"SET", b"k", b"\r\n"]]


def test_who_takes_encoded_units_gets_them_together() -> None:
    seen: list[object] = []
    sink = Sink(take_encoded=lambda *wire: seen.append(wire))
    sink.take_units(3, encode_requests(UNITS))
    assert seen == [(3, encode_requests(UNITS), 3)]


def test_who_does_not_gets_each() -> None:
    seen: list[object] = []
    Sink(append=lambda *unit: seen.append(unit)).take_units(3, encode_requests(UNITS))
    assert seen == [(3, [UNITS[0]]), (3, [UNITS[1]])]


def test_all_who_take_bytes_get_the_same_ones() -> None:
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
