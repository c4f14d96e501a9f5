"""BITFIELD, BITFIELD_RO."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import SYNTAX_ERROR, WRONG_TYPE, Conversation
from tests.commands.lists.test_elements import integers

BAD_TYPE = (
    b"-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but"
    b" i64 is.\r\n"
)
BAD_OFFSET = b"-ERR bit offset is not an integer or out of range\r\n"


@pytest.mark.parametrize(
    ("words", "results"),
    [
        ("GET u8 0 GET i8 8 GET u4 4", (97, 98, 1)),
        ("SET u8 0 255 GET u8 0 GET i8 0", (97, 255, -1)),
        ("SET u8 #1 300 GET u8 8", (98, 44)),
        ("INCRBY u2 7 1 INCRBY u2 7 1 INCRBY u2 7 1 INCRBY u2 7 1", (3, 0, 1, 2)),
        ("OVERFLOW SAT INCRBY u8 0 1000 INCRBY i8 8 -1000", (255, -128)),
        ("OVERFLOW sat SET u8 0 -1 GET u8 0", (97, 255)),
        ("OVERFLOW FAIL SET u8 0 300 OVERFLOW WRAP INCRBY u8 0 300", (None, 141)),
        ("SET i64 0 9223372036854775807 INCRBY i64 0 1", (7017280452245743464, -(2**63))),
        ("SET u63 1 -1 GET u63 1", (7017280452245743464, 2**63 - 1)),
        ("", ()),
    ],
)
def test_operations_run_in_order(
    talk: Conversation, words: str, results: tuple[int | None, ...]
) -> None:
    talk.all("SET k abcdefgh")
    items = [b"$-1\r\n" if one is None else b":%d\r\n" % one for one in results]
    assert talk.do(f"BITFIELD k {words}") == b"*%d\r\n" % len(items) + b"".join(items)


def test_one_event_for_all_changes(talk: Conversation) -> None:
    assert talk.do("BITFIELD k SET u8 0 1 SET u8 100 2") == integers(0, 0)
    assert talk.events() == ["new k", "setbit k"]
    assert talk.propagated() == ["BITFIELD k SET u8 0 1 SET u8 100 2"]
    assert talk.do("STRLEN k") == b":14\r\n"


def test_reading_creates_nothing(talk: Conversation) -> None:
    assert talk.do("BITFIELD k GET u8 1000") == talk.do("BITFIELD_RO k GET u8 0") == integers(0)
    assert talk.do("EXISTS k") == b":0\r\n"


def test_the_string_grows_for_what_fails(talk: Conversation) -> None:
    assert talk.do("BITFIELD k OVERFLOW FAIL INCRBY u8 100 300") == b"*1\r\n$-1\r\n"
    assert talk.do("STRLEN k") == b":14\r\n"


def test_what_fails_is_no_change_and_replicas_get_the_length(talk: Conversation) -> None:
    request = "BITFIELD k OVERFLOW FAIL INCRBY u8 100 300"
    assert talk.do(request) == b"*1\r\n$-1\r\n"
    assert talk.server.instance.dirty == 0
    assert talk.events() == ["new k"]
    assert talk.propagated() == [request]
    assert talk.do(request) == b"*1\r\n$-1\r\n"
    assert talk.propagated() == []


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("GET u64 0", BAD_TYPE), ("GET i65 0", BAD_TYPE), ("GET x8 0", BAD_TYPE),
        ("GET u0 0", BAD_TYPE), ("GET u 0", BAD_TYPE), ("GET u8 x", BAD_OFFSET),
        ("GET u8 -1", BAD_OFFSET), ("GET u8 #", BAD_OFFSET), ("GET u8", SYNTAX_ERROR),
        ("SET u8 0", SYNTAX_ERROR), ("FOO u8 0", SYNTAX_ERROR), ("OVERFLOW", SYNTAX_ERROR),
        ("OVERFLOW FOO", b"-ERR Invalid OVERFLOW type specified\r\n"),
        ("SET u8 0 1 SET u8 0 x", b"-ERR value is not an integer or out of range\r\n"),
    ],
)  # fmt: skip
def test_all_is_read_before_anything_runs(talk: Conversation, words: str, reply: bytes) -> None:
    assert talk.do(f"BITFIELD k {words}") == reply
    assert talk.do("EXISTS k") == b":0\r\n"


def test_the_reading_command_only_reads(talk: Conversation) -> None:
    talk.all("SET k a", "RPUSH list a")
    assert talk.do("BITFIELD_RO k GET u8 0 OVERFLOW WRAP") == integers(97)
    refused = b"-ERR BITFIELD_RO only supports the GET subcommand\r\n"
    assert talk.do("BITFIELD_RO k SET u8 0 1") == refused
    assert talk.do("BITFIELD list GET u8 0") == talk.do("BITFIELD_RO list GET u8 0") == WRONG_TYPE
    assert talk.do("BITFIELD list SET u8 0 1") == WRONG_TYPE
