"""storage/types/hyperloglog.py: registers, runs, estimates, damage."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.types import hyperloglog
from storage.types.hyperloglog import (
    DENSE_BYTES,
    HEADER_BYTES,
    REGISTERS,
    CorruptHyperLogLog,
    InvalidHyperLogLog,
    murmur_hash,
    place_of,
)

LIMIT = 3000


def with_registers(values: dict[int, int], limit: int = LIMIT) -> bytearray:
    data = hyperloglog.create()
    for index, value in values.items():
        hyperloglog.raise_register(data, index, value, limit)
    return data


def test_a_new_one_is_empty() -> None:
    data = hyperloglog.create()
    assert data == b"HYLL\x01" + bytes(10) + b"\x80\x7f\xff"
    assert hyperloglog.cached(data) is None
    assert hyperloglog.registers(data) == bytes(REGISTERS)
    hyperloglog.check(data)


def test_hashes_are_murmur_s() -> None:
    # As other implementations of MurmurHash64A give them.
    assert murmur_hash(b"", 0) == 0
    assert murmur_hash(b"a", 0) == 0x071717D2D36B6B11
    assert len({murmur_hash(b"x" * length) for length in range(40)}) == 40


def test_a_register_keeps_the_position_of_the_lowest_bit() -> None:
    index, value = place_of(b"a")
    hashed = murmur_hash(b"a")
    assert index == hashed & 16383
    assert (hashed >> 14) % (1 << value) == 1 << value - 1


@given(
    st.lists(st.tuples(st.integers(0, 120), st.integers(1, 34)), max_size=60),
    st.sampled_from([30, 60, LIMIT]),
)
def test_registers_are_what_was_put_into_them(additions: list[tuple[int, int]], limit: int) -> None:
    data = hyperloglog.create()
    expected = bytearray(REGISTERS)
    for index, value in additions:
        changed = hyperloglog.raise_register(data, index, value, limit)
        assert changed is (value > expected[index])
        expected[index] = max(expected[index], value)
        assert hyperloglog.registers(data) == expected
        assert hyperloglog.is_dense(data) or len(data) <= limit
    assert hyperloglog.is_dense(data) or max(expected) <= 32


@given(st.dictionaries(st.integers(0, REGISTERS - 1), st.integers(1, 63), max_size=40))
def test_dense_registers_have_six_bits_each(values: dict[int, int]) -> None:
    data = hyperloglog.create()
    hyperloglog.make_dense(data)
    assert len(data) == DENSE_BYTES
    for index, value in values.items():
        assert hyperloglog.raise_register(data, index, value, LIMIT)
        assert not hyperloglog.raise_register(data, index, value, LIMIT)
    found = hyperloglog.registers(data)
    assert {index: one for index, one in enumerate(found) if one} == values
    bits = "".join(f"{byte:08b}" for byte in reversed(data[HEADER_BYTES:]))
    for index, value in values.items():
        end = len(bits) - 6 * index
        assert int(bits[end - 6 : end], 2) == value


def test_neighbours_of_the_same_value_are_joined_by_fours() -> None:
    data = with_registers(dict.fromkeys(range(9), 5))
    assert data[HEADER_BYTES:] == b"\x93\x93\x90" + b"\x7f\xf6"
    assert list(hyperloglog.runs(data)) == [(1, 4, 5), (1, 4, 5), (1, 1, 5), (2, REGISTERS - 9, 0)]
    hyperloglog.raise_register(data, 1, 7, LIMIT)
    assert list(hyperloglog.runs(data))[:3] == [(1, 1, 5), (1, 1, 7), (1, 2, 5)]


def test_it_becomes_dense_when_it_is_too_long_or_a_value_too_great() -> None:
    assert hyperloglog.is_dense(with_registers({5: 33}))
    scattered = {index: 1 + index % 3 for index in range(0, 400, 2)}
    assert not hyperloglog.is_dense(with_registers(scattered))
    dense = with_registers(scattered, limit=100)
    assert hyperloglog.is_dense(dense)
    assert hyperloglog.registers(dense) == hyperloglog.registers(with_registers(scattered))


@pytest.mark.parametrize("count", [0, 1, 10, 1000, 20_000])
def test_estimates_are_close(count: int) -> None:
    data = hyperloglog.create()
    hyperloglog.add(data, [b"element %d" % number for number in range(count)], LIMIT)
    found = hyperloglog.estimate(hyperloglog.registers(data))
    assert abs(found - count) <= 0.025 * count


def test_an_estimate_is_kept_until_something_changes() -> None:
    data = hyperloglog.create()
    assert hyperloglog.add(data, [b"a"], LIMIT)
    assert hyperloglog.cached(data) is None
    hyperloglog.keep(data, 1)
    assert hyperloglog.cached(data) == 1
    assert not hyperloglog.add(data, [b"a"], LIMIT)
    assert hyperloglog.cached(data) == 1


@pytest.mark.parametrize("dense", [False, True])
def test_merging_takes_the_greatest_of_each(dense: bool) -> None:
    first, second = with_registers({1: 5, 2: 2, 900: 3}), with_registers({1: 4, 2: 6, 7: 1})
    values = hyperloglog.greatest([hyperloglog.registers(second)])
    hyperloglog.merge(first, values, dense=dense, sparse_max_bytes=LIMIT)
    assert hyperloglog.is_dense(first) is dense
    found = hyperloglog.registers(first)
    assert {index: one for index, one in enumerate(found) if one} == {1: 5, 2: 6, 7: 1, 900: 3}
    assert hyperloglog.cached(first) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"HYLL", b"HYLX" + bytes(12), b"HYLL\x02" + bytes(20), b"HYLL\x00" + bytes(100)],
)
def test_other_strings_are_none(data: bytes) -> None:
    with pytest.raises(InvalidHyperLogLog):
        hyperloglog.check(data)


@pytest.mark.parametrize(
    "runs_", [b"", b"\x00", b"\x7f\xff\x00", b"\x7f\xfe", b"\x7f", b"\x7f\xff\x80", b"\x40"]
)
def test_damaged_runs_are_refused(runs_: bytes) -> None:
    header = hyperloglog.create()[:HEADER_BYTES]
    with pytest.raises(CorruptHyperLogLog):
        hyperloglog.registers(header + runs_)
    with pytest.raises(CorruptHyperLogLog):
        hyperloglog.make_dense(header + runs_)


def test_what_was_added_before_damage_is_found_makes_the_estimate_stale() -> None:
    data = with_registers({5: 3})
    hyperloglog.keep(data, 1)
    del data[-2:]  # the zeros at the end
    assert place_of(b"0")[0] > 5
    with pytest.raises(CorruptHyperLogLog):
        hyperloglog.add(data, [b"0"], LIMIT)
    assert hyperloglog.cached(data) == 1
    hyperloglog.raise_register(data, 5, 4, LIMIT)
    assert hyperloglog.cached(data) is None


def test_damage_after_the_register_that_changes_is_not_looked_at() -> None:
    # As Redis does it: only PFCOUNT and PFMERGE find that the last run has no second byte.
    data = hyperloglog.create() + b"@"
    assert hyperloglog.add(data, [b"element 0"], LIMIT)
    assert hyperloglog.cached(data) is None
    with pytest.raises(CorruptHyperLogLog):
        hyperloglog.registers(data)


@given(st.binary(max_size=40), st.integers(0, REGISTERS - 1), st.integers(1, 40))
def test_no_bytes_do_anything_but_be_answered_or_refused(
    runs_: bytes, index: int, value: int
) -> None:
    data = hyperloglog.create()[:HEADER_BYTES] + runs_
    try:
        hyperloglog.raise_register(data, index, value, LIMIT)
        hyperloglog.registers(data)
    except CorruptHyperLogLog:
        pass


def test_many_random_elements_stay_ordered_by_register() -> None:
    chance = random.Random(3)
    sparse, dense = hyperloglog.create(), hyperloglog.create()
    hyperloglog.make_dense(dense)
    for _ in range(800):
        element = chance.randbytes(8)
        assert hyperloglog.add(sparse, [element], 1 << 20) == hyperloglog.add(
            dense, [element], 1 << 20
        )
    assert hyperloglog.registers(sparse) == hyperloglog.registers(dense)
    assert not hyperloglog.is_dense(sparse)
