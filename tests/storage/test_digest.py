"""Digests: equal for equal content, and different for any other.

Digests of values as Redis has them: tests/compat/test_digests.py compares with real ones.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from server.inprocess.server import InProcessClient
from storage.digest import EMPTY, dataset_digest, redis_digest, value_digest
from storage.groups.ack_journal import AckJournal
from storage.groups.group import Group
from storage.idempotence import Idempotence
from storage.keyspace.database import Database
from storage.nodes.listpack_node import ListpackNode
from storage.redis_format.encoding_limits import EncodingLimits
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.reader import SnapshotReader
from storage.snapshot.writer import write_snapshot
from storage.stream import Stream
from storage.types.lists import ListValue
from storage.types.value import StringValue, Value
from tests.storage.groups.changes import assign, set_delivery
from tests.storage.snapshot.drawn_streams import NOW_MS, drawn_streams


def digest(value: Value, expires_ms: int | None = None) -> bytes:
    return value_digest(value, expires_ms, NOW_MS)


def an_id(ms: int) -> int:
    return ms << 64 | 1


def a_stream(node_entries: int = 100) -> Stream:
    """Entries 1 to 9, a group with a pending entry of each kind, and a message."""
    stream = Stream()
    for ms in range(1, 10):
        stream.append(an_id(ms), [b"f", b"%d" % ms], node_entries, 4096)
    group = stream.groups[b"g"] = Group(b"g", an_id(5), 5)
    for name in (b"c", b"d"):
        group.create_consumer(name, NOW_MS)
    group.add(an_id(1), group.consumers[b"c"], 100, 1)
    group.add(an_id(2), None, 0, 2)
    group.add(an_id(3), None, 0, 3)
    stream.groups[b"h"] = Group(b"h", an_id(2))
    stream.append(NOW_MS << 64, [b"f", b"v"], node_entries, 4096)
    stream.idempotence = Idempotence(100, 50)
    stream.idempotence.record(b"pid", b"iid", NOW_MS << 64)
    return stream


# -- values ------------------------------------------------------------------------------------


def test_a_digest_has_twenty_bytes() -> None:
    assert len(digest(StringValue(b""))) == len(digest(Stream())) == len(EMPTY) == 20


def test_the_encoding_of_a_string_does_not_matter() -> None:
    grown = StringValue(b"1")
    grown.append(b"2")
    assert digest(grown) == digest(StringValue(b"12")) != digest(StringValue(b"1"))


def test_the_nodes_of_a_list_do_not_matter_and_the_order_does() -> None:
    items = [b"%d" % number for number in range(20)]
    small, large = (EncodingLimits(list_max_listpack_size=size) for size in (3, 100))
    whole = digest(ListValue.of(items, large))
    assert whole == digest(ListValue.of(items, small))
    assert whole != digest(ListValue.of(items[::-1], large))
    assert whole != digest(ListValue.of([*items[:-2], b"1819"], large))


def test_a_deadline_matters() -> None:
    value = StringValue(b"a")
    assert len({digest(value), digest(value, 1), digest(value, 2)}) == 3


def test_a_string_is_never_taken_for_a_stream() -> None:
    assert digest(StringValue(b"")) != digest(Stream())


@given(drawn_streams())
def test_a_copy_has_the_same_digest(stream: Stream) -> None:
    assert digest(stream.copy()) == digest(stream)


def test_where_nodes_end_does_not_matter() -> None:
    assert digest(a_stream(1)) == digest(a_stream(4)) == digest(a_stream(100))


def test_how_entries_came_to_be_deleted_does_not_matter() -> None:
    left, right = a_stream(3), a_stream(100)
    for stream in (left, right):
        for ms in (9, 4, 6):
            stream.delete(an_id(ms))
    assert digest(left) == digest(right)


def test_the_order_of_groups_and_consumers_does_not_matter() -> None:
    stream, other = a_stream(), a_stream()
    other.groups = dict(reversed(other.groups.items()))
    group = other.groups[b"g"]
    group.consumers = dict(reversed(group.consumers.items()))
    assert digest(other) == digest(stream)


def memory_of(stream: Stream) -> Idempotence:
    assert stream.idempotence is not None
    return stream.idempotence


CHANGES: list[Callable[[Stream], object]] = [
    lambda s: s.append((NOW_MS + 1) << 64, [b"f", b"v"], 100, 4096),
    lambda s: s.delete(an_id(4)),
    lambda s: setattr(s, "last_id", s.last_id + 1),
    lambda s: setattr(s, "max_deleted_id", 1),
    lambda s: setattr(s, "entries_added", 100),
    lambda s: s.groups.pop(b"h"),
    lambda s: s.groups.setdefault(b"i", Group(b"i", 0)),
    lambda s: setattr(s.groups[b"g"], "last_delivered_id", an_id(6)),
    lambda s: setattr(s.groups[b"g"], "entries_read", 4),
    lambda s: s.groups[b"g"].create_consumer(b"e", 0),
    lambda s: s.groups[b"g"].delete_consumer(b"d"),
    lambda s: s.groups[b"g"].acknowledge(an_id(1)),
    lambda s: s.groups[b"g"].acknowledge(an_id(2)),
    lambda s: s.groups[b"g"].add(an_id(4), s.groups[b"g"].consumers[b"d"], 1, 1),
    lambda s: assign(
        s.groups[b"g"], s.groups[b"g"].pending[an_id(1)], s.groups[b"g"].consumers[b"d"]
    ),
    lambda s: set_delivery(s.groups[b"g"], s.groups[b"g"].pending[an_id(1)], 101, 1),
    lambda s: set_delivery(s.groups[b"g"], s.groups[b"g"].pending[an_id(1)], 100, 2),
    lambda s: s.groups[b"g"].release(s.groups[b"g"].pending[an_id(1)], 1),
    lambda s: s.groups[b"g"].release(s.groups[b"g"].pending[an_id(2)], 2),
    lambda s: memory_of(s).record(b"pid", b"iid 2", NOW_MS << 64),
    lambda s: memory_of(s).record(b"pid 2", b"iid", NOW_MS << 64),
    lambda s: memory_of(s).record(b"pid", b"iid", an_id(1)),
    lambda s: memory_of(s).configure(99),
    lambda s: setattr(s, "ack_journal", AckJournal(b"j")),
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_the_content_changes_the_digest(change: Callable[[Stream], object]) -> None:
    stream = a_stream()
    before = digest(stream)
    change(stream)
    assert digest(stream) != before


def _see(stream: Stream) -> None:
    for consumer in stream.groups[b"g"].consumers.values():
        consumer.seen_ms = consumer.active_ms = 5


UNIMPORTANT: list[Callable[[Stream], object]] = [
    _see,
    lambda s: setattr(s, "access_ms", 5),
    lambda s: s.groups[b"g"].add(an_id(77), s.groups[b"g"].consumers[b"c"], 1, 1),
    lambda s: memory_of(s).record(b"pid 2", b"gone", an_id(77)),
    lambda s: memory_of(s).record(b"pid 2", b"forgotten", an_id(4)),
    lambda s: memory_of(s).note_duplicate(),
]


@pytest.mark.parametrize("change", UNIMPORTANT)
def test_what_a_rewrite_as_commands_does_not_keep_is_left_out(
    change: Callable[[Stream], object],
) -> None:
    stream = a_stream()
    before = digest(stream)
    change(stream)
    assert digest(stream) == before


def test_a_pending_entry_counts_no_more_once_its_entry_is_deleted() -> None:
    deleted, acknowledged = a_stream(), a_stream()
    for stream in (deleted, acknowledged):
        stream.delete(an_id(1))
    acknowledged.groups[b"g"].acknowledge(an_id(1))
    assert digest(deleted) == digest(acknowledged)


def test_limits_that_are_the_usual_ones_are_as_none() -> None:
    stream, other = a_stream(), a_stream()
    stream.idempotence, other.idempotence = None, Idempotence()
    assert digest(stream) == digest(other)


def test_nodes_that_are_packed_have_the_same_digest_and_stay_packed() -> None:
    database = Database(0)
    database.set(b"s", a_stream(3))
    chunks: list[bytes] = []
    write_snapshot([database], chunks.append, SnapshotOptions(), now_ms=NOW_MS, aux={})
    (item,) = SnapshotReader(b"".join(chunks), now_ms=NOW_MS).items()
    loaded = item.value
    assert isinstance(loaded, Stream)
    assert digest(loaded) == digest(a_stream())
    assert all(isinstance(node, ListpackNode) for node in loaded.iter_nodes())


# -- data sets ---------------------------------------------------------------------------------


def databases() -> list[Database]:
    return [Database(index) for index in range(3)]


def test_the_digest_of_nothing_is_all_zero() -> None:
    assert dataset_digest(databases(), NOW_MS) == EMPTY == bytes(20)


def test_the_order_of_creation_does_not_matter() -> None:
    left, right = databases(), databases()
    for number in range(10):
        left[number % 2].set(b"%d" % number, StringValue(b"v%d" % number))
    for number in reversed(range(10)):
        right[number % 2].set(b"%d" % number, StringValue(b"v%d" % number))
    assert dataset_digest(left, NOW_MS) == dataset_digest(right, NOW_MS) != EMPTY


def test_key_and_database_matter() -> None:
    digests = set()
    for index, key in ((0, b"a"), (1, b"a"), (0, b"b")):
        dbs = databases()
        dbs[index].set(key, StringValue(b"v"))
        digests.add(dataset_digest(dbs, NOW_MS))
    assert len(digests) == 3


def test_two_keys_with_the_same_content_do_not_cancel_out() -> None:
    dbs = databases()
    for index in range(2):
        dbs[index].set(b"a", StringValue(b"v"))
    dbs[0].set(b"b", StringValue(b"v"))
    assert dataset_digest(dbs, NOW_MS) != EMPTY


def test_a_key_that_has_expired_is_not_there() -> None:
    dbs = databases()
    dbs[0].set(b"a", StringValue(b"v"))
    dbs[0].expire_at(b"a", NOW_MS - 1)
    assert dataset_digest(dbs, NOW_MS) == EMPTY
    assert dataset_digest(dbs, NOW_MS - 1) != EMPTY


# As Redis 7.0.15 and 8.2 answer DEBUG DIGEST-VALUE.
DIGESTS = {
    "SET k hello": "36b23a1456b2dce2c3ed252c456761301dba8060",
    "SET k 12345 PX 100000000": "074a6e8892a0b0b4fcf085794cb69322c36c9d00",
    "RPUSH k a b 3": "09eb1fc9381ee92790d59930ab462945f8cd948b",
    "SADD k a b 7": "4db2915dc242371e719444ddc8b328e38ac18e1c",
    "ZADD k 1 a 2.5 b": "c45c5b051acd64070e5ed1a949939d5145f806c5",
    "HSET k a 1 b two": "aaec2dd6dd5d0e6fbdce75b84b029b773e920b00",
    "XADD k 1-1 a 1 b 2": "e4a21e3ca2d9a960e9859bb0985cc334bb4f2e58",
}


@pytest.mark.parametrize(("request_", "digest"), DIGESTS.items())
def test_a_digest_is_that_of_redis(client: InProcessClient, request_: str, digest: str) -> None:
    client.execute(*request_.split())
    db = client.server.instance.databases[0]
    assert redis_digest(db.values[b"k"], db.deadline(b"k")).hex() == digest
