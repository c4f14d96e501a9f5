"""storage/types/sets.py: numbers without repetition.

storage/types/sets.py: members, the three forms, and picking.

storage/types/sets.py: order, ranks, ranges and the two forms.
"""

from __future__ import annotations

from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.deferred_free import NO_WASTE
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.key_part import SCORED
from storage.types.records import Pair, RecordTable, make_record, pair_of, score_of
from storage.types.sets import (
    FEW_MEMBERS,
    FEW_REMOVED,
    LexBounds,
    ScoreBounds,
    SetValue,
    SortedSetValue,
    distinct_numbers,
)


def test_numbers_are_different_and_below_the_limit() -> None:
    random = Random(1)
    for limit in range(1, 9):
        for count in range(limit + 1):
            numbers = distinct_numbers(count, limit, random.randrange)
            assert len(set(numbers)) == len(numbers) == count
            assert all(0 <= number < limit for number in numbers)


def test_every_choice_comes_about_as_often_as_any_other() -> None:
    random = Random(2)
    seen: dict[frozenset[int], int] = {}
    for _ in range(3000):
        choice = frozenset(distinct_numbers(2, 4, random.randrange))
        seen[choice] = seen.get(choice, 0) + 1
    assert len(seen) == 6
    assert all(400 < times < 600 for times in seen.values())


LIMITS = EncodingLimits()
FEW = EncodingLimits(set_max_intset_entries=3, set_max_listpack_entries=5)


def filled(*members: bytes, limits: EncodingLimits = LIMITS) -> SetValue:
    value = SetValue.sized(members[0], len(members), limits)
    for member in members:
        value.add(member, limits)
    return value


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


# -- the forms ---------------------------------------------------------------------------------


def test_a_set_of_integers_is_an_intset_in_ascending_order() -> None:
    value = filled(b"10", b"-3", b"2")
    assert value.encoding == b"intset"
    assert value.members() == [b"-3", b"2", b"10"]


@pytest.mark.parametrize("member", [b"a", b"01", b"+1", b"-0", b"", b"9223372036854775808"])
def test_what_is_no_canonical_integer_makes_it_a_listpack(member: bytes) -> None:
    value = filled(b"10", b"2")
    assert value.add(member, LIMITS)
    assert value.encoding == b"listpack"
    assert value.members() == [b"2", b"10", member]
    value.add(b"1", LIMITS)
    assert value.members() == [b"2", b"10", member, b"1"]


def test_an_intset_that_grows_too_large_skips_the_listpack() -> None:
    value = filled(*numbers(3), limits=FEW)
    assert value.encoding == b"intset"
    value.add(b"3", FEW)
    assert value.encoding == b"hashtable"


def test_a_listpack_holds_few_and_short_members() -> None:
    value = filled(b"a", b"b", limits=FEW)
    for member in (b"c", b"d", b"e"):
        value.add(member, FEW)
    assert value.encoding == b"listpack"
    assert filled(b"a", b"m" * 64).encoding == b"listpack"
    assert filled(b"a", b"m" * 65).encoding == b"hashtable"
    value.add(b"f", FEW)
    assert value.encoding == b"hashtable"


def test_an_intset_too_large_for_a_listpack_becomes_a_hashtable() -> None:
    limits = EncodingLimits(set_max_listpack_entries=2)
    value = filled(b"1", b"2", limits=limits)
    value.add(b"a", limits)
    assert value.encoding == b"hashtable"
    limits = EncodingLimits(set_max_listpack_value=3)
    value = filled(b"1000", limits=limits)
    value.add(b"a", limits)
    assert value.encoding == b"hashtable"


def test_how_many_members_come_decides_from_the_start() -> None:
    assert SetValue.sized(b"1", 3, FEW).encoding == b"intset"
    assert SetValue.sized(b"1", 4, FEW).encoding == b"listpack"
    assert SetValue.sized(b"a", 6, FEW).encoding == b"hashtable"
    value = filled(b"1", limits=FEW)
    value.expect(3, FEW)
    assert value.encoding == b"intset"
    value.expect(4, FEW)
    assert value.encoding == b"hashtable"
    value = filled(b"a", limits=FEW)
    value.expect(6, FEW)
    assert value.encoding == b"hashtable"


def test_nothing_shrinks_back() -> None:
    value = filled(b"1", b"a")
    value.remove(b"a")
    assert value.encoding == b"listpack"
    value = filled(b"1", b"m" * 65)
    value.remove(b"m" * 65)
    assert value.encoding == b"hashtable"


def test_a_result_takes_the_smallest_form() -> None:
    assert SetValue.of(numbers(3), FEW).encoding == b"intset"
    assert SetValue.of(numbers(4), FEW).encoding == b"listpack"
    assert SetValue.of(numbers(6), FEW).encoding == b"hashtable"
    assert SetValue.of([b"a", b"m" * 65], FEW).encoding == b"hashtable"


# -- members -----------------------------------------------------------------------------------

MEMBERS = st.sampled_from([b"a", b"b", b"c", b"1", b"2", b"30", b"", b"m" * 65])
STEPS = st.lists(st.tuples(st.booleans(), MEMBERS, st.booleans()), max_size=60)


@given(STEPS, st.sampled_from([LIMITS, FEW]))
def test_it_holds_what_a_plain_set_holds(
    steps: list[tuple[bool, bytes, bool]], limits: EncodingLimits
) -> None:
    value, model = SetValue(), set[bytes]()
    random = Random(0)
    for is_added, member, looks in steps:
        if is_added:
            assert value.add(member, limits) is (member not in model)
            model.add(member)
        else:
            assert value.remove(member) is (member in model)
            model.discard(member)
        assert len(value) == value.size == len(model)
        assert sorted(value.members()) == sorted(model)
        if looks and model:
            assert value.pick(random.randrange) in model
            count = random.randrange(len(model) + 1)
            sample = value.sample(count, random.randrange)
            assert len(set(sample)) == count == len(sample)
            assert set(sample) <= model


@pytest.mark.parametrize("count", [3, 400, 1000])
def test_a_sample_of_a_large_set_has_different_members(count: int) -> None:
    value = filled(*numbers(1000))
    sample = value.sample(count, Random(3).randrange)
    assert len(set(sample)) == count
    assert set(sample) <= set(numbers(1000))


def test_every_member_of_a_large_set_may_be_picked() -> None:
    value = filled(*numbers(600))
    for member in numbers(500):
        value.remove(member)
    random = Random(4)
    assert {value.pick(random.randrange) for _ in range(3000)} == set(numbers(600)[500:])


def test_a_small_set_is_scanned_whole_and_a_large_one_in_steps() -> None:
    small = filled(b"3", b"1")
    assert small.scan(0, 1) == (0, [b"1", b"3"])
    large = filled(*numbers(600))
    cursor, seen = large.scan(0, 100)
    assert 50 < len(seen) < 150
    while cursor:
        cursor, some = large.scan(cursor, 100)
        seen += some
    assert sorted(seen) == sorted(numbers(600))


# -- as a whole --------------------------------------------------------------------------------


def test_a_copy_is_independent() -> None:
    value = filled(b"a", b"b")
    value.access_ms = 7
    twin = value.copy()
    value.add(b"c", LIMITS)
    twin.remove(b"a")
    assert (value.members(), twin.members()) == ([b"a", b"b", b"c"], [b"b"])
    assert (twin.encoding, twin.access_ms) == (b"listpack", 7)


def test_memory_grows_with_the_members() -> None:
    small, large = filled(*numbers(10)), filled(*numbers(1000))
    assert large.memory_bytes() > 20 * small.memory_bytes() / 2
    assert 1000 * 8 < large.memory_bytes() < 1000 * 20


def test_a_large_set_is_freed_in_steps() -> None:
    assert filled(b"a").release() is NO_WASTE
    large = filled(*numbers(20_000))
    removed_data = large.release()
    assert removed_data.is_large
    assert len(large) == 0
    assert sum(1 for _ in removed_data.free()) > 5


def test_iteration_is_in_the_order_of_the_members() -> None:
    integers = SetValue.of([b"3", b"-1", b"2"], LIMITS)
    assert list(integers) == integers.members() == [b"-1", b"2", b"3"]
    texts = SetValue.of({b"b": None, b"a": None}, LIMITS)
    assert list(texts) == texts.members() == [b"b", b"a"]


NONE_SMALL = EncodingLimits(zset_max_listpack_entries=0)


def filled_sorted_set(
    scores: dict[bytes, float], limits: EncodingLimits = LIMITS
) -> SortedSetValue:
    value = SortedSetValue()
    for member, score in scores.items():
        value.set(member, score, limits)
    return value


def made(scores: dict[bytes, float], limits: EncodingLimits = LIMITS) -> SortedSetValue:
    records = [make_record(score, member) for member, score in scores.items()]
    return SortedSetValue.of_records(records, limits)


def everything(value: SortedSetValue) -> list[Pair]:
    return value.pairs()


def table_of(value: SortedSetValue) -> dict[bytes, float]:
    """What is found by its member."""
    return {
        member: score for _, member in value.pairs() if (score := value.score(member)) is not None
    }


def scanned(value: SortedSetValue, cursor: int, count: int) -> tuple[int, list[Pair]]:
    following, records = value.scan(cursor, count)
    return following, list(map(pair_of, records))


def many(count: int) -> dict[bytes, float]:
    return {b"%d" % number: float(number) for number in range(count)}


# -- order and ranks ---------------------------------------------------------------------------

NAMES = st.sampled_from([b"a", b"b", b"c", b"", b"10", b"m" * 65, b"\xff"])
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.5, -2.0, inf, -inf])
SCORED_STEPS = st.lists(st.tuples(NAMES, st.one_of(SCORES, st.none())), max_size=60)


@given(SCORED_STEPS, st.sampled_from([LIMITS, NONE_SMALL]))
def test_it_holds_what_a_sorted_table_holds(
    steps: list[tuple[bytes, float | None]], limits: EncodingLimits
) -> None:
    value, model = SortedSetValue(), dict[bytes, float]()
    for member, score in steps:
        if score is None:
            assert value.remove(member) is (member in model)
            model.pop(member, None)
        else:
            value.set(member, score, limits)
            model[member] = score
        ordered = sorted((score, member) for member, score in model.items())
        assert everything(value) == ordered
        assert table_of(value) == model
        for rank, (score, member) in enumerate(ordered):
            assert value.rank(member) == rank
            assert pair_of(value.at(rank)) == (score, member)
            assert value.score(member) == score
            assert member in value
    assert value.rank(b"none") is None
    assert value.score(b"none") is None


BOUND = st.sampled_from([-inf, -2.0, -1.0, 0.0, 1.0, 1.5, inf])


@given(st.dictionaries(NAMES, SCORES), BOUND, BOUND, st.booleans(), st.booleans())
def test_a_span_of_scores_has_what_is_within_the_bounds(
    scores: dict[bytes, float], low: float, high: float, above: bool, below: bool
) -> None:
    value = filled_sorted_set(scores)
    start, end = value.span_of_scores(ScoreBounds(low, high, above, below))
    wanted = [
        (score, member)
        for score, member in everything(value)
        if (low < score if above else low <= score) and (score < high if below else score <= high)
    ]
    assert value.pairs(start, end) == wanted


@pytest.mark.parametrize("limits", [LIMITS, NONE_SMALL])
@pytest.mark.parametrize(
    ("bounds", "members"),
    [
        (LexBounds(None, None), "abcd"),
        (LexBounds(b"b", None), "bcd"),
        (LexBounds(b"b", None, excludes_low=True), "cd"),
        (LexBounds(b"b", b"c"), "bc"),
        (LexBounds(b"b", b"c", excludes_high=True), "b"),
        (LexBounds(b"bb", b"z"), "cd"),
        (LexBounds(b"e", None), ""),
        (LexBounds(None, b"A"), ""),
        (LexBounds(b"c", b"b", is_empty=True), ""),
    ],
)
def test_a_span_of_members(bounds: LexBounds, members: str, limits: EncodingLimits) -> None:
    value = filled_sorted_set(dict.fromkeys([b"a", b"b", b"c", b"d"], 1.0), limits)
    start, end = value.span_of_members(bounds)
    assert [member.decode() for _, member in value.pairs(start, end)] == list(members)


def test_a_span_can_be_removed() -> None:
    value = filled_sorted_set(many(3000))
    value.scan(0, 1)
    value.remove_span(10, 2990)
    assert [int(member) for _, member in value.pairs()] == [*range(10), *range(2990, 3000)]
    assert len(value) == 20
    assert len(scanned(value, 0, 5000)[1]) == 20


SPANS = st.tuples(st.integers(0, 5000), st.integers(0, 5000)).map(sorted)


@given(st.lists(SPANS, min_size=1, max_size=3), st.booleans())
def test_spans_of_any_size_can_be_removed(spans: list[list[int]], is_scanned: bool) -> None:
    value = made(many(5000))
    if is_scanned:
        value.scan(0, 10)
    model = everything(value)
    for start, end in spans:
        count = len(model)
        first, last = start * count // 5000, end * count // 5000
        removed = value.remove_span(first, last)
        assert removed is NO_WASTE or last - first > FEW_REMOVED
        del model[first:last]
        assert everything(value) == model
        assert table_of(value) == {member: score for score, member in model}
        assert [value.rank(member) for _, member in model[::100]] == [*range(0, len(model), 100)]
        assert sorted(scanned(value, 0, 5000)[1]) == model
    value.set(b"new", 2500.5, LIMITS)
    assert value.rank(b"new") == sum(score < 2500.5 for score, _ in model)


def test_few_that_are_left_at_both_ends_are_found_by_their_members() -> None:
    for start, end in ((5, 595), (1, 599), (16, 600), (0, 590), (300, 580)):
        value = filled_sorted_set({b"m%03d" % number: float(number) for number in range(600)})
        value.remove_span(start, end)
        left = {b"m%03d" % number: float(number) for number in (*range(start), *range(end, 600))}
        assert table_of(value) == left == {member: score for score, member in value.pairs()}
        for member in left:
            value.set(member, -1.0, LIMITS)
        assert len(value) == len(left) and table_of(value) == dict.fromkeys(left, -1.0)
        for number in range(100):
            value.set(b"x%d" % number, 0.0, LIMITS)
        assert len(table_of(value)) == len(left) + 100


@pytest.mark.parametrize(("low", "high"), [(0, 500), (200, 990), (0, 980)])
def test_a_scan_misses_none_that_a_removal_of_many_leaves(low: int, high: int) -> None:
    value = filled_sorted_set({b"m%03d" % number: float(1000 - number) for number in range(1000)})
    cursor, found = 0, set()
    for _ in range(7):
        cursor, records = value.scan(cursor, 100)
        found |= {pair_of(record)[1] for record in records}
    value.remove_span(low, high)
    while cursor:
        cursor, records = value.scan(cursor, 100)
        found |= {pair_of(record)[1] for record in records}
    assert {member for _, member in value.pairs()} <= found


def test_a_large_span_is_freed_in_steps() -> None:
    value = made(many(50_000))
    assert value.remove_span(10, 49_990).is_large
    assert len(value) == 20


@given(st.integers(0, 600), st.integers(0, 600), st.sampled_from([LIMITS, NONE_SMALL]))
def test_a_copy_of_a_span_is_independent(start: int, end: int, limits: EncodingLimits) -> None:
    start, end = sorted((start, end))
    value = made(many(600))
    expected = everything(value)[start:end]
    copy = value.copy_of_span(start, end, limits)
    assert everything(copy) == expected
    assert table_of(copy) == {member: score for score, member in expected}
    small = end - start <= limits.zset_max_listpack_entries
    assert copy.encoding == (b"listpack" if small else b"skiplist")
    copy.set(b"new", 1.0, limits)
    value.remove_span(0, 600)
    assert len(copy) == end - start + 1


@given(st.dictionaries(NAMES, SCORES), st.sampled_from([LIMITS, NONE_SMALL]))
def test_records_make_the_same_sorted_set_as_members_one_by_one(
    scores: dict[bytes, float], limits: EncodingLimits
) -> None:
    of_records, one_by_one = made(scores, limits), filled_sorted_set(scores, limits)
    assert everything(of_records) == everything(one_by_one)
    assert table_of(of_records) == scores
    assert of_records.encoding == (
        b"skiplist" if limits is NONE_SMALL and scores else one_by_one.encoding
    )


@pytest.mark.parametrize("count", [1, FEW_MEMBERS + 1, 129])
def test_a_table_of_records_is_taken_over(count: int) -> None:
    table = RecordTable(SCORED)
    table.put_all([make_record(-1.0 * number, b"%d" % number) for number in range(count)])
    value = SortedSetValue.of_table(table, LIMITS)
    assert value.rank(b"0") == count - 1
    assert everything(value) == sorted((-1.0 * number, b"%d" % number) for number in range(count))
    assert value.encoding == (b"skiplist" if count > 128 else b"listpack")


@pytest.mark.parametrize("count", [1, FEW_MEMBERS, 10 * FEW_MEMBERS])
def test_a_member_that_comes_twice_is_refused(count: int) -> None:
    records = [make_record(1.0, b"%d" % number) for number in range(count)]
    with pytest.raises(ValueError, match="twice"):
        SortedSetValue.of_records([*records, make_record(2.0, b"0")], LIMITS)


# -- the forms ---------------------------------------------------------------------------------


def test_few_short_members_are_a_listpack() -> None:
    assert filled_sorted_set(many(128)).encoding == b"listpack"
    assert filled_sorted_set(many(129)).encoding == b"skiplist"
    assert filled_sorted_set({b"m" * 64: 1.0}).encoding == b"listpack"
    assert filled_sorted_set({b"m" * 65: 1.0}).encoding == b"skiplist"
    assert made(many(128)).encoding == b"listpack"
    assert made(many(129)).encoding == b"skiplist"
    assert made({b"m" * 65: 1.0}).encoding == b"skiplist"


def test_how_many_scored_members_come_decides_from_the_start() -> None:
    assert SortedSetValue.sized(128, 1, LIMITS).encoding == b"listpack"
    assert SortedSetValue.sized(129, 1, LIMITS).encoding == b"skiplist"
    assert SortedSetValue.sized(1, 65, LIMITS).encoding == b"skiplist"
    value = filled_sorted_set({b"a": 1.0})
    value.expect(128, LIMITS)
    assert value.encoding == b"listpack"
    value.expect(129, LIMITS)
    assert value.encoding == b"skiplist"


def test_only_the_large_form_distinguishes_0_from_minus_0() -> None:
    small, large = filled_sorted_set({b"a": -0.0}), filled_sorted_set({b"a": -0.0}, NONE_SMALL)
    assert (str(small.score(b"a")), str(large.score(b"a"))) == ("0.0", "-0.0")
    small = made({b"a": -0.0})
    large = made({b"a": -0.0}, NONE_SMALL)
    assert (str(small.score(b"a")), str(large.score(b"a"))) == ("0.0", "-0.0")


def test_no_sorted_set_shrinks_back() -> None:
    value = filled_sorted_set({b"a": 1.0, b"m" * 65: 2.0})
    value.remove(b"m" * 65)
    assert value.encoding == b"skiplist"
    value = filled_sorted_set({b"a": 1.0})
    value.become_skiplist()
    assert value.encoding == b"skiplist"


def test_a_small_one_is_scanned_whole_and_a_large_one_in_steps() -> None:
    assert scanned(filled_sorted_set({b"b": 1.0, b"a": 2.0}), 0, 1) == (
        0,
        [(1.0, b"b"), (2.0, b"a")],
    )
    large = filled_sorted_set(many(300))
    cursor, seen = scanned(large, 0, 100)
    large.set(b"299", -1.0, LIMITS)
    large.set(b"0", 1000.0, LIMITS)
    while cursor:
        cursor, some = scanned(large, cursor, 100)
        seen += some
    assert len(seen) == 300
    assert {member for _, member in seen} == set(many(300))
    assert (1000.0, b"0") in seen


# -- as a whole --------------------------------------------------------------------------------


def test_a_copy_of_a_sorted_set_is_independent() -> None:
    value = filled_sorted_set({b"a": 1.0, b"b": 2.0})
    value.access_ms = 7
    twin = value.copy()
    value.set(b"a", 5.0, LIMITS)
    twin.remove(b"b")
    assert everything(value) == [(2.0, b"b"), (5.0, b"a")]
    assert everything(twin) == [(1.0, b"a")]
    assert (twin.encoding, twin.access_ms) == (b"listpack", 7)


def test_a_copy_of_many_members_has_ranks_of_its_own() -> None:
    value = filled_sorted_set(many(5000))
    twin = value.copy()
    value.remove_span(0, 4000)
    assert (len(value), len(twin)) == (1000, 5000)
    assert [twin.rank(b"%d" % number) for number in (0, 1234, 4999)] == [0, 1234, 4999]
    assert pair_of(twin.at(3000)) == (3000.0, b"3000")
    twin.set(b"new", 2.5, LIMITS)
    assert twin.pairs(2, 5) == [(2.0, b"2"), (2.5, b"new"), (3.0, b"3")]


def test_memory_of_a_sorted_set_grows_with_the_members() -> None:
    large = filled_sorted_set(many(1000))
    assert large.memory_bytes() > 5 * filled_sorted_set(many(100)).memory_bytes()
    assert large.memory_bytes() < 100 * len(large)


def test_a_large_one_is_freed_in_steps() -> None:
    assert filled_sorted_set({b"a": 1.0}).release() is NO_WASTE
    large = made(many(50_000))
    removed_data = large.release()
    assert removed_data.is_large
    assert len(large) == 0
    assert sum(1 for _ in removed_data.free()) > 20


def test_an_empty_small_sorted_set_takes_no_records_that_make_it_large() -> None:
    value = SortedSetValue()
    assert not value.fill([make_record(-0.0, b"a"), make_record(1.0, b"x" * 65)], LIMITS)
    assert (len(value), value.encoding) == (0, b"listpack")


@pytest.mark.parametrize("count", [2, 40, 200])
def test_an_empty_sorted_set_takes_records_at_once(count: int) -> None:
    records = [make_record(float(n * 7 % count), b"m%d" % n) for n in range(count)]
    value, grown = SortedSetValue.sized(count, 2, LIMITS), SortedSetValue()
    for record in records:
        grown.set(record[8:], score_of(record), LIMITS)
    assert not value.fill([*records, records[0]], LIMITS)
    assert len(value) == 0
    assert value.fill(records, LIMITS)
    assert value.pairs() == grown.pairs()
    assert value.encoding == grown.encoding
