"""A scan returns every member that exists throughout, whatever is added and removed."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from storage.types.scan_order import FEW_REMOVED, ScanOrder


def names(*numbers: int) -> list[bytes]:
    return [b"%d" % number for number in numbers]


def test_a_scan_returns_each_member_once_where_nothing_changes() -> None:
    order = ScanOrder(names(*range(25)))
    cursor, pages = 0, []
    while True:
        cursor, found = order.scan(cursor, 10)
        pages.append(found)
        if not cursor:
            break
    assert [len(page) for page in pages] == [10, 10, 5]
    assert sorted(member for page in pages for member in page) == sorted(names(*range(25)))


def test_an_empty_order_is_scanned_at_once() -> None:
    assert ScanOrder([]).scan(0, 10) == (0, [])


def test_a_cursor_beyond_the_end_begins_at_the_end() -> None:
    assert ScanOrder(names(1, 2)).scan(1 << 60, 10) == (0, names(1, 2))


def test_a_member_that_comes_back_has_one_place() -> None:
    order = ScanOrder(names(1, 2, 3))
    for _ in range(5):
        order.remove(b"2")
        order.add(b"2")
    assert len(order) == 3
    assert sorted(order.members()) == names(1, 2, 3)


def test_the_places_of_removed_members_are_closed() -> None:
    count = 4 * FEW_REMOVED
    order = ScanOrder(names(*range(count)))
    for name in names(*range(count - 1)):
        order.remove(name)
    assert order.scan(0, FEW_REMOVED + 1) == (0, names(count - 1))
    assert order.pick(Random(1).randrange) == b"%d" % (count - 1)


def test_every_member_is_picked_about_as_often() -> None:
    order = ScanOrder(names(*range(10)))
    order.remove(b"3")
    random = Random(5)
    picks = Counter(order.pick(random.randrange) for _ in range(9000))
    assert len(picks) == 9
    assert all(800 < times < 1200 for times in picks.values())


@given(
    st.sets(st.integers(0, 300)),
    st.lists(st.tuples(st.booleans(), st.integers(0, 400)), max_size=600),
    st.integers(1, 20),
)
def test_what_is_there_throughout_is_returned(
    begin: set[int], changes: list[tuple[bool, int]], count: int
) -> None:
    order = ScanOrder(names(*sorted(begin)))
    present, throughout = set(begin), set(begin)
    seen: set[bytes] = set()
    cursor = -1
    todo = iter(changes)
    while cursor:
        cursor, found = order.scan(max(cursor, 0), count)
        seen.update(found)
        for adds, number in [change for change, _ in zip(todo, range(30), strict=False)]:
            if adds and number not in present:
                present.add(number)
                order.add(b"%d" % number)
            elif not adds and number in present:
                present.remove(number)
                throughout.discard(number)
                order.remove(b"%d" % number)
        assert len(order) == len(present)
    assert seen >= set(names(*throughout))
    assert sorted(order.members()) == sorted(names(*present))


def test_a_scan_that_loses_most_members_misses_none_of_the_others() -> None:
    order = ScanOrder(names(*range(20)))
    cursor, found = order.scan(0, 5)
    order.remove(b"3")
    order.keep(names(1, 2, 17))
    assert found == names(15, 16, 17, 18, 19)
    assert order.scan(cursor, 10) == (0, names(1, 2, 17))
    order.add(b"3")
    assert order.members() == names(1, 2, 17, 3)
