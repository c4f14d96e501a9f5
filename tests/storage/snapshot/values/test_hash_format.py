"""Hashes in snapshots and payloads: all types from Redis 2 to 8.10, and that of Valkey 9."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.database import Database
from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.listpack import encode_listpack
from storage.redis_format.primitives import CorruptSnapshot, Cursor, encode_length, encode_string
from storage.snapshot.format import Decoder, EmptyCollection, Reading, SnapshotOptions
from storage.snapshot.payload import dump, restore
from storage.snapshot.reader import SnapshotReader
from storage.snapshot.values.hash_format import DECODERS, VALKEY_DECODERS
from storage.snapshot.values.table import value_pieces, value_type, value_version
from storage.snapshot.writer import write_snapshot
from storage.types.hashes import FORM_HASHTABLE, LISTPACK_EX, HashValue
from tests.storage.redis_format import test_ziplist
from tests.storage.redis_format.test_ziplist import zipmap

NOW_MS = 1_700_000_000_000
LATER_MS = NOW_MS + 5_000
READING = Reading(NOW_MS, NOW_MS)
LIMITS = EncodingLimits()
VALKEY = SnapshotOptions(stream_type=21, for_valkey=True)


def text(data: bytes | int) -> bytes:
    return encode_string(b"%d" % data if isinstance(data, int) else data, compress=False)


def words(*parts: bytes | int) -> bytes:
    return b"".join(map(text, parts))


def listpack(*elements: bytes | int) -> bytes:
    return text(encode_listpack(elements))


def ziplist(*elements: bytes | int) -> bytes:
    """Of short strings, and of integers from 0 to 12."""
    encoded = [bytes((0xF1 + e,)) if isinstance(e, int) else bytes((len(e),)) + e for e in elements]
    return test_ziplist.ziplist(*encoded)


def decoded(
    code: int, body: bytes, reading: Reading = READING, decoders: dict[int, Decoder] = DECODERS
) -> HashValue:
    cursor = Cursor(body)
    value = decoders[code](cursor, reading)
    assert isinstance(value, HashValue)
    assert not cursor.left
    return value


def count(number: int) -> bytes:
    return encode_length(number)


def ms(number: int) -> bytes:
    return number.to_bytes(8, "little", signed=number < 0)


# -- what others have written --------------------------------------------------------------------

PLAIN = [
    (4, count(2) + words(b"a", 1, b"b", b"x")),
    (9, text(zipmap({b"a": b"1", b"b": b"x"}))),
    (13, text(ziplist(b"a", 1, b"b", b"x"))),
    (16, listpack(b"a", 1, b"b", b"x")),
]
TIMED = [
    (22, count(2) + count(0) + words(b"b", b"x") + count(LATER_MS) + words(b"a", 1)),
    (23, listpack(b"a", 1, LATER_MS, b"b", b"x", 0)),
    (24, ms(LATER_MS) + count(2) + count(1) + words(b"a", 1) + count(0) + words(b"b", b"x")),
    (25, ms(LATER_MS) + listpack(b"a", 1, LATER_MS, b"b", b"x", 0)),
]


@pytest.mark.parametrize(("code", "body"), PLAIN)
def test_a_plain_hash_is_read(code: int, body: bytes) -> None:
    value = decoded(code, body)
    assert dict(value.pairs()) == {b"a": b"1", b"b": b"x"}
    assert (value.expires, value.encoding, value.access_ms) == (None, b"listpack", NOW_MS)


@pytest.mark.parametrize(("code", "body"), TIMED)
def test_a_hash_with_times_is_read(code: int, body: bytes) -> None:
    value = decoded(code, body)
    assert dict(value.pairs()) == {b"a": b"1", b"b": b"x"}
    assert (value.expires, value.encoding) == ({b"a": LATER_MS}, b"listpackex")


@pytest.mark.parametrize(("code", "body"), PLAIN + TIMED)
def test_what_is_above_the_limits_becomes_a_table(code: int, body: bytes) -> None:
    limits = EncodingLimits(hash_max_listpack_entries=1)
    value = decoded(code, body, Reading(NOW_MS, NOW_MS, limits=limits))
    assert value.encoding == b"hashtable"
    assert len(value) == 2


def test_times_are_relative_to_the_first() -> None:
    body = ms(1000) + count(2) + count(501) + words(b"a", b"") + count(1) + words(b"b", b"")
    assert decoded(24, body).expires == {b"a": 1500, b"b": 1000}


VALKEY_BODY = count(2) + words(b"a", 1) + ms(LATER_MS) + words(b"b", b"x") + ms(-1)


def test_a_hash_with_times_of_valkey_is_read_and_written() -> None:
    value = decoded(22, VALKEY_BODY, decoders=VALKEY_DECODERS)
    assert dict(value.pairs()) == {b"a": b"1", b"b": b"x"}
    assert (value.expires, value.encoding) == ({b"a": LATER_MS}, b"listpackex")
    assert (value_type(value, VALKEY), value_version(value, VALKEY)) == (22, 80)
    assert b"".join(value_pieces(value, VALKEY, NOW_MS)) == VALKEY_BODY
    payload = dump(value, VALKEY, NOW_MS)
    assert payload[-10:-8] == b"\x50\x00"
    again = restore(payload, NOW_MS)
    assert isinstance(again, HashValue)
    assert (again.pairs(), again.expires) == (value.pairs(), value.expires)


def test_a_hash_without_times_is_written_for_valkey_as_for_redis_7_2() -> None:
    for value, code in ((hash_of(3), 16), (hash_of(600), 4)):
        assert (value_type(value, VALKEY), value_version(value, VALKEY)) == (code, 11)


@pytest.mark.parametrize(
    "body",
    [
        count(2) + (words(b"a", 1) + ms(-1)) * 2,
        count(1) + words(b"a", 1) + ms(-2),
        count(1) + words(b"a", 1) + b"soon",
        count(1 << 40),
    ],
)
def test_a_damaged_hash_of_valkey_is_refused(body: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decoded(22, body, decoders=VALKEY_DECODERS)


TEMPLATES = Reading(NOW_MS, NOW_MS, templates={7: [b"a", b"bb"]})


@pytest.mark.parametrize(
    ("code", "body"), [(30, listpack(7, 1, b"x")), (32, count(7) + words(1, b"x"))]
)
def test_a_hash_finds_its_fields_in_a_template(code: int, body: bytes) -> None:
    assert dict(decoded(code, body, TEMPLATES).pairs()) == {b"a": b"1", b"bb": b"x"}
    with pytest.raises(CorruptSnapshot, match="template 7"):
        decoded(code, body)


def test_a_file_says_the_fields_of_a_template_once() -> None:
    template = b"\xf2" + count(3) + count(2) + words(b"bb", b"a")
    records = template + b"\x1e" + words(b"k") + listpack(3, b"one", b"two")
    file = b"REDIS0015" + records + b"\xff" + bytes(8)
    (item,) = SnapshotReader(file, now_ms=NOW_MS).items()
    assert isinstance(item.value, HashValue)
    assert dict(item.value.pairs()) == {b"a": b"one", b"bb": b"two"}


@pytest.mark.parametrize(
    ("code", "body"),
    [(4, count(0)), (13, text(ziplist())), (16, listpack()), (24, ms(0) + count(0))],
)
def test_a_hash_without_fields_is_none(code: int, body: bytes) -> None:
    with pytest.raises(EmptyCollection):
        decoded(code, body)


def test_a_file_with_an_empty_hash_is_read_without_it() -> None:
    records = (
        b"\x04" + words(b"gone") + count(0) + b"\x04" + words(b"k") + count(1) + words(b"f", b"v")
    )
    reader = SnapshotReader(b"REDIS0011" + records + b"\xff" + bytes(8), now_ms=NOW_MS)
    assert [item.key for item in reader.items()] == [b"k"]
    assert reader.empty_keys == 1


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (4, count(2) + words(b"a", 1, b"a", 2)),
        (16, listpack(b"a", 1, b"a", 2)),
        (16, listpack(b"a", 1, b"b")),
        (13, text(ziplist(b"a"))),
        (23, listpack(b"a", 1)),
        (23, listpack(b"a", 1, b"soon")),
        (23, listpack(b"a", 1, -5)),
        (24, ms(1 << 63) + count(1) + count(2) + words(b"a", 1)),
        (25, ms(0) + listpack(b"a", 1, 0, b"a", 1, 0)),
        (30, listpack()),
        (30, listpack(b"x")),
        (4, count(1 << 40)),
    ],
)
def test_damage_is_refused(code: int, body: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decoded(code, body, TEMPLATES)


@given(st.sampled_from([*DECODERS.values(), *VALKEY_DECODERS.values()]), st.binary(max_size=80))
def test_no_input_does_anything_but_be_read_or_refused(decode: Decoder, body: bytes) -> None:
    cursor = Cursor(body)
    with suppress(CorruptSnapshot, EmptyCollection):
        decode(cursor, TEMPLATES)
    assert 0 <= cursor.position <= len(body)


# -- what is written -----------------------------------------------------------------------------


def hash_of(fields: int, *, timed: int = 0, table: bool = False) -> HashValue:
    value = HashValue()
    for number in range(fields):
        value.set(b"field %d" % number, b"%d" % (number * 7), LIMITS)
    for number in range(timed):
        value.expire_at(b"field %d" % number, LATER_MS + number)
    if table:
        value.form = FORM_HASHTABLE
    return value


@pytest.mark.parametrize(
    ("value", "code", "version"),
    [
        (hash_of(3), 16, 11),
        (hash_of(3, timed=1), 25, 12),
        (hash_of(3, timed=3, table=True), 24, 12),
        (hash_of(600), 4, 11),
    ],
)
def test_the_type_is_that_of_redis(value: HashValue, code: int, version: int) -> None:
    options = SnapshotOptions()
    assert value_type(value, options) == code
    assert value_version(value, options) == version


def test_what_is_too_new_for_a_fixed_version_is_left_out() -> None:
    value = hash_of(3, timed=1)
    assert value_type(value, SnapshotOptions(stream_type=21)) == 16
    assert value_type(value, SnapshotOptions(stream_type=15)) == 4
    value.form = FORM_HASHTABLE
    assert value_type(value, SnapshotOptions(stream_type=19)) == 4
    assert restore(dump(value, SnapshotOptions(stream_type=15), NOW_MS), NOW_MS).size == 3


def test_a_hash_that_lost_its_times_is_written_as_redis_does() -> None:
    value = hash_of(2)
    value.keep_times()
    assert value_type(value, SnapshotOptions()) == 25
    body = b"".join(value_pieces(value, SnapshotOptions(compress=False), NOW_MS))
    assert body == ms(0) + listpack(b"field 0", 0, 0, b"field 1", 7, 0)


def test_a_listpack_with_times_is_in_their_order() -> None:
    value = hash_of(3)
    value.expire_at(b"field 2", 2000)
    value.expire_at(b"field 1", 3000)
    body = b"".join(value_pieces(value, SnapshotOptions(compress=False), NOW_MS))
    assert body == ms(2000) + listpack(b"field 2", 14, 2000, b"field 1", 7, 3000, b"field 0", 0, 0)


@given(
    st.dictionaries(
        st.binary(max_size=70), st.tuples(st.binary(max_size=70), st.integers(0, (1 << 46) - 1))
    ),
    st.booleans(),
    st.sampled_from([SnapshotOptions(), SnapshotOptions(compress=False), VALKEY]),
)
def test_whatever_was_written_is_read(
    fields: dict[bytes, tuple[bytes, int]], table: bool, options: SnapshotOptions
) -> None:
    value = HashValue()
    for name, (data, when_ms) in fields.items():
        value.set(name, data, LIMITS)
        if when_ms:
            value.expire_at(name, when_ms)
    if table:
        value.form = FORM_HASHTABLE
    if not fields:
        with pytest.raises(CorruptSnapshot, match="no items"):
            restore(dump(value, SnapshotOptions(), NOW_MS), NOW_MS)
        return
    again = restore(dump(value, options, NOW_MS), NOW_MS)
    assert isinstance(again, HashValue)
    assert (dict(again.pairs()), again.expires) == (dict(value.pairs()), value.expires)
    if value.encoding is LISTPACK_EX:
        assert again.pairs() == value.pairs()


def test_a_large_hash_is_written_in_pieces_and_comes_back() -> None:
    value = hash_of(3000, timed=10)
    assert len(list(value_pieces(value, SnapshotOptions(), NOW_MS))) > 3
    database = Database(0)
    database.set(b"k", value)
    chunks: list[bytes] = []
    write_snapshot([database], chunks.append, SnapshotOptions(), now_ms=NOW_MS, aux={})
    file = b"".join(chunks)
    assert file.startswith(b"REDIS0012")
    (item,) = SnapshotReader(file, now_ms=NOW_MS).items()
    assert isinstance(item.value, HashValue)
    assert sorted(item.value.pairs()) == sorted(value.pairs())
    assert item.value.expires == value.expires
