"""KEYS, SCAN, RANDOMKEY, DBSIZE."""

from __future__ import annotations

from typing import Any

import hiredis
import pytest

from commands.keys.scan import parse_cursor
from protocol.errors import ReplyError
from tests.commands.keys.conversation import NIL, NOT_AN_INTEGER, SYNTAX_ERROR, Conversation


def decoded(raw: bytes) -> Any:
    reader = hiredis.Reader(encoding="utf-8")
    reader.feed(raw)
    return reader.gets()


def keys_in(raw: bytes) -> set[str]:
    """The keys in a reply of KEYS, or in SCAN's only step."""
    reply = decoded(raw)
    if reply and isinstance(reply[-1], list):
        assert reply[0] == "0"
        return set(reply[-1])
    return set(reply)


def test_keys_lists_what_matches(talk: Conversation) -> None:
    talk.all("MSET a1 x a2 x b1 x '' x")
    assert keys_in(talk.do("KEYS a*")) == {"a1", "a2"}
    assert keys_in(talk.do("KEYS *")) == {"a1", "a2", "b1", ""}
    assert talk.do("KEYS none") == b"*0\r\n"


def test_keys_hides_what_has_expired_and_leaves_it_there(talk: Conversation) -> None:
    talk.all("SET gone x PX 10", "SET stays x")
    talk.server.now_ms += 11
    assert keys_in(talk.do("KEYS *")) == {"stays"}
    assert talk.do("DBSIZE") == b":2\r\n"
    assert talk.events() == []


def test_scan_goes_on_from_its_cursor_until_that_is_0(talk: Conversation) -> None:
    expected = {f"k{i}" for i in range(25)}
    talk.all(*(f"SET {key} x" for key in expected))
    seen: list[str] = []
    sizes: list[int] = []
    cursor = "0"
    while cursor != "0" or not sizes:
        cursor, keys = decoded(talk.do(f"SCAN {cursor}"))
        seen += keys
        sizes.append(len(keys))
    assert sizes == [10, 10, 5]
    assert sorted(seen) == sorted(expected)


def test_scan_selects_by_pattern_and_type_within_what_it_looks_at(talk: Conversation) -> None:
    talk.all("XADD s1 1-1 f v", "MSET t1 x s2 x")
    assert keys_in(talk.do("SCAN 0 MATCH s*")) == {"s1", "s2"}
    assert keys_in(talk.do("SCAN 0 TYPE stream")) == {"s1"}
    assert keys_in(talk.do("SCAN 0 type STRING match s? count 100")) == {"s2"}
    assert keys_in(talk.do("SCAN 0 TYPE hash")) == set()
    assert decoded(talk.do("SCAN 0 COUNT 1 MATCH s1"))[0] != "0"


def test_scan_removes_what_has_expired(talk: Conversation) -> None:
    talk.all("SET gone x PX 10", "SET stays x")
    talk.server.now_ms += 11
    assert keys_in(talk.do("SCAN 0")) == {"stays"}
    assert talk.do("DBSIZE") == b":1\r\n"
    assert talk.events() == ["expired gone"]


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("SCAN x", b"-ERR invalid cursor\r\n"),
        ("SCAN x COUNT 0", b"-ERR invalid cursor\r\n"),
        ("SCAN 0 COUNT 0", SYNTAX_ERROR),
        ("SCAN 0 COUNT x", NOT_AN_INTEGER),
        ("SCAN 0 COUNT", SYNTAX_ERROR),
        ("SCAN 0 LIMIT 1", SYNTAX_ERROR),
    ],
)
def test_scan_refuses_what_it_does_not_understand(
    talk: Conversation, request_: str, reply: bytes
) -> None:
    assert talk.do(request_) == reply


@pytest.mark.parametrize(
    ("word", "cursor"),
    [
        (b"0", 0),
        (b"-0", 0),
        (b"17", 17),
        (b" 17", 17),
        (b"-018446744073709551599", 17),
        (b"+17", 17),
        (b"-01", (1 << 64) - 1),
        (b"-9223372036854775809", (1 << 63) - 1),
        (b"0" * 5000 + b"17", 17),
        (b"18446744073709551615", (1 << 64) - 1),
        (b"17\0x", 17),
    ],
)
def test_a_cursor_is_read_as_c_reads_it(word: bytes, cursor: int) -> None:
    assert parse_cursor(word) == cursor


@pytest.mark.parametrize(
    "word",
    [
        b"",
        b"-",
        b"-1",
        b"-9223372036854775808",
        b"- 1",
        b"1 ",
        b"\0",
        b"0x1",
        b"18446744073709551616",
        b"9" * 5000,
    ],
)
def test_a_cursor_that_is_no_64_bit_number_is_refused(word: bytes) -> None:
    with pytest.raises(ReplyError):
        parse_cursor(word)


def test_a_random_key_is_one_that_lives(talk: Conversation) -> None:
    assert talk.do("RANDOMKEY") == NIL
    talk.all("SET stays x", "SET gone x PX 10", "SET gone2 x PX 10")
    talk.server.now_ms += 11
    assert {talk.do("RANDOMKEY") for _ in range(20)} == {b"$5\r\nstays\r\n"}
    talk.all("DEL stays", "SET gone x PX 10")
    talk.server.now_ms += 11
    assert talk.do("RANDOMKEY") == NIL


def test_dbsize_counts_the_keys_of_one_database(talk: Conversation) -> None:
    talk.all("MSET a 1 b 2", "SELECT 1", "SET c 3")
    assert talk.do("DBSIZE") == b":1\r\n"
