"""WATCH and UNWATCH.

MULTI, EXEC, DISCARD.
"""

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


QUEUED = b"+QUEUED\r\n"
EXECABORT = b"-EXECABORT Transaction discarded because of previous errors.\r\n"
EXEC_WITHOUT_MULTI = b"-ERR EXEC without MULTI\r\n"


def test_exec_answers_each_request_in_order(client: InProcessClient) -> None:
    assert client.execute("MULTI") == b"+OK\r\n"
    assert client.execute("SET", "k", "v") == QUEUED
    assert client.execute("GET", "k") == QUEUED
    assert client.execute("EXEC") == b"*2\r\n+OK\r\n$1\r\nv\r\n"


def test_queued_requests_do_not_run_before_exec(server: InProcessServer) -> None:
    client, other = server.connect(), server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    assert other.execute("GET", "k") == b"$-1\r\n"
    client.execute("EXEC")
    assert other.execute("GET", "k") == b"$1\r\nv\r\n"


def test_an_empty_transaction_answers_an_empty_array(client: InProcessClient) -> None:
    client.execute("MULTI")
    assert client.execute("EXEC") == b"*0\r\n"


def test_a_request_that_fails_does_not_stop_the_others(client: InProcessClient) -> None:
    client.execute("SET", "k", "v")
    client.pipeline(("MULTI",), ("XLEN", "k"), ("SET", "j", "w"))
    wrong_type = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
    assert client.execute("EXEC") == b"*2\r\n" + wrong_type + b"+OK\r\n"
    assert client.execute("GET", "j") == b"$1\r\nw\r\n"


def test_transactions_do_not_nest(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    assert client.execute("MULTI") == b"-ERR MULTI calls can not be nested\r\n"
    # Redis goes on with the transaction that is open.
    assert client.execute("EXEC") == b"*1\r\n+OK\r\n"


def test_exec_and_discard_want_a_transaction(client: InProcessClient) -> None:
    assert client.execute("EXEC") == EXEC_WITHOUT_MULTI
    assert client.execute("DISCARD") == b"-ERR DISCARD without MULTI\r\n"


def test_discard_drops_the_queue(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    assert client.execute("DISCARD") == b"+OK\r\n"
    assert client.execute("GET", "k") == b"$-1\r\n"
    assert client.execute("EXEC") == EXEC_WITHOUT_MULTI


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (("NOPE",), b"-ERR unknown command 'NOPE', with args beginning with: \r\n"),
        (("GET",), b"-ERR wrong number of arguments for 'get' command\r\n"),
        (("CLIENT", "NOPE"), b"-ERR unknown subcommand 'NOPE'. Try CLIENT HELP.\r\n"),
        (("DISCARD", "x"), b"-ERR wrong number of arguments for 'discard' command\r\n"),
        (("WATCH",), b"-ERR wrong number of arguments for 'watch' command\r\n"),
    ],
)
def test_a_request_that_is_refused_at_once_spoils_the_transaction(
    server: InProcessServer, request_: tuple[str, ...], error: bytes
) -> None:
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    assert client.execute(*request_) == error
    assert client.execute("EXEC") == EXECABORT
    assert client.execute("GET", "k") == b"$-1\r\n"
    assert client.execute("EXEC") == EXEC_WITHOUT_MULTI


def test_a_spoiled_transaction_does_not_spoil_the_next(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("NOPE",), ("EXEC",))
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    assert client.execute("EXEC") == b"*1\r\n+OK\r\n"


def test_discard_ends_a_spoiled_transaction(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("NOPE",))
    assert client.execute("DISCARD") == b"+OK\r\n"
    client.pipeline(("MULTI",), ("PING",))
    assert client.execute("EXEC") == b"*1\r\n+PONG\r\n"


def test_an_exec_that_is_refused_itself_loses_the_transaction(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    assert client.execute("EXEC", "x") == (
        b"-EXECABORT Transaction discarded because of:"
        b" wrong number of arguments for 'exec' command\r\n"
    )
    assert client.execute("EXEC") == EXEC_WITHOUT_MULTI
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_nothing_blocks_inside_a_transaction(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("XREAD", "BLOCK", "0", "STREAMS", "s", "$"), ("PING",))
    assert client.execute("EXEC") == b"*2\r\n*-1\r\n+PONG\r\n"
    # Outside of it, the same request waits again.
    assert client.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$") == b""


def test_waiters_see_only_what_the_transaction_leaves(server: InProcessServer) -> None:
    client, waiter = server.connect(), server.connect()
    waiter.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    client.pipeline(("MULTI",), ("XADD", "s", "1-1", "f", "v"), ("XDEL", "s", "1-1"))
    client.pipeline(("XADD", "s", "1-2", "f", "w"), ("EXEC",))
    received = waiter.received()
    assert b"$3\r\n1-2\r\n" in received
    assert b"$3\r\n1-1\r\n" not in received


def test_the_protocol_may_change_between_two_replies(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("GET", "k"), ("HELLO", "3"), ("GET", "k"))
    reply = client.execute("EXEC")
    assert reply.startswith(b"*3\r\n$-1\r\n%7\r\n")
    assert reply.endswith(b"_\r\n")


def test_a_subscription_inside_a_transaction_is_one_of_its_replies(client: InProcessClient) -> None:
    client.pipeline(("MULTI",), ("SUBSCRIBE", "q"), ("PING",), ("UNSUBSCRIBE",))
    assert client.execute("EXEC") == (
        b"*3\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nq\r\n:1\r\n"
        b"*2\r\n$4\r\npong\r\n$0\r\n\r\n"
        b"*3\r\n$11\r\nunsubscribe\r\n$1\r\nq\r\n:0\r\n"
    )


def test_a_message_to_oneself_follows_the_replies_of_the_transaction(
    server: InProcessServer,
) -> None:
    client = server.connect()
    client.execute("HELLO", 3)
    client.execute("SUBSCRIBE", "q")
    client.pipeline(("MULTI",), ("PUBLISH", "q", "m"), ("PING",))
    assert client.execute("EXEC") == (
        b"*2\r\n:1\r\n+PONG\r\n>3\r\n$7\r\nmessage\r\n$1\r\nq\r\n$1\r\nm\r\n"
    )


def test_a_transaction_is_propagated_as_one(server: InProcessServer) -> None:
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("GET", "a"), ("SET", "b", "2"), ("EXEC",))
    (unit,) = [requests for _, requests in server.propagated]
    assert unit == [[b"MULTI"], [b"SET", b"a", b"1"], [b"SET", b"b", b"2"], [b"EXEC"]]


def test_a_transaction_over_two_databases_is_propagated_with_both(server: InProcessServer) -> None:
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "a", "1"), ("SELECT", "1"), ("SET", "b", "2"), ("EXEC",))
    ((db_index, unit),) = server.propagated
    assert db_index == 0
    assert unit == [
        [b"MULTI"],
        [b"SET", b"a", b"1"],
        [b"SELECT", b"1"],
        [b"SET", b"b", b"2"],
        [b"EXEC"],
    ]


def test_a_transaction_that_changes_nothing_is_not_propagated(server: InProcessServer) -> None:
    client = server.connect()
    client.pipeline(("MULTI",), ("GET", "a"), ("PING",), ("EXEC",))
    assert server.propagated == []


def test_a_client_that_leaves_takes_its_queue_with_it(server: InProcessServer) -> None:
    client = server.connect()
    client.pipeline(("MULTI",), ("SET", "k", "v"))
    client.disconnect()
    assert server.connect().execute("GET", "k") == b"$-1\r\n"


def test_a_transaction_whose_replies_pass_the_output_buffer_limit_runs_and_is_not_answered() -> (
    None
):
    server = InProcessServer(client_output_buffer_limit="normal 1mb 0 0")
    client, other = server.connect(), server.connect()
    client.execute("SET", "k", "x" * 100_000)
    reply = client.pipeline(("MULTI",), *[("GET", "k")] * 10, ("EXEC",))
    assert reply.count(b"x") == 10 * 100_000
    reply = client.pipeline(("MULTI",), *[("GET", "k")] * 11, ("SET", "n", "1"), ("EXEC",))
    assert client.closed and b"x" not in reply
    assert other.execute("GET", "n") == b"$1\r\n1\r\n"
    assert server.instance.stats.client_output_buffer_limit_disconnections == 1
