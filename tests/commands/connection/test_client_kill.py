"""CLIENT KILL."""

from __future__ import annotations

import pytest

from commands.transactions.watched_keys import Watchers
from server.inprocess.server import InProcessClient, InProcessServer


def kill(client: InProcessClient, *words: str | int | bytes) -> bytes:
    return client.execute("CLIENT", "KILL", *words)


def test_the_old_form_closes_the_connection_from_an_address(server: InProcessServer) -> None:
    client, victim = server.connect(), server.connect()
    assert kill(client, victim.state.address) == b"+OK\r\n"
    assert victim.closed
    assert kill(client, victim.state.address) == b"-ERR No such client\r\n"
    assert kill(client, "ID") == b"-ERR No such client\r\n"


def test_the_old_form_closes_even_the_caller(client: InProcessClient) -> None:
    assert kill(client, client.state.address) == b"+OK\r\n"
    assert client.closed


def test_a_killed_client_leaves_no_trace(server: InProcessServer) -> None:
    client, victim = server.connect(), server.connect()
    victim.execute("CLIENT", "TRACKING", "ON")
    victim.execute("WATCH", "k")
    victim.execute("SUBSCRIBE", "ch")
    assert kill(client, "ID", victim.state.id) == b":1\r\n"
    assert victim.closed
    assert client.execute("PUBLISH", "ch", "m") == b":0\r\n"
    assert not server.instance.feature(Watchers).by_key
    assert not server.instance.is_observed
    assert victim.received() == b""


def test_a_killed_reader_takes_nothing(server: InProcessServer) -> None:
    client, victim = server.connect(), server.connect()
    client.execute("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    victim.execute("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">")
    kill(client, "ID", victim.state.id)
    client.execute("XADD", "s", "1-1", "f", "v")
    assert client.execute("XPENDING", "s", "g").startswith(b"*4\r\n:0\r\n")


def test_the_caller_is_spared_unless_it_says_otherwise(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    assert kill(client, "TYPE", "normal") == b":1\r\n"
    assert other.closed
    assert kill(client, "ID", client.state.id) == b":0\r\n"
    assert kill(client, "ID", client.state.id, "SKIPME", "no") == b":1\r\n"
    assert client.closed


def test_nothing_runs_after_the_request_that_closes_its_own_connection(
    server: InProcessServer,
) -> None:
    client = server.connect()
    reply = client.pipeline(("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"), ("PING",))
    assert reply == b":1\r\n"
    assert client.closed


def test_all_filters_must_fit(server: InProcessServer) -> None:
    client, first, second = (server.connect() for _ in range(3))
    second.execute("SUBSCRIBE", "ch")
    assert kill(client, "ID", first.state.id, "TYPE", "pubsub") == b":0\r\n"
    assert kill(client, "ADDR", first.state.address, "USER", "default") == b":1\r\n"
    assert kill(client, "LADDR", "1.2.3.4:5") == b":0\r\n"
    assert kill(client, "LADDR", "127.0.0.1:6379", "TYPE", "PUBSUB") == b":1\r\n"
    assert kill(client, "TYPE", "master") == b":0\r\n"
    assert (first.closed, second.closed, client.closed) == (True, True, False)


def test_maxage_closes_connections_that_have_been_open_so_long(server: InProcessServer) -> None:
    old = server.connect()
    server.advance(9_000)
    young = server.connect()
    server.advance(1_000)
    client = server.connect()
    assert kill(client, "MAXAGE", 11) == b":0\r\n"
    assert kill(client, "MAXAGE", 10) == b":1\r\n"
    assert (old.closed, young.closed) == (True, False)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("ID", "0"), b"-ERR client-id should be greater than 0\r\n"),
        (("ID", "x"), b"-ERR client-id should be greater than 0\r\n"),
        (("ID", "-1"), b"-ERR client-id should be greater than 0\r\n"),
        (("TYPE", "x"), b"-ERR Unknown client type 'x'\r\n"),
        (("USER", "nobody"), b"-ERR No such user 'nobody'\r\n"),
        (("SKIPME", "maybe"), b"-ERR syntax error\r\n"),
        (("SKIPME", "yes", "ID"), b"-ERR syntax error\r\n"),
        (("FOO", "bar"), b"-ERR syntax error\r\n"),
        (("MAXAGE", "x"), b"-ERR maxage is not an integer or out of range\r\n"),
        (("MAXAGE", "0"), b"-ERR maxage should be greater than 0\r\n"),
    ],
)
def test_a_bad_filter_closes_no_connection(
    server: InProcessServer, words: tuple[str, ...], error: bytes
) -> None:
    client, other = server.connect(), server.connect()
    assert kill(client, "TYPE", "normal", *words) == error
    assert not other.closed


def test_kill_needs_an_argument(server: InProcessServer) -> None:
    error = b"-ERR wrong number of arguments for 'client|kill' command\r\n"
    assert kill(server.connect()) == error
