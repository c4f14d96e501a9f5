"""storage/types/scored/record.py: a member with its score, and the order of records."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from storage.types.scored.record import (
    is_before,
    make_record,
    member_of,
    pair_of,
    place_of,
    score_of,
    sort_records,
)

SCORES = st.one_of(st.sampled_from([0.0, -0.0, inf, -inf, 1.0]), st.floats(allow_nan=False))
MEMBERS = st.one_of(st.sampled_from([b"", b"a", b"a\0", b"ab"]), st.binary(max_size=40))
PAIRS = st.tuples(SCORES, MEMBERS)


@given(SCORES, MEMBERS)
def test_a_record_holds_a_score_and_a_member(score: float, member: bytes) -> None:
    record = make_record(score, member)
    assert str(score_of(record)) == str(score)
    assert member_of(record) == member
    assert pair_of(record) == (score, member)
    assert len(record) == 8 + len(member)


@given(PAIRS, PAIRS)
def test_records_are_ordered_by_score_and_then_by_member(
    one: tuple[float, bytes], other: tuple[float, bytes]
) -> None:
    assert is_before(make_record(*one), make_record(*other)) == (one < other)


@given(st.lists(PAIRS, unique_by=lambda pair: pair[1]), PAIRS)
def test_records_are_sorted_and_found(
    pairs: list[tuple[float, bytes]], wanted: tuple[float, bytes]
) -> None:
    records = [make_record(*pair) for pair in pairs]
    sort_records(records)
    assert list(map(pair_of, records)) == sorted(pairs)
    assert place_of(records, make_record(*wanted)) == sum(pair < wanted for pair in pairs)
