"""commands/core/client.py: what a handler may do through its client."""

from __future__ import annotations

import pytest

from commands.core import notifications
from commands.core.blocked_clients import BlockedClients
from commands.core.client import Clients
from commands.pubsub.registry import PubSub
from commands.transactions.watched_keys import WatchedKeys, Watchers
from protocol.errors import ReplyError
from server.inprocess.server import InProcessServer
from storage.stream import Stream
from storage.types.value import StringValue


def test_a_lookup_counts_hits_and_misses(server: InProcessServer) -> None:
    client = server.connect().state
    client.store(b"k", StringValue(b"v"))
    client.lookup(b"k")
    client.lookup(b"nothing")
    client.lookup_for_write(b"nothing")
    assert (server.instance.stats.keyspace_hits, server.instance.stats.keyspace_misses) == (1, 1)


def test_a_lookup_removes_a_key_whose_time_is_past(server: InProcessServer) -> None:
    client = server.connect().state
    client.store(b"k", StringValue(b"v"))
    client.db.expire_at(b"k", server.now_ms)
    assert client.lookup(b"k") is not None
    server.instance.now_ms += 1
    assert client.lookup(b"k") is None
    assert b"k" not in client.db
    assert server.propagated == [(0, [[b"DEL", b"k"]])]


def test_a_lookup_of_the_wrong_type_is_refused() -> None:
    client = InProcessServer().connect().state
    client.store(b"string", StringValue(b"v"))
    client.store(b"stream", Stream())
    for wrong in (
        lambda: client.lookup_stream(b"string"),
        lambda: client.lookup_stream_for_write(b"string"),
        lambda: client.lookup_string(b"stream"),
        lambda: client.lookup_string_for_write(b"stream"),
    ):
        with pytest.raises(ReplyError, match="WRONGTYPE"):
            wrong()


def test_a_lookup_touches_the_access_time_unless_the_client_says_no() -> None:
    server = InProcessServer()
    client = server.connect().state
    value = StringValue(b"v")
    client.store(b"k", value)
    stored_ms = server.now_ms
    server.instance.now_ms += 10
    client.no_touch = True
    client.lookup(b"k")
    assert value.access_ms == stored_ms
    client.no_touch = False
    client.lookup(b"k")
    assert value.access_ms == stored_ms + 10


def test_what_is_modified_fails_a_watch_and_what_is_only_changed_does_not() -> None:
    server = InProcessServer()
    watching, other = server.connect(), server.connect().state
    watching.execute("WATCH", "k")
    other.changed()
    assert not watching.state.feature(WatchedKeys).has_changed
    other.modified(b"k")
    assert watching.state.feature(WatchedKeys).has_changed
    assert server.instance.dirty == 2


def test_an_event_reaches_its_channels_only_when_its_class_is_enabled() -> None:
    server = InProcessServer(notify_keyspace_events="KE$")
    listener, client = server.connect(), server.connect().state
    listener.execute("PSUBSCRIBE", "__key*__:*")
    client.notify(notifications.STREAM, b"xadd", b"k")
    client.notify(notifications.STRING, b"set", b"k")
    server.tick()
    received = listener.received()
    assert b"__keyspace@0__:k\r\n$3\r\nset" in received
    assert b"__keyevent@0__:set\r\n$1\r\nk" in received
    assert b"xadd" not in received


def test_nothing_is_collected_for_propagation_without_a_sink(server: InProcessServer) -> None:
    server.instance.propagation.sinks.clear()
    client = server.connect().state
    client.propagate(b"SET", b"k", b"v")
    client.propagate_nothing()
    assert not client.propagates and not client.instance.propagation.requests


def test_a_client_that_has_left_is_sent_nothing(server: InProcessServer) -> None:
    connection = server.connect()
    connection.disconnect()
    connection.state.send(b"+late\r\n")
    assert connection.state.output == []


def test_clients_have_ids_in_the_order_in_which_they_came() -> None:
    server = InProcessServer()
    assert [server.connect().state.id for _ in range(3)] == [1, 2, 3]
    assert list(server.instance.feature(Clients).by_id) == [1, 2, 3]


def test_a_client_that_leaves_is_in_no_table() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("WATCH", "k")
    client.execute("SUBSCRIBE", "c")
    other = server.connect()
    other.execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    instance = server.instance
    client.disconnect()
    other.disconnect()
    assert not instance.feature(Clients).by_id and not instance.feature(BlockedClients).waiters
    assert not instance.feature(Watchers).by_key and not instance.feature(PubSub).channels
