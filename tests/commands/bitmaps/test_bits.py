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
from tests.commands.keys.conversation import NOT_AN_INTEGER, SYNTAX_ERROR, WRONG_TYPE, Conversation


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


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    talk.client.execute("SET", "k", b"\x00\x0f\xf0")
    talk.client.execute("SET", "ones", b"\xff\xff")
    talk.client.execute("SET", "zeros", b"\x00\x00")
    talk.server.propagated.clear()
    talk.all("RPUSH list a")
    return talk


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("k", b":8\r\n"),
        ("k 0 0", b":0\r\n"),
        ("k 1 -1 BYTE", b":8\r\n"),
        ("k 12 13 BIT", b":2\r\n"),
        ("k -1 -2", b":0\r\n"),
        ("k -3 -4", b":0\r\n"),
        ("missing 0 1", b":0\r\n"),
        ("k 1", SYNTAX_ERROR),
        ("missing x y", NOT_AN_INTEGER),
        ("k 0 1 FOO", SYNTAX_ERROR),
        ("list", WRONG_TYPE),
    ],
)
def test_set_bits_are_counted(filled: Conversation, words: str, reply: bytes) -> None:
    assert filled.do(f"BITCOUNT {words}") == reply


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("k 1", 12), ("k 0", 0), ("k 0 1", 8), ("k 1 2", 16), ("k 0 2 2", 20), ("k 1 0 0", -1),
        ("k 1 13 14 BIT", 13), ("k 0 12 15 BIT", -1), ("k 0 12 -1 BIT", 20), ("k 1 5", -1),
        ("ones 0", 16), ("ones 0 1", 16), ("ones 0 0 -1", -1), ("ones 0 3 12 BIT", -1),
        ("zeros 1", -1), ("missing 0", 0), ("missing 1", -1), ("k 0 2 1", -1),
        ("k 0 -3 -4", 0), ("k 0 -24 -25 BIT", 0), ("k 0 -1 -9 BIT", -1),
    ],
)  # fmt: skip
def test_the_first_bit_is_found(filled: Conversation, words: str, place: int) -> None:
    assert filled.do(f"BITPOS {words}") == b":%d\r\n" % place


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("k 2", b"-ERR The bit argument must be 1 or 0.\r\n"),
        ("k x", NOT_AN_INTEGER),
        ("missing 1 x", NOT_AN_INTEGER),
        ("k 1 0 -1 FOO", SYNTAX_ERROR),
        ("list 1", WRONG_TYPE),
    ],
)
def test_bad_searches_are_refused(filled: Conversation, words: str, reply: bytes) -> None:
    assert filled.do(f"BITPOS {words}") == reply


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


@pytest.fixture
def operands(talk: Conversation) -> Conversation:
    for key, data in {"a": b"\x0f\xff", "b": b"\x3c", "c": b"\x55\x01\x02"}.items():
        talk.client.execute("SET", key, data)
    talk.server.propagated.clear()
    talk.all("RPUSH list x")
    return talk


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("AND d a b", b"\x0c\x00"),
        ("or d a b", b"\x3f\xff"),
        ("XOR d a b c", b"\x66\xfe\x02"),
        ("NOT d b", b"\xc3"),
        ("AND d a", b"\x0f\xff"),
        ("AND d a missing", b"\x00\x00"),
        ("DIFF d a b c", b"\x02\xfe\x00"),
        ("DIFF1 d b a c", b"\x43\xff\x02"),
        ("ANDOR d a b c", b"\x0d\x01\x00"),
        ("ONE d a b c", b"\x62\xfe\x02"),
        ("ONE d a", b"\x0f\xff"),
    ],
)
def test_strings_are_combined(operands: Conversation, words: str, result: bytes) -> None:
    operands.all("SET d old EX 100")
    assert operands.do(f"BITOP {words}") == b":%d\r\n" % len(result)
    assert operands.client.execute("GET", "d") == b"$%d\r\n%b\r\n" % (len(result), result)
    assert operands.do("TTL d") == b":-1\r\n"
    assert [one for one in operands.events() if "keymiss" not in one] == ["set d"]


def test_an_empty_result_removes_the_target(operands: Conversation) -> None:
    assert operands.do("BITOP AND d missing") == b":0\r\n"
    assert (operands.propagated(), "del d" in operands.events()) == ([], False)
    operands.all("SET d old")
    assert operands.do("BITOP NOT d missing") == b":0\r\n"
    assert operands.propagated() == ["BITOP NOT d missing"]
    assert "del d" in operands.events()
    assert operands.do("EXISTS d") == b":0\r\n"


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("FOO d a", SYNTAX_ERROR),
        ("NOT d a b", b"-ERR BITOP NOT must be called with a single source key.\r\n"),
        ("DIFF d a", b"-ERR BITOP DIFF must be called with at least two source keys.\r\n"),
        ("andor d a", b"-ERR BITOP ANDOR must be called with at least two source keys.\r\n"),
        ("AND d a list", WRONG_TYPE),
    ],
)
def test_bad_operations_are_refused(operands: Conversation, words: str, reply: bytes) -> None:
    assert operands.do(f"BITOP {words}") == reply
    assert operands.do("EXISTS d") == b":0\r\n"
