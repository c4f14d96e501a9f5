"""GET, MGET, GETDEL, GETEX."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import (
    NIL,
    NOT_AN_INTEGER,
    NOW_MS,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)


def test_get_answers_with_the_string(talk: Conversation) -> None:
    talk.all("SET k v", "XADD s 1-1 f v")
    assert talk.do("GET k") == b"$1\r\nv\r\n"
    assert talk.do("GET none") == NIL
    assert talk.events() == ["keymiss none"]
    assert talk.do("GET s") == WRONG_TYPE


def test_mget_has_null_for_what_is_no_string(talk: Conversation) -> None:
    talk.all("MSET a 1 b 2", "APPEND b 0", "XADD s 1-1 f v")
    assert talk.do("MGET a none s b") == b"*4\r\n$1\r\n1\r\n$-1\r\n$-1\r\n$2\r\n20\r\n"


def test_getdel_takes_the_key_away(talk: Conversation) -> None:
    talk.all("SET k v", "XADD s 1-1 f v")
    assert talk.do("GETDEL k") == b"$1\r\nv\r\n"
    assert talk.events() == ["del k"]
    assert talk.propagated() == ["DEL k"]
    assert talk.do("GETDEL k") == NIL
    assert talk.do("GETDEL s") == WRONG_TYPE
    assert talk.propagated() == []


def test_getex_without_options_is_get(talk: Conversation) -> None:
    talk.all("SET k v EX 100")
    assert talk.do("GETEX k") == b"$1\r\nv\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("TTL k") == b":100\r\n"


@pytest.mark.parametrize(
    ("option", "deadline_ms"),
    [("EX 10", NOW_MS + 10_000), ("PX 10", NOW_MS + 10), (f"pxat {NOW_MS + 10}", NOW_MS + 10)],
)
def test_getex_sets_a_deadline(talk: Conversation, option: str, deadline_ms: int) -> None:
    talk.all("SET k v")
    assert talk.do(f"GETEX k {option}") == b"$1\r\nv\r\n"
    assert talk.events() == ["expire k"]
    assert talk.propagated() == [f"PEXPIREAT k {deadline_ms}"]
    assert talk.do("PEXPIRETIME k") == b":%d\r\n" % deadline_ms


def test_getex_takes_the_deadline_away(talk: Conversation) -> None:
    talk.all("SET k v EX 100")
    assert talk.do("GETEX k PERSIST") == b"$1\r\nv\r\n"
    assert talk.events() == ["persist k"]
    assert talk.propagated() == ["PERSIST k"]
    assert talk.do("GETEX k PERSIST") == b"$1\r\nv\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])


def test_getex_with_a_deadline_in_the_past_is_getdel(talk: Conversation) -> None:
    talk.all("SET k v")
    assert talk.do("GETEX k EXAT 1") == b"$1\r\nv\r\n"
    assert talk.events() == ["del k"]
    assert talk.propagated() == ["DEL k"]
    assert talk.do("DBSIZE") == b":0\r\n"


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("GETEX none EX x", NIL),  # the key is looked for first, as in Redis
        ("GETEX none KEEPTTL", SYNTAX_ERROR),
        ("GETEX k EX 1 PERSIST", SYNTAX_ERROR),
        ("GETEX k EX x", NOT_AN_INTEGER),
        ("GETEX k EX 0", b"-ERR invalid expire time in 'getex' command\r\n"),
        ("GETEX s EX x", WRONG_TYPE),
    ],
)
def test_getex_refuses_in_the_order_in_which_redis_does(
    talk: Conversation, request_: str, reply: bytes
) -> None:
    talk.all("SET k v", "XADD s 1-1 f v")
    assert talk.do(request_) == reply
    assert talk.do("TTL k") == b":-1\r\n"


@pytest.mark.parametrize("command", ["GET", "GETDEL", "GETEX"])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_long_string_is_answered_whole(talk: Conversation, command: str, more: int) -> None:
    value = b"0123456789abcdef" * 65_536 + b"x" * more if more >= 0 else b"y" * (2**20 - 1)
    talk.client.execute("SET", "k", value)
    assert talk.client.execute(command, "k") == b"$%d\r\n%b\r\n" % (len(value), value)
