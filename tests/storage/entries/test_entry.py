"""The wire form of an entry.

Walks over encoded entries.

Entries without what they have in common.

The fields of entries that have a layout, filled in one after the other.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry import (
    EntryReader,
    FieldRow,
    Frame,
    decode_fields,
    decode_payload,
    encode_entry,
    encode_fields,
    encode_id,
    encode_id_parts,
    fields_position,
)
from storage.entries.entry_id import MAX_ID, MAX_SEQ, make_id
from storage.entries.packed_form import Shape
from tests.storage.entries.sample_layouts import FIRST, entries_of, laid_out

ID_BULK = b"$3\r\n7-1\r\n"

FIELDS = st.lists(st.binary(max_size=12) | st.sampled_from([b"%d", b"\r\n", b"%%", b"$1\r\n"]))


def pairs(fields: list[bytes]) -> list[bytes]:
    return fields[: len(fields) // 2 * 2]


def plainly_encoded(fields: list[bytes]) -> bytes:
    entry = b"*2\r\n" + ID_BULK + b"*%d\r\n" % len(fields)
    for part in fields:
        entry += b"$%d\r\n" % len(part) + part + b"\r\n"
    return entry


def test_an_entry_is_an_array_of_its_id_and_its_fields() -> None:
    entry = Shape([b"f", b"name"]).encode_values(ID_BULK, [b"v", b""])
    assert entry == b"*2\r\n$3\r\n7-1\r\n*4\r\n$1\r\nf\r\n$1\r\nv\r\n$4\r\nname\r\n$0\r\n\r\n"


@given(FIELDS)
def test_encoding_by_shape_is_the_same_as_encoding_each_field(fields: list[bytes]) -> None:
    fields = pairs(fields)
    assert Shape(fields[::2]).encode_values(ID_BULK, fields[1::2]) == plainly_encoded(fields)


@given(FIELDS)
def test_decoding_gives_back_the_fields(fields: list[bytes]) -> None:
    fields = pairs(fields)
    assert decode_fields(plainly_encoded(fields)) == fields


def test_a_shape_serves_other_values_of_the_same_names() -> None:
    shape = Shape([b"temperature"])
    for value in (b"21.5", b"", b"x" * 1000):
        fields = [b"temperature", value]
        assert shape.encode_values(ID_BULK, [value]) == plainly_encoded(fields)


def test_an_entry_may_have_as_many_fields_as_a_request_has_arguments() -> None:
    fields = [b"%d" % number for number in range(500_000)]
    entry = encode_entry(ID_BULK, encode_fields(fields), len(fields))
    assert entry.startswith(b"*2\r\n" + ID_BULK + b"*500000\r\n$1\r\n0\r\n$1\r\n1\r\n")
    assert entry.endswith(b"$6\r\n499998\r\n$6\r\n499999\r\n")


def test_an_id_is_a_bulk_string() -> None:
    assert encode_id(5 << 64 | 3) == b"$3\r\n5-3\r\n"
    longest = b"18446744073709551615"
    assert encode_id(2**128 - 1) == b"$41\r\n%b-%b\r\n" % (longest, longest)


@given(st.integers(0, MAX_SEQ), st.integers(0, MAX_SEQ))
def test_the_halves_of_an_id_give_the_same_bulk_string(ms: int, seq: int) -> None:
    assert encode_id_parts(ms, seq) == encode_id(make_id(ms, seq))


@pytest.mark.parametrize("number", [0, 9, 10, 99, 100, 10**9, MAX_SEQ])
def test_halves_of_every_length_are_written_out(number: int) -> None:
    assert encode_id_parts(number, 0) == encode_id(make_id(number, 0))
    assert encode_id_parts(0, number) == encode_id(make_id(0, number))


@given(FIELDS)
def test_the_fields_of_an_entry_are_the_bulk_strings_that_came(fields: list[bytes]) -> None:
    fields = pairs(fields)
    raw = b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in fields)
    assert encode_fields(fields) == raw
    entry = encode_entry(ID_BULK, raw, len(fields))
    assert entry == plainly_encoded(fields)
    assert entry[fields_position(entry) :] == raw


def test_the_fields_of_many_entries_are_taken_apart_at_once() -> None:
    all_fields = [[b"f", b"v"], [b"f", b"", b"\r\n$5\r\n", b"x" * 70_000], [b"*2", b"-"]]
    payload = b"".join(map(plainly_encoded, all_fields))
    assert decode_payload(payload, 3) == all_fields
    assert decode_payload(b"", 0) == []


def encoded(entry_id: int, fields: list[bytes]) -> bytes:
    return encode_entry(encode_id(entry_id), encode_fields(fields), len(fields))


def test_ids_and_words_are_found_one_after_the_other() -> None:
    entries = encoded(make_id(5, 0), [b"f", b""]) + encoded(MAX_ID, [b"g", b"\r\n$1", b"h", b"7"])
    reader = EntryReader()
    reader.load(entries)
    found = []
    while reader.place < reader.end:
        words = []
        for _ in range(reader.read_head()):
            reader.read_word()
            words.append(entries[reader.start : reader.start + reader.length])
        found.append((reader.ms, reader.seq, words))
    assert found == [
        (5, 0, [b"f", b""]),
        (MAX_SEQ, MAX_SEQ, [b"g", b"\r\n$1", b"h", b"7"]),
    ]


def test_what_comes_next_is_passed_over_if_it_is_as_expected() -> None:
    reader = EntryReader()
    reader.load(encoded(make_id(5, 0), [b"same", b"1", b"sane", b"2"]))
    reader.read_head()
    start = reader.place
    assert not reader.pass_over(b"$4\r\nsane\r\n")
    assert reader.place == start
    assert reader.pass_over(b"$4\r\nsame\r\n")
    reader.read_word()
    assert not reader.pass_over(b"$4\r\nsane\r\n$1\r\n2\r\nand what is behind the end")
    assert reader.pass_over(b"$4\r\nsane\r\n$1\r\n2\r\n")
    assert reader.place == reader.end
    assert not reader.pass_over(b"$")


def stripped(frame: Frame, first_id: int, entries: bytes) -> bytes | None:
    """What the frame leaves of the entries; None if they do not fit."""
    room = bytearray(len(entries))
    size = frame.strip(first_id, bytearray(entries), len(entries), room)
    return None if size < 0 else bytes(room[:size])


NAMES = st.lists(st.binary(max_size=12), min_size=1, max_size=3)
IDS = st.lists(
    st.one_of(
        st.builds(make_id, st.integers(0, 3), st.integers(0, 300)),
        st.integers(0, MAX_ID),
    ),
    min_size=1,
    max_size=6,
    unique=True,
).map(sorted)
VALUES = st.one_of(st.binary(max_size=8), st.integers(0, 20_000).map(bytes))


@given(NAMES, IDS, st.data())
def test_entries_come_back_byte_by_byte(
    names: list[bytes], ids: list[int], data: st.DataObject
) -> None:
    entries = b"".join(
        encoded(entry_id, [word for name in names for word in (name, data.draw(VALUES))])
        for entry_id in ids
    )
    frame = Frame(entries)
    remaining = stripped(frame, ids[0], entries)
    assert remaining is not None
    assert frame.build(ids[0], remaining, len(ids), len(entries)) == entries


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param([b"f", b"1", b"h", b"2"], id="another name"),
        pytest.param([b"f", b"1", b"gg", b"2"], id="a longer name"),
        pytest.param([b"f", b"1"], id="a field less"),
        pytest.param([b"f", b"1", b"g", b"2", b"h", b"3"], id="a field more"),
        pytest.param([b"g", b"1", b"f", b"2"], id="another order"),
    ],
)
def test_entries_with_other_names_do_not_fit(fields: list[bytes]) -> None:
    first = encoded(make_id(1, 0), [b"f", b"1", b"g", b"2"])
    entries = first + encoded(make_id(1, 1), fields)
    assert stripped(Frame(first), make_id(1, 0), entries) is None


def test_only_ids_and_values_remain() -> None:
    entries = b"".join(encoded(make_id(1000 + n, 0), [b"name", b"v%d" % n]) for n in range(3))
    remaining = stripped(Frame(entries), make_id(1000, 0), entries)
    assert remaining == bytes([0, 0, 1, 0, 1, 0]) + b"\x02v0\x02v1\x02v2"


COUNT = 20


def values_of(row: FieldRow) -> list[bytes]:
    text = bytes(row.text[: row.size])
    return [text[row.starts[i] : row.starts[i] + row.lengths[i]] for i in range(row.width)]


@pytest.mark.interpreted  # `text` is a pointer in compiled code
@pytest.mark.parametrize(
    "values",
    [
        [b"%04d" % (n * 37) for n in range(COUNT)],
        [b"%03x" % (n * 37) for n in range(COUNT)],
        [b"a%02db%d" % (n, n % 2) for n in range(COUNT)],
    ],
)
def test_a_row_has_the_values_of_each_entry(values: list[bytes]) -> None:
    ids = [FIRST + make_id(n, 0) for n in range(COUNT)]
    layout, packed = laid_out(entries_of(ids, values, [b"f"]), ids)
    row = layout.row()
    assert row.is_plain and row.names == [b"f"]
    for place, value in enumerate(values):
        row.fill(packed, COUNT, place)
        assert values_of(row) == [value]


def test_entries_that_differ_in_a_name_have_no_plain_row() -> None:
    assert not FieldRow(b"$1\r\n0\r\n$1\r\nv\r\n", [4, 11], is_number=False).is_plain
    assert FieldRow(b"$1\r\n0\r\n$1\r\nv\r\n", [11], is_number=False).is_plain
