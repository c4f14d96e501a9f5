"""EXPIRE and its kin, TTL and its kin, PERSIST."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, NOT_AN_INTEGER, NOW_MS, Conversation

NX_WITH_OTHERS = b"-ERR NX and XX, GT or LT options at the same time are not compatible\r\n"
GT_WITH_LT = b"-ERR GT and LT options at the same time are not compatible\r\n"


@pytest.mark.parametrize(
    ("request_", "deadline_ms"),
    [
        ("EXPIRE k 10", NOW_MS + 10_000),
        ("PEXPIRE k 10", NOW_MS + 10),
        (f"EXPIREAT k {NOW_MS // 1000 + 10}", NOW_MS + 10_000),
        (f"PEXPIREAT k {NOW_MS + 10}", NOW_MS + 10),
    ],
)
def test_a_deadline_is_propagated_as_unix_time_in_ms(
    talk: Conversation, request_: str, deadline_ms: int
) -> None:
    talk.all("SET k v")
    assert talk.do(request_) == b":1\r\n"
    assert talk.events() == ["expire k"]
    assert talk.propagated() == [f"PEXPIREAT k {deadline_ms}"]
    assert talk.do("PEXPIRETIME k") == b":%d\r\n" % deadline_ms


def test_a_key_expires_the_millisecond_after_its_deadline(talk: Conversation) -> None:
    talk.all("SET k v", "PEXPIRE k 10")
    talk.server.now_ms += 10
    assert talk.do("GET k") == b"$1\r\nv\r\n"
    talk.server.now_ms += 1
    assert talk.do("GET k") == NIL
    assert talk.events() == ["expired k", "keymiss k"]
    assert talk.propagated() == ["DEL k"]


@pytest.mark.parametrize(
    "request_", ["EXPIRE k 0", "EXPIRE k -1", "PEXPIRE k -9223372036854775808", "EXPIREAT k 1"]
)
def test_a_deadline_that_has_come_already_removes_the_key(
    talk: Conversation, request_: str
) -> None:
    talk.all("SET k v")
    assert talk.do(request_) == b":1\r\n"
    assert talk.events() == ["del k"]
    assert talk.propagated() == ["DEL k"]
    assert talk.do("DBSIZE") == b":0\r\n"


@pytest.mark.parametrize(
    ("condition", "without", "sooner", "later", "equal"),
    [
        ("NX", 1, 0, 0, 0),
        ("XX", 0, 1, 1, 1),
        ("GT", 0, 0, 1, 0),
        ("LT", 1, 1, 0, 0),
        ("xx gt", 0, 0, 1, 0),
        ("XX LT", 0, 1, 0, 0),
    ],
)
def test_conditions_compare_with_the_deadline_there_is(
    talk: Conversation, condition: str, without: int, sooner: int, later: int, equal: int
) -> None:
    talk.all("SET without v")
    assert talk.do(f"EXPIRE without 100 {condition}") == b":%d\r\n" % without
    for seconds, expected in ((50, sooner), (150, later), (100, equal)):
        talk.all("SET k v EX 100")
        assert talk.do(f"EXPIRE k {seconds} {condition}") == b":%d\r\n" % expected
        assert talk.do("TTL k") == b":%d\r\n" % (seconds if expected else 100)


def test_a_refused_condition_changes_and_propagates_nothing(talk: Conversation) -> None:
    talk.all("SET k v EX 100")
    assert talk.do("EXPIRE k -1 GT") == b":0\r\n"
    assert talk.do("EXPIRE none 10") == b":0\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("10 FOO", b"-ERR Unsupported option FOO\r\n"),
        ("x foo", b"-ERR Unsupported option foo\r\n"),
        ("10 NX XX", NX_WITH_OTHERS),
        ("10 NX GT LT", NX_WITH_OTHERS),
        ("10 GT LT", GT_WITH_LT),
        ("x", NOT_AN_INTEGER),
        ("9223372036854775808", NOT_AN_INTEGER),
    ],
)
def test_bad_arguments_are_refused_even_without_the_key(
    talk: Conversation, words: str, reply: bytes
) -> None:
    assert talk.do(f"EXPIRE none {words}") == reply


@pytest.mark.parametrize(
    ("command", "amount"),
    [
        ("expire", 9223372036854775807),
        ("expire", -9223372036854775808),
        ("expire", 9223372036854775),
        ("pexpire", 9223372036854775807),
        ("expireat", 9223372036854776),
    ],
)
def test_a_deadline_beyond_64_bits_is_refused(
    talk: Conversation, command: str, amount: int
) -> None:
    talk.all("SET k v")
    error = f"-ERR invalid expire time in '{command}' command\r\n"
    assert talk.do(f"{command} k {amount}") == error.encode()
    assert talk.do("TTL k") == b":-1\r\n"


def test_the_last_deadline_there_is_can_be_set(talk: Conversation) -> None:
    talk.all("SET k v")
    assert talk.do("PEXPIREAT k 9223372036854775807") == b":1\r\n"
    assert talk.do("PEXPIRETIME k") == b":9223372036854775807\r\n"
    assert talk.do("EXPIRETIME k") == b":9223372036854776\r\n"


@pytest.mark.parametrize("command", ["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"])
def test_no_key_is_minus_two_and_no_deadline_minus_one(talk: Conversation, command: str) -> None:
    talk.all("SET k v")
    assert talk.do(f"{command} none") == b":-2\r\n"
    assert talk.do(f"{command} k") == b":-1\r\n"


@pytest.mark.parametrize(("left_ms", "seconds"), [(1499, 1), (1500, 2), (499, 0), (0, 0)])
def test_seconds_are_rounded(talk: Conversation, left_ms: int, seconds: int) -> None:
    talk.all("SET k v PX 2000")
    talk.server.now_ms += 2000 - left_ms
    assert talk.do("TTL k") == b":%d\r\n" % seconds
    assert talk.do("PTTL k") == b":%d\r\n" % left_ms


def test_persist_takes_the_deadline_away_once(talk: Conversation) -> None:
    talk.all("SET k v EX 100")
    assert talk.do("PERSIST k") == b":1\r\n"
    assert talk.events() == ["persist k"]
    assert talk.propagated() == ["PERSIST k"]
    assert talk.do("PERSIST k") == b":0\r\n"
    assert talk.do("PERSIST none") == b":0\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])
    talk.server.now_ms += 200_000
    assert talk.do("GET k") == b"$1\r\nv\r\n"


def test_a_new_deadline_fails_transactions_that_watch_the_key(talk: Conversation) -> None:
    talk.all("SET k v")
    watcher = talk.other()
    watcher.do("WATCH k")
    talk.all("EXPIRE k 100")
    watcher.do("MULTI")
    assert watcher.do("EXEC") == b"*-1\r\n"
