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


def test_what_was_read_is_compared_with_what_is_elsewhere() -> None:
    entries = encoded(make_id(5, 0), [b"same", b"1", b"same", b"2", b"sane", b"3"])
    reader = EntryReader()
    reader.load(entries)
    reader.read_head()
    first = reader.place
    is_again = []
    for _ in range(3):
        start = reader.place
        reader.read_word()
        is_again.append(reader.is_again(first, reader.place - start))
        reader.read_word()
    assert is_again == [True, True, False]
