"""commands/core/instance.py: the rules that hold for every command."""

from __future__ import annotations

from commands.transactions.watched_keys import WatchedKeys
from server.inprocess.server import InProcessServer
from storage.stream import Stream
from storage.types.value import StringValue


def test_a_stream_in_the_place_of_nothing_wakes_its_waiters() -> None:
    server = InProcessServer()
    server.connect().execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    server.instance.store(server.instance.databases[0], b"s", Stream())
    assert server.instance.ready_keys.take() == [(0, b"s")]


def test_a_removed_key_wakes_its_waiters() -> None:
    server = InProcessServer()
    instance, db = server.instance, server.instance.databases[0]
    instance.store(db, b"s", Stream())
    server.connect().execute("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    instance.remove(db, b"nothing")
    assert instance.ready_keys.take() == []
    instance.remove(db, b"s")
    assert instance.ready_keys.take() == [(0, b"s")]


def test_a_new_key_is_notified_when_asked_for() -> None:
    server = InProcessServer(notify_keyspace_events="En")
    listener = server.connect()
    listener.execute("SUBSCRIBE", "__keyevent@0__:new")
    db = server.instance.databases[0]
    server.instance.store(db, b"k", StringValue(b"1"))
    server.instance.store(db, b"k", StringValue(b"2"))
    server.tick()
    assert listener.received().count(b"message") == 1


def test_a_key_that_expires_is_counted_propagated_and_notified() -> None:
    server = InProcessServer(notify_keyspace_events="Ex")
    listener, watching = server.connect(), server.connect()
    listener.execute("SUBSCRIBE", "__keyevent@0__:expired")
    db = server.instance.databases[0]
    server.instance.store(db, b"k", StringValue(b"v"))
    watching.execute("WATCH", "k")
    server.instance.expire(db, b"k")
    server.tick()
    assert server.instance.stats.expired_keys == 1
    assert server.propagated == [(0, [[b"DEL", b"k"]])]
    assert b"$1\r\nk" in listener.received()
    assert watching.state.feature(WatchedKeys).has_changed


def test_a_value_in_the_place_of_another_is_notified_and_so_is_another_type() -> None:
    server = InProcessServer(notify_keyspace_events="Eoc")
    listener = server.connect()
    listener.execute("PSUBSCRIBE", "__keyevent@0__:*")
    db = server.instance.databases[0]

    def events_of(value: StringValue | Stream) -> list[bytes]:
        server.instance.store(db, b"k", value)
        server.tick()
        received = listener.received()
        return [name for name in (b":overwritten", b":type_changed") if name in received]

    assert events_of(StringValue(b"1")) == []
    assert events_of(StringValue(b"2")) == [b":overwritten"]
    assert events_of(Stream()) == [b":overwritten", b":type_changed"]
    assert events_of(Stream()) == [b":overwritten"]


def test_two_servers_of_one_process_share_no_caches() -> None:
    first, second = InProcessServer(), InProcessServer()
    reader = first.connect()
    reader.execute("XADD", "s", "1-1", "f", "v")
    reader.execute("XGROUP", "CREATE", "s", "g", "0")
    reader.execute("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    reader.execute("XREAD", "STREAMS", "s", "0")
    for name in ("group_read_requests", "read_requests"):
        assert len(getattr(first.instance, name)) == 1
        assert len(getattr(second.instance, name)) == 0
    assert first.instance.entry_cache is not second.instance.entry_cache
