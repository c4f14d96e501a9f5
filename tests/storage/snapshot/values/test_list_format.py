"""storage/snapshot/values/list_format.py: lists of every version of Redis, from bytes."""

from __future__ import annotations

import pytest

from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.listpack import encode_listpack
from storage.redis_format.primitives import CorruptSnapshot, Cursor, encode_length, encode_string
from storage.snapshot.format import EmptyCollection, Reading, SnapshotOptions
from storage.snapshot.values.list_format import CODEC, DECODERS
from storage.types.lists import ListValue
from tests.storage.redis_format.test_ziplist import ziplist

LIMITS = EncodingLimits(list_max_listpack_size=4)
READING = Reading(now_ms=5, access_ms=3, limits=LIMITS)
OPTIONS = SnapshotOptions()


def text(data: bytes) -> bytes:
    return encode_string(data, compress=True)


def read(code: int, encoded: bytes) -> ListValue:
    cursor = Cursor(encoded)
    value = DECODERS[code](cursor, READING)
    assert isinstance(value, ListValue) and not cursor.left
    assert value.access_ms == 3
    return value


def written(value: ListValue, options: SnapshotOptions = OPTIONS) -> bytes:
    return b"".join(CODEC.pieces(value, options, 0))


ZIPLIST = text(ziplist(b"\x01a", b"\xf8", b"\x01b"))
LISTPACK = text(encode_listpack([b"a", 7, b"b"]))
FORMS = [
    (1, encode_length(3) + text(b"a") + text(b"7") + text(b"b")),
    (10, ZIPLIST),
    (14, encode_length(1) + ZIPLIST),
    (14, encode_length(3) + text(ziplist()) + ZIPLIST + text(ziplist())),
    (18, encode_length(1) + b"\x02" + LISTPACK),
    (18, encode_length(2) + b"\x02" + text(encode_listpack([])) + b"\x02" + LISTPACK),
]


@pytest.mark.parametrize(("code", "encoded"), FORMS)
def test_every_form_is_read(code: int, encoded: bytes) -> None:
    value = read(code, encoded)
    assert list(value) == [b"a", b"7", b"b"]
    assert value.encoding == b"listpack"


def test_nodes_stay_as_they_are() -> None:
    large = b"x" * 9000
    encoded = (
        encode_length(3)
        + (b"\x02" + LISTPACK)
        + (b"\x01" + text(large))
        + (b"\x02" + text(encode_listpack([b"c"] * 9)))
    )
    value = read(18, encoded)
    assert [len(node) for node in value.nodes] == [3, 1, 9]
    assert value.encoding == b"quicklist"
    assert list(value)[3] == large
    assert written(value) == encoded


def test_what_exceeds_the_limits_is_no_listpack() -> None:
    many = text(encode_listpack([b"c"] * 5))
    assert read(18, encode_length(1) + b"\x02" + many).encoding == b"quicklist"
    assert read(18, encode_length(1) + b"\x01" + text(b"short")).encoding == b"quicklist"
    assert read(1, encode_length(5) + text(b"c") * 5).encoding == b"quicklist"


def test_a_list_without_elements_is_none() -> None:
    for code, encoded in [
        (1, b"\x00"),
        (10, text(ziplist())),
        (14, b"\x00"),
        (14, b"\x01" + text(ziplist())),
        (18, b"\x00"),
        (18, b"\x01\x02" + text(encode_listpack([]))),
    ]:
        with pytest.raises(EmptyCollection):
            read(code, encoded)


@pytest.mark.parametrize(("code", "encoded"), FORMS)
def test_what_is_cut_off_is_refused(code: int, encoded: bytes) -> None:
    for length in range(len(encoded)):
        with pytest.raises(CorruptSnapshot):
            read(code, encoded[:length])


def test_an_unknown_container_is_refused() -> None:
    with pytest.raises(CorruptSnapshot, match="no container 3"):
        read(18, b"\x01\x03" + LISTPACK)


def test_redis_before_7_gets_plain_elements() -> None:
    value = ListValue.of([b"a", b"7", b"b"], LIMITS)
    oldest = SnapshotOptions(stream_type=15)
    assert CODEC.type_code(value, OPTIONS) == 18
    assert CODEC.type_code(value, oldest) == 1
    assert written(value, oldest) == FORMS[0][1]
    assert written(value) == FORMS[4][1]
