"""IDs in columns: whatever the form, they are those that were packed."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entries.entry_id import make_id
from storage.entries.id_columns import IDColumns, IDProgression, NodeIDs
from tests.storage.nodes.sample_nodes import HALVES, IDS, packed_ids
from tests.support.examples import examples

STEPS = st.sampled_from([1, make_id(1, 0)])
PROGRESSIONS = st.builds(
    lambda start, step, count: [start + step * n for n in range(count)],
    st.builds(make_id, st.integers(0, 2**40), st.integers(0, 2**40)),
    STEPS,
    st.integers(1, 40),
)


def answers_as(packed: NodeIDs, key: int, ids: list[int], wanted: int, low: int, high: int) -> None:
    assert len(packed) == len(ids)
    assert [packed.at(key, place) for place in range(len(ids))] == ids
    assert packed.at(key, -1) == ids[-1]
    assert packed.place(key, wanted) == bisect_left(ids, wanted)
    assert packed.between(key, low, high) == ids[low:high]


@settings(max_examples=examples(300))
@given(ids=IDS | PROGRESSIONS, before=st.integers(0, 2**66), data=st.data())
def test_packed_ids_are_those_that_were_packed(
    ids: list[int], before: int, data: st.DataObject
) -> None:
    key = max(0, ids[0] - before)  # the first entries may be deleted
    wanted = data.draw(st.sampled_from(ids) | st.builds(make_id, HALVES, HALVES))
    wanted = max(0, wanted + data.draw(st.integers(-1, 1)))
    low = data.draw(st.integers(0, len(ids)))
    high = data.draw(st.integers(low, len(ids)))
    answers_as(packed_ids(ids, key), key, ids, wanted, low, high)


@settings(deadline=None)
@given(ids=PROGRESSIONS)
def test_ids_in_equal_steps_are_a_progression_that_nodes_share(ids: list[int]) -> None:
    packed = packed_ids(ids)
    assert isinstance(packed, IDProgression)
    later = [entry_id + make_id(5, 0) for entry_id in ids]
    assert packed_ids(later) is packed
    assert packed.memory_bytes() == 0


def test_ids_that_only_end_as_a_progression_would_are_none() -> None:
    ids = [make_id(10, 0), make_id(10, 5), make_id(11, 7), make_id(13, 0)]
    assert isinstance(packed_ids(ids), IDColumns)


def test_narrow_columns_take_less_than_wide_ones() -> None:
    narrow = [make_id(1000 + n * n % 250, n) for n in range(15)]
    wide = [make_id(1000 + n * n * 2**40, n) for n in range(15)]
    assert packed_ids(sorted(narrow)).memory_bytes() < packed_ids(wide).memory_bytes()
