"""`memory_bytes` of many items of each kind beside what the allocators of the process say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from random import Random

import pytest

from protocol.request import IS_COMPILED
from storage.entries.entry_id import MIN_ID, EntryIDs, make_id
from storage.groups.group import Group
from storage.groups.pending_block import PendingEntry
from storage.keyspace.ordered_index import OrderedIndex
from storage.redis_format.encoding_limits import EncodingLimits
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.lists import ListValue
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, Value
from tests.support.allocators import HAS_FIGURES, used_bytes

LIMITS = EncodingLimits()
START_MS = 1_700_000_000_000

Parts = Iterator[Value | OrderedIndex]


def strings(length: int) -> Parts:
    for _ in range(5_000_000 // (length + 500)):
        yield StringValue(os.urandom(length))


def hashes(values: int, items: int) -> Parts:
    for _ in range(values):
        value = HashValue()
        for number in range(items):
            value.set(b"field-%d" % number, b"%020d" % number, LIMITS)
        yield value


def expiring_hash(items: int) -> Parts:
    (value,) = hashes(1, items)
    assert isinstance(value, HashValue)
    for number in range(items):
        value.expire_at(b"field-%d" % number, START_MS + number * 7919 % items)
    value.first_deadline_ms()
    yield value


def sets(values: int, items: int) -> Parts:
    for _ in range(values):
        value = SetValue()
        for number in range(items):
            value.add(b"member-%d" % number, LIMITS)
        yield value


def sorted_sets(values: int, items: int) -> Parts:
    for _ in range(values):
        value = SortedSetValue()
        for number in range(items):
            value.set(b"member-%d" % number, number * 7919 % items, LIMITS)
        yield value


def lists(values: int, items: int) -> Parts:
    for _ in range(values):
        value = ListValue()
        for number in range(items):
            value.push_left([b"element-%d" % number], LIMITS)
        yield value


def small_fields(chance: Random) -> list[bytes]:
    return [b"f", b"%012d" % chance.randrange(10**12)]


def kib_fields(chance: Random) -> list[bytes]:
    return [b"data", chance.randbytes(1024)]


def mixed_fields(chance: Random) -> list[bytes]:
    names = chance.choice([[b"user", b"page"], [b"user", b"item", b"price"], [b"error", b"line"]])
    values = [chance.randbytes(chance.randrange(4, 20)).hex().encode() for _ in names]
    return [word for pair in zip(names, values, strict=True) for word in pair]


def streams(values: int, items: int, fields: Callable[[Random], list[bytes]]) -> Parts:
    chance = Random(1)
    for _ in range(values):
        stream = Stream()
        for number in range(items):
            stream.append(make_id(START_MS + number, 0), fields(chance), 100, 4096)
        yield stream


def groups(consumers: int, entries: int, claimed: int) -> Parts:
    stream = Stream()
    group = Group(b"group", MIN_ID)
    stream.add_group(group)
    members = [group.create_consumer(b"consumer-%d" % n, START_MS) for n in range(consumers)]
    for number in range(0, entries, 10):
        ids = EntryIDs.of([make_id(START_MS + number + n, 0) for n in range(10)])
        group.deliver(members[number // 10 % consumers], ids, START_MS + number)
    for number in range(claimed):
        row = next(group.pending.rows_from(make_id(START_MS + number * 7919 % entries, 0)))
        group.claim(PendingEntry(*row), members[0], START_MS + entries + number, 2)
    yield stream


def many_groups() -> Parts:
    for _ in range(250):
        stream = Stream()
        for name in (b"a", b"b"):
            stream.add_group(Group(name, MIN_ID))
            for number in range(3):
                stream.groups[name].create_consumer(b"consumer-%d" % number, START_MS)
        yield stream


def index(count: int, step: int) -> Parts:
    made: OrderedIndex = OrderedIndex()
    for number in range(count):
        made[int(b"%d" % (number * step % (1 << 40) + (1 << 40)))] = True
    yield made


SHAPES: dict[str, Callable[[], Parts]] = {
    **{f"strings of {size}": lambda size=size: strings(size) for size in (10, 100, 400, 5000)},  # type: ignore[misc]
    "a hash": lambda: hashes(1, 50_000),
    "hashes": lambda: hashes(2_500, 5),
    "fields that expire": lambda: expiring_hash(12_500),
    "a set": lambda: sets(1, 50_000),
    "sets": lambda: sets(2_500, 5),
    "a sorted set": lambda: sorted_sets(1, 12_500),
    "sorted sets": lambda: sorted_sets(2_500, 5),
    "a list": lambda: lists(1, 50_000),
    "lists": lambda: lists(2_500, 5),
    "small entries": lambda: streams(1, 25_000, small_fields),
    "mixed entries": lambda: streams(1, 7_500, mixed_fields),
    "entries of 1 KiB": lambda: streams(1, 2_500, kib_fields),
    "streams": lambda: streams(750, 5, small_fields),
    "pending entries": lambda: groups(10, 12_500, 0),
    "pending entries of many consumers": lambda: groups(250, 12_500, 0),
    "claimed entries": lambda: groups(10, 5_000, 2_500),
    "groups": many_groups,
    "an index in order": lambda: index(25_000, 1),
    "an index out of order": lambda: index(7_500, 7_368_787_919),
}


def counted_and_used(shape: str) -> tuple[int, int]:
    """The sum of `memory_bytes` and the growth of what is in use."""
    # A first time for what stays: caches, scratch memory, and lists that are kept for reuse.
    kept: list[Value | OrderedIndex | None] = [None] * len(list(SHAPES[shape]()))
    before = used_bytes()
    for place, part in enumerate(SHAPES[shape]()):
        kept[place] = part
    used = used_bytes() - before
    return sum(part.memory_bytes() for part in kept if part is not None), used


@pytest.mark.skipif(not HAS_FIGURES, reason="asks the C library what is in use")
def test_the_count_is_what_the_allocators_say() -> None:
    # Interpreted, numbers and what is otherwise raw memory are objects.
    tolerance = 0.05 if IS_COMPILED else 0.1
    shapes = [shape for shape in SHAPES if IS_COMPILED or shape not in ("hashes", "sets")]
    # In a process of its own, in which little else happens.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        figures = dict(zip(shapes, pool.map(counted_and_used, shapes), strict=True))
    wrong = {
        shape: (counted, used)
        for shape, (counted, used) in figures.items()
        if abs(counted - used) > tolerance * used
    }
    assert not wrong
