"""Walks over encoded entries."""

from __future__ import annotations

from storage.entries.entry import encode_entry, encode_fields, encode_id
from storage.entries.entry_id import MAX_ID, MAX_SEQ, make_id
from storage.entries.entry_reader import EntryReader


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
