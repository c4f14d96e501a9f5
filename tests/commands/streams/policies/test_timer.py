"""The timer of policies: who acts when, and on which servers."""

from __future__ import annotations

import pytest

from commands.streams.policies import timer
from commands.streams.policies.timer import PolicyTimer, Turn
from server.inprocess.server import InProcessServer
from storage.policies.stream_policy import StreamPolicy
from storage.stream import Stream
from tests.commands.streams.talk import NOW_MS, Talk


class Part:
    """A policy that wants attention at a time."""

    def __init__(self, due_ms: int) -> None:
        self.due_ms = due_ms
        self.error: Exception | None = None

    def copy(self) -> Part:
        return Part(self.due_ms)

    def memory_bytes(self) -> int:
        return 0


class Double:
    """A feature that notes when it acts, on streams that have a Part."""

    def __init__(self) -> None:
        self.acted: list[tuple[int, int, bytes]] = []  # policy time, database, key
        self.again_ms: int | None = None

    def due_ms(self, timer: PolicyTimer, stream: Stream) -> int | None:
        part = stream.policy.retention if stream.policy is not None else None
        return part.due_ms if isinstance(part, Part) and part.due_ms else None

    def work(self, turn: Turn, key: bytes, stream: Stream) -> None:
        part = stream.policy.retention if stream.policy is not None else None
        assert isinstance(part, Part)
        if turn.now_ms < part.due_ms:
            return
        self.acted.append((turn.now_ms, turn.client.db.index, key))
        part.due_ms = self.again_ms or 0
        if part.error is not None:
            raise part.error
        turn.client.propagate(b"XACK", key, b"g", b"1-1")
        turn.client.propagate(b"XACK", key, b"g", b"2-1")


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Double:
    """The only feature."""
    double = Double()
    monkeypatch.setattr(timer, "FEATURES", [double])
    return double


def add(client: Talk, key: str, due_ms: int) -> Part:
    """A stream of database 0 that wants attention."""
    client.do(f"XADD {key} 1-1 f v")
    stream = client.server.instance.databases[0].values[key.encode()]
    assert isinstance(stream, Stream)
    stream.policy = StreamPolicy()
    part = stream.policy.retention = Part(due_ms)  # type: ignore[assignment]
    client.server.instance.feature(PolicyTimer).note(0, key.encode(), stream)
    return part


def test_each_stream_gets_attention_when_it_is_due_and_never_early(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    add(client, "late", NOW_MS + 100)
    add(client, "early", NOW_MS + 50)
    server.advance(49)
    assert not double.acted
    server.advance(1)
    server.advance(49)
    assert double.acted == [(NOW_MS + 50, 0, b"early")]
    server.advance(3)
    assert double.acted[1:] == [(NOW_MS + 102, 0, b"late")]
    server.advance(100_000)
    assert len(double.acted) == 2


def test_what_a_feature_propagates_is_one_unit(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    add(client, "s", NOW_MS + 1)
    server.propagated.clear()
    server.advance(1)
    unit = [[b"MULTI"], [b"XACK", b"s", b"g", b"1-1"], [b"XACK", b"s", b"g", b"2-1"], [b"EXEC"]]
    assert server.propagated == [(0, unit)]


def test_a_clock_that_is_set_back_makes_things_late(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    add(client, "s", NOW_MS + 100)
    server.advance(90)
    server.advance(-3_600_000)
    server.advance(3_600_000)
    assert not double.acted
    server.advance(10)
    assert double.acted == [(NOW_MS + 100, 0, b"s")]


def test_a_jump_of_the_clock_is_noticed(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    policies = server.instance.feature(PolicyTimer)
    monotonic_us = NOW_MS * 1000
    policies.elapsed_us = lambda: monotonic_us
    add(client, "s", NOW_MS + 10**9)
    server.advance(0)
    server.advance(60_000)
    assert policies.is_steady
    server.advance(60_001)
    assert not policies.is_steady
    assert any("The clock went 60 s ahead" in line for _, line in server.log_lines)
    monotonic_us += 600_000_000
    server.advance(599_999)
    assert not policies.is_steady
    server.advance(1)
    assert policies.is_steady


def test_policies_follow_their_stream(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    for key in ("a", "b", "c", "d"):
        add(client, key, NOW_MS + 100)
    client.all("RENAME a renamed", "MOVE b 1", "COPY c twin", "DEL d", "SWAPDB 0 2")
    server.advance(100)
    assert sorted(double.acted) == [
        (NOW_MS + 100, 1, b"b"),
        (NOW_MS + 100, 2, b"c"),
        (NOW_MS + 100, 2, b"renamed"),
        (NOW_MS + 100, 2, b"twin"),
    ]


def test_swapping_databases_looks_at_their_streams_with_policies_only(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    for key in ("a", "b", "other"):
        add(client, key, NOW_MS + 100)
    client.all("MOVE b 1", "MOVE other 3", "SWAPDB 0 1", "SWAPDB 1 4", "SWAPDB 0 1")
    timer = server.instance.feature(PolicyTimer)
    assert sorted(timer.soon) == [(1, b"b"), (4, b"a")]
    server.advance(100)
    assert sorted(double.acted) == [
        (NOW_MS + 100, 1, b"b"),
        (NOW_MS + 100, 3, b"other"),
        (NOW_MS + 100, 4, b"a"),
    ]


def test_a_key_that_expires_takes_its_policies_along(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    add(client, "s", NOW_MS + 100)
    add(client, "flushed", NOW_MS + 100)
    client.all("PEXPIRE s 100", "MOVE flushed 1", "FLUSHALL")
    server.advance(100)
    assert not double.acted
    assert server.instance.feature(PolicyTimer).streams() == []


def test_a_replica_does_nothing_until_it_is_promoted(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    add(client, "s", NOW_MS + 100)
    client.do("REPLICAOF 127.0.0.1 1")
    server.advance(200)
    assert not double.acted
    client.do("REPLICAOF NO ONE")
    server.advance(0)
    assert double.acted == [(NOW_MS + 200, 0, b"s")]
    assert server.instance.feature(PolicyTimer).grace_until_ms == NOW_MS + 200 + 5000


def test_paused_writes_hold_policies_back(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    add(client, "s", NOW_MS + 100)
    client.do("CLIENT PAUSE 500 WRITE")
    server.advance(200)
    assert not double.acted
    server.advance(300)
    server.advance(0)
    assert double.acted == [(NOW_MS + 500, 0, b"s")]


def test_one_stream_that_fails_does_not_hold_up_the_others(
    client: Talk, server: InProcessServer, double: Double
) -> None:
    add(client, "bad", NOW_MS + 100).error = ZeroDivisionError("on purpose")
    add(client, "good", NOW_MS + 100)
    double.again_ms = NOW_MS + 200
    server.advance(100)
    assert [key for _, _, key in double.acted] == [b"bad", b"good"]
    assert any("on purpose" in line for _, line in server.log_lines)
    server.advance(timer.RETRY_MS)
    assert [key for _, _, key in double.acted[2:]] == [b"good", b"bad"]
