"""maxmemory-clients: values, and which clients are closed, are those of a real Redis 8.2."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient
from tests.support.waiting import until

pytestmark = pytest.mark.compat

VALUES = ("1", "100", "1k", "10%", "100%", "0%", "", "101%", "-5%", "5%%", "%", "abc", "1.5%", "-1")


def connect(server: RunningServer) -> RespClient:
    """A connection that stays, however much others hold: it looks on, and takes the limit away."""
    client = server.connect()
    assert client.send("CLIENT", "NO-EVICT", "ON") == b"+OK\r\n"
    return client


@pytest.fixture(params=["ours", "theirs"])
def server(
    request: pytest.FixtureRequest, rillway_server: RunningServer, redis_server: RunningServer
) -> Iterator[RunningServer]:
    """One after the other; afterwards there is no limit."""
    chosen = rillway_server if request.param == "ours" else redis_server
    with connect(chosen) as client:
        client.send("CONFIG", "RESETSTAT")
        yield chosen
        client.send("CONFIG", "SET", "maxmemory-clients", "0")
        client.send("FLUSHALL")


def test_values_are_the_same(rillway_server: RunningServer, redis_server: RunningServer) -> None:
    with connect(rillway_server) as ours, connect(redis_server) as theirs:
        for value in (*VALUES, "0"):
            for words in (("SET", "maxmemory-clients", value), ("GET", "maxmemory-clients")):
                assert ours.send("CONFIG", *words) == theirs.send("CONFIG", *words), value


def evicted(client: RespClient) -> int:
    return int(client.send("INFO", "stats").partition(b"evicted_clients:")[2].split(b"\r\n")[0])


def is_closed(sock: socket.socket) -> bool:
    sock.settimeout(0.05)
    try:
        return sock.recv(65536) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def hold_request(sock: socket.socket) -> None:
    sock.sendall(b"*2\r\n$4\r\nECHO\r\n$900000\r\n" + b"x" * 600_000)


def hold_queue(sock: socket.socket) -> None:
    sock.sendall(b"MULTI\r\n")
    for _ in range(6):
        sock.sendall(b"*2\r\n$4\r\nECHO\r\n$100000\r\n" + b"x" * 100_000 + b"\r\n")


def hold_names(sock: socket.socket) -> None:
    for number in range(20_000):
        sock.sendall(b"SUBSCRIBE %0100d\r\n" % number)


def hold_output(sock: socket.socket) -> None:
    sock.sendall(b"GET big\r\n" * 30)


@pytest.mark.parametrize("hold", [hold_request, hold_queue, hold_names, hold_output])
@pytest.mark.parametrize("is_spared", [False, True])
def test_a_client_that_holds_much_is_closed_unless_it_is_spared(
    server: RunningServer, hold: Callable[[socket.socket], None], is_spared: bool
) -> None:
    with server.connect() as client:  # whose own buffer stays large in Redis
        client.send("SET", "big", b"x" * 1_000_000)
    with connect(server) as client, socket.create_connection(("127.0.0.1", server.port)) as sock:
        client.send("CONFIG", "SET", "maxmemory-clients", "500k")
        if is_spared:
            sock.sendall(b"CLIENT NO-EVICT ON\r\n")
            assert sock.recv(100) == b"+OK\r\n"
        try:
            hold(sock)
        except ConnectionError:
            assert not is_spared
        if is_spared:
            assert client.send("PING") == b"+PONG\r\n"
            assert evicted(client) == 0
        else:
            until(lambda: evicted(client) == 1)
            until(lambda: is_closed(sock))
        assert client.send("PING") == b"+PONG\r\n"
