"""storage/types/sets.py: members, the three forms, and picking."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.deferred_free import NO_WASTE
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.sets import SetValue

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
