"""storage/types/scored/record_order.py: ranks, spans and parts, beside a sorted list."""

from __future__ import annotations

from bisect import bisect_left
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from storage.types.scored.record import Record, make_record, pair_of, sort_records
from storage.types.scored.record_order import FULL_RECORDS, PART_RECORDS, RecordOrder


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


def test_a_copy_is_independent() -> None:
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
