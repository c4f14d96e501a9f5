"""storage/snapshot/values/sorted_set_format.py: sorted sets in payloads, as Redis has them."""

from __future__ import annotations

import struct
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.listpack import encode_listpack
from storage.redis_format.primitives import CorruptSnapshot, crc64, encode_checksum, encode_string
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.payload import dump, restore
from storage.types.records import Pair, make_record
from storage.types.sets import SortedSetValue

LIMITS = EncodingLimits()
FEW = EncodingLimits(zset_max_listpack_entries=2)
OPTIONS = SnapshotOptions()


def sealed(content: bytes, version: int = 11) -> bytes:
    body = content + version.to_bytes(2, "little")
    return body + encode_checksum(crc64(body))


def restored(payload: bytes, limits: EncodingLimits = LIMITS) -> SortedSetValue:
    value = restore(payload, 5, limits=limits)
    assert isinstance(value, SortedSetValue)
    assert value.access_ms == 5
    return value


def made(scores: dict[bytes, float], limits: EncodingLimits) -> SortedSetValue:
    records = [make_record(score, member) for member, score in scores.items()]
    return SortedSetValue.of_records(records, limits)


def everything(value: SortedSetValue) -> list[Pair]:
    return value.pairs()


@given(
    st.dictionaries(st.binary(max_size=70), st.floats(allow_nan=False), min_size=1),
    st.sampled_from([LIMITS, FEW]),
    st.sampled_from([None, 15, 19]),
    st.booleans(),
)
def test_a_sorted_set_comes_back_the_same(
    scores: dict[bytes, float], limits: EncodingLimits, stream_type: int | None, compress: bool
) -> None:
    value = made(scores, limits)
    options = SnapshotOptions(compress=compress, stream_type=stream_type)
    twin = restored(dump(value, options, 0), limits)
    assert everything(twin) == everything(value)
    assert twin.encoding == value.encoding


def test_each_form_has_a_type_of_its_own() -> None:
    small = made({b"a": 1.0}, LIMITS)
    assert dump(small, OPTIONS, 0)[:1] == b"\x11"
    assert dump(small, SnapshotOptions(stream_type=19), 0)[:1] == b"\x11"
    assert dump(small, SnapshotOptions(stream_type=15), 0)[:1] == b"\x05"
    assert dump(made({b"m" * 65: 1.0}, LIMITS), OPTIONS, 0)[:1] == b"\x05"


def test_the_highest_score_is_written_first() -> None:
    value = made({b"b": 2.0, b"a": 1.0}, EncodingLimits(zset_max_listpack_entries=0))
    one, two = struct.pack("<d", 1.0), struct.pack("<d", 2.0)
    assert dump(value, OPTIONS, 0)[:-10] == b"\x05\x02\x01b" + two + b"\x01a" + one


def test_the_oldest_type_has_scores_as_text() -> None:
    content = b"\x03\x04" + b"\x01a\x031.5" + b"\x01b\xfe" + b"\x01c\xff" + b"\x01d\x02-7"
    assert everything(restored(sealed(content))) == [
        (-inf, b"c"), (-7.0, b"d"), (1.5, b"a"), (inf, b"b"),
    ]  # fmt: skip


def test_a_ziplist_of_redis_6_is_read() -> None:
    # DUMP of ZADD zset 1 a 2.5 b
    entries = bytes.fromhex("00016103f20201620303322e35")
    blob = (11 + len(entries)).to_bytes(4, "little") + bytes.fromhex("120000000400")
    content = b"\x0c" + encode_string(blob + entries + b"\xff", compress=False)
    assert everything(restored(sealed(content, 9))) == [(1.0, b"a"), (2.5, b"b")]


def test_what_is_beyond_the_limits_is_converted() -> None:
    value = made({b"a": 1.0, b"b": 1.0, b"c": 1.0}, LIMITS)
    assert restored(dump(value, OPTIONS, 0), FEW).encoding == b"skiplist"
    value = made({b"a": 1.0, b"b": 1.0, b"c": 1.0}, FEW)
    assert restored(dump(value, OPTIONS, 0), LIMITS).encoding == b"listpack"


@given(st.integers(0, 400), st.integers(1, 255), st.booleans())
def test_a_flipped_bit_is_refused_or_makes_another_sorted_set(
    place: int, bits: int, is_small: bool
) -> None:
    scores = {b"member %d" % number: number / 3 for number in range(20)}
    body = dump(made(scores, LIMITS if is_small else FEW), OPTIONS, 0)[:-10]
    damaged = bytearray(body)
    damaged[1 + place % (len(body) - 1)] ^= bits
    try:
        value = restored(sealed(bytes(damaged)))
    except CorruptSnapshot:
        return
    assert everything(value) == sorted(everything(value))
    assert len(everything(value)) == len(value) > 0


def packed(*elements: bytes) -> bytes:
    return encode_string(encode_listpack(elements), compress=False)


@pytest.mark.parametrize(
    "content",
    [
        b"\x05\x00",
        b"\x05\x01\x01a" + bytes(7),
        b"\x05\x02" + b"\x01a" + bytes(8) + b"\x01a" + bytes(8),
        b"\x05\x01\x01a" + struct.pack("<d", float("nan")),
        b"\x03\x01\x01a\xfd",
        b"\x03\x01\x01a\x01x",
        b"\x03\x01\x01a\x031.",
        b"\x11" + packed(),
        b"\x11" + packed(b"a"),
        b"\x11" + packed(b"a", b"x"),
        b"\x11" + packed(b"a", b"nan"),
        b"\x11" + packed(b"a", b"1_0"),
        b"\x11" + packed(b"a", b"1", b"a", b"2"),
    ],
)
def test_what_is_no_sorted_set_is_refused(content: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        restore(sealed(content), 0)
