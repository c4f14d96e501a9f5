"""Reading requests: all parsers agree, and errors have the right offset."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.append_only import reader
from storage.append_only.reader import Batch, DamagedFile, RequestFile, TornFile
from storage.append_only.requests import encode_request, encode_requests, timestamp_annotation

SMALL = [b"XADD", b"s", b"1-1", b"f", b"v"]

words = st.one_of(st.binary(max_size=12), st.sampled_from([b"", b"\r\n", b"*1\r\n", b"#TS:1\r\n"]))
requests = st.lists(st.lists(words, min_size=1, max_size=4), max_size=40)


def encoded_bytes(argv: list[bytes]) -> int:
    return len(encode_request(argv))


def read(data: bytes, position: int = 0) -> list[list[bytes]]:
    return [argv for batch in RequestFile(data, position).batches() for argv in batch.requests]


@given(requests)
def test_what_was_encoded_is_read_back_whatever_the_words_are(written: list[list[bytes]]) -> None:
    assert read(encode_requests(written)) == written


@given(requests, st.integers(0, 10_000))
def test_a_file_cut_anywhere_is_torn_at_the_request_that_the_cut_is_in(
    written: list[list[bytes]], cut: int
) -> None:
    data = encode_requests(written)
    ends = [0]
    for argv in written:
        ends.append(ends[-1] + encoded_bytes(argv))
    cut = min(cut, len(data))
    whole = max(end for end in ends if end <= cut)
    file = RequestFile(data[:cut])
    found: list[list[bytes]] = []
    if cut == whole:
        found = [argv for batch in file.batches() for argv in batch.requests]
    else:
        with pytest.raises(TornFile) as torn:
            for batch in file.batches():
                found += batch.requests
        assert torn.value.offset == whole
    assert found == written[: ends.index(whole)] if whole or not cut else found == []


@given(requests, st.data())
def test_a_changed_byte_gives_other_requests_or_an_error_and_nothing_else(
    written: list[list[bytes]], data: st.DataObject
) -> None:
    encoded = bytearray(encode_requests(written))
    if not encoded:
        return
    position = data.draw(st.integers(0, len(encoded) - 1))
    encoded[position] ^= data.draw(st.integers(1, 255))
    file = RequestFile(bytes(encoded))
    taken = b""
    with contextlib.suppress(TornFile, DamagedFile):
        for batch in file.batches():
            assert batch.offset == len(taken) or b"#" in encoded
            taken += encode_requests(batch.requests)
    if b"#" not in encoded:
        assert encoded.startswith(taken)  # what was read has no other encoding


def test_a_file_longer_than_a_batch_is_read_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "BATCH_BYTES", 300)
    written = [[b"XADD", b"s", b"%d-1" % n, b"f", b"v" * (n % 7)] for n in range(200)]
    written += [[b"SET", b"k", b"x" * 1000], [b"DEL", b"k"]]
    file = RequestFile(encode_requests(written))
    batches = list(file.batches())
    assert len(batches) > 10
    assert [argv for batch in batches for argv in batch.requests] == written
    assert file.position == file.end


def test_a_batch_has_its_place_in_the_file() -> None:
    data = b"REDIS" + encode_requests([SMALL, [b"DEL", b"s"], SMALL])
    assert list(RequestFile(data, 5).batches()) == [Batch(5, data[5:])]


def test_annotations_are_skipped_and_the_last_time_is_known() -> None:
    data = timestamp_annotation(17) + encode_request(SMALL) + timestamp_annotation(18)
    file = RequestFile(data + b"#anything\r\n" + encode_request(SMALL))
    assert [argv for batch in file.batches() for argv in batch.requests] == [SMALL, SMALL]
    assert file.timestamp_s == 18


def test_an_annotation_inside_a_word_is_none() -> None:
    argv = [b"SET", b"k", b"\r\n#TS:5\r\n*1\r\n$4\r\nQUIT\r\n"]
    file = RequestFile(encode_requests([argv] * 30))
    assert [a for batch in file.batches() for a in batch.requests] == [argv] * 30
    assert file.timestamp_s is None


def test_a_torn_annotation_is_torn() -> None:
    with pytest.raises(TornFile) as torn:
        read(encode_request(SMALL) + b"#TS:12")
    assert torn.value.offset == encoded_bytes(SMALL)


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        (b"hello\r\n", 0, "'*'"),
        (b"PING\r\n", 0, "'*'"),
        (b"\0\0\0\0", 0, "'*'"),
        (b"\r\n", 0, "'*'"),
        (b"*1\r\n+PING\r\n", 4, "'$'"),
        (b"*1\r\n:1\r\n", 4, "'$'"),
        (b"*0\r\n", 0, "the number of a request's words"),
        (b"*-1\r\n", 1, "a number"),
        (b"*01\r\n$4\r\nPING\r\n", 1, "a number"),
        (b"*1\r\n$04\r\nPING\r\n", 5, "a number"),
        (b"*1\r\n$-1\r\n", 5, "a number"),
        (b"*x\r\n", 1, "a number"),
        (b"*\r\n$4\r\nPING\r\n", 1, "a number"),
        (b"*1\n$4\nPING\n" + b"x" * 40, 1, "a number"),
        (b"*1\r\n$4\r\nPINGxx*1\r\n", 12, "CR LF"),
        (b"*1\r\n$4\r\nPINGx", 12, "CR LF"),
        (b"*123456789012345678901234\r\n", 1, "a number"),
    ],
)
def test_what_is_no_request_is_refused_at_its_place(
    text: bytes, offset: int, expected: str
) -> None:
    before = encode_requests([SMALL] * 3)
    found: list[Batch] = []
    with pytest.raises(DamagedFile) as damage:
        for batch in RequestFile(before + text).batches():
            found.append(batch)
    assert damage.value.offset == len(before) + offset
    assert damage.value.expected == expected
    assert [argv for batch in found for argv in batch.requests] == [SMALL] * 3


@pytest.mark.parametrize("text", [b"*1000000000\r\n", b"*2\r\n$99999999999\r\nx", b"*1\r\n$4\r\n"])
def test_a_length_beyond_the_end_is_torn_and_costs_nothing(text: bytes) -> None:
    with pytest.raises(TornFile) as torn:
        read(encode_request(SMALL) + text)
    assert torn.value.offset == encoded_bytes(SMALL)
