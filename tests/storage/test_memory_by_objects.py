"""`memory_bytes` after random operations, compared with the sum over all objects of a value.

Hashes and sets are no objects inside: tests/storage/types/members/test_packed_table.py.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, EntryIDs, make_id
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import PendingEntry, Row
from storage.idempotence import Idempotence
from storage.keyspace.ordered_index import OrderedIndex
from storage.redis_format.encoding_limits import EncodingLimits
from storage.stream import Stream
from storage.types.lists import ListValue
from storage.types.sets import SortedSetValue
from storage.types.value import StringValue, Value
from tests.support.owned_memory import owned_bytes

LIMITS = EncodingLimits(list_max_listpack_size=8)

# An operation, on a value of any content.
Operation: TypeAlias = Callable[[Random], object]


def text(chance: Random) -> bytes:
    """Up to 600 bytes, short ones often."""
    return b"%d-" % chance.randrange(200) + b"x" * int(600 * chance.random() ** 3)


def string_operations(value: StringValue) -> list[Operation]:
    return [
        lambda chance: value.append(text(chance)),
        lambda chance: value.overwrite(chance.randrange(500), text(chance)),
        lambda chance: value.replace(text(chance)),
    ]


def sorted_set_operations(value: SortedSetValue) -> list[Operation]:
    def remove_span(chance: Random) -> None:
        start = chance.randrange(len(value) + 1)
        value.remove_span(start, min(len(value), start + chance.randrange(40)))

    def add_many(chance: Random) -> None:
        for _ in range(200):
            value.set(text(chance), chance.random(), LIMITS)

    return [
        add_many,
        lambda chance: value.set(text(chance), chance.random(), LIMITS),
        lambda chance: value.remove(text(chance)),
        remove_span,
    ]


def list_operations(value: ListValue) -> list[Operation]:
    def place(chance: Random) -> int:
        return chance.randrange(len(value))

    def trim(chance: Random) -> None:
        start = place(chance)
        value.trim(start, chance.randrange(start, len(value) + 1))

    middle: list[Operation] = [
        lambda chance: value.set(place(chance), text(chance), LIMITS),
        lambda chance: value.insert(place(chance), text(chance), LIMITS, after=True),
        lambda chance: value.remove(value.at(place(chance)), 1),
        trim,
    ]
    return [
        lambda chance: value.push_left([text(chance) for _ in range(9)], LIMITS),
        lambda chance: value.push_right([text(chance) for _ in range(9)], LIMITS),
        lambda chance: value.pop_left(chance.randrange(12)),
        lambda chance: value.pop_right(chance.randrange(12)),
        lambda chance: len(value) and chance.choice(middle)(chance),
    ]


def fields_of(chance: Random) -> list[bytes]:
    names = chance.choice([[b"f"], [b"temperature", b"unit"], [b"a", b"b", b"c", b"d"]])
    return [word for name in names for word in (name, b"%012d" % chance.randrange(10**12))]


def stream_operations(value: Stream) -> list[Operation]:
    def add(chance: Random) -> None:
        fields = fields_of(chance)
        for _ in range(chance.randrange(1, 60)):
            if chance.random() < 0.1:
                fields = fields_of(chance)
            last_id = value.last_id
            step = chance.choice([1, 1 << 64])
            value.append(last_id + step, [*fields[:-1], text(chance)], 20, 4096)

    def some_id(chance: Random) -> EntryID:
        return chance.choice(list(value.ids(MIN_ID, MAX_ID))) if value.length else MIN_ID

    return [
        add,
        add,
        add,
        lambda chance: value.delete(some_id(chance)),
        lambda chance: value.delete_all(sorted({some_id(chance) for _ in range(20)})),
        lambda chance: value.trim_to_length(max(0, value.length - chance.randrange(50))),
        lambda chance: value.trim_before(some_id(chance), approximate=True),
        lambda chance: value.range(some_id(chance), MAX_ID, 5),
    ]


def group_operations(value: Stream) -> list[Operation]:
    """Streams with groups, without entries."""
    state = {"ms": 1 << 40, "seq": 1}

    def group(chance: Random) -> Group:
        name = b"group-%d" % chance.randrange(3)
        if name not in value.groups:
            value.add_group(Group(name, MIN_ID))
        return value.groups[name]

    def consumer(chance: Random, owner: Group) -> Consumer:
        name = b"consumer-%d" % chance.randrange(8)
        found = owner.consumers.get(name)
        return owner.create_consumer(name, 0) if found is None else found

    def deliver(chance: Random) -> None:
        owner = group(chance)
        state["ms"] += chance.randrange(-3, 9)
        count = chance.choice([1, 5, 300])
        ids = [make_id(1 << 40, state["seq"] + number) for number in range(count)]
        state["seq"] += count
        owner.deliver(consumer(chance, owner), EntryIDs.of(ids), state["ms"])

    def some_rows(chance: Random, owner: Group, most: int) -> list[Row]:
        rows = list(owner.pending.rows_from(0))
        start = chance.randrange(len(rows) + 1)
        return rows[start : start + chance.randrange(most)]

    def acknowledge(chance: Random) -> None:
        owner = group(chance)
        ids = [row[0] for row in some_rows(chance, owner, 400)]
        owner.acknowledge_all(EntryIDs.of(ids))

    def claim(chance: Random) -> None:
        owner = group(chance)
        for row in some_rows(chance, owner, 30):
            ms, count = (1 << 40) + chance.randrange(100), chance.choice([1, 1 << 40])
            owner.claim(PendingEntry(*row), consumer(chance, owner), ms, count)

    def release(chance: Random) -> None:
        owner = group(chance)
        for row in some_rows(chance, owner, 30):
            owner.release(PendingEntry(*row), 1)

    def leave(chance: Random) -> None:
        owner = group(chance)
        owner.delete_consumer(b"consumer-%d" % chance.randrange(8))
        list(owner.tidy_up())

    def record(chance: Random) -> None:
        if value.idempotence is None:
            value.idempotence = Idempotence(maxsize=10)
        pid = b"producer-%d" % chance.randrange(5)
        value.idempotence.record(pid, text(chance), make_id(chance.randrange(1 << 40), 0))

    return [
        *[deliver] * 4,
        acknowledge,
        claim,
        release,
        leave,
        record,
        lambda chance: value.idempotence and value.idempotence.expire(chance.randrange(1 << 40)),
        lambda chance: chance.random() < 0.1 and value.remove_group(b"group-1"),
    ]


MAKERS: dict[str, Callable[[], tuple[Value, list[Operation]]]] = {
    "stream": lambda: (made := Stream(), stream_operations(made)),
    "groups": lambda: (made := Stream(), group_operations(made)),
    "string": lambda: (made := StringValue(b"v"), string_operations(made)),
    "sorted set": lambda: (made := SortedSetValue(), sorted_set_operations(made)),
    "list": lambda: (made := ListValue(), list_operations(made)),
}


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", MAKERS)
@given(seed=st.integers(0, 2**32))
def test_the_count_is_that_of_all_objects(kind: str, seed: int) -> None:
    chance = Random(seed)
    value, operations = MAKERS[kind]()
    for _ in range(chance.randrange(150)):
        chance.choice(operations)(chance)
    few_bytes = 200
    if isinstance(value, Stream):
        nodes = value._nodes
        assert nodes._counted_bytes == nodes._span_bytes(0, len(nodes._nodes))
        few_bytes = 2000  # a form counts again after a node with another one
    assert value.memory_bytes() == pytest.approx(owned_bytes(value), rel=0.03, abs=few_bytes)
    if kind != "groups":
        return
    twin = value.copy()
    assert twin.memory_bytes() == pytest.approx(owned_bytes(twin), rel=0.03, abs=few_bytes)


@pytest.mark.interpreted
@given(seed=st.integers(0, 2**32), top=st.sampled_from([1 << 20, 1 << 50, 1 << 110]))
def test_the_count_of_an_index_is_that_of_all_its_objects(seed: int, top: int) -> None:
    chance = Random(seed)
    index: OrderedIndex = OrderedIndex()
    for _ in range(chance.randrange(3000)):
        if chance.random() < 0.7:
            index[chance.randrange(top // 2, top)] = True
        elif len(index):
            index.pop(index.first_key() or 0)
    assert index.memory_bytes() == pytest.approx(owned_bytes(index), rel=0.03, abs=300)
