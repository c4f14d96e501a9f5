"""DUMP payloads: they come back the same, and nothing that was tampered with is taken.

Libraries of functions as bytes.
"""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.digest import value_digest
from storage.groups.group import Group
from storage.redis_format.primitives import CorruptSnapshot, crc64, encode_checksum
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.payload import (
    BadChecksum,
    NotAFunction,
    dump,
    dump_libraries,
    restore,
    restore_libraries,
    serialized_length,
)
from storage.stream import Stream
from storage.types.value import StringValue, Value
from tests.storage.snapshot.drawn_streams import (
    NOW_MS,
    describe,
    drawn_plain_streams,
    drawn_streams,
)

OPTIONS = SnapshotOptions()

# More than any payload needs: trusting a wrong length would exceed it.
ALLOCATION_LIMIT_BYTES = 8 * 1024 * 1024


def sealed(content: bytes, version: int = 11) -> bytes:
    """A payload with a checksum that is right."""
    content += version.to_bytes(2, "little")
    return content + encode_checksum(crc64(content))


def stream_of(value: Value) -> Stream:
    assert isinstance(value, Stream)
    return value


# -- what comes back ---------------------------------------------------------------------------


@given(st.binary(max_size=300), st.integers(1, 20), st.booleans())
def test_a_string_comes_back_the_same(data: bytes, times: int, compress: bool) -> None:
    payload = dump(StringValue(data * times), SnapshotOptions(compress=compress), NOW_MS)
    value = restore(payload, NOW_MS)
    assert isinstance(value, StringValue)
    assert (value.to_bytes(), value.access_ms) == (data * times, NOW_MS)


@given(drawn_streams(), st.booleans())
def test_a_stream_comes_back_the_same(stream: Stream, compress: bool) -> None:
    before = describe(stream)
    payload = dump(stream, SnapshotOptions(compress=compress), NOW_MS)
    restored = stream_of(restore(payload, NOW_MS))
    assert describe(restored) | {"memory": None} == before | {"memory": None}
    if before["memory"] is not None and before["memory"]["producers"]:
        assert describe(restored)["memory"] == before["memory"]
    assert value_digest(restored, None, NOW_MS) == value_digest(stream, None, NOW_MS)
    assert describe(stream) == before


@given(drawn_plain_streams())
def test_a_plain_stream_is_of_the_type_that_redis_7_2_reads(stream: Stream) -> None:
    payload = dump(stream, OPTIONS, NOW_MS)
    assert (payload[0], int.from_bytes(payload[-10:-8], "little")) == (21, 11)


@pytest.mark.parametrize(("stream_type", "version"), [(15, 9), (19, 10), (21, 11)])
@given(stream=drawn_plain_streams())
def test_an_older_type_can_be_asked_for(stream_type: int, version: int, stream: Stream) -> None:
    payload = dump(stream, SnapshotOptions(stream_type=stream_type), NOW_MS)
    assert (payload[0], int.from_bytes(payload[-10:-8], "little")) == (stream_type, version)
    restored = describe(stream_of(restore(payload, NOW_MS)))
    assert restored["entries"] == describe(stream)["entries"]
    if stream_type != 15:
        assert value_digest(restore(payload, NOW_MS), None, NOW_MS) == value_digest(
            stream, None, NOW_MS
        )


def test_a_string_has_the_version_of_its_neighbours() -> None:
    for stream_type, version in ((None, 11), (19, 10), (15, 9)):
        payload = dump(StringValue(b"a"), SnapshotOptions(stream_type=stream_type), NOW_MS)
        assert int.from_bytes(payload[-10:-8], "little") == version


def test_a_payload_of_redis_is_read() -> None:
    # SET a 1 and DUMP a, Redis 7.0.15.
    value = restore(bytes.fromhex("00c0010a002678e7b6d10111fc"), NOW_MS)
    assert isinstance(value, StringValue) and value.data == b"1"


def test_a_payload_has_a_checksum_even_if_files_have_none() -> None:
    without = SnapshotOptions(checksum=False)
    assert dump(StringValue(b"a"), without, NOW_MS) == dump(StringValue(b"a"), OPTIONS, NOW_MS)


def test_the_serialized_length_is_that_of_the_value_alone() -> None:
    assert serialized_length(StringValue(b"1"), OPTIONS, NOW_MS) == 2
    stream = Stream()
    stream.append(1 << 64, [b"f", b"v"], 100, 4096)
    payload = dump(stream, OPTIONS, NOW_MS)
    assert serialized_length(stream, OPTIONS, NOW_MS) == len(payload) - 1 - 10


# -- what is refused ---------------------------------------------------------------------------


def test_a_flipped_bit_anywhere_is_noticed() -> None:
    payload = dump(StringValue(b"some text"), OPTIONS, NOW_MS)
    for position in range(len(payload)):
        damaged = bytearray(payload)
        damaged[position] ^= 1
        with pytest.raises(BadChecksum):
            restore(bytes(damaged), NOW_MS)


def test_what_is_too_short_for_a_checksum_is_refused() -> None:
    for length in range(10):
        with pytest.raises(BadChecksum):
            restore(bytes(length), NOW_MS)


@pytest.mark.parametrize("version", [16, 79, 81, 65535])
def test_a_version_that_is_not_known_is_refused(version: int) -> None:
    with pytest.raises(BadChecksum):
        restore(sealed(b"\x00\x01a", version), NOW_MS)


@pytest.mark.parametrize("version", range(1, 16))
def test_every_known_version_is_read(version: int) -> None:
    restore(sealed(b"\x00\x01a", version), NOW_MS)


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x00\x05abc", b"\x00\x01ab", b"\x00\xc3\x03"])
def test_a_value_that_is_not_whole_or_has_something_behind_it_is_refused(content: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        restore(sealed(content), NOW_MS)


@pytest.mark.parametrize("code", [1, 2, 4, 7, 14, 18, 22, 28, 29, 243, 250, 252, 255])
def test_other_types_and_opcodes_are_refused(code: int) -> None:
    with pytest.raises(CorruptSnapshot):
        restore(sealed(bytes((code,)) + bytes(20)), NOW_MS)


_edits = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "insert", "overwrite"]),
        st.integers(0, 1 << 16),
        st.binary(min_size=1, max_size=9) | st.just(b"\x81" + b"\xff" * 8) | st.just(b"\x80\xff"),
    ),
    min_size=1,
    max_size=4,
)


def _edited(content: bytes, edits: list[tuple[str, int, bytes]]) -> bytes:
    for kind, where, piece in edits:
        position = where % (len(content) + 1)
        head, tail = content[:position], content[position:]
        if kind == "flip":
            tail = bytes(a ^ b for a, b in zip(tail, piece, strict=False)) + tail[len(piece) :]
        elif kind == "cut":
            tail = tail[len(piece) :]
        elif kind == "insert":
            tail = piece + tail
        else:
            tail = piece + tail[len(piece) :]
        content = head + tail
    return content


@given(drawn_streams(), st.booleans(), st.sampled_from([None, 15, 19, 21]), _edits)
def test_a_tampered_payload_is_refused_or_makes_a_sound_stream(
    stream: Stream, compress: bool, fixed: int | None, edits: list[tuple[str, int, bytes]]
) -> None:
    payload = dump(stream, SnapshotOptions(compress=compress, stream_type=fixed), NOW_MS)
    tracemalloc.start()
    try:
        value = restore(sealed(_edited(payload[:-10], edits), 14), NOW_MS)
    except CorruptSnapshot:
        return
    finally:
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < ALLOCATION_LIMIT_BYTES
    if not isinstance(value, Stream):
        return
    # Sound: it can be written and read again, and is the same then.
    again = stream_of(restore(dump(value, OPTIONS, NOW_MS), NOW_MS))
    assert value_digest(again, None, NOW_MS) == value_digest(value, None, NOW_MS)
    assert describe(value.copy()) == describe(value)


# -- what is compressed ------------------------------------------------------------------------

NO_MORE = 100_000  # bytes that may come out


def stream_with(fields: list[bytes], *group_names: bytes) -> Stream:
    stream = Stream()
    stream.append(1 << 64, fields, 100, 4096)
    for name in group_names:
        stream.groups[name] = Group(name, 0)
    return stream


@pytest.mark.parametrize(
    ("value", "is_accepted"),
    [
        (StringValue(b"a" * NO_MORE), True),
        (StringValue(b"a" * (NO_MORE + 1)), False),
        (stream_with([b"f", b"a" * (NO_MORE - 100)]), True),
        (stream_with([b"f", b"a" * NO_MORE]), False),
        (stream_with([b"f", b"v"], b"g" * (NO_MORE // 2)), True),
        (stream_with([b"f", b"v"], b"g" * (NO_MORE // 2), b"h" * (NO_MORE // 2 + 1)), False),
    ],
    ids=["a string", "too long", "an entry", "too large", "a name", "names, together too long"],
)
def test_no_more_comes_out_than_is_allowed(value: Value, is_accepted: bool) -> None:
    payload = dump(value, OPTIONS, NOW_MS)
    assert len(payload) < NO_MORE / 20
    assert value_digest(restore(payload, NOW_MS), None, 0) == value_digest(value, None, 0)
    if is_accepted:
        restore(payload, NOW_MS, max_string_bytes=NO_MORE)
    else:
        with pytest.raises(CorruptSnapshot):
            restore(payload, NOW_MS, max_string_bytes=NO_MORE)


def test_a_small_payload_does_not_become_very_many_elements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("storage.snapshot.payload.MAX_ELEMENTS", 1 << 14)
    payload = dump(stream_with([b"12", b"34"] * 20_000), OPTIONS, NOW_MS)
    assert len(payload) < 3_000
    tracemalloc.start()
    try:
        with pytest.raises(CorruptSnapshot, match="too many elements"):
            restore(payload, NOW_MS, max_string_bytes=1 << 29)
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_stream_takes_no_more_memory_than_its_payload_until_somebody_looks_at_it() -> None:
    stream = Stream()
    for number in range(1, 2001):
        stream.append(number << 64, [b"field", b"a" * 1000], 100, 100_000)
    payload = dump(stream, OPTIONS, NOW_MS)
    tracemalloc.start()
    try:
        restored = restore(payload, NOW_MS, max_string_bytes=1 << 29)
        assert tracemalloc.get_traced_memory()[0] < len(payload) + 50_000
    finally:
        tracemalloc.stop()
    assert value_digest(restored, None, 0) == value_digest(stream, None, 0)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("codes", [[], [b"one"], [b"one", b"x" * 5000, b"12345"]])
def test_what_is_dumped_is_restored(codes: list[bytes], compress: bool) -> None:
    assert restore_libraries(dump_libraries(codes, compress=compress)) == codes


def test_a_dump_of_nothing_is_that_of_redis() -> None:
    assert dump_libraries([], compress=True) == b"\n\x00]\x9b\\@\x0f\x7f\xa2\xda"


@pytest.mark.parametrize("position", range(0, 16, 3))
def test_a_damaged_payload_is_noticed(position: int) -> None:
    payload = bytearray(dump_libraries([b"library"], compress=False))
    payload[position] ^= 0x40
    with pytest.raises((BadChecksum, NotAFunction)):
        restore_libraries(bytes(payload))
