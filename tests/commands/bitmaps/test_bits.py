"""commands/bitmaps/bits.py: places of bits.

SETBIT, GETBIT.

BITCOUNT, BITPOS.

BITOP.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.bitmaps.bits import BitRange, extract, parse_bit_offset, parse_bit_range
from protocol.errors import ReplyError
from tests.commands.keys.conversation import WRONG_TYPE, Conversation


def test_an_offset_may_count_units(talk: Conversation) -> None:
    client = talk.client.state
    assert parse_bit_offset(client, b"7") == 7
    assert parse_bit_offset(client, b"#3", 8) == 24
    assert parse_bit_offset(client, b"4294967295") == 4294967295
    for text in (b"-1", b"x", b"", b"#1", b"4294967296", b"01"):
        with pytest.raises(ReplyError):
            parse_bit_offset(client, text)
    for text in (b"#", b"#x", b"#-1", b"#536870912"):
        with pytest.raises(ReplyError):
            parse_bit_offset(client, text, 8)
    client.replays = True
    assert parse_bit_offset(client, b"4294967296") == 4294967296


@pytest.mark.parametrize(
    ("wanted", "bits"),
    [
        (BitRange(), (0, 24)),
        (BitRange(1, 1), (8, 16)),
        (BitRange(-1, -1), (16, 24)),
        (BitRange(0, 100), (0, 24)),
        (BitRange(-100, -100), (0, 8)),
        (BitRange(2, 1), None),
        (BitRange(-1, -2), None),
        (BitRange(3, 9), None),
        (BitRange(5, 9, counts_bits=True), (5, 10)),
        (BitRange(-3, -1, counts_bits=True), (21, 24)),
    ],
)
def test_a_range_is_clipped_to_the_string(wanted: BitRange, bits: tuple[int, int] | None) -> None:
    assert wanted.clip(3) == bits
    assert BitRange().clip(0) is None


def test_a_range_is_read_to_its_end() -> None:
    def read(*words: bytes, is_position: bool = True) -> BitRange:
        return parse_bit_range(words, is_position=is_position)

    assert read() == BitRange()
    assert read(b"1") == BitRange(1)
    assert read(b"1", b"2") == read(b"1", b"2", is_position=False) == BitRange(1, 2, has_end=True)
    assert read(b"1", b"2", b"bit") == BitRange(1, 2, has_end=True, counts_bits=True)
    for words in ((b"x",), (b"1", b"x"), (b"1", b"2", b"FOO"), (b"1", b"2", b"BIT", b"x")):
        with pytest.raises(ReplyError):
            read(*words)
    with pytest.raises(ReplyError, match="syntax"):
        read(b"1", is_position=False)
    with pytest.raises(ReplyError, match="syntax"):
        read(b"1", b"x", b"FOO")
    with pytest.raises(ReplyError, match="integer"):
        read(b"1", b"x", b"FOO", is_position=False)


@given(st.binary(max_size=20), st.integers(0, 100), st.integers(1, 70))
def test_bits_are_taken_out_of_a_string(data: bytes, start: int, width: int) -> None:
    text = "".join(f"{byte:08b}" for byte in data).ljust(300, "0")
    assert extract(data, start, start + width) == int(text[start : start + width], 2)


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("SETBIT k -1 1", b"-ERR bit offset is not an integer or out of range\r\n"),
        ("SETBIT k 4294967296 1", b"-ERR bit offset is not an integer or out of range\r\n"),
        ("SETBIT k 0 2", b"-ERR bit is not an integer or out of range\r\n"),
        ("SETBIT k 0 x", b"-ERR bit is not an integer or out of range\r\n"),
        ("GETBIT k x", b"-ERR bit offset is not an integer or out of range\r\n"),
        ("SETBIT list 0 1", WRONG_TYPE),
        ("GETBIT list 0", WRONG_TYPE),
    ],
)
def test_bad_requests_are_refused(talk: Conversation, request_: str, reply: bytes) -> None:
    talk.all("RPUSH list a")
    assert talk.do(request_) == reply
    assert len(talk.server.instance.databases[0]) == 1


def test_every_place_is_found(talk: Conversation) -> None:
    chance = random.Random(5)
    for _ in range(200):
        data = chance.choice([b"\x00", b"\xff"]) * chance.randint(0, 3) + chance.randbytes(2)
        text = "".join(f"{byte:08b}" for byte in data)
        talk.client.execute("SET", "k", data)
        bit = chance.choice("01")
        start, end = sorted(chance.randrange(len(text)) for _ in range(2))
        found = text.find(bit, start, end + 1)
        reply = talk.do(f"BITPOS k {bit} {start} {end} BIT")
        assert reply == b":%d\r\n" % found, (text, bit, start, end)
