"""KEYS, SCAN, RANDOMKEY, DBSIZE."""

from __future__ import annotations

from typing import Any

import hiredis
import pytest

from commands.keys.scan import parse_cursor
from protocol.errors import ReplyError
from tests.commands.keys.conversation import Conversation


def decoded(raw: bytes) -> Any:
    reader = hiredis.Reader(encoding="utf-8")
    reader.feed(raw)
    return reader.gets()


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
