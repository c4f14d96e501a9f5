"""Values that are passed over: types of Redis 5 to 8.8 by its outermost layout.

RDB files as they are read: what is in them, and what is refused.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.digest import dataset_digest
from storage.groups.ack_journal import AckJournal
from storage.keyspace.database import Database
from storage.nodes.listpack_node import ListpackNode
from storage.redis_format.primitives import (
    Buffer,
    CorruptSnapshot,
    Cursor,
    TruncatedSnapshot,
    crc64,
    encode_checksum,
    encode_length,
    encode_string,
)
from storage.snapshot.format import SnapshotOptions
from storage.snapshot.reader import (
    SnapshotItem,
    SnapshotReader,
    StringBatch,
    UnsupportedValue,
    can_skip,
    module_name,
    skip_module_parts,
    skip_value,
    type_name,
)
from storage.snapshot.values.table import value_pieces
from storage.snapshot.writer import write_snapshot
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.value import StringValue
from tests.storage.snapshot.drawn_streams import NOW_MS, describe, drawn_streams


def text(data: bytes) -> bytes:
    return encode_string(data, compress=True)


LONG = text(b"long " * 100)
SCORE = struct.pack("<d", 1.5)

# The name "ReJSON-RL" in version 3.
MODULE_ID = 0
for character in "ReJSON-RL":
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    MODULE_ID = MODULE_ID << 6 | alphabet.index(character)
MODULE_ID = MODULE_ID << 10 | 3
MODULE_PARTS = (
    b"\x01" + encode_length(7)  # a number
    + b"\x02" + encode_length(1 << 40)
    + b"\x03" + bytes(4)
    + b"\x04" + SCORE
    + b"\x05" + LONG
    + b"\x00"
)  # fmt: skip

VALUES = [
    (7, "module type ReJSON-RL", encode_length(MODULE_ID) + MODULE_PARTS),
]


@pytest.mark.parametrize(("code", "name", "encoded"), VALUES)
def test_a_value_is_passed_over_to_its_last_byte(code: int, name: str, encoded: bytes) -> None:
    cursor = Cursor(b"before" + encoded + b"after", len(b"before"))
    assert can_skip(code)
    assert type_name(cursor, code) == name
    skip_value(cursor, code)
    assert cursor.raw(5) == b"after"


@pytest.mark.parametrize(("code", "name", "encoded"), VALUES)
def test_a_value_that_is_cut_off_is_refused(code: int, name: str, encoded: bytes) -> None:
    for length in range(len(encoded)):
        with pytest.raises(CorruptSnapshot):
            skip_value(Cursor(encoded, 0, length), code)


@given(st.sampled_from([code for code, _, _ in VALUES]), st.binary(max_size=100))
def test_no_input_does_anything_but_be_passed_over_or_refused(code: int, encoded: bytes) -> None:
    cursor = Cursor(encoded)
    try:
        skip_value(cursor, code)
    except CorruptSnapshot as error:
        position = error.offset
    else:
        position = cursor.position
    assert 0 <= position <= len(encoded)


@pytest.mark.parametrize("code", [0, 6, 8, 15, 19, 21, 26, 27, 28, 29, 200])
def test_what_is_not_known_cannot_be_passed_over(code: int) -> None:
    assert not can_skip(code)


def test_types_without_a_layout_have_a_name_all_the_same() -> None:
    cursor = Cursor(b"")
    assert type_name(cursor, 28) == "array"
    assert type_name(cursor, 6).startswith("module value")
    assert type_name(cursor, 99) == "type 99"


def test_an_unknown_part_of_a_module_is_refused_where_it_is() -> None:
    with pytest.raises(CorruptSnapshot, match="6 is no part") as caught:
        skip_module_parts(Cursor(b"\x01\x05\x06\x00"))
    assert caught.value.offset == 2


def test_a_module_is_named_as_its_type_is() -> None:
    assert module_name(MODULE_ID) == "module type ReJSON-RL"
    assert module_name(0) == "module type AAAAAAAAA"


def test_the_refusal_names_type_key_and_position() -> None:
    assert str(UnsupportedValue(9, b"k\xff", "list")) == (
        "list of key b'k\\xff' is not supported (at offset 9)"
    )
    assert str(UnsupportedValue(9, b"", "function library")) == (
        "function library is not supported (at offset 9)"
    )


OPTIONS = SnapshotOptions()
# The key l with a module's value that is empty.
MODULE_VALUE = b"\x07\x01l" + encode_length(0) + b"\x00"


def sealed(content: bytes, version: int = 11) -> bytes:
    """A snapshot of these records, whose checksum is right."""
    content = b"REDIS%04d%b\xff" % (version, content)
    return content + encode_checksum(crc64(content))


def record(key: bytes, data: bytes) -> bytes:
    return b"\x00" + encode_string(key, compress=True) + encode_string(data, compress=True)


def read(buffer: Buffer, *, skip_unsupported: bool = False) -> list[SnapshotItem]:
    reader = SnapshotReader(buffer, skip_unsupported=skip_unsupported, now_ms=NOW_MS)
    items = list(reader.items())
    assert reader.end == len(buffer)
    return items


def strings(items: list[SnapshotItem]) -> dict[bytes, bytes]:
    return {
        item.key: item.value.to_bytes()
        for item in items
        if isinstance(item.value, StringValue)
    }  # fmt: skip


def filled() -> list[Database]:
    """Two databases with strings and a stream of several nodes."""
    first, second = Database(0), Database(5)
    for number in range(30):
        first.set(b"key:%d" % number, StringValue(b"value %d " % number * number))
    stream = Stream()
    for number in range(1, 60):
        stream.append(number << 64, [b"field", b"value %d" % number], 10, 4096)
    second.set(b"stream", stream)
    second.expire_at(b"stream", NOW_MS + 1000)
    return [first, second]


def written(databases: list[Database], options: SnapshotOptions = OPTIONS) -> bytes:
    chunks: list[bytes] = []
    write_snapshot(databases, chunks.append, options, now_ms=NOW_MS, aux={b"redis-ver": b"7.4.0"})
    return b"".join(chunks)


# -- what is in a file -------------------------------------------------------------------------


def test_what_was_written_is_read() -> None:
    databases = filled()
    loaded = [Database(index) for index in range(6)]
    reader = SnapshotReader(written(databases), now_ms=NOW_MS)
    for item in reader.items():
        loaded[item.db_index].set(item.key, item.value)
        if item.expires_ms is not None:
            loaded[item.db_index].expire_at(item.key, item.expires_ms)
    assert dataset_digest(loaded, NOW_MS) == dataset_digest(databases, NOW_MS)
    assert (reader.version, reader.aux) == (11, {b"redis-ver": b"7.4.0"})


@given(
    st.dictionaries(st.binary(max_size=100), st.binary(max_size=100), max_size=20),
    st.dictionaries(st.binary(min_size=101), drawn_streams(), max_size=2),
    st.booleans(),
)
def test_whatever_was_written_is_read(
    texts: dict[bytes, bytes], streams: dict[bytes, Stream], checksum: bool
) -> None:
    database = Database(3)
    for key, data in texts.items():
        database.set(key, StringValue(data))
    for key, stream in streams.items():
        database.set(key, stream)
    file = written([database], SnapshotOptions(checksum=checksum))
    items = {item.key: item.value for item in read(file)}
    assert items.keys() == texts.keys() | streams.keys()
    assert {key: items[key].to_bytes() for key in texts} == texts  # type: ignore[attr-defined]
    for key, stream in streams.items():
        found = items[key]
        assert isinstance(found, Stream)
        assert describe(found)["entries"] == describe(stream)["entries"]
        assert describe(found)["groups"] == describe(stream)["groups"]


@pytest.mark.parametrize("length", [0, 1, 62, 63, 64, 65, 16383, 16384])
def test_strings_of_every_length_are_read(length: int) -> None:
    text = bytes(range(256)) * 65
    content = record(text[:length], b"a") + record(b"b" * 5, text[:length]) + record(b"5", b"-7")
    assert strings(read(sealed(content))) == {
        text[:length]: b"a",
        b"b" * 5: text[:length],
        b"5": b"-7",
    }


def test_strings_come_by_the_hundred() -> None:
    content = b"".join(record(b"k%d" % number, b"v") for number in range(1000))
    batches = list(SnapshotReader(sealed(content), now_ms=NOW_MS).batches())
    assert all(isinstance(batch, StringBatch) for batch in batches)
    sizes = [len(batch.keys) for batch in batches if isinstance(batch, StringBatch)]
    assert len(sizes) == 2 and sum(sizes) == 1000


def test_the_offset_of_an_item_is_that_of_its_record() -> None:
    file = sealed(record(b"a", b"1") + record(b"b", b"2") + b"\xf8\x05" + record(b"c", b"3"))
    for item in read(file):
        assert file[item.offset : item.offset + 3] == b"\x00\x01" + item.key


def test_opcodes_in_front_of_a_key_hold_for_that_key_alone() -> None:
    content = (
        b"\xfe\x02\xfb\x05\x02"
        b"\xfc" + (NOW_MS + 5).to_bytes(8, "little") + record(b"ms", b"")
        + b"\xfd" + (1_800_000_000).to_bytes(4, "little") + record(b"s", b"")
        + b"\xf8\x41\x00" + record(b"idle", b"")
        + b"\xf9\xff" + record(b"freq", b"")
        + b"\xf4\x01\x02\x03" + record(b"slot", b"")
        + b"\xfc" + (-1).to_bytes(8, "little", signed=True) + b"\xf8\x07" + record(b"both", b"")
    )  # fmt: skip
    items = {item.key: item for item in read(sealed(content))}
    assert {item.db_index for item in items.values()} == {2}
    assert {key: (item.expires_ms, item.idle_s) for key, item in items.items()} == {
        b"ms": (NOW_MS + 5, None),
        b"s": (1_800_000_000_000, None),
        b"idle": (None, 256),
        b"freq": (None, None),
        b"slot": (None, None),
        b"both": (-1, 7),
    }
    assert items[b"idle"].value.access_ms == NOW_MS - 256_000
    assert items[b"slot"].value.access_ms == NOW_MS


@contextmanager
def mapped(content: bytes) -> Iterator[mmap.mmap]:
    with mmap.mmap(-1, len(content)) as buffer:
        buffer[:] = content
        yield buffer


def test_a_mapped_file_is_read_and_can_be_closed_then() -> None:
    with mapped(written(filled())) as buffer:
        assert len(read(buffer)) == 31


def test_the_caller_may_stop_between_items() -> None:
    items = SnapshotReader(written(filled()), now_ms=NOW_MS).items()
    assert next(items).key == b"key:0"


# -- trust -------------------------------------------------------------------------------------


def stream_in(reader: SnapshotReader) -> Stream:
    for item in reader.items():
        if isinstance(item.value, Stream):
            return item.value
    raise AssertionError


def is_lazy(stream: Stream) -> bool:
    return all(isinstance(node, ListpackNode) for node in stream.iter_nodes())


def test_nodes_stay_packed_if_the_checksum_is_right() -> None:
    assert is_lazy(stream_in(SnapshotReader(written(filled()), now_ms=NOW_MS)))


def test_everything_is_validated_if_no_checksum_says_it_need_not_be() -> None:
    file = written(filled())
    unsealed = file[:-8] + bytes(8)
    for reader in (
        SnapshotReader(file, verify_checksum=False, now_ms=NOW_MS),
        SnapshotReader(unsealed, now_ms=NOW_MS),
        SnapshotReader(file, whole_file=False, now_ms=NOW_MS),
    ):
        assert stream_in(reader).length == 59
    plain = written(filled(), SnapshotOptions(compress=False))
    position = plain.index(b"value 55") - 1
    damaged = plain[:position] + b"\xff" + plain[position + 1 : -8] + bytes(8)
    with pytest.raises(CorruptSnapshot, match="damaged"):
        list(SnapshotReader(damaged, now_ms=NOW_MS).items())


def test_a_checksum_that_is_not_right_is_refused_before_anything_is_read() -> None:
    file = sealed(record(b"a", b"text"))
    damaged = file.replace(b"text", b"next")
    with pytest.raises(CorruptSnapshot, match="checksum") as caught:
        SnapshotReader(damaged, now_ms=NOW_MS)
    assert caught.value.offset == len(file) - 8
    reader = SnapshotReader(damaged, verify_checksum=False, now_ms=NOW_MS)
    assert strings(list(reader.items())) == {b"a": b"next"}


def test_the_place_of_the_damage_is_told_where_it_shows() -> None:
    file = bytearray(sealed(record(b"a", b"1") + record(b"b", b"2")))
    position = file.index(b"\x00\x01b")
    file[position] = 0x55
    with pytest.raises(CorruptSnapshot, match="85 is neither a type nor an opcode") as caught:
        SnapshotReader(bytes(file), now_ms=NOW_MS)
    assert caught.value.offset == position


def test_what_follows_a_whole_file_does_not_matter() -> None:
    file = sealed(record(b"a", b"1"))
    reader = SnapshotReader(file + b"more", now_ms=NOW_MS)
    assert strings(list(reader.items())) == {b"a": b"1"}
    assert reader.end == len(file)


def test_a_preamble_ends_where_the_requests_begin() -> None:
    file = written(filled())
    buffer = b"xyz" + file + b"*1\r\n$4\r\nPING\r\n"
    reader = SnapshotReader(buffer, position=3, whole_file=False, now_ms=NOW_MS)
    assert len(list(reader.items())) == 31
    assert buffer[reader.end :] == b"*1\r\n$4\r\nPING\r\n"


def test_the_checksum_of_a_preamble_is_compared_at_its_end() -> None:
    file = sealed(record(b"a", b"text")).replace(b"text", b"next")
    items = SnapshotReader(file + b"*1\r\n", whole_file=False, now_ms=NOW_MS).items()
    assert next(items).key == b"a"
    with pytest.raises(CorruptSnapshot, match="checksum"):
        next(items)


def test_files_of_old_versions_have_no_checksum() -> None:
    content = b"REDIS0004" + record(b"a", b"1") + b"\xff"
    assert strings(read(content)) == {b"a": b"1"}


# -- damage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"REDIS",
        b"REDIS00",
        b"redis0011",
        b"REDIS00x1",
        b"REDIS0000",
        b"VALKEY011",
        b"*1\r\n$4\r\n",
    ],
)
def test_what_does_not_begin_like_a_snapshot_is_none(header: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        SnapshotReader(header, now_ms=NOW_MS)


# -- Valkey --------------------------------------------------------------------------------------


def of_valkey(content: bytes) -> bytes:
    content = b"VALKEY080%b\xff" % content
    return content + encode_checksum(crc64(content))


def test_a_file_of_valkey_9_is_read() -> None:
    stream = Stream()
    stream.append(1 << 64, [b"f", b"v"], 10, 4096)
    body = b"".join(value_pieces(stream, SnapshotOptions(stream_type=21), NOW_MS))
    timed = b"\x01\x01f\x01v" + (NOW_MS + 1).to_bytes(8, "little")
    items = read(of_valkey(b"\x15\x01s" + body + b"\x16\x01h" + timed + record(b"a", b"1")))
    value = items[0].value
    assert isinstance(value, Stream)
    assert describe(value) | {"memory": None} == describe(stream) | {"memory": None}
    assert isinstance(items[1].value, HashValue)
    assert items[1].value.expires == {b"f": NOW_MS + 1}
    assert strings(items) == {b"a": b"1"}


@pytest.mark.parametrize("code", [23, 24, 25, 26, 27, 30, 32, 242])
def test_what_redis_added_after_the_two_parted_is_not_in_a_file_of_valkey(code: int) -> None:
    with pytest.raises(CorruptSnapshot, match="neither a type nor an opcode"):
        read(of_valkey(b"%c\x01k\x00" % code))


def test_slots_that_a_valkey_was_taking_over_are_named_or_left_out() -> None:
    job = b"\xf3" + encode_string(b"j" * 40, compress=False) + b"\x02\x00\x05\x40\x64\x40\xc8"
    file = of_valkey(job + record(b"a", b"1"))
    with pytest.raises(UnsupportedValue, match="import of slots is not supported"):
        read(file)
    assert strings(read(file, skip_unsupported=True)) == {b"a": b"1"}


# -- damage to the rest ---------------------------------------------------------------------------


@pytest.mark.parametrize("whole_file", [True, False])
def test_a_file_that_breaks_off_says_how_far_it_is_whole(whole_file: bool) -> None:
    records = [record(b"a", b"1"), record(b"b", b"2" * 200), b"\xfe\x01" + record(b"c", b"3")]
    file = sealed(b"".join(records))
    whole = 9 + len(records[0]) + len(records[1])
    for length in range(whole + 1, len(file)):
        with pytest.raises(TruncatedSnapshot) as caught:
            list(SnapshotReader(file[:length], whole_file=whole_file, now_ms=NOW_MS).items())
        expected = whole if length < whole + len(records[2]) else whole + len(records[2])
        assert f"whole up to offset {expected}" in str(caught.value)


@pytest.mark.parametrize("length", [9 + 5, 9 + 5 + 1, 9 + 5 + 4, 9 + 2 * 5 + 10])
def test_strings_before_a_cut_are_given_out(length: int) -> None:
    records = [record(b"a", b"1"), record(b"b", b"2"), record(b"c", b"3" * 100)]
    assert len(records[0]) == 5
    whole = min((length - 9) // 5, 2)
    found: list[bytes] = []
    reader = SnapshotReader(sealed(b"".join(records))[:length], whole_file=False, now_ms=NOW_MS)
    with pytest.raises(TruncatedSnapshot, match=f"whole up to offset {9 + 5 * whole}"):
        found.extend(item.key for item in reader.items())
    assert found == [b"a", b"b"][:whole]


def test_every_cut_is_noticed() -> None:
    file = written(filled())
    for length in range(0, len(file), 7):
        with pytest.raises(CorruptSnapshot):
            list(SnapshotReader(file[:length], now_ms=NOW_MS).items())


@given(st.integers(0, 1 << 30), st.integers(1, 255), st.booleans())
def test_every_flip_is_noticed_or_harmless(where: int, bits: int, checksum: bool) -> None:
    file = bytearray(written(filled()))
    file[where % len(file)] ^= bits
    try:
        reader = SnapshotReader(
            bytes(file), verify_checksum=checksum, skip_unsupported=True, now_ms=NOW_MS
        )
        items = list(reader.items())
    except (CorruptSnapshot, UnsupportedValue):
        return
    # Zeros for a checksum mean that there is none; all else must have been noticed.
    assert not checksum or file[-8:] == bytes(8)
    for item in items:
        if isinstance(item.value, Stream):
            describe(item.value)


# -- what is not held --------------------------------------------------------------------------

FOREIGN = [
    (MODULE_VALUE, "module type AAAAAAAAA", b"l"),
    (b"\xf7\x81" + bytes(8) + b"\x02\x02\x02\x05\x00", "data of module type AAAAAAAAA", b""),
    (b"\xf3\x01abcd\x02\x05\x00", "a module's data about a key", b""),
    (b"\x07\x01m\x81" + bytes(8) + b"\x05\x03abc\x00", "module type AAAAAAAAA", b"m"),
]


@pytest.mark.parametrize(("foreign", "name", "key"), FOREIGN)
def test_what_is_not_held_is_refused_with_its_name(foreign: bytes, name: str, key: bytes) -> None:
    file = sealed(record(b"a", b"1") + foreign + record(b"b", b"2"))
    items = SnapshotReader(file, now_ms=NOW_MS).items()
    assert next(items).key == b"a"
    with pytest.raises(UnsupportedValue) as caught:
        next(items)
    error = caught.value
    assert (error.type_name, error.key, error.offset) == (name, key, file.index(foreign))


@pytest.mark.parametrize(("foreign", "name", "key"), FOREIGN)
def test_what_is_not_held_is_passed_over_if_it_may_be(
    foreign: bytes, name: str, key: bytes
) -> None:
    file = sealed(record(b"a", b"1") + foreign + foreign + record(b"b", b"2"))
    reader = SnapshotReader(file, skip_unsupported=True, now_ms=NOW_MS)
    assert strings(list(reader.items())) == {b"a": b"1", b"b": b"2"}
    assert reader.skipped == {name: 2}


def test_the_deadline_of_what_is_passed_over_goes_with_it() -> None:
    deadline = b"\xfc" + NOW_MS.to_bytes(8, "little")
    (item,) = read(sealed(deadline + MODULE_VALUE + record(b"a", b"1")), skip_unsupported=True)
    assert (item.key, item.expires_ms) == (b"a", None)


@pytest.mark.parametrize(
    ("foreign", "name"), [(b"\x1c\x01k", "array"), (b"\xf6\x00", "function library")]
)
def test_what_cannot_be_passed_over_is_refused_in_any_case(foreign: bytes, name: str) -> None:
    reader = SnapshotReader(sealed(foreign), skip_unsupported=True, now_ms=NOW_MS)
    with pytest.raises(UnsupportedValue) as caught:
        list(reader.items())
    assert caught.value.type_name == name


def test_libraries_of_functions_come_by_their_sources() -> None:
    reader = SnapshotReader(sealed(b"\xf5\x07library" + record(b"a", b"1")), now_ms=NOW_MS)
    assert strings(list(reader.items())) == {b"a": b"1"}
    assert reader.libraries == [b"library"]


def test_what_is_not_held_does_not_hide_damage() -> None:
    file = sealed(b"\x1c\x01k" + record(b"a", b"text")).replace(b"text", b"next")
    with pytest.raises(CorruptSnapshot, match="checksum"):
        SnapshotReader(file, now_ms=NOW_MS)


@pytest.mark.parametrize("code", [8, 29, 100, 242])
def test_a_byte_that_begins_no_record_is_refused(code: int) -> None:
    with pytest.raises((CorruptSnapshot, UnsupportedValue)):
        list(SnapshotReader(sealed(bytes((code,)) + bytes(9)), now_ms=NOW_MS).items())


# -- journals ----------------------------------------------------------------------------------


def with_journal(text: bytes) -> bytes:
    name = encode_string(b"rillway-ack-journal", compress=False)
    return b"\xfa" + name + encode_string(text, compress=False)


def test_a_journal_belongs_to_the_stream_that_follows_it() -> None:
    database = Database(0)
    for number in range(3):
        stream = Stream()
        stream.append(1 << 64, [b"f", b"v"], 10, 4096)
        database.set(b"s%d" % number, stream)
    middle = database.values[b"s1"]
    assert isinstance(middle, Stream)
    middle.ack_journal = AckJournal(b"j \xff", 7)
    file = written([database])
    reader = SnapshotReader(file, now_ms=NOW_MS)
    found = [getattr(item.value, "ack_journal", None) for item in reader.items()]
    assert found == [None, AckJournal(b"j \xff", 7), None]
    assert reader.aux == {b"redis-ver": b"7.4.0"}


@pytest.mark.parametrize("text", [b"", b"j", b"0 j", b"5 ", b"9" * 5000 + b" j"])
def test_a_damaged_journal_is_refused(text: bytes) -> None:
    with pytest.raises(CorruptSnapshot, match="is no journal"):
        read(sealed(with_journal(text) + record(b"a", b"1")))
