"""The cutter finds exactly the plain requests that the reader reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.cutter import MAX_WORDS, Cutter
from protocol.replies import command
from protocol.requests import Limits, RequestReader
from protocol.slots import key_slot
from tests.support.examples import examples


def cut(data: bytes) -> tuple[list[list[bytes]], int]:
    """The requests that are found, and where the cutter stops."""
    cutter, requests = Cutter(), []
    cutter.load(data)
    while cutter.next():
        requests.append(cutter.words())
    return requests, cutter.position


def test_whole_requests_are_found_one_after_the_other() -> None:
    data = command([b"PING"]) + command([b"SET", b"", b"a\r\nb"])
    assert cut(data) == ([[b"PING"], [b"SET", b"", b"a\r\nb"]], len(data))


def test_a_request_that_has_not_come_whole_is_left() -> None:
    first, second = command([b"GET", b"k"]), command([b"SET", b"key", b"v" * 12])
    for end in range(len(second)):
        assert cut(first + second[:end]) == ([[b"GET", b"k"]], len(first))


@pytest.mark.parametrize(
    "odd",
    [
        b"PING\r\n",
        b"\r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b"*01\r\n$4\r\nPING\r\n",
        b"*1\n$4\r\nPING\r\n",
        b"*1\r\n$04\r\nPING\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$+4\r\nPING\r\n",
        b"*1\r\n:4\r\nPING\r\n",
        b"*1\r\n$4\r\nPINGxx",
        b"*1\r\n$4\nPING\r\n",
        b"*1\r\n$\r\nPING\r\n",
        b"*+1\r\n$4\r\nPING\r\n",
        b"*1 \r\n$4\r\nPING\r\n",
        b"*\r\n$4\r\nPING\r\n",
        b"*999999999999\r\n$4\r\nPING\r\n",
        b"*1\r\n$999999999999\r\nPING\r\n",
        b"*1\r\n$4\r\nPIN\r\n\r\n"[:-1],
    ],
)
def test_the_cutter_stops_in_front_of_anything_odd(odd: bytes) -> None:
    first = command([b"PING"])
    assert cut(first + odd) == ([[b"PING"]], len(first))


def test_a_request_of_very_many_words_is_left_to_the_reader() -> None:
    most = command([b"w"] * MAX_WORDS)
    assert cut(most) == ([[b"w"] * MAX_WORDS], len(most))
    assert cut(command([b"w"] * (MAX_WORDS + 1))) == ([], 0)


def test_words_can_be_had_as_they_came() -> None:
    cutter = Cutter()
    cutter.load(command([b"XADD", b"key", b"*", b"f", b"", b"g", b"\r\n"]))
    assert cutter.next()
    assert cutter.count == 7
    assert cutter.word(1) == b"key"
    assert cutter.slot(1) == key_slot(b"key")
    assert cutter.head(2) == b"*7\r\n$4\r\nXADD\r\n$3\r\nkey\r\n"
    assert cutter.words_bytes() == 12
    assert cutter.is_byte(2, ord("*"))
    assert not cutter.is_byte(1, ord("k"))
    assert not cutter.is_byte(4, ord("*"))
    assert cutter.tail(3) == b"$1\r\nf\r\n$0\r\n\r\n$1\r\ng\r\n$2\r\n\r\n\r\n"
    assert cutter.head(6) + cutter.tail(6) == cutter.whole()
    assert cutter.head(2) + cutter.part(2, 5) + cutter.tail(5) == cutter.whole()
    assert cutter.part(1, 2) == b"$3\r\nkey\r\n"
    assert cutter.part(3, 3) == b""


WORDS = st.lists(
    st.binary(max_size=6) | st.sampled_from([b"\r\n", b"*1\r\n", b"$3\r\nabc\r\n", b"x" * 120]),
    min_size=1,
    max_size=12,
)
PIECES = st.one_of(
    WORDS.map(command),
    st.sampled_from([b"PING\r\n", b"*0\r\n", b"\r\n", b"*1\r\n$1\r\n", b"$", b"*2\r\n", b"\n"]),
    st.binary(max_size=4),
)


@settings(max_examples=examples(500))
@given(st.lists(PIECES, max_size=8).map(b"".join), st.data())
def test_the_cutter_finds_what_the_parser_reads(data: bytes, chance: st.DataObject) -> None:
    data = data[: chance.draw(st.integers(0, len(data)))]
    requests, position = cut(data)
    reader = RequestReader(Limits())
    assert reader.feed(data[:position]) == requests
    assert reader.is_between
