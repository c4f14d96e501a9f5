"""A hash as requests that rebuild it."""

from __future__ import annotations

from storage.append_only.hash_requests import PAIRS_PER_REQUEST, rebuild_hash
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.hashes import HashValue

LIMITS = EncodingLimits()


def test_fields_come_64_at_a_time() -> None:
    value = HashValue()
    for number in range(PAIRS_PER_REQUEST + 1):
        value.set(b"f%d" % number, b"v", LIMITS)
    first, second = rebuild_hash(b"k", value, 0)
    assert first[:4] == [b"HMSET", b"k", b"f0", b"v"]
    assert len(first) == 2 + 2 * PAIRS_PER_REQUEST
    assert second == [b"HMSET", b"k", b"f64", b"v"]


def test_fields_with_times_come_one_by_one() -> None:
    value = HashValue()
    value.update([b"a", b"1", b"b", b"2"], LIMITS)
    value.expire_at(b"b", 5000)
    assert list(rebuild_hash(b"k", value, 0)) == [
        [b"HMSET", b"k", b"b", b"2"],
        [b"HPEXPIREAT", b"k", b"5000", b"FIELDS", b"1", b"b"],
        [b"HMSET", b"k", b"a", b"1"],
    ]
