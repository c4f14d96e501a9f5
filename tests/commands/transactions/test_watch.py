"""WATCH and UNWATCH."""

from __future__ import annotations

import pytest

from commands.transactions.watched_keys import Watchers
from server.inprocess.server import InProcessClient, InProcessServer


def transaction(client: InProcessClient) -> bytes:
    """The reply to EXEC of a transaction with one PING."""
    client.pipeline(("MULTI",), ("PING",))
    return client.execute("EXEC")


RAN = b"*1\r\n+PONG\r\n"
FAILED = b"*-1\r\n"


def test_a_transaction_runs_when_no_watched_key_changed(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    assert client.execute("WATCH", "a", "b") == b"+OK\r\n"
    other.execute("SET", "c", "1")
    other.execute("GET", "a")
    assert transaction(client) == RAN


@pytest.mark.parametrize("key", ["a", "b"])
def test_a_transaction_fails_when_a_watched_key_changed(server: InProcessServer, key: str) -> None:
    client, other = server.connect(), server.connect()
    client.execute("WATCH", "a", "b")
    other.execute("SET", key, "1")
    client.pipeline(("MULTI",), ("SET", "c", "1"))
    assert client.execute("EXEC") == FAILED
    assert other.execute("GET", "c") == b"$-1\r\n"


def test_the_failure_is_a_resp3_null_in_resp3(client: InProcessClient) -> None:
    client.execute("HELLO", 3)
    client.execute("WATCH", "a")
    client.execute("SET", "a", "1")
    assert transaction(client) == b"_\r\n"


def test_ones_own_change_before_the_transaction_counts(client: InProcessClient) -> None:
    client.execute("WATCH", "a")
    client.execute("SET", "a", "1")
    assert transaction(client) == FAILED


def test_a_change_while_requests_are_queued_counts(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.execute("WATCH", "a")
    client.pipeline(("MULTI",), ("PING",))
    other.execute("SET", "a", "1")
    assert client.execute("EXEC") == FAILED


def test_the_transactions_own_changes_do_not_count(client: InProcessClient) -> None:
    client.execute("WATCH", "a")
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("SET", "a", "2"))
    assert client.execute("EXEC") == b"*2\r\n+OK\r\n+OK\r\n"


@pytest.mark.parametrize("ending", ["EXEC", "DISCARD"])
def test_the_end_of_a_transaction_ends_its_watches(server: InProcessServer, ending: str) -> None:
    client, other = server.connect(), server.connect()
    client.execute("WATCH", "a")
    client.pipeline(("MULTI",), (ending,))
    assert not server.instance.feature(Watchers).by_key
    other.execute("SET", "a", "1")
    assert transaction(client) == RAN


def test_a_failed_transaction_ends_its_watches_too(client: InProcessClient) -> None:
    client.execute("WATCH", "a")
    client.execute("SET", "a", "1")
    assert transaction(client) == FAILED
    assert transaction(client) == RAN


def test_unwatch_forgets_keys_and_their_changes(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.execute("WATCH", "a")
    other.execute("SET", "a", "1")
    assert client.execute("UNWATCH") == b"+OK\r\n"
    assert transaction(client) == RAN
    assert not server.instance.feature(Watchers).by_key


def test_unwatch_inside_a_transaction_is_queued_and_comes_too_late(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.execute("WATCH", "a")
    client.execute("MULTI")
    other.execute("SET", "a", "1")
    assert client.execute("UNWATCH") == b"+QUEUED\r\n"
    assert client.execute("EXEC") == FAILED


def test_watch_inside_a_transaction_is_refused_and_the_transaction_goes_on(
    server: InProcessServer,
) -> None:
    client = server.connect()
    client.pipeline(("MULTI",), ("PING",))
    assert client.execute("WATCH", "a") == b"-ERR WATCH inside MULTI is not allowed\r\n"
    assert client.execute("EXEC") == RAN


def test_a_key_is_watched_in_its_own_database(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.execute("WATCH", "a")
    client.execute("SELECT", 1)
    other.execute("SELECT", 1)
    other.execute("SET", "a", "1")
    assert transaction(client) == RAN
    client.execute("WATCH", "a")
    client.execute("SELECT", 0)
    other.execute("SET", "a", "2")
    assert transaction(client) == FAILED


def test_a_key_of_the_same_name_in_two_databases_is_watched_in_both(
    server: InProcessServer,
) -> None:
    client, other = server.connect(), server.connect()
    client.execute("WATCH", "a")
    client.execute("SELECT", 1)
    client.execute("WATCH", "a")
    other.execute("SET", "a", "1")
    assert transaction(client) == FAILED


def test_several_clients_watch_one_key(server: InProcessServer) -> None:
    first, second, third = (server.connect() for _ in range(3))
    first.execute("WATCH", "a")
    second.execute("WATCH", "a")
    first.execute("UNWATCH")
    third.execute("SET", "a", "1")
    assert transaction(first) == RAN
    assert transaction(second) == FAILED


# -- expiry --------------------------------------------------------------------------------------


def with_time_to_live(server: InProcessServer, when_ms: int) -> None:
    server.connect().execute("SET", "a", "1")
    server.instance.databases[0].expire_at(b"a", when_ms)


def test_a_key_that_expires_and_is_removed_fails_the_transaction(server: InProcessServer) -> None:
    client = server.connect()
    with_time_to_live(server, server.now_ms + 10)
    client.execute("WATCH", "a")
    server.advance(11)
    assert b"a" not in server.instance.databases[0]
    assert transaction(client) == FAILED


def test_a_key_that_expires_but_is_still_there_fails_it_too(server: InProcessServer) -> None:
    server.instance.active_expiry = False
    client = server.connect()
    with_time_to_live(server, server.now_ms + 10)
    client.execute("WATCH", "a")
    server.advance(11)
    assert b"a" in server.instance.databases[0]
    assert transaction(client) == FAILED


def test_a_key_that_had_expired_before_it_was_watched_counts_as_missing(
    server: InProcessServer,
) -> None:
    server.instance.active_expiry = False
    client, other = server.connect(), server.connect()
    with_time_to_live(server, server.now_ms + 10)
    server.advance(11)
    client.execute("WATCH", "a")
    assert transaction(client) == RAN
    client.execute("WATCH", "a")
    assert other.execute("GET", "a") == b"$-1\r\n"  # removes it
    assert b"a" not in server.instance.databases[0]
    assert transaction(client) == RAN


def test_an_expired_key_that_is_created_again_fails_the_transaction(
    server: InProcessServer,
) -> None:
    server.instance.active_expiry = False
    client, other = server.connect(), server.connect()
    with_time_to_live(server, server.now_ms + 10)
    server.advance(11)
    client.execute("WATCH", "a")
    other.execute("GET", "a")
    other.execute("SET", "a", "2")
    assert transaction(client) == FAILED


def test_a_client_that_leaves_watches_nothing(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("WATCH", "a", "b")
    client.disconnect()
    assert not server.instance.feature(Watchers).by_key


def test_watch_needs_a_key_and_unwatch_takes_none(client: InProcessClient) -> None:
    assert client.execute("WATCH") == b"-ERR wrong number of arguments for 'watch' command\r\n"
    assert client.execute("UNWATCH", "a") == (
        b"-ERR wrong number of arguments for 'unwatch' command\r\n"
    )
