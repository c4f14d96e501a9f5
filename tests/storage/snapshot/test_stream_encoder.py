"""Nodes, written as Redis's listpacks.

Nodes in a buffer, each with its key.

Streams as the bodies of RDB values.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry import decode_fields
from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, SEQ_BITS, EntryIDs, make_id
from storage.groups.group import Group
from storage.groups.pending_block import BLOCK_ENTRIES
from storage.idempotence import Idempotence
from storage.nodes.frozen_node import Node, freeze
from storage.nodes.listpack_node import ListpackNode
from storage.redis_format.listpack import Element, encode_listpack
from storage.redis_format.primitives import Compressed, encode_length, encode_string
from storage.snapshot.stream_encoder import (
    PIECE_BYTES,
    STREAM_TYPES,
    NodeWriter,
    encode_node,
    stream_pieces,
    stream_type,
)
from storage.stream import Stream
from tests.storage.nodes.sample_nodes import IDS
from tests.storage.snapshot.bodies import (
    NOW_MS,
    ConsumerFields,
    GroupFields,
    NodeFields,
    PendingFields,
    StreamFields,
    decoded,
    encoded,
)
from tests.storage.snapshot.drawn_streams import describe, drawn_plain_streams, drawn_streams
from tests.storage.snapshot.test_stream_node import TEXTS, node_of

NAMES = st.lists(st.sampled_from([b"f", b"ff", b"7", b"x" * 100]), min_size=1, max_size=3)
ENTRIES = st.lists(
    NAMES.flatmap(lambda names: st.tuples(*(st.tuples(st.just(name), TEXTS) for name in names))),
    min_size=1,
    max_size=8,
)


def listpack_of(node: Node) -> bytes:
    """The listpack of a node, made of its elements one by one."""
    entries = node.select_entries(MIN_ID, MAX_ID)
    names = decode_fields(entries[0])[::2]
    elements: list[Element] = [len(entries), 0, len(names), *names, 0]
    for entry_id, entry in zip(node.select_ids(MIN_ID, MAX_ID, node.live), entries, strict=True):
        fields = decode_fields(entry)
        ms = (entry_id >> SEQ_BITS) - (node.key >> SEQ_BITS)
        seq = (entry_id & MAX_SEQ) - (node.key & MAX_SEQ)
        if fields[::2] == names:
            elements += [2, ms, seq, *fields[1::2], len(names) + 3]
        else:
            elements += [0, ms, seq, len(fields) // 2, *fields, len(fields) + 4]
    return encode_listpack(elements)


@given(ENTRIES, IDS.filter(lambda ids: ids[0] > MIN_ID), st.data())
def test_a_node_is_written_element_by_element(
    entries: list[tuple[tuple[bytes, bytes], ...]], ids: list[int], data: st.DataObject
) -> None:
    fields = [
        [word for pair in entries[i % len(entries)] for word in pair] for i in range(len(ids))
    ]
    node = node_of(ids, fields)
    assert encode_node(node) == listpack_of(node)
    frozen = freeze(node)
    assert encode_node(frozen) == listpack_of(frozen)
    if len(ids) > 1:
        frozen.delete(data.draw(st.sampled_from(ids)))
        assert encode_node(frozen) == listpack_of(frozen)


VALUES = {
    "number": lambda n: [b"f", b"%06d" % (n * 7919)],
    "number without leading zeros": lambda n: [b"f", b"%d" % (100_000 + n * 7919)],
    "hexadecimal number": lambda n: [b"f", b"%08x" % (n * 0x01234567)],
    "columns": lambda n: [b"f", b"a%02d" % n, b"g", b"%d%%" % (10 + n * 7 % 90)],
    "names": lambda n: [b"f%02d" % n, b"v"],
    "length": lambda n: [b"f", b"v" * (n + 1), b"g", b"w" * (40 - n)],
    "frame": lambda n: [b"name", b"%d" % n**5, b"other", b"text " * 9 + b"%d" % (n % 7)],
    "random": lambda n: [b"f", bytes((n * i * 31 + i * i) % 251 for i in range(40))],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=list(VALUES))
@pytest.mark.parametrize("step", [1, 1 << SEQ_BITS, 3])
def test_a_node_of_each_form_is_written_without_its_entries(
    values: Callable[[int], list[bytes]], step: int
) -> None:
    ids = [(1_700_000_000_000 << SEQ_BITS) + 100 + n * step for n in range(40)]
    frozen = freeze(node_of(ids, [values(n) for n in range(40)]))
    assert encode_node(frozen) == listpack_of(frozen)
    for entry_id in (ids[0], ids[7], ids[39]):
        frozen.delete(entry_id)
        assert encode_node(frozen) == listpack_of(frozen)


def test_more_elements_than_a_listpack_can_count_are_written() -> None:
    node = node_of([1], [[b"%d" % number for number in range(70_000)]])
    assert encode_node(node) == listpack_of(node)


# The keys and the sizes of values make lengths of one byte, two and five.
KEYS = [1, 1 << 64, (1 << 128) - 1]
SIZES = [1, 200, 20_000]


def node_as_string(key: int, listpack: bytes, *, compress: bool) -> bytes:
    """A node as a snapshot has it, written with the primitives."""
    key_string = encode_string(key.to_bytes(16, "big"), compress=False)
    return key_string + encode_string(listpack, compress=compress)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("text", [b"abcdefgh", b"".join(b"%d," % n**3 for n in range(2000))])
def test_nodes_are_a_key_and_a_string_each(compress: bool, text: bytes) -> None:
    writer = NodeWriter(compress=compress)
    written = b""
    for key in KEYS:
        for size in SIZES:
            node = node_of([key], [[b"f", (text * size)[:size]]])
            writer.put(freeze(node))
            written += node_as_string(key, encode_node(node), compress=compress)
    assert writer.size == len(written)
    assert writer.take() == written
    assert (writer.size, writer.take()) == (0, b"")


def test_a_string_is_written_as_it_is() -> None:
    writer = NodeWriter(compress=True)
    node = node_of([5], [[b"f", b"v"]])
    for size in (3, 2_000_000):
        writer.put_string(5, b"x" * size)
        writer.put(node)
        key = b"\x10" + (5).to_bytes(16, "big")
        expected = key + b"x" * size + node_as_string(5, encode_node(node), compress=True)
        assert writer.take() == expected


def test_reading_a_node_for_a_snapshot_leaves_the_cache_as_it_is() -> None:
    node = freeze(node_of(list(range(1, 40)), [[b"f", b"%d" % n] for n in range(39)]))
    writer = NodeWriter(compress=True)
    writer.put(node)
    assert node.opened is None  # type: ignore[union-attr]


def small_stream() -> Stream:
    stream = Stream()
    stream.append(make_id(5, 0), [b"f", b"v"], 100, 4096)
    return stream


def stream_with_group() -> tuple[Stream, Group]:
    stream = small_stream()
    group = stream.groups[b"g"] = Group(b"g", make_id(5, 0), 1)
    return stream, group


def test_each_field_is_where_redis_expects_it() -> None:
    stream, group = stream_with_group()
    stream.max_deleted_id, stream.entries_added = make_id(3, 1), 9
    alice = group.create_consumer(b"alice", 6)
    alice.active_ms = 7
    group.add(make_id(5, 0), alice, 8, 2)
    group.add(make_id(4, 0), None, 0, 3)
    memory = stream.idempotence = Idempotence(60, 50)
    memory.record(b"p", b"i", make_id(NOW_MS, 0))
    assert encoded(stream).hex(" ") == " ".join(
        [
            "01",  # one node
            "10 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 00",  # its key
            "1d 1d 00 00 00 0a 00 01 01 00 01 01 01 81 66 02 00 01",  # its master entry
            "02 01 00 01 00 01 81 76 02 04 01 ff",  # its entry
            "01 05 00 05 00",  # length, last ID, first ID
            "03 01 09",  # greatest deleted ID, entries added
            "01 01 67 05 00 01",  # one group, its name, its last ID, entries read
            "02",  # two are pending in it
            "00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 03",
            "00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 00 08 00 00 00 00 00 00 00 02",
            "01 05 61 6c 69 63 65",  # one consumer, its name
            "06 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00",  # seen, active
            "01 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 00",  # what it has
            "01 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 00",  # what was released
            "3c 32 01 01 70 01 01 69 81 00 00 01 8b cf e5 68 00 00",  # limits, producer, message
            "01 00",  # messages recorded, duplicates
        ]
    )


def test_a_lower_type_leaves_out_its_own_fields_only() -> None:
    stream, group = stream_with_group()
    group.create_consumer(b"c", 6)
    sizes = {number: len(encoded(stream, number)) for number in STREAM_TYPES}
    released, memory, active, counters = (encode_length(0), bytes(7), bytes(8), bytes(6))
    # 100 takes a length of two bytes, and both limits are 100.
    assert sizes[27] - sizes[26] == len(released)
    assert sizes[26] - sizes[21] == len(memory)
    assert sizes[21] - sizes[19] == len(active)
    assert sizes[19] - sizes[15] == len(counters)


def test_the_type_is_the_lowest_that_holds_everything() -> None:
    stream, group = stream_with_group()
    assert stream_type(stream) == 21
    stream.idempotence = Idempotence()
    assert stream_type(stream) == 26
    group.add(1, None, 0, 1)
    assert stream_type(stream) == 27


def test_a_group_that_does_not_know_what_it_read_says_so() -> None:
    stream = small_stream()
    stream.groups[b"g"] = Group(b"g", 0)
    fields = StreamFields(groups=[GroupFields()])
    assert encoded(stream) == fields.body()
    assert b"\x81" + b"\xff" * 8 in encoded(stream)


def test_groups_and_consumers_are_in_the_order_of_their_names() -> None:
    stream = small_stream()
    for name in (b"z", b"a"):
        group = stream.groups[name] = Group(name, 0)
        for consumer in (b"y", b"b"):
            group.create_consumer(consumer, 6)
    consumers = [ConsumerFields(b"b"), ConsumerFields(b"y")]
    groups = [GroupFields(name, consumers=consumers) for name in (b"a", b"z")]
    assert encoded(stream) == StreamFields(groups=groups).body()


def test_deleted_entries_and_empty_nodes_are_not_written() -> None:
    stream = Stream()
    for ms in range(1, 7):
        stream.append(make_id(ms, 0), [b"f", b"v"], 2, 4096)
    stream.delete(make_id(4, 0))
    stream.trim_before(make_id(2, 9))
    fields = StreamFields(
        nodes=[
            NodeFields(make_id(3, 0).to_bytes(16, "big")),
            NodeFields(
                make_id(5, 0).to_bytes(16, "big"),
                (2, 0, 1, b"f", 0, 2, 0, 0, b"v", 4, 2, 1, 0, b"v", 4),
            ),
        ],
        length=3,
        last_id=make_id(6, 0),
        first_id=make_id(3, 0),
        max_deleted_id=make_id(4, 0),
        entries_added=6,
    )
    assert encoded(stream) == fields.body()


@pytest.mark.parametrize("number", [15, 19, 21, 26])
def test_released_entries_go_to_a_consumer_without_a_name_where_they_must_be_owned(
    number: int,
) -> None:
    stream, group = stream_with_group()
    group.create_consumer(b"c", 6)
    for entry_id in (7, 3, 5):
        group.add(entry_id, None, 0, entry_id)
    there = decoded(encoded(stream, number), number).groups[b"g"]
    nobody = there.consumers[b""]
    assert (list(nobody.pending), nobody.seen_ms) == ([3, 5, 7], NOW_MS)
    assert [(e.delivery_ms, e.delivery_count) for e in nobody.pending.values()] == [
        (0, 3),
        (0, 5),
        (0, 7),
    ]
    assert there.nacked_count == 0
    # The stream itself is as it was.
    assert (list(group.consumers), group.nacked_count) == ([b"c"], 3)


def test_a_consumer_without_a_name_keeps_what_it_has_beside_what_was_released() -> None:
    stream, group = stream_with_group()
    nobody = group.create_consumer(b"", 6)
    group.add(4, nobody, 50, 1)
    group.add(5, None, 0, 1)
    there = decoded(encoded(stream, 21), 21).groups[b"g"]
    assert list(there.consumers[b""].pending) == [4, 5]
    assert there.consumers[b""].seen_ms == 6


def test_messages_that_are_too_old_are_not_written() -> None:
    stream = small_stream()
    memory = stream.idempotence = Idempotence(60, 50)
    memory.record(b"old", b"i", make_id(NOW_MS - 60_001, 0))
    memory.record(b"p", b"old", make_id(NOW_MS - 60_001, 0))
    memory.record(b"p", b"new", make_id(NOW_MS - 60_000, 0))
    there = decoded(encoded(stream)).idempotence
    assert there is not None
    assert there.producers == {b"p": {b"new": make_id(NOW_MS - 60_000, 0)}}
    assert (there.added, memory.iids_tracked) == (3, 3)


@given(drawn_streams())
def test_equal_streams_give_equal_bytes(stream: Stream) -> None:
    assert encoded(stream.copy()) == encoded(stream)


@given(drawn_plain_streams())
def test_the_type_for_a_plain_stream_loses_nothing(stream: Stream) -> None:
    assert stream_type(stream) == 21
    assert describe(decoded(encoded(stream, 21), 21)) == describe(stream)


# -- packed nodes ------------------------------------------------------------------------------


def packed_stream(*, compressed: bool) -> Stream:
    stream = Stream()
    for ms in range(1, 401):
        stream.append(make_id(ms, 0), [b"f", b"value of the field"], 100, 4096)
    return decoded(encoded(stream, 21, compress=compressed), 21, trusted=True)


def nodes_of(stream: Stream) -> list[ListpackNode]:
    return [node for node in stream.iter_nodes() if isinstance(node, ListpackNode)]


@pytest.mark.parametrize("compressed", [True, False])
def test_packed_nodes_are_written_as_the_option_says_and_stay_packed(compressed: bool) -> None:
    stream = packed_stream(compressed=compressed)
    first = nodes_of(stream)[0]
    assert isinstance(first.listpack, Compressed) == compressed
    for compress in (True, False):
        expected = encoded(packed_stream(compressed=compress), 21, compress=compress)
        assert encoded(stream, 21, compress=compress) == expected
    assert len(nodes_of(stream)) == stream.node_count - 1  # the first ID is asked for


def test_a_damaged_packed_node_is_written_as_it_is() -> None:
    stream = packed_stream(compressed=True)
    node = nodes_of(stream)[1]
    assert isinstance(node.listpack, Compressed)
    node.listpack.blob = node.listpack.blob[:-3]
    assert node.listpack.blob in encoded(stream, 21, compress=False, now_ms=NOW_MS)


def test_many_pending_entries_are_written_in_pieces() -> None:
    stream, group = stream_with_group()
    consumer = group.create_consumer(b"c", 6)
    ids = list(range(1, 5001))
    group.deliver(consumer, EntryIDs.of(ids), 5)
    fields = GroupFields(
        last_id=make_id(5, 0),
        entries_read=1,
        pending=[PendingFields(entry_id) for entry_id in ids],
        consumers=[ConsumerFields(pending=ids)],
    )
    assert encoded(stream) == StreamFields(groups=[fields]).body()


def test_many_groups_and_consumers_share_a_few_pieces() -> None:
    stream, group = stream_with_group()
    names = [b"a name of more than twenty bytes: %d" % n for n in range(2000)]
    names += [b"%d" % number for number in range(2000)] + [b"", b"-", b"-5", b"007", b"1" * 12]
    owners = [group.create_consumer(name, number) for number, name in enumerate(names)]
    for number, owner in enumerate(owners[::2]):
        group.deliver(owner, EntryIDs.of([make_id(number + 1, 0)]), 9)
    for owner in owners[1::400]:
        owner.active_ms = 2**62
    for number in range(3000):
        stream.add_group(Group(b"%d" % number, make_id(number, 5)))
    fields = GroupFields(
        last_id=make_id(5, 0),
        entries_read=1,
        pending=[PendingFields(make_id(n + 1, 0), 9) for n in range(len(owners[::2]))],
        consumers=[
            ConsumerFields(
                name=owner.name,
                seen_ms=owner.seen_ms,
                active_ms=owner.active_ms,
                pending=list(owner.pending),
            )
            for owner in sorted(owners, key=lambda owner: owner.name)
        ],
    )
    others = [
        GroupFields(name=other.name, last_id=other.last_delivered_id, entries_read=2**64 - 1)
        for _, other in sorted(stream.groups.items())
        if other is not group
    ]
    every = sorted([fields, *others], key=lambda group: group.name)
    body = StreamFields(groups=every).body()
    pieces = list(stream_pieces(stream, 27, compress=False, now_ms=NOW_MS))
    assert b"".join(pieces) == body
    assert max(map(len, pieces)) < PIECE_BYTES + BLOCK_ENTRIES * 40
    assert len(pieces) < 2 * len(body) // PIECE_BYTES + 10
