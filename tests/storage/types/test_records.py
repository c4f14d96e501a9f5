"""A field and its value in one record.

storage/types/records.py: a member with its score, and the order of records.

A table of records beside a dict, its order, scans, gaps, copies.

storage/types/records.py: ranks, spans and parts, beside a sorted list.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.deferred_free import RemovedData
from storage.types import records as record_table
from storage.types.key_part import MEMBERS, PAIRS, SCORED, hash_of
from storage.types.records import (
    FEW,
    FULL_RECORDS,
    PART_RECORDS,
    Record,
    RecordOrder,
    RecordTable,
    field_of,
    is_before,
    make_record,
    member_of,
    pair,
    pair_of,
    place_of,
    score_of,
    sort_records,
    value_of,
)

TEXTS = st.one_of(st.binary(max_size=20), st.sampled_from([b"x" * n for n in (254, 255, 70_000)]))


@given(TEXTS, TEXTS)
def test_a_record_has_both(field: bytes, value: bytes) -> None:
    record = pair(field, value)
    assert (field_of(record), value_of(record)) == (field, value)


def test_a_short_field_costs_one_byte_more() -> None:
    assert pair(b"f", b"value") == b"\x01fvalue"
    assert len(pair(b"f" * 255, b"")) == 255 + 9


SCORES = st.one_of(st.sampled_from([0.0, -0.0, inf, -inf, 1.0]), st.floats(allow_nan=False))
ANY_MEMBERS = st.one_of(st.sampled_from([b"", b"a", b"a\0", b"ab"]), st.binary(max_size=40))
ANY_PAIRS = st.tuples(SCORES, ANY_MEMBERS)


@given(SCORES, ANY_MEMBERS)
def test_a_record_holds_a_score_and_a_member(score: float, member: bytes) -> None:
    record = make_record(score, member)
    assert str(score_of(record)) == str(score)
    assert member_of(record) == member
    assert pair_of(record) == (score, member)
    assert len(record) == 8 + len(member)


@given(ANY_PAIRS, ANY_PAIRS)
def test_records_are_ordered_by_score_and_then_by_member(
    one: tuple[float, bytes], other: tuple[float, bytes]
) -> None:
    assert is_before(make_record(*one), make_record(*other)) == (one < other)


@given(st.lists(ANY_PAIRS, unique_by=lambda pair: pair[1]), ANY_PAIRS)
def test_records_are_sorted_and_found(
    pairs: list[tuple[float, bytes]], wanted: tuple[float, bytes]
) -> None:
    records = [make_record(*pair) for pair in pairs]
    sort_records(records)
    assert list(map(pair_of, records)) == sorted(pairs)
    assert place_of(records, make_record(*wanted)) == sum(pair < wanted for pair in pairs)


# Makes a record of a key and a number, by kind.
MAKERS: dict[int, Callable[[bytes, int], bytes]] = {
    MEMBERS: lambda key, _: key,
    SCORED: lambda key, number: number.to_bytes(8, "big") + key,
    PAIRS: lambda key, number: pair(key, b"%d" % number),
}


def names(*numbers: int) -> list[bytes]:
    return [b"%d" % number for number in numbers]


def table_of(*numbers: int) -> RecordTable:
    table = RecordTable(MEMBERS)
    for name in names(*numbers):
        assert table.put(name) is None
    return table


KEYS = st.one_of(
    st.integers(0, 60).map(lambda number: b"%d" % number),
    st.sampled_from([b"", b"\0", b"k" * 254, b"k" * 255, b"k" * 256, b"l" * 300]),
)


@given(
    st.sampled_from(sorted(MAKERS)),
    st.lists(st.tuples(st.sampled_from("ppprrgc"), KEYS, st.integers(0, 9)), max_size=400),
)
def test_it_holds_what_a_dict_holds(kind: int, steps: list[tuple[str, bytes, int]]) -> None:
    make, table, model = MAKERS[kind], RecordTable(kind), dict[bytes, bytes]()
    for step, key, number in steps:
        if step == "p":
            record = make(key, number)
            assert table.put(record) == model.get(key)
            model[key] = record
        elif step == "r":
            assert table.remove(key) == model.pop(key, None)
        elif step == "c":
            table = table.copy()
        assert table.get(key) == model.get(key)
        assert (key in table) is (key in model)
        assert len(table) == len(model)
    assert sorted(table.records()) == sorted(model.values())
    assert table.scan(0, 1000) == (0, table.records())


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_many_records_are_found_and_removed(kind: int) -> None:
    table = RecordTable(kind)
    records = {name: MAKERS[kind](name, int(name)) for name in names(*range(3000))}
    for record in records.values():
        table.put(record)
    assert all(table.get(name) == record for name, record in records.items())
    assert not any(table.get(name) for name in names(*range(3000, 6000)))
    assert [table.remove(name) for name in names(*range(0, 3000, 2))] == list(records.values())[::2]
    assert sorted(table.records()) == sorted(list(records.values())[1::2])
    assert all(table.get(name) == records[name] for name in names(*range(1, 3000, 2)))


def test_a_table_used_as_a_queue_stays_small() -> None:
    table = table_of(*range(100))
    before = table.memory_bytes()
    for number in range(100, 10_000):
        table.put(b"%d" % number)
        table.remove(b"%d" % (number - 100))
    assert sorted(table.records()) == names(*range(9_900, 10_000))
    assert table.memory_bytes() < 3 * before


@pytest.mark.parametrize("count", [3, 300])
def test_many_records_are_put_and_removed_at_once(count: int) -> None:
    make = MAKERS[SCORED]
    keys = names(*range(count))
    table = RecordTable(SCORED)
    table.put_all([make(key, 1) for key in keys])
    table.put_all([make(key, 2) for key in keys[1:]])
    assert len(table) == count
    table.discard_all([make(key, 3) for key in keys[2:]] + [make(b"none", 3)])
    assert table.records() == [make(keys[0], 1), make(keys[1], 2)]


def test_room_made_beforehand_changes_nothing() -> None:
    table = table_of(1, 2)
    table.reserve(1000)
    for name in names(*range(500)):
        table.put(name)
    assert sorted(table.records()) == sorted(names(*range(500)))


# -- scans and random picks --------------------------------------------------------------------


def test_a_scan_returns_each_record_once_where_nothing_changes() -> None:
    table = table_of(*range(25))
    cursor, pages = 0, []
    while True:
        cursor, found = table.scan(cursor, 10)
        pages.append(found)
        if not cursor:
            break
    assert [len(page) for page in pages] == [10, 10, 5]
    assert sorted(record for page in pages for record in page) == sorted(names(*range(25)))


def test_an_empty_table_is_scanned_at_once() -> None:
    assert RecordTable(MEMBERS).scan(0, 10) == (0, [])


def test_a_cursor_beyond_the_end_begins_at_the_end() -> None:
    assert table_of(1, 2).scan(1 << 60, 10) == (0, names(1, 2))


def test_the_last_record_takes_the_place_of_one_that_goes() -> None:
    table = table_of(*range(4 * FEW))
    for name in names(*range(4 * FEW - 1)):
        table.remove(name)
    assert table.scan(0, 1) == (0, names(4 * FEW - 1))


Change = Callable[[RecordTable, int], object]

# What is done 20,000 times to a table of 10,000 records.
CHANGES: dict[str, Change] = {
    "grow": lambda table, number: table.put(b"%d" % (number + 10_000)),
    "shrink": lambda table, number: table.remove(b"%d" % (7 * number % 10_000)),
    "queue": lambda table, number: (
        table.put(b"%d" % (number + 10_000)),
        table.remove(b"%d" % number),
    ),
    "churn": lambda table, number: (
        table.remove(b"%d" % (7 * number % 10_000)),
        table.put(b"%d" % (7 * number % 10_000)),
    ),
}


@pytest.mark.interpreted
@pytest.mark.parametrize("way", sorted(CHANGES))
def test_no_change_works_for_many_records(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a change does is counted in hashes: of its own record, and of some to be entered."""
    hashes = Counter[int]()
    at = 0

    def counted(text: bytes, start: int, length: int) -> int:
        hashes[at] += 1
        return hash_of(text, start, length)

    table = table_of(*range(10_000))
    monkeypatch.setattr(record_table, "hash_of", counted)
    for at in range(20_000):
        CHANGES[way](table, at)
    assert 4 < max(hashes.values()) <= 20


@pytest.mark.parametrize("way", sorted(CHANGES))
def test_all_records_are_found_while_an_index_is_made(way: str) -> None:
    table, copies = table_of(*range(10_000)), list[RecordTable]()
    for at in range(20_000):
        CHANGES[way](table, at)
        if at % 5_000 == 0:
            copies.append(table.copy())
    for found in (table, *copies):
        names_of = found.records()
        assert len(names_of) == len(set(names_of)) == len(found)
        assert all(found.get(name) == name for name in names_of)
        assert sum(name in found for name in names(*range(30_000))) == len(found)


@given(
    st.sets(st.integers(0, 300)),
    st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=600),
    st.integers(1, 20),
)
def test_what_is_there_throughout_is_returned(
    begin: set[int], changes: list[tuple[bool, int]], count: int
) -> None:
    table = table_of(*sorted(begin))
    present, throughout = set(begin), set(begin)
    seen: set[bytes] = set()
    cursor = -1
    todo = iter(changes)
    while cursor:
        cursor, found = table.scan(max(cursor, 0), count)
        seen.update(found)
        for adds, number in [change for change, _ in zip(todo, range(30), strict=False)]:
            if adds:
                present.add(number)
                table.put(b"%d" % number)
            else:
                present.discard(number)
                throughout.discard(number)
                table.remove(b"%d" % number)
        assert len(table) == len(present)
    assert seen >= set(names(*throughout))
    assert sorted(table.records()) == sorted(names(*present))


# -- as a whole --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 100])
def test_a_copy_is_independent(count: int) -> None:
    table = table_of(*range(count))
    table.remove(b"1")
    twin = table.copy()
    table.put(b"new")
    twin.remove(b"0")
    assert sorted(twin.records()) == sorted(names(*range(2, count)))
    assert sorted(table.records()) == sorted([*names(0, *range(2, count)), b"new"])


def test_memory_is_that_of_the_records_and_of_the_index() -> None:
    table = table_of(*range(10_000, 11_000))
    own = table.memory_bytes() - 1000 * 48
    assert 1000 * 12 < own < 1000 * 20
    assert RecordTable(MEMBERS).memory_bytes() > 0


def test_a_table_gives_up_its_records() -> None:
    table, removed_data = table_of(*range(20_000)), RemovedData()
    table.release(removed_data)
    assert removed_data.is_large
    assert (len(table), table.records(), table.get(b"1")) == (0, [], None)
    assert table.put(b"1") is None
    assert table.records() == [b"1"]


@pytest.mark.parametrize("count", [5, 100])
def test_some_records_make_a_table_in_the_same_order(count: int) -> None:
    table = RecordTable(MEMBERS)
    table.put_all([b"%d" % number for number in range(count)])
    table.remove(b"1")
    chosen = table.selected([b"3", b"0", b"2"])
    assert chosen.records() == [b"0", b"2", b"3"]
    assert (chosen.get(b"2"), chosen.get(b"4"), len(table)) == (b"2", None, count - 1)


def numbered(numbers: range | list[int]) -> list[Record]:
    return [make_record(float(number), b"%d" % number) for number in numbers]


def filled(records: list[Record]) -> RecordOrder:
    order = RecordOrder()
    for record in records:
        order.add(record)
    return order


def everything(order: RecordOrder) -> list[Record]:
    return order.records(0, order.count)


def check(order: RecordOrder, model: list[Record]) -> None:
    assert order.count == len(model)
    assert everything(order) == model
    for rank in range(0, len(model), 37):
        assert order.at(rank) == model[rank]
        assert order.rank_of(model[rank]) == rank
    parts = order.copy().take_parts()
    assert [record for part in parts for record in part] == model
    assert all(parts) or not model
    assert max(map(len, parts)) <= PART_RECORDS


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "replace", "span"]),
        st.integers(0, 2000),
        st.integers(0, 2000),
    ),
    max_size=40,
)


@given(STEPS, st.integers(0, 3 * PART_RECORDS), st.booleans(), st.integers(0, 100))
def test_it_is_what_a_sorted_list_is(
    steps: list[tuple[str, int, int]], count: int, is_filled: bool, seed: int
) -> None:
    numbers = list(range(0, 2 * count, 2))
    model = numbered(numbers)
    Random(seed).shuffle(numbers)
    order = RecordOrder()
    if is_filled:
        order.fill(model.copy())
    else:
        order = filled(numbered(numbers))
    for what, first, second in steps:
        record = make_record(float(first), b"%d" % first)
        place = bisect_left(model, pair_of(record), key=pair_of)
        is_there = place < len(model) and model[place] == record
        if what == "add" and not is_there:
            order.add(record)
            model.insert(place, record)
        elif what == "remove" and is_there:
            order.remove(record)
            del model[place]
        elif what == "replace" and is_there:
            new = make_record(second + 0.5, b"%d" % first)
            order.replace(record, new)
            model[place] = new
            model.sort(key=pair_of)
        elif what == "span":
            start, end = sorted((first % (len(model) + 1), second % (len(model) + 1)))
            assert order.records(start, end) == model[start:end]
            assert order.records(start, len(model) + 9) == model[start:]
            gone = order.remove_span(start, end)
            assert [one for part in gone for one in part] == model[start:end]
            del model[start:end]
        assert order.rank_of(record) == bisect_left(model, pair_of(record), key=pair_of)
    check(order, model)


def test_records_that_come_in_order_leave_full_parts() -> None:
    parts = filled(numbered(range(10 * PART_RECORDS))).take_parts()
    assert [len(part) for part in parts[:-1]] == [PART_RECORDS] * (len(parts) - 1)


def test_parts_that_become_small_are_joined() -> None:
    records = numbered(range(8 * PART_RECORDS))
    order = filled(records)
    Random(1).shuffle(records)
    for record in records[100:]:
        order.remove(record)
    left = records[:100]
    sort_records(left)
    check(order, left)
    assert len(order.take_parts()) <= 1 + 100 // (FULL_RECORDS // 4)


def test_a_record_keeps_its_place_if_its_score_hardly_changes() -> None:
    records = numbered(range(1000))
    order = filled(records)
    for rank in (0, 1, 255, 256, 511, 512, 998, 999):
        new = make_record(rank + 0.25, b"%d" % rank)
        order.replace(records[rank], new)
        records[rank] = new
    check(order, records)


def test_the_first_of_which_something_holds_is_found() -> None:
    order = filled([make_record(1.0, b"%04d" % number) for number in range(2000)])
    for number in (0, 1, 511, 512, 513, 1999, 2000):
        assert order.rank_where((b"%04d" % number).__le__) == number


def test_an_order_that_was_taken_apart_is_empty() -> None:
    order = filled(numbered(range(1000)))
    assert sum(map(len, order.take_parts())) == 1000
    check(order, [])
    order.add(make_record(1.0, b"a"))
    assert order.rank_of(make_record(2.0, b"")) == 1


def test_a_copy_of_an_order_is_independent() -> None:
    records = numbered(range(1000))
    order = filled(records)
    twin = order.copy()
    order.remove_span(0, 900)
    twin.remove(records[0])
    check(order, records[900:])
    check(twin, records[1:])


def test_memory_is_little_more_than_a_pointer_for_each() -> None:
    numbers = list(range(100_000))
    Random(1).shuffle(numbers)
    assert filled(numbered(numbers)).memory_bytes() < 10 * len(numbers)
