"""commands/sinks.py: units that come encoded are taken as they are, or one by one."""

from __future__ import annotations

from commands.sinks import Sink
from storage.append_only.requests import encode_requests

UNITS = [[b"XADD", b"s", b"1-1", b"f", b""], [b"SET", b"k", b"\r\n"]]


def test_who_takes_encoded_units_gets_them_together() -> None:
    seen: list[object] = []
    sink = Sink(lambda *unit: seen.append(unit), lambda *wire: seen.append(wire))
    sink.take(3, encode_requests(UNITS))
    assert seen == [(3, encode_requests(UNITS))]


def test_who_does_not_gets_each() -> None:
    seen: list[object] = []
    Sink(lambda *unit: seen.append(unit)).take(3, encode_requests(UNITS))
    assert seen == [(3, [UNITS[0]]), (3, [UNITS[1]])]
