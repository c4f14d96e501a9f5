"""server/replication/replica/applier.py: the stream of a primary, from requests and from bytes."""

from __future__ import annotations

import pytest

from commands.core.client import Clients
from commands.core.registry import COMMANDS
from protocol.replies import command
from server.inprocess.server import InProcessServer
from server.replication.replica import applier
from server.replication.replica.applier import BrokenStream, Following

SELECT = [command([b"SELECT", b"%d" % index]) for index in range(3)]
MULTI, EXEC, PING = command([b"MULTI"]), command([b"EXEC"]), command([b"PING"])
GETACK = command([b"REPLCONF", b"GETACK", b"*"])


def xadd(key: bytes, number: int) -> bytes:
    return command([b"XADD", key, b"%d-1" % number, b"f", b"v%d" % number])


@pytest.fixture
def following(monkeypatch: pytest.MonkeyPatch) -> Following:
    monkeypatch.setattr(applier, "TIME_SLICE_NS", 10**12)  # no slice ends during a test
    server = InProcessServer()
    server.instance.replication.is_replica = True
    server.replication.feed.begin_backlog()
    acknowledged: list[int] = []
    followed = Following(
        server.instance,
        server.replication.feed,
        server.instance.feature(Clients).new(),
        server.dispatcher,
        lambda: acknowledged.append(server.instance.replication.offset),
    )
    followed.acknowledged = acknowledged  # type: ignore[attr-defined]
    return followed


def take(following: Following, data: bytes) -> int:
    """Apply bytes; the offset then. What is applied is passed on, byte for byte."""
    instance = following._instance
    following.receive(data)
    while following.has_work:
        following.apply()
    following._feed.flush()
    backlog = following._feed.backlog
    assert backlog is not None
    passed = b"".join(backlog.since(1))
    stream = following.__dict__.setdefault("stream", b"") + data
    following.__dict__["stream"] = stream
    assert stream.startswith(passed) and len(passed) == instance.replication.offset
    return instance.replication.offset


def lengths(following: Following) -> list[int]:
    return [len(db) for db in following._instance.databases[:3]]


def test_requests_run_in_their_databases(following: Following) -> None:
    data = SELECT[2] + b"".join(xadd(b"s", number) for number in range(1, 40)) + PING
    data += SELECT[1] + xadd(b"t", 1) + xadd(b"t", 2) + command([b"XADD", b"t", b"3-*", b"f", b"v"])
    assert take(following, data) == len(data)
    assert lengths(following) == [0, 1, 1]
    stream = following._instance.databases[2].get(b"s")
    assert stream is not None and stream.length == 39  # type: ignore[attr-defined]
    assert following._instance.replication.stream_db == 1


def test_a_request_in_pieces_waits_for_its_end(following: Following) -> None:
    data = SELECT[0] + xadd(b"s", 1) + xadd(b"s", 2)
    applied = [take(following, data[at : at + 1]) for at in range(len(data))]
    ends = {len(SELECT[0]), len(SELECT[0] + xadd(b"s", 1)), len(data)}
    assert set(applied) == {0} | ends


def test_a_transaction_counts_when_its_end_has_come(following: Following) -> None:
    head = SELECT[0] + xadd(b"s", 1)
    parts = [head + MULTI, xadd(b"s", 2), SELECT[1] + xadd(b"t", 1), GETACK]
    assert [take(following, part) for part in parts] == [len(head)] * 4
    assert following.acknowledged == [len(head)]  # type: ignore[attr-defined]
    assert lengths(following) == [1, 0, 0]
    end = len(b"".join(parts) + EXEC)
    assert take(following, EXEC + PING) == end + len(PING)
    assert lengths(following) == [1, 1, 0]


def test_getack_stands_for_what_came_before_it(following: Following) -> None:
    data = xadd(b"s", 1) + PING + GETACK + xadd(b"s", 2) + GETACK
    assert take(following, data) == len(data)
    first = len(xadd(b"s", 1) + PING)
    second = first + len(GETACK + xadd(b"s", 2))
    assert following.acknowledged == [first, second]  # type: ignore[attr-defined]


def test_a_large_value_is_not_looked_at_until_it_is_whole(following: Following) -> None:
    data = command([b"SET", b"k", b"x" * 300_000])
    assert take(following, data[:100_000]) == 0
    assert following._wanted_bytes > 290_000
    assert take(following, data[100_000:]) == len(data)


@pytest.mark.parametrize("data", [b"*2\r\n$3\r\nGET\r\n$9999999999999\r\n", b"+OK\r\n", b"$1\r\n"])
def test_bytes_that_are_no_request_break_the_stream(following: Following, data: bytes) -> None:
    with pytest.raises(BrokenStream):
        take(following, xadd(b"s", 1) + data)


def test_applied_requests_are_counted_with_the_time_that_they_took(following: Following) -> None:
    take(following, SELECT[0] + 3 * command([b"SET", b"k", b"v"]))
    stats = following._instance.stats
    assert stats.of(COMMANDS[b"set"]).calls == 3
    assert stats.commands_processed == 4


def test_commands_without_data_and_scripts_are_skipped(following: Following) -> None:
    data = command([b"EVAL", b"return redis.call('set', 'k', 'v')", b"0"])
    data += command([b"CLIENT", b"KILL", b"TYPE", b"normal"]) + command([b"ECHO", b"x"])
    assert take(following, data) == len(data)
    assert lengths(following) == [0, 0, 0]


def test_the_stream_waits_for_a_library_that_loads_for_long(following: Following) -> None:
    instance = following._instance
    server = instance.host
    assert isinstance(server, InProcessServer)
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    load = command([b"FUNCTION", b"LOAD", b"#!lua name=l\nwhile true do end"])
    data = SELECT[0] + xadd(b"s", 1) + load + xadd(b"s", 2)
    following.receive(data)
    following.apply()
    following._feed.flush()
    assert following.has_work
    assert instance.replication.offset == len(SELECT[0] + xadd(b"s", 1))
    assert server.connect().execute("XLEN", "s").startswith(b"-BUSY")
    assert server.connect().execute("FUNCTION", "KILL") == b"+OK\r\n"
    server.dispatcher.script_runs.go_on()
    following.apply()
    following._feed.flush()
    assert not following.has_work
    assert instance.replication.offset == len(data)
    assert server.connect().execute("XLEN", "s") == b":2\r\n"
    assert any("== CRITICAL ==" in line for _, line in server.log_lines)


def test_a_transaction_of_the_stream_is_passed_on_after_its_library(following: Following) -> None:
    instance = following._instance
    server = instance.host
    assert isinstance(server, InProcessServer)
    server.clock_step_us = 10_000_000
    server.dispatcher.script_runs.slice_ns = 0
    load = command([b"FUNCTION", b"LOAD", b"#!lua name=l\nwhile true do end"])
    data = MULTI + xadd(b"s", 1) + load + EXEC + PING
    following.receive(data)
    following.apply()
    following._feed.flush()
    assert instance.replication.offset == 0
    server.connect().execute("FUNCTION", "KILL")
    server.dispatcher.script_runs.go_on()
    following.apply()
    following._feed.flush()
    assert not following.has_work
    assert instance.replication.offset == len(data)
    assert server.connect().execute("XLEN", "s") == b":1\r\n"
