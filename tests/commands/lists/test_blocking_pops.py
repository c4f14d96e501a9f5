"""commands/lists/blocking_pops.py: timeouts, counted keys, the first key that exists."""

from __future__ import annotations

import pytest

from commands.core.arguments import INT64_MAX, Arguments
from commands.lists.blocking_pops import first_of, parse_multi_pop, parse_timeout
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.lists import ListValue
from tests.commands.keys.conversation import NOW_MS, Conversation

ENDS = (b"MIN", b"MAX")
NOT_A_FLOAT = b"ERR timeout is not a float or out of range"
NEGATIVE = b"ERR timeout is negative"
OUT_OF_RANGE = b"ERR timeout is out of range"


@pytest.mark.parametrize(
    ("text", "timeout_ms"),
    [
        (b"0", 0), (b"1", 1000), (b"1.5", 1500), (b"0.001", 1), (b"0.0001", 1), (b"-0.0001", 0),
        (b"1e3", 1_000_000), (b"0x10", 16_000), (b"1.0001", 1001),
        (b"0.1", 100), (b"72.97", 72_970),
        (b"9007199254740993.5", 9007199254740993500),
    ],
)  # fmt: skip
def test_a_timeout_is_in_seconds_with_fractions(text: bytes, timeout_ms: int) -> None:
    assert parse_timeout(text, NOW_MS) == timeout_ms


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"x", NOT_A_FLOAT), (b"", NOT_A_FLOAT), (b" 1", NOT_A_FLOAT), (b"nan", NOT_A_FLOAT),
        (b"-1", NEGATIVE), (b"-inf", NEGATIVE), (b"inf", OUT_OF_RANGE), (b"1e400", OUT_OF_RANGE),
        (b"%d" % (INT64_MAX // 1000), OUT_OF_RANGE),
    ],
)  # fmt: skip
def test_a_timeout_that_cannot_be_is_refused(text: bytes, error: bytes) -> None:
    with pytest.raises(ReplyError) as caught:
        parse_timeout(text, NOW_MS)
    assert caught.value.wire == b"-" + error + b"\r\n"


def test_several_keys_may_be_popped_from() -> None:
    words = [b"X", b"2", b"a", b"b", b"max", b"count", b"7"]
    request = parse_multi_pop(Arguments(Request(words), 1), ENDS)
    assert (request.keys, request.where, request.count) == ([b"a", b"b"], b"MAX", 7)
    request = parse_multi_pop(Arguments(Request([b"X", b"1", b"a", b"MIN"]), 1), ENDS)
    assert (request.keys, request.where, request.count) == ([b"a"], b"MIN", 1)
    with pytest.raises(ReplyError):
        parse_multi_pop(Arguments(Request([b"X", b"1", b"a", b"LEFT"]), 1), ENDS)


def test_the_first_key_that_exists_decides() -> None:
    talk = Conversation()
    talk.all("RPUSH b x", "SET c v")
    client = talk.client.state
    found = first_of(client, [b"a", b"b", b"c"], ListValue)
    assert found is not None and found[0] == b"b" and list(found[1]) == [b"x"]
    assert first_of(client, [b"a"], ListValue) is None
    with pytest.raises(ReplyError):
        first_of(client, [b"a", b"c", b"b"], ListValue)
