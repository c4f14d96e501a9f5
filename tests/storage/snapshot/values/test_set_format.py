"""storage/snapshot/values/set_format.py: as Redis writes them.

storage/snapshot/values/set_format.py: sets in payloads, as Redis writes and reads them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.listpack import encode_listpack
from storage.redis_format.primitives import CorruptSnapshot, crc64, encode_checksum, encode_string
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.payload import dump, restore
from storage.snapshot.values.set_format import decode_intset, encode_intset
from storage.types.sets import SetValue


@given(st.sets(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1))
def test_what_is_written_is_read_back(members: set[int]) -> None:
    ordered = sorted(members)
    assert list(decode_intset(encode_intset(ordered), 0)) == ordered


def test_the_width_is_that_of_the_widest_member() -> None:
    assert encode_intset([-1, 5]) == bytes.fromhex("0200000002000000ffff0500")
    assert encode_intset([-32768, 32767])[0] == 2
    assert encode_intset([-32769])[0] == 4
    assert encode_intset([1 << 31])[0] == 8


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        bytes(7),
        bytes.fromhex("0300000001000000010000"),  # no such width
        bytes.fromhex("02000000020000000100"),  # cut off
        bytes.fromhex("0200000001000000010002"),  # and more
        bytes.fromhex("020000000200000001000100"),  # twice the same
        bytes.fromhex("020000000200000002000100"),  # descending
        bytes.fromhex("02000000ffffffff"),
    ],
)
def test_what_is_no_intset_is_refused(blob: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decode_intset(blob, 0)


LIMITS = EncodingLimits()
FEW = EncodingLimits(set_max_intset_entries=2, set_max_listpack_entries=2)
OPTIONS = SnapshotOptions()


def sealed(content: str, version: int = 11) -> bytes:
    body = bytes.fromhex(content) + version.to_bytes(2, "little")
    return body + encode_checksum(crc64(body))


def restored(payload: bytes, limits: EncodingLimits = LIMITS) -> SetValue:
    value = restore(payload, 5, limits=limits)
    assert isinstance(value, SetValue)
    assert value.access_ms == 5
    return value


@given(
    st.sets(st.one_of(st.binary(max_size=70), st.integers(-99, 99).map(b"%d".__mod__)), min_size=1),
    st.sampled_from([LIMITS, FEW]),
    st.sampled_from([None, 15, 19]),
    st.booleans(),
)
def test_a_set_comes_back_the_same(
    members: set[bytes], limits: EncodingLimits, stream_type: int | None, compress: bool
) -> None:
    value = SetValue.of(sorted(members), limits)
    options = SnapshotOptions(compress=compress, stream_type=stream_type)
    twin = restored(dump(value, options, 0), limits)
    assert twin.members() == value.members()
    assert twin.encoding == value.encoding


def test_each_form_has_a_type_of_its_own() -> None:
    def head(*members: bytes, stream_type: int | None = None) -> bytes:
        value = SetValue.of(members, EncodingLimits())
        return dump(value, SnapshotOptions(stream_type=stream_type), 0)[:1]

    assert head(b"1", b"2") == b"\x0b"
    assert head(b"1", b"a") == b"\x14"
    assert head(b"m" * 65) == b"\x02"
    assert head(b"1", b"a", stream_type=19) == b"\x02"
    assert head(b"1", b"2", stream_type=15) == b"\x0b"


def test_what_redis_7_0_dumped_is_read() -> None:
    # DUMP of SADD set 3 1 2, and of SADD set a
    value = restored(sealed("0b0e" + "0200000003000000010002000300", 10))
    assert (value.encoding, value.members()) == (b"intset", [b"1", b"2", b"3"])
    value = restored(sealed("02010161", 10))
    assert (value.encoding, value.members()) == (b"listpack", [b"a"])


def test_what_is_beyond_the_limits_is_converted() -> None:
    assert restored(dump(SetValue.of([b"1", b"2", b"3"], LIMITS), OPTIONS, 0), FEW).encoding == (
        b"hashtable"
    )
    assert restored(dump(SetValue.of([b"a", b"b", b"c"], LIMITS), OPTIONS, 0), FEW).encoding == (
        b"hashtable"
    )


@given(st.integers(0, 400), st.integers(1, 255), st.sampled_from([0, 1, 2]))
def test_a_flipped_bit_is_refused_or_makes_another_set(place: int, bits: int, form: int) -> None:
    members = [b"%d" % (number * 999) for number in range(20)] + [b"x" * 70] * (form == 2)
    members += [b"a"] * (form > 0)
    body = dump(SetValue.of(members, LIMITS), OPTIONS, 0)[:-10]
    damaged = bytearray(body)
    damaged[1 + place % (len(body) - 1)] ^= bits
    try:
        value = restored(sealed(bytes(damaged).hex()))
    except CorruptSnapshot:
        return
    assert len(set(value.members())) == len(value) > 0


TWICE = encode_string(encode_listpack([b"a", b"a"]), compress=False).hex()


@pytest.mark.parametrize(
    "content",
    [
        "0200",  # no members
        "020201610161",  # twice the same
        "02030161",  # cut off
        "0b080200000000000000",  # an intset without members
        "0b0102",
        "14" + TWICE,
        "140161",
    ],
)
def test_what_is_no_set_is_refused(content: str) -> None:
    with pytest.raises(CorruptSnapshot):
        restore(sealed(content), 0)
