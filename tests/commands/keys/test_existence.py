"""commands/keys/existence.py: look-up without side effects.

DEL, UNLINK, EXISTS, TOUCH, TYPE.

EXPIRE and its kin, TTL and its kin, PERSIST.
"""

from __future__ import annotations

import pytest

from commands.keys.existence import find, parse_database, peek
from protocol.errors import ReplyError
from tests.commands.keys.conversation import NIL, NOT_AN_INTEGER, NOW_MS, Conversation


def test_finding_removes_what_has_expired_in_any_database(talk: Conversation) -> None:
    talk.all("SELECT 3", "SET k v PX 10")
    talk.server.instance.now_ms += 11
    db = talk.server.instance.databases[3]
    assert find(talk.client.state, db, b"k") is None
    assert len(db) == 0
    assert talk.propagated() == ["DEL k"]


def test_what_is_repeated_finds_keys_whose_time_is_past_by_now(talk: Conversation) -> None:
    talk.all("SET k v PX 10")
    talk.server.instance.now_ms += 11
    talk.client.state.replays = True
    assert find(talk.client.state, talk.client.state.db, b"k") is not None
    talk.all("RENAME k l", "COPY l m", "GETEX m PXAT 5", "PEXPIREAT m 5")
    assert talk.client.state.db.values.keys() == {b"l", b"m"}


def test_finding_counts_as_no_use(talk: Conversation) -> None:
    talk.all("SET k v")
    stats = talk.server.instance.stats
    before = (stats.keyspace_hits, stats.keyspace_misses)
    db = talk.client.state.db
    assert find(talk.client.state, db, b"k") is not None
    assert find(talk.client.state, db, b"none") is None
    assert (stats.keyspace_hits, stats.keyspace_misses) == before


def test_peeking_counts_hits_and_misses_and_leaves_the_access_time(talk: Conversation) -> None:
    talk.all("SET k v")
    stats = talk.server.instance.stats
    talk.server.instance.now_ms += 5000
    value = peek(talk.client.state, b"k")
    assert value is not None
    assert value.access_ms == talk.server.instance.now_ms - 5000
    assert peek(talk.client.state, b"none") is None
    assert (stats.keyspace_hits, stats.keyspace_misses) == (1, 1)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (b"x", b"ERR value is not an integer or out of range"),
        (b"16", b"ERR DB index is out of range"),
        (b"-1", b"ERR DB index is out of range"),
        (
            b"2147483648",
            b"ERR value is out of range, value must between -2147483648 and 2147483647",
        ),
    ],
)
def test_a_database_that_is_not_there_is_refused(
    talk: Conversation, word: bytes, text: bytes
) -> None:
    assert parse_database(talk.client.state, b"15").index == 15
    with pytest.raises(ReplyError) as refused:
        parse_database(talk.client.state, word)
    assert refused.value.text == text


@pytest.mark.parametrize("command", ["DEL", "UNLINK"])
def test_removing_counts_and_notifies_the_keys_that_existed(
    talk: Conversation, command: str
) -> None:
    talk.all("MSET a 1 b 2", "XADD s 1-1 f v")
    assert talk.do(f"{command} a none s a") == b":2\r\n"
    assert talk.events() == ["del a", "del s"]
    assert talk.propagated() == [f"{command} a none s a"]
    assert talk.do("DBSIZE") == b":1\r\n"


def test_removing_nothing_is_not_propagated(talk: Conversation) -> None:
    assert talk.do("DEL none") == b":0\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])


def test_an_expired_key_is_not_there_to_be_removed(talk: Conversation) -> None:
    talk.all("SET k v PX 10")
    talk.server.now_ms += 11
    assert talk.do("DEL k") == b":0\r\n"
    assert talk.events() == ["expired k"]
    assert talk.propagated() == ["DEL k"]


def test_exists_counts_a_key_as_often_as_it_is_named(talk: Conversation) -> None:
    talk.all("SET a 1")
    assert talk.do("EXISTS a none a") == b":2\r\n"
    assert talk.events() == ["keymiss none"]


@pytest.mark.parametrize(
    ("request_", "idle_s"),
    [("TOUCH k", 0), ("GET k", 0), ("EXISTS k", 7), ("TYPE k", 7), ("TTL k", 7)],
)
def test_looking_from_outside_does_not_count_as_use(
    talk: Conversation, request_: str, idle_s: int
) -> None:
    talk.all("SET k v")
    talk.server.now_ms += 7000
    talk.all(request_)
    assert talk.do("OBJECT IDLETIME k") == b":%d\r\n" % idle_s


def test_touch_counts_what_exists_and_ignores_no_touch(talk: Conversation) -> None:
    talk.all("SET k v")
    talk.client.state.no_touch = True
    talk.server.now_ms += 7000
    assert talk.do("TOUCH k none k") == b":2\r\n"
    assert talk.do("OBJECT IDLETIME k") == b":0\r\n"


def test_type_names_what_a_key_holds(talk: Conversation) -> None:
    talk.all("SET a 1", "XADD s 1-1 f v")
    assert talk.do("TYPE a") == b"+string\r\n"
    assert talk.do("TYPE s") == b"+stream\r\n"
    assert talk.do("TYPE none") == b"+none\r\n"


def test_a_removed_stream_wakes_who_reads_through_a_group(talk: Conversation) -> None:
    talk.all("XGROUP CREATE s g $ MKSTREAM")
    reader = talk.other()
    reader.do("XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
    talk.all("DEL s")
    assert reader.received().startswith(b"-NOGROUP ")


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
