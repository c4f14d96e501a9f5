"""TIME, LASTSAVE."""

from __future__ import annotations

from server.inprocess.server import InProcessServer


def test_time_is_seconds_and_microseconds() -> None:
    server = InProcessServer(now_ms=1_700_000_000_042)
    assert server.connect().execute("TIME") == b"*2\r\n$10\r\n1700000000\r\n$5\r\n42000\r\n"


def test_lastsave_is_the_start_while_nothing_was_saved() -> None:
    server = InProcessServer(now_ms=1_700_000_000_999)
    client = server.connect()
    server.advance(60_000)
    assert client.execute("LASTSAVE") == b":1700000000\r\n"
