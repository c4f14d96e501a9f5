"""PING, ECHO, SELECT, RESET, QUIT."""

from __future__ import annotations

import pytest

from commands.connection.invalidation_table import TrackingTable
from commands.core.gates import GATE_AUTH, GATE_MULTI, GATE_SILENT, GATE_SUBSCRIBED, GATE_TRACKING
from commands.pubsub.registry import PubSub
from commands.transactions.transaction import Transaction
from commands.transactions.watched_keys import WatchedKeys, Watchers
from server.inprocess.server import InProcessServer


def test_ping_answers_pong_or_its_message(server: InProcessServer) -> None:
    client = server.connect()
    assert client.execute("PING") == b"+PONG\r\n"
    assert client.execute("PING", b"a\r\nb") == b"$4\r\na\r\nb\r\n"


def test_ping_with_two_messages_has_the_wrong_number_of_arguments(server: InProcessServer) -> None:
    error = b"-ERR wrong number of arguments for 'ping' command\r\n"
    assert server.connect().execute("PING", "a", "b") == error


def test_ping_of_a_resp2_subscriber_looks_like_a_message(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("SUBSCRIBE", "ch")
    assert client.execute("PING") == b"*2\r\n$4\r\npong\r\n$0\r\n\r\n"
    assert client.execute("PING", "hi") == b"*2\r\n$4\r\npong\r\n$2\r\nhi\r\n"


def test_ping_of_a_resp3_subscriber_is_the_usual_one(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("HELLO", 3)
    client.execute("SUBSCRIBE", "ch")
    assert client.execute("PING") == b"+PONG\r\n"


def test_echo_answers_its_message(server: InProcessServer) -> None:
    assert server.connect().execute("ECHO", b"\x00\xff") == b"$2\r\n\x00\xff\r\n"


def test_select_changes_the_database(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("SET", "k", "zero")
    assert client.execute("SELECT", 15) == b"+OK\r\n"
    assert client.execute("GET", "k") == b"$-1\r\n"
    client.execute("SELECT", 0)
    assert client.execute("GET", "k") == b"$4\r\nzero\r\n"


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ("x", b"-ERR value is not an integer or out of range\r\n"),
        ("16", b"-ERR DB index is out of range\r\n"),
        ("-1", b"-ERR DB index is out of range\r\n"),
        (
            "99999999999",
            b"-ERR value is out of range, value must between -2147483648 and 2147483647\r\n",
        ),
    ],
)
def test_select_refuses_what_is_no_database(
    server: InProcessServer, index: str, error: bytes
) -> None:
    client = server.connect()
    assert client.execute("SELECT", index) == error
    assert client.state.db.index == 0


def test_quit_answers_closes_and_runs_no_later_request(server: InProcessServer) -> None:
    client = server.connect()
    assert client.pipeline(("QUIT",), ("SET", "k", "v")) == b"+OK\r\n"
    assert client.closed
    assert server.connect().execute("GET", "k") == b"$-1\r\n"


def test_quit_closes_even_in_a_transaction(server: InProcessServer) -> None:
    client = server.connect()
    assert client.pipeline(("MULTI",), ("SET", "k", "v"), ("QUIT",)).endswith(b"+QUEUED\r\n+OK\r\n")
    assert client.closed


def test_reset_ends_every_mode_of_the_connection(server: InProcessServer) -> None:
    client = server.connect()
    state = client.state
    client.execute("HELLO", 3, "SETNAME", "me")
    client.execute("SELECT", 3)
    client.execute("WATCH", "w")
    client.execute("SUBSCRIBE", "ch")
    client.execute("PSUBSCRIBE", "p*")
    client.execute("SSUBSCRIBE", "sh")
    client.execute("CLIENT", "TRACKING", "ON")
    client.execute("CLIENT", "NO-EVICT", "ON")
    client.execute("CLIENT", "NO-TOUCH", "ON")
    client.execute("MULTI")
    assert client.execute("RESET") == b"+RESET\r\n"
    assert state.resp == 2
    assert state.name == b""
    assert state.db.index == 0
    assert state.feature_if_used(Transaction) is None
    assert state.feature_if_used(WatchedKeys) is None
    assert not server.instance.feature(Watchers).by_key
    pubsub = server.instance.feature(PubSub)
    assert [len(pubsub.channels), len(pubsub.patterns), len(pubsub.shard_channels)] == [0, 0, 0]
    assert not server.instance.feature(TrackingTable).states
    assert not server.instance.is_observed
    assert not state.no_evict
    assert not state.no_touch
    modes = GATE_AUTH | GATE_MULTI | GATE_SILENT | GATE_SUBSCRIBED | GATE_TRACKING
    assert not state.gates & modes


def test_reset_lets_a_resp2_subscriber_send_any_command_again(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("SUBSCRIBE", "ch")
    assert client.execute("GET", "k").startswith(b"-ERR Can't execute 'get'")
    client.execute("RESET")
    assert client.execute("GET", "k") == b"$-1\r\n"


def test_reset_ends_reply_off_and_is_answered(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("CLIENT", "REPLY", "OFF")
    assert client.execute("RESET") == b"+RESET\r\n"
    assert client.execute("PING") == b"+PONG\r\n"


def test_reset_itself_can_be_the_reply_that_is_skipped(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("CLIENT", "REPLY", "SKIP")
    assert client.execute("RESET") == b""
    assert client.execute("PING") == b"+PONG\r\n"


def test_reset_asks_for_the_password_again() -> None:
    client = InProcessServer(requirepass="secret").connect()
    client.execute("AUTH", "secret")
    assert client.execute("RESET") == b"+RESET\r\n"
    assert client.execute("PING") == b"-NOAUTH Authentication required.\r\n"
