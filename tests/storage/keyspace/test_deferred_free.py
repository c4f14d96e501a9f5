"""Removed data is freed incrementally."""

from __future__ import annotations

from storage.keyspace.deferred_free import FEW_STEPS, RemovedData


def test_items_go_step_by_step_from_the_end() -> None:
    items: list[object] = list(range(10))
    removed_data = RemovedData()
    removed_data.add(items, 4)
    steps = removed_data.free()
    sizes = []
    for _ in steps:
        sizes.append(len(items))
    assert sizes == [6, 2, 0]


def test_nothing_is_left_of_any_list() -> None:
    lists: list[list[object]] = [[1, 2, 3], [], [4]]
    removed_data = RemovedData()
    for items in lists:
        removed_data.add(items, 2)
    assert len(list(removed_data.free())) == 3
    assert lists == [[], [], []]


def test_what_takes_a_few_steps_is_not_large() -> None:
    removed_data = RemovedData()
    removed_data.add([0] * 2 * FEW_STEPS, 2)
    assert not removed_data.is_large
    removed_data.add([0], 2)
    assert removed_data.is_large


def test_merging_takes_over_what_the_other_one_has() -> None:
    removed_data, other = RemovedData(), RemovedData()
    items: list[object] = [1]
    other.add(items, 1)
    removed_data.merge(other)
    assert list(other.free()) == []
    assert items == [1]
    assert len(list(removed_data.free())) == 1
    assert items == []


def test_tables_and_sets_are_freed_step_by_step_too() -> None:
    table: dict[int, int] = dict.fromkeys(range(10), 0)
    members = set(range(5))
    removed_data = RemovedData()
    removed_data.add(table, 4)
    removed_data.add(members, 4)
    sizes = [(len(table), len(members)) for _ in removed_data.free()]
    assert sizes == [(10, 1), (10, 0), (6, 0), (2, 0), (0, 0)]
