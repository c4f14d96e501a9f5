"""storage/groups/delivery_latency.py: how long entries waited for their first delivery."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import make_id
from storage.entries.entry_ids import EntryIDs
from storage.groups.delivery_latency import BOUNDS_MS, DeliveryLatency, is_time

NOW_MS = 1_700_000_000_000


def observed(*added_ms: int) -> DeliveryLatency:
    latency = DeliveryLatency()
    latency.observe(EntryIDs.of([make_id(ms, 0) for ms in sorted(added_ms)]), NOW_MS)
    return latency


def test_an_entry_counts_at_each_bound_that_it_did_not_exceed() -> None:
    counts = dict(zip([*BOUNDS_MS, None], observed(NOW_MS - 3).cumulative(), strict=True))
    assert (counts[2], counts[4], counts[8], counts[None]) == (0, 1, 1, 1)


def test_the_bounds_are_from_1_ms_to_524_s() -> None:
    assert (BOUNDS_MS[0], BOUNDS_MS[-1]) == (1, 524_288)


def test_an_id_ahead_of_the_clock_has_not_waited() -> None:
    latency = observed(NOW_MS + 1000)
    assert (latency.cumulative()[0], latency.total_ms) == (1, 0)


def test_an_id_that_is_no_time_is_left_out() -> None:
    latency = observed(1, 10**12 - 1, NOW_MS - 7, NOW_MS + 3_600_001)
    assert (latency.cumulative()[-1], latency.total_ms) == (1, 7)
    assert [is_time(ms, NOW_MS) for ms in (1, NOW_MS, NOW_MS + 3_600_001)] == [False, True, False]


@given(st.lists(st.integers(0, 2_000_000), max_size=50))
def test_each_entry_is_in_the_bucket_of_its_time(waited: list[int]) -> None:
    latency = observed(*(NOW_MS - ms for ms in waited))
    expected = [sum(ms <= bound for ms in waited) for bound in BOUNDS_MS]
    assert latency.cumulative() == [*expected, len(waited)]
    assert latency.total_ms == sum(waited)
