"""The packed members of a small sorted set, beside a sorted list of records."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.types import few_records
from storage.types.records import make_record, member_of, pair_of, score_of

SCORES = st.sampled_from(
    [0.0, 1.0, -1.0, 127.0, 128.0, -128.0, -129.0, 2.0**31 - 1, 2.0**31, -(2.0**31), 1e15, 0.5]
) | st.floats(allow_nan=False)
MEMBERS = st.dictionaries(st.binary(max_size=255), SCORES, max_size=40)


def in_order(scores: dict[bytes, float]) -> list[bytes]:
    return sorted((make_record(score, member) for member, score in scores.items()), key=pair_of)


@given(MEMBERS)
def test_records_come_back_as_they_were(scores: dict[bytes, float]) -> None:
    records = in_order(scores)
    few = few_records.packed(records)
    assert few_records.packed_records(few, 0, 99) == records
    for rank, record in enumerate(records):
        place = few_records.place_at(few, rank)
        assert place == few_records.find_packed(few, member_of(record))
        assert few_records.rank_at(few, place) == rank
        assert few_records.record_at(few, place) == record
        assert few_records.score_at(few, place) == score_of(record)
        assert few_records.rank_before(few, record) == rank
    assert few_records.find_packed(few, b"\xff" * 256) == -1


@given(MEMBERS, SCORES)
def test_a_record_finds_its_place(scores: dict[bytes, float], score: float) -> None:
    member = b"m" * 200
    scores.pop(member, None)
    few = few_records.packed(in_order(scores))
    grown = few_records.with_record(few, make_record(score, member))
    assert grown == few_records.packed(in_order({**scores, member: score}))
    rank = few_records.rank_at(grown, few_records.find_packed(grown, member))
    assert few_records.without_ranks(grown, rank, rank + 1) == few


@given(MEMBERS, st.integers(0, 40), st.integers(0, 40))
def test_a_span_is_read_and_removed(scores: dict[bytes, float], start: int, count: int) -> None:
    records = in_order(scores)
    few = few_records.packed(records)
    start = min(start, len(records))
    end = min(start + count, len(records))
    assert few_records.packed_records(few, start, end) == records[start:end]
    left = few_records.without_ranks(few, start, end)
    assert left == few_records.packed(records[:start] + records[end:])


@given(MEMBERS, SCORES)
def test_a_bound_of_scores_comes_before_the_members_with_its_score(
    scores: dict[bytes, float], score: float
) -> None:
    records = in_order(scores)
    bound = make_record(score, b"")
    expected = bisect_left([pair_of(record) for record in records], (score, b""))
    assert few_records.rank_before(few_records.packed(records), bound) == expected


@pytest.mark.parametrize(
    ("score", "size"), [(0.0, 1), (-128.0, 1), (128.0, 4), (-0.0, 8), (2.0**31, 8), (0.5, 8)]
)
def test_whole_scores_take_few_bytes(score: float, size: int) -> None:
    few = few_records.packed([make_record(score, b"m")])
    assert len(few) == 1 + 2 + size + 1
    assert str(few_records.score_at(few, 1)) == str(score)
