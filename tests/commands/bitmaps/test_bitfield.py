"""BITFIELD, BITFIELD_RO."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import SYNTAX_ERROR, Conversation

BAD_TYPE = (
    b"-ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but"
    b" i64 is.\r\n"
)
BAD_OFFSET = b"-ERR bit offset is not an integer or out of range\r\n"


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
