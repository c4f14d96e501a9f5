"""INCREX."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NOW_MS, SYNTAX_ERROR, WRONG_TYPE, Conversation
from tests.commands.lists.test_elements import bulks, integers

GREATEST = 2**63 - 1


@pytest.mark.parametrize(
    ("words", "reply", "stored"),
    [
        ("", integers(6, 1), "6"),
        ("BYINT 10", integers(15, 10), "15"),
        ("BYINT -7 LBOUND -2", integers(-2, -7), "-2"),
        ("BYINT 10 UBOUND 14", integers(5, 0), "5"),
        ("BYINT 10 UBOUND 14 SATURATE", integers(14, 9), "14"),
        ("BYINT -9 LBOUND 0 SATURATE", integers(0, -5), "0"),
        ("UBOUND 3 SATURATE", integers(3, -2), "3"),
        (f"BYINT {GREATEST}", integers(5, 0), "5"),
        (f"BYINT {GREATEST} SATURATE", integers(GREATEST, GREATEST - 5), str(GREATEST)),
        ("BYFLOAT 0.1", bulks("5.1 0.1"), "5.1"),
        ("BYFLOAT 3e3 UBOUND 10.5", bulks("5 0"), "5"),
        ("BYFLOAT 3e3 UBOUND 10.5 saturate", bulks("10.5 5.5"), "10.5"),
    ],
)
def test_a_number_is_changed_within_its_bounds(
    talk: Conversation, words: str, reply: bytes, stored: str
) -> None:
    talk.all("SET k 5")
    assert talk.do(f"INCREX k {words}") == reply
    assert talk.do("GET k") == b"$%d\r\n%b\r\n" % (len(stored), stored.encode())
    assert talk.propagated() == ([f"SET k {stored}"] if stored != "5" else [])


def test_what_is_refused_creates_nothing(talk: Conversation) -> None:
    assert talk.do("INCREX k BYINT 5 UBOUND 4 EX 10") == integers(0, 0)
    assert talk.do("EXISTS k") == b":0\r\n"
    assert talk.do("INCREX k BYINT 5 UBOUND 4 SATURATE") == integers(4, 4)


def test_resp3_has_doubles(talk: Conversation) -> None:
    talk.do("HELLO 3")
    assert talk.do("INCREX k BYFLOAT 1.5") == b"*2\r\n,1.5\r\n,1.5\r\n"
    assert talk.do("INCREX n") == integers(1, 1)


def test_the_time_to_live_follows_the_options(talk: Conversation) -> None:
    assert talk.do("INCREX k EX 10 ENX") == integers(1, 1)
    assert talk.events() == ["new k", "incrby k", "expire k"]
    assert talk.propagated() == [f"SET k 1 PXAT {NOW_MS + 10_000}"]
    talk.do("INCREX k PX 5 ENX")
    assert talk.propagated() == [f"SET k 2 PXAT {NOW_MS + 10_000}"]
    talk.do("INCREX k")
    talk.do("INCREX k BYINT 9 UBOUND 3 PERSIST")
    assert talk.do("PTTL k") == b":10000\r\n"
    talk.do("INCREX k PX 5")
    assert talk.do("PTTL k") == b":5\r\n"
    talk.events()
    talk.do("INCREX k PERSIST")
    assert talk.events() == ["incrby k", "persist k"]
    assert talk.do("TTL k") == b":-1\r\n"


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("k BYINT x", b"-ERR Increment is not an integer or out of range\r\n"),
        ("k LBOUND 1.5", b"-ERR LBOUND is not an integer or out of range\r\n"),
        ("k BYFLOAT 1 UBOUND x", b"-ERR UBOUND is not a valid float\r\n"),
        ("k BYFLOAT inf", b"-ERR Increment is not a valid float\r\n"),
        ("k BYINT 1 BYFLOAT 1", SYNTAX_ERROR),
        ("k SATURATE SATURATE", SYNTAX_ERROR),
        ("k EX 1 EX 1", SYNTAX_ERROR),
        ("k EX 1 PERSIST", SYNTAX_ERROR),
        ("k FOO", SYNTAX_ERROR),
        ("k UBOUND", SYNTAX_ERROR),
        ("k ENX", b"-ERR ENX flag requires an expiration\r\n"),
        ("k PERSIST ENX", b"-ERR ENX flag requires an expiration\r\n"),
        ("k EX 0", b"-ERR invalid expire time in 'increx' command\r\n"),
        ("k LBOUND 2 UBOUND 1", b"-ERR LBOUND can't be greater than UBOUND\r\n"),
        ("text", b"-ERR value is not an integer or out of range\r\n"),
        ("text BYFLOAT 1", b"-ERR value is not a valid float\r\n"),
        ("list", WRONG_TYPE),
    ],
)
def test_bad_requests_change_nothing(talk: Conversation, words: str, reply: bytes) -> None:
    talk.all("SET text v", "RPUSH list a")
    assert talk.do(f"INCREX {words}") == reply
    assert talk.propagated() == []
