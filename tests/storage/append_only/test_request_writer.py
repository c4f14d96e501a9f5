"""Requests written word by word are the same bytes as encoded ones."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from storage.append_only.request_writer import RequestWriter
from storage.append_only.requests import encode_request
from storage.entries.entry_id import MAX_ID, format_id

NUMBERS = st.integers(0, 2**64 - 1) | st.sampled_from([0, 9, 10, 99, 100, 2**64 - 1])
IDS = st.integers(0, MAX_ID) | st.sampled_from([0, 1, 1 << 64, MAX_ID])


@given(st.lists(st.binary(max_size=40) | NUMBERS, min_size=1), st.lists(IDS))
def test_a_request_is_the_same_as_an_encoded_one(words: list[bytes | int], ids: list[int]) -> None:
    writer = RequestWriter()
    writer.begin(len(words) + len(ids))
    for word in words:
        if isinstance(word, bytes):
            writer.word(word)
        else:
            writer.number(word)
    for entry_id in ids:
        writer.entry_id(entry_id)
    argv = [word if isinstance(word, bytes) else b"%d" % word for word in words]
    assert writer.take(writer.end) == encode_request([*argv, *map(format_id, ids)])


def test_long_words_and_many_requests_make_the_buffer_grow() -> None:
    writer = RequestWriter()
    expected = b""
    for size in (0, 1, 1000, 1023, 1024, 70_000, 3):
        writer.begin(2)
        writer.word(b"x" * size)
        writer.encoded(b"$1\r\ny\r\n")
        expected += encode_request([b"x" * size, b"y"])
    assert writer.take(writer.end) == expected


def test_the_memory_of_a_long_word_is_not_kept() -> None:
    writer = RequestWriter()
    tracemalloc.start()
    try:
        writer.begin(1)
        writer.word(b"x" * 1_000_000)
        writer.take(writer.end)
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


def test_a_writer_is_empty_once_its_bytes_are_taken() -> None:
    writer = RequestWriter()
    writer.begin(1)
    writer.word(b"PING")
    assert writer.take(writer.end) == b"*1\r\n$4\r\nPING\r\n"
    assert writer.take(writer.end) == b""
    writer.begin(0)
    assert writer.take(writer.end) == b"*0\r\n"


def test_bytes_are_taken_taken_back_and_inserted() -> None:
    writer = RequestWriter()
    for word in (b"one", b"two", b"three"):
        writer.encoded(word)
    writer.insert(3, b"-" * 2000)
    assert writer.cut(3 + 2000 + 3) == b"three"
    assert writer.take(3) == b"one"
    writer.encoded(b"four")
    writer.insert(writer.end, b"!")
    assert writer.take(writer.end) == b"-" * 2000 + b"twofour!"


@given(st.lists(st.binary(max_size=100), max_size=12))
def test_a_whole_request_is_the_same_as_an_encoded_one(words: list[bytes]) -> None:
    writer = RequestWriter()
    writer.request(words)
    assert writer.take(writer.end) == encode_request(words)
