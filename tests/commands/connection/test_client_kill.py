"""CLIENT KILL.

CLIENT PAUSE, UNPAUSE, UNBLOCK.
"""

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


SYNTAX = b"-ERR unknown subcommand or wrong number of arguments for '%b'. Try CLIENT HELP.\r\n"


def pause(client: InProcessClient, *words: str | int) -> bytes:
    return client.execute("CLIENT", "PAUSE", *words)


# -- PAUSE ---------------------------------------------------------------------------------------


def test_a_pause_of_writes_holds_writes_back_and_lets_reads_pass(server: InProcessServer) -> None:
    client, writer = server.connect(), server.connect()
    assert pause(client, 1000, "WRITE") == b"+OK\r\n"
    assert writer.execute("SET", "k", "v") == b""
    assert client.execute("GET", "k") == b"$-1\r\n"
    assert client.execute("PUBLISH", "ch", "m") == b""
    server.advance(999)
    assert writer.received() == b""
    server.advance(1)
    assert writer.received() == b"+OK\r\n"
    assert client.received() == b":0\r\n"


def test_a_pause_of_all_holds_reads_back_too(server: InProcessServer) -> None:
    client, reader = server.connect(), server.connect()
    pause(client, 1000)
    assert reader.execute("PING") == b""
    server.advance(1000)
    assert reader.received() == b"+PONG\r\n"


def test_a_pause_of_writes_does_not_end_a_pause_of_all(server: InProcessServer) -> None:
    client, reader = server.connect(), server.connect()
    # By itself, the second request would wait for the end of the first pause.
    client.pipeline(
        ("MULTI",), ("CLIENT", "PAUSE", 1000), ("CLIENT", "PAUSE", 10, "WRITE"), ("EXEC",)
    )
    assert reader.execute("PING") == b""
    server.advance(999)
    assert reader.received() == b""
    server.advance(1)
    assert reader.received() == b"+PONG\r\n"


def test_what_is_held_back_keeps_its_order(server: InProcessServer) -> None:
    client, writer = server.connect(), server.connect()
    pause(client, 1000, "WRITE")
    writer.pipeline(("SET", "k", "1"), ("GET", "k"), ("SET", "k", "2"))
    assert writer.execute("GET", "k") == b""
    assert client.execute("CLIENT", "UNPAUSE") == b"+OK\r\n"
    assert writer.received() == b"+OK\r\n$1\r\n1\r\n+OK\r\n$1\r\n2\r\n"


def test_a_transaction_is_held_back_if_it_writes(server: InProcessServer) -> None:
    client, reader, writer = (server.connect() for _ in range(3))
    pause(client, 1000, "WRITE")
    read = reader.pipeline(("MULTI",), ("GET", "k"), ("EXEC",))
    assert read.endswith(b"*1\r\n$-1\r\n")
    written = writer.pipeline(("MULTI",), ("SET", "k", "v"), ("EXEC",))
    server.advance(1000)
    assert (written + writer.received()).endswith(b"*1\r\n+OK\r\n")
    assert not written.endswith(b"*1\r\n+OK\r\n")


def test_a_reader_that_waits_for_old_entries_gets_none_during_a_pause(
    server: InProcessServer,
) -> None:
    """Deliveries are writes, also those that time alone causes."""
    client, reader = server.connect(), server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
    words = ("XREADGROUP", "GROUP", "g", "b", "BLOCK", 0, "CLAIM", 500, "STREAMS", "s", ">")
    assert reader.execute(*words) == b""
    pause(client, 1000, "WRITE")
    for _ in range(9):
        server.advance(100)
    assert reader.received() == b""
    assert b"$1\r\na\r\n" in client.execute("XPENDING", "s", "g")
    server.advance(100)
    server.advance(20)
    assert b"1-1" in reader.received()


def test_of_two_pauses_the_later_end_and_the_stricter_mode_hold(server: InProcessServer) -> None:
    client, reader = server.connect(), server.connect()
    pause(client, 500, "WRITE")
    pause(client, 2000, "WRITE")
    pause(client, 10, "ALL")
    assert reader.execute("PING") == b""
    server.advance(1999)
    assert reader.received() == b""
    server.advance(1)
    assert reader.received() == b"+PONG\r\n"


def test_an_old_pause_does_not_make_a_new_one_stricter(server: InProcessServer) -> None:
    client, reader = server.connect(), server.connect()
    pause(client, 10, "ALL")
    server.advance(10)
    pause(client, 1000, "WRITE")
    assert reader.execute("PING") == b"+PONG\r\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("x",), b"-ERR timeout is not an integer or out of range\r\n"),
        (("-1",), b"-ERR timeout is negative\r\n"),
        (("9" * 20,), b"-ERR timeout is not an integer or out of range\r\n"),
        ((2**63 - 1,), b"-ERR timeout is out of range\r\n"),
        ((10, "FOO"), b"-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n"),
        (
            (10, "WRITE", "x"),
            SYNTAX % b"PAUSE",
        ),
    ],
)
def test_a_bad_pause_postpones_no_request(
    server: InProcessServer, words: tuple[str | int, ...], error: bytes
) -> None:
    client = server.connect()
    assert pause(client, *words) == error
    assert client.execute("SET", "k", "v") == b"+OK\r\n"


# -- UNBLOCK -------------------------------------------------------------------------------------


def blocked_client(server: InProcessServer) -> InProcessClient:
    client = server.connect()
    assert client.execute("XREAD", "BLOCK", 0, "STREAMS", "s", "$") == b""
    return client


def unblock(client: InProcessClient, *words: str | int) -> bytes:
    return client.execute("CLIENT", "UNBLOCK", *words)


@pytest.mark.parametrize("words", [(), ("TIMEOUT",), ("timeout",)])
def test_unblock_ends_a_wait_as_its_timeout_would(
    server: InProcessServer, words: tuple[str, ...]
) -> None:
    client, waiter = server.connect(), blocked_client(server)
    assert unblock(client, waiter.state.id, *words) == b":1\r\n"
    assert waiter.received() == b"*-1\r\n"
    assert unblock(client, waiter.state.id) == b":0\r\n"


def test_unblock_with_error_ends_a_wait_with_an_error(server: InProcessServer) -> None:
    client, waiter = server.connect(), blocked_client(server)
    assert unblock(client, waiter.state.id, "ERROR") == b":1\r\n"
    assert waiter.received() == b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
    assert server.instance.stats.errors[b"UNBLOCKED"] == 1


def test_an_unblocked_client_goes_on_with_what_it_sent_meanwhile(server: InProcessServer) -> None:
    client, waiter = server.connect(), blocked_client(server)
    waiter.execute("PING")
    unblock(client, waiter.state.id)
    assert waiter.received() == b"*-1\r\n+PONG\r\n"


def test_unblock_does_not_end_what_a_pause_holds_back(server: InProcessServer) -> None:
    client, writer = server.connect(), server.connect()
    pause(client, 1000, "WRITE")
    writer.execute("BLPOP", "l", "100")
    held = writer.state.id
    assert unblock(client, held) == unblock(client, held, "ERROR") == b":0\r\n"
    server.advance(1000)
    assert unblock(client, held) == b":1\r\n"
    assert writer.received() == b"*-1\r\n"


def test_unblock_of_an_unknown_client_is_zero(client: InProcessClient) -> None:
    assert unblock(client, 9999) == b":0\r\n"
    assert unblock(client, -1) == b":0\r\n"
    assert unblock(client, client.state.id) == b":0\r\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("x",), b"-ERR value is not an integer or out of range\r\n"),
        (("x", "FOO"), b"-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n"),
        (
            (1, "ERROR", "x"),
            SYNTAX % b"UNBLOCK",
        ),
    ],
)
def test_a_bad_unblock_is_refused(
    server: InProcessServer, words: tuple[str | int, ...], error: bytes
) -> None:
    assert unblock(server.connect(), *words) == error
