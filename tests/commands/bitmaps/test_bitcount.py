"""BITCOUNT, BITPOS."""

from __future__ import annotations

import random

import pytest

from tests.commands.keys.conversation import NOT_AN_INTEGER, SYNTAX_ERROR, WRONG_TYPE, Conversation


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
