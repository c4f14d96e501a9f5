"""commands/state/producer_ids.py: expiry of producers' IDs, a limited number at a time."""

from __future__ import annotations

from commands.state.producer_ids import IdempotenceWatch
from storage.entries.entry_id import make_id
from storage.idempotence import Idempotence


def memory(*pids: bytes) -> Idempotence:
    """One ID of each producer, of the time 0."""
    idempotence = Idempotence(duration_s=1)
    for number, pid in enumerate(pids):
        idempotence.record(pid, b"1", make_id(0, number))
    return idempotence


def test_a_memory_is_watched_once_until_it_is_empty() -> None:
    watch, one = IdempotenceWatch(), memory(b"p")
    watch.watch(one)
    watch.watch(one)
    watch.expire(1000, limit=10)
    assert (len(watch), one.iids_tracked) == (1, 1)
    watch.expire(1001, limit=10)
    assert (len(watch), one.iids_tracked) == (0, 0)


def test_a_round_checks_a_limited_number_of_producers_and_the_next_one_continues() -> None:
    watch = IdempotenceWatch()
    memories = [memory(b"p", b"q") for _ in range(4)]
    for one in memories:
        watch.watch(one)
    watch.expire(5000, limit=4)
    assert [one.iids_tracked for one in memories] == [0, 0, 2, 2]
    watch.expire(5000, limit=4)
    assert [one.iids_tracked for one in memories] == [0, 0, 0, 0]


def test_one_memory_with_many_producers_takes_several_rounds() -> None:
    watch = IdempotenceWatch()
    one = memory(*(b"%d" % number for number in range(10)))
    watch.watch(one)
    watch.expire(5000, limit=4)
    assert one.iids_tracked == 6
    watch.expire(5000, limit=100)
    assert one.iids_tracked == 0


def test_a_deleted_stream_is_not_kept() -> None:
    watch = IdempotenceWatch()
    watch.watch(memory(b"p"))
    watch.expire(0, limit=10)
    assert len(watch) == 0
