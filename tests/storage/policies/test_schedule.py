"""Entries that are added later: their order, whatever is added, cancelled or taken meanwhile."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entries.entry import encode_fields
from storage.memory import allocated_bytes
from storage.policies import schedule as module
from storage.policies.schedule import LIMIT, Schedule, Scheduled
from tests.support.examples import examples

FIELDS = [b"f", b"v"]


def add(schedule: Schedule, due_ms: int, *fields: bytes) -> int:
    words = list(fields) or FIELDS
    return schedule.add(due_ms, encode_fields(words), len(words))


def take(schedule: Schedule, now_ms: int, count: int = LIMIT) -> list[tuple[int, int]]:
    """The tickets of what is due, taken in order."""
    taken: list[tuple[int, int]] = []
    while len(taken) < count and schedule.is_due(now_ms):
        entry = schedule.take(now_ms)
        if entry is not None:
            taken.append((entry.due_ms, entry.number))
            schedule.forget_name(entry.number)
    return taken


def listed(schedule: Schedule) -> list[Scheduled]:
    rows = [row for b in schedule.buckets_between(0, LIMIT - 1) for row in b.rows_in_order()]
    return [row for row in rows if row is not None]


def restored(schedule: Schedule) -> Schedule:
    twin = Schedule()
    for kind, *words in schedule.rows():
        twin.take_row(kind, words)
    return twin


def test_entries_are_taken_by_time_and_then_in_the_order_of_the_requests() -> None:
    schedule = Schedule()
    for due_ms in (5000, 100, 5000, 100, 101, 99, 9_000_000):
        add(schedule, due_ms)
    assert schedule.next_ms == 99
    assert take(schedule, 98) == []
    assert take(schedule, 5000) == [(99, 6), (100, 2), (100, 4), (101, 5), (5000, 1), (5000, 3)]
    assert (schedule.count, schedule.next_ms) == (1, 9_000_000)


def test_the_fields_are_kept() -> None:
    schedule = Schedule()
    add(schedule, 7, b"a", b"", b"\r\n*", b"\0")
    add(schedule, 8, *[b"x"] * 600)
    assert [row.words for row in listed(schedule)] == [4, 600]
    first = schedule.take(7)
    assert first == (7, 1, 4, encode_fields([b"a", b"", b"\r\n*", b"\0"]))
    assert first.decoded() == [b"a", b"", b"\r\n*", b"\0"]


def test_numbers_are_never_given_twice() -> None:
    schedule = Schedule()
    assert [add(schedule, 5), add(schedule, 1)] == [1, 2]
    assert len(take(schedule, 9)) == 2
    assert add(restored(schedule), 5) == add(schedule, 5) == 3


def test_a_cancelled_entry_is_not_taken() -> None:
    schedule = Schedule()
    for due_ms in (1, 2, 3):
        add(schedule, due_ms)
    assert schedule.remove(2, 2)
    for due_ms, number in ((2, 2), (2, 1), (1, 3), (1, 4), (3000, 1)):
        assert not schedule.remove(due_ms, number)
    assert take(schedule, 3) == [(1, 1), (3, 3)]
    assert schedule.next_ms is None


def test_a_bucket_that_is_mostly_holes_is_packed() -> None:
    schedule = Schedule()
    for _ in range(1000):
        add(schedule, 500, b"f", b"x" * 100)
    full_bytes = schedule.memory_bytes()
    for number in range(1, 991):
        schedule.remove(500, number)
    assert schedule.memory_bytes() < full_bytes / 5
    assert take(schedule, 500) == [(500, number) for number in range(991, 1001)]


def test_a_large_bucket_is_put_in_order_in_steps() -> None:
    schedule = Schedule()
    for number in range(2500):
        add(schedule, 1000 - number % 1000)
    steps = 0
    while (entry := schedule.take(2000)) is None:
        steps += 1
        add(schedule, 700 + steps)  # while it is sorted
    assert steps == 3
    taken = [(entry.due_ms, entry.number), *take(schedule, 2000)]
    assert taken == sorted(taken)
    assert len(taken) == 2503


def test_an_earlier_entry_comes_before_one_that_was_known_to_be_next() -> None:
    schedule = Schedule()
    add(schedule, 1)
    add(schedule, 900)
    assert take(schedule, 500) == [(1, 1)]
    assert schedule.next_ms == 900
    add(schedule, 600)
    add(schedule, 900)
    add(schedule, 300)
    assert take(schedule, 1000) == [(300, 5), (600, 3), (900, 2), (900, 4)]


def test_equal_delays_need_no_sorting() -> None:
    schedule = Schedule()
    for number in range(5000):
        add(schedule, number // 10)
    assert schedule.take(0) is not None


def test_an_entry_takes_24_bytes_and_its_fields() -> None:
    schedule = Schedule()
    fields = [b"task", b"remind", b"order", b"4711"]
    for number in range(100_000):
        add(schedule, 1_700_000_000_000 + number, *fields)
    body_bytes = len(encode_fields(fields)) + len(b"*4\r\n")
    # What arrays have in reserve is an eighth at most.
    assert schedule.memory_bytes() / 100_000 < (24 + body_bytes) * 9 / 8


def test_the_memory_is_that_of_its_buckets_and_names() -> None:
    schedule = Schedule()
    empty = schedule.memory_bytes()
    for number in range(300):
        due_ms = number * 100
        schedule.name(due_ms, add(schedule, due_ms), b"p", b"%d" % number)
    full = schedule.memory_bytes()
    assert full - empty > 300 * (24 + allocated_bytes((b"p", b"1")))
    assert restored(schedule).memory_bytes() == full
    take(schedule, LIMIT - 1)
    assert schedule.memory_bytes() - empty < (full - empty) / 3  # tables keep their room


def test_a_name_is_known_until_its_entry_is_taken() -> None:
    schedule = Schedule()
    schedule.name(5, add(schedule, 5), b"p", b"one")
    twin = restored(schedule)
    for one in (schedule, twin):
        assert one.find(b"p", b"one") == (5, 1)
    assert schedule.remove(5, 1)
    assert schedule.find(b"p", b"one") is None
    assert twin.take(5) is not None
    assert twin.forget_name(1) == (b"p", b"one")
    assert twin.find(b"p", b"one") is None
    assert twin.forget_name(1) is None


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (b"tickets", []),
        (b"tickets", [b"x"]),
        (b"scheduled", [b"1", b"2"]),
        (b"scheduled", [b"1", b"2", b"f"]),
        (b"scheduled", [b"-1", b"2", b"f", b"v"]),
        (b"scheduled", [b"1", b"0", b"f", b"v"]),
        (b"scheduled", [b"1", b"9223372036854775808", b"f", b"v"]),
        (b"scheduled", [b"5", b"1", b"f", b"v"]),  # not above the last number of its bucket
        (b"named", [b"5", b"1", b"p"]),
        (b"unscheduled", [b"5"]),
    ],
)
def test_a_row_that_cannot_be_is_refused(kind: bytes, words: list[bytes]) -> None:
    schedule = Schedule()
    add(schedule, 5)
    with pytest.raises((ValueError, IndexError)):
        schedule.take_row(kind, words)
    assert schedule.count == 1


TIMES = st.sampled_from([0, 1, 2, 500, 1023, 1024, 1025, 3000, 10**6])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), TIMES),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("take"), TIMES),
        st.tuples(st.just("restore"), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=examples(300))
@given(steps=STEPS, sorted_at_once=st.sampled_from([1, 2, 1000]))
def test_a_schedule_does_what_a_sorted_list_does(
    steps: list[tuple[str, int]], sorted_at_once: int
) -> None:
    schedule, model = Schedule(), list[tuple[int, int]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SORTED_AT_ONCE", sorted_at_once)
        patch.setattr(module, "FEW_HOLES", 1)
        for step, number in steps:
            if step == "add":
                model.append((number, add(schedule, number)))
                model.sort()
            elif step == "cancel" and model:
                ticket = model.pop(number % len(model))
                assert schedule.remove(*ticket)
            elif step == "take":
                due = [ticket for ticket in model if ticket[0] <= number][:3]
                assert take(schedule, number, 3) == due
                del model[: len(due)]
            elif step == "restore":
                schedule = restored(schedule)
            assert [(row.due_ms, row.number) for row in listed(schedule)] == model
            assert schedule.count == len(model)
            assert schedule.first_ms() == (model[0][0] if model else None)
            assert (schedule.next_ms or 0) <= (model[0][0] if model else 0)
