"""commands/core/instance.py: the rules that hold for every command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from commands.core.instance import MAX_FREQUENCY, ReadyKeys, count_access, frequency_now
from commands.transactions.watched_keys import WatchedKeys
from server.inprocess.server import InProcessServer
from storage.keyspace.database import Database
from storage.keyspace.ordered_index import Chance
from storage.stream import Stream
from storage.types.value import NEW_FREQUENCY, StringValue


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


def test_two_servers_of_one_process_share_no_entries() -> None:
    first, second = InProcessServer(), InProcessServer()
    assert first.instance.entry_cache is not second.instance.entry_cache


def test_a_key_is_signalled_only_while_somebody_waits_for_it() -> None:
    ready_keys = ReadyKeys()
    ready_keys.signal(0, b"k")
    assert ready_keys.take() == []
    ready_keys.awaited = {(0, b"k"): None}
    ready_keys.signal(0, b"k")
    ready_keys.signal(0, b"k")
    assert ready_keys.take() == [(0, b"k")]
    assert ready_keys.take() == []


@pytest.mark.parametrize("others", [0, 100])
def test_all_keys_that_databases_have_are_signalled_and_those_awaited_in_vain(others: int) -> None:
    ready_keys = ReadyKeys()
    database, other = Database(0), Database(1)
    for key in (b"a", *(b"k%d" % number for number in range(others))):
        database.set(key, StringValue(b""))
    ready_keys.awaited = dict.fromkeys([(1, b"a"), (0, b"a"), (0, b"b")])
    ready_keys.awaited_missing = {(0, b"b"): None, (1, b"b"): None}
    ready_keys.signal_all([other])
    assert (0, b"a") not in ready_keys.take()
    ready_keys.signal_all([database])
    assert ready_keys.take() == [(0, b"a"), (0, b"b")]


@pytest.mark.interpreted  # compiled, no subclass of dict is taken
def test_keys_are_looked_at_that_exist_where_more_are_awaited() -> None:
    class Counted(dict[tuple[int, bytes], None]):
        def __iter__(self) -> Iterator[tuple[int, bytes]]:
            raise AssertionError("all awaited keys are looked at")

    ready_keys, database = ReadyKeys(), Database(3)
    database.set(b"a", StringValue(b""))
    ready_keys.awaited = Counted.fromkeys((3, b"a%d" % number) for number in range(100))
    ready_keys.signal_all([database])
    assert ready_keys.take() == []


MINUTE_MS = 60_000


@dataclass
class Settings:
    lfu_log_factor: int = 10
    lfu_decay_time: int = 1


def value(frequency: int, access_ms: int = 0) -> StringValue:
    made = StringValue(b"v", access_ms)
    made.frequency = frequency
    return made


def accessed(times: int, settings: Settings) -> int:
    made = value(NEW_FREQUENCY)
    chance = Chance(1)
    for _ in range(times):
        count_access(made, 0, settings, chance)
    return made.frequency


def test_minutes_without_access_take_from_the_count() -> None:
    assert frequency_now(value(10), 0, 1) == 10
    assert frequency_now(value(10), 3 * MINUTE_MS, 1) == 7
    assert frequency_now(value(10), 3 * MINUTE_MS, 2) == 9
    assert frequency_now(value(10), 30 * MINUTE_MS, 1) == 0
    assert frequency_now(value(10), 30 * MINUTE_MS, 0) == 10
    assert frequency_now(value(10, access_ms=5 * MINUTE_MS), 0, 1) == 10  # the clock was set back


def test_the_first_accesses_count_each() -> None:
    assert accessed(1, Settings()) == NEW_FREQUENCY + 1
    low = value(0)
    count_access(low, 0, Settings(), Chance(1))
    assert low.frequency == 1


def test_the_count_is_logarithmic_and_ends_at_255() -> None:
    assert NEW_FREQUENCY + 2 <= accessed(100, Settings()) < 18
    assert accessed(1000, Settings(lfu_log_factor=0)) == MAX_FREQUENCY
    assert accessed(1000, Settings(lfu_log_factor=100)) < accessed(1000, Settings())
