"""maxmemory-clients: which clients are closed, and when."""

from __future__ import annotations

import pytest

from commands.connection.client_memory import ClientMemory
from server.inprocess.server import InProcessClient, InProcessServer
from server.requests.client_limit import LEAST_BYTES, limit_bytes

LIMIT = 200_000


@pytest.fixture
def server() -> InProcessServer:
    server = InProcessServer(maxmemory_clients=str(LIMIT))
    server.tick()
    return server


def fill(client: InProcessClient, size_bytes: int) -> None:
    """Send the beginning of a long request."""
    client.feed(b"*2\r\n$4\r\nECHO\r\n$1000000\r\n" + b"x" * size_bytes)


def evicted(server: InProcessServer) -> int:
    return server.instance.stats.evicted_clients


def test_the_largest_is_closed_until_there_is_room(server: InProcessServer) -> None:
    small, large, middle = server.connect(), server.connect(), server.connect()
    large.execute("CLIENT", "SETNAME", "large")
    fill(small, 30_000)
    fill(middle, 40_000)
    fill(large, 100_000)
    assert evicted(server) == 0
    fill(middle, 20_000)
    server.tick()
    assert (small.closed, large.closed, middle.closed) == (False, True, False)
    level, line = server.log_lines[-1]
    assert level == "notice" and line.startswith("Evicting client: id=") and "name=large" in line
    assert b"evicted_clients:1\r\n" in small.server.connect().execute("INFO", "stats")
    assert server.instance.feature(ClientMemory).evictable_bytes < LIMIT


def test_a_client_may_close_itself_and_gets_no_reply(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("SET", "k", "x" * 50_000)
    assert client.pipeline(*[("GET", "k")] * 3) != b""
    assert client.pipeline(*[("GET", "k")] * 5, ("SET", "after", "1")) == b""
    assert client.closed and evicted(server) == 1
    assert server.connect().execute("EXISTS", "after") == b":0\r\n"


def test_a_queue_and_what_comes_in_pieces_count(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("MULTI")
    for _ in range(4):
        client.execute("SET", "k", "x" * 50_000)
    server.tick()
    assert client.closed and evicted(server) == 1


def test_output_that_is_not_taken_counts_as_it_is_when_it_matters(server: InProcessServer) -> None:
    slow, other = server.connect(), server.connect()
    memory = server.instance.feature(ClientMemory)
    slow.unsent = LIMIT
    memory.set_slow(slow.state, is_slow=True)
    slow.unsent = 0  # read meanwhile
    other.execute("PING")
    assert not slow.closed
    slow.unsent = LIMIT
    memory.set_slow(slow.state, is_slow=True)
    assert other.execute("PING") == b"+PONG\r\n"
    assert slow.closed and evicted(server) == 1


def test_spared_clients_do_not_count(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("CLIENT", "NO-EVICT", "ON")
    fill(client, 2 * LIMIT)
    server.tick()
    assert not client.closed and evicted(server) == 0


def test_a_request_of_a_paused_or_restricted_client_is_checked_as_well(
    server: InProcessServer,
) -> None:
    slow, held = server.connect(), server.connect()
    held.execute("CLIENT", "PAUSE", "1000", "WRITE")
    slow.unsent = LIMIT
    server.instance.feature(ClientMemory).set_slow(slow.state, is_slow=True)
    assert held.execute("SET", "k", "v") == b""
    assert slow.closed and not held.closed


def test_a_new_limit_acts_at_once_and_zero_is_none(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    other.execute("CONFIG", "SET", "maxmemory-clients", "0")
    fill(client, LIMIT)
    server.tick()
    assert not client.closed
    assert other.execute("CONFIG", "SET", "maxmemory-clients", "150k") == b"+OK\r\n"
    assert client.closed
    assert other.execute("CONFIG", "GET", "maxmemory-clients").endswith(b"150000\r\n")


@pytest.mark.parametrize(
    ("value", "limit"), [(0, 0), (1, 131_072), (131_071, 131_072), (200_000, 200_000), (-5, 0)]
)
def test_a_small_limit_is_raised(value: int, limit: int) -> None:
    assert limit_bytes(value, 0) == limit


def test_a_share_is_one_of_maxmemory() -> None:
    assert limit_bytes(-5, 100_000_000) == 5_000_000
    assert limit_bytes(-1, 1_000_000) == LEAST_BYTES
