"""server/check/contents.py: counts of an instance's content."""

from __future__ import annotations

from server.check.contents import BigStream, DatabaseContents, count_contents, printable
from server.inprocess.server import InProcessServer


def test_everything_is_counted_database_by_database() -> None:
    server = InProcessServer(now_ms=1_000_000)
    client = server.connect()
    client.execute("SET", "text", "x", "PX", 1000)
    client.execute("SET", "other", "x", "PX", 9000)
    for n in range(3):
        client.execute("XADD", "s", f"{n}-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XGROUP", "CREATE", "s", "h", "$")
    client.execute("XREADGROUP", "GROUP", "g", "c", "COUNT", 2, "STREAMS", "s", ">")
    client.execute("SELECT", 5)
    client.execute("SET", "text", "x")
    contents = count_contents(server.instance.databases, now_ms=1_005_000)
    assert contents.databases == [
        DatabaseContents(0, 3, 2, 1, expiring=2, expired=1, entries=3, groups=2, consumers=1,
                         pending=2),
        DatabaseContents(5, 1, 1),
    ]  # fmt: skip
    assert contents.biggest_streams == [BigStream(0, "s", 3, 2, 2)]


def test_the_streams_with_the_most_entries_are_named() -> None:
    server = InProcessServer()
    client = server.connect()
    for n in range(1, 8):
        for _ in range(n):
            client.execute("XADD", f"s{n}", "*", "f", "v")
    contents = count_contents(server.instance.databases, server.now_ms)
    assert [stream.key for stream in contents.biggest_streams] == ["s7", "s6", "s5", "s4", "s3"]


def test_a_key_is_shown_without_what_a_terminal_would_act_on() -> None:
    assert printable("größe".encode()) == "größe"
    assert printable(b"\x1b[2J\xff\n") == "\\x1b[2J\\xff\\n"
