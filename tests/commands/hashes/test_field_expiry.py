"""HEXPIRE and its kin, HTTL and its kin, HPERSIST, and how fields expire. Source: Redis 7.4.

HGETDEL, HGETEX, HSETEX. Source: Redis 8.0 to 8.10.
"""

from __future__ import annotations

import pytest

from commands.hashes.field_expiry import MAX_TIME_MS
from protocol.request import Request
from server.loop.cron import expire_fields
from storage.types.hashes import HashValue
from tests.commands.keys.conversation import NIL, NOT_AN_INTEGER, NOW_MS, Conversation
from tests.doubles.replaying_client import replaying_client


def ints(*numbers: int) -> bytes:
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % number for number in numbers)


@pytest.fixture
def talk(talk: Conversation) -> Conversation:
    talk.all("HSET h a 1 b 2 c 3")
    return talk


# -- setting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "when_ms"),
    [
        ("HEXPIRE h 10 FIELDS 2 a b", NOW_MS + 10_000),
        ("HPEXPIRE h 10 FIELDS 2 a b", NOW_MS + 10),
        (f"HEXPIREAT h {NOW_MS // 1000 + 9} fields 2 a b", NOW_MS + 9_000),
        (f"HPEXPIREAT h {NOW_MS + 7} FIELDS 2 a b", NOW_MS + 7),
    ],
)
def test_fields_get_a_time(talk: Conversation, request_: str, when_ms: int) -> None:
    assert talk.do(request_) == ints(1, 1)
    assert talk.do("HPEXPIRETIME h FIELDS 3 a b c") == ints(when_ms, when_ms, -1)
    assert talk.events() == ["hexpire h"]
    assert talk.propagated() == [f"HPEXPIREAT h {when_ms} FIELDS 2 a b"]
    assert talk.do("OBJECT ENCODING h") == b"$10\r\nlistpackex\r\n"


def test_only_what_was_set_is_propagated(talk: Conversation) -> None:
    assert talk.do("HPEXPIRE h 50 FIELDS 3 a x b") == ints(1, -2, 1)
    assert talk.propagated() == [f"HPEXPIREAT h {NOW_MS + 50} FIELDS 2 a b"]
    assert talk.do("HPEXPIRE h 90 NX FIELDS 3 a b c") == ints(0, 0, 1)
    assert talk.propagated() == [f"HPEXPIREAT h {NOW_MS + 90} NX FIELDS 1 c"]
    assert talk.do("HPEXPIRE h 90 NX FIELDS 3 a b c") == ints(0, 0, 0)
    assert talk.do("HPEXPIRE no 90 FIELDS 2 a b") == ints(-2, -2)
    assert talk.propagated() == []


@pytest.mark.parametrize(
    ("condition", "results"),
    [("NX", (0, 1)), ("XX", (1, 0)), ("GT", (0, 0)), ("LT", (0, 1)), ("gt", (0, 0))],
)
def test_conditions_with_the_same_time(
    talk: Conversation, condition: str, results: tuple[int, ...]
) -> None:
    talk.all("HPEXPIRE h 50 FIELDS 1 a")
    assert talk.do(f"HPEXPIRE h 50 {condition} FIELDS 2 a b") == ints(*results)


def test_gt_and_lt_compare(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 50 FIELDS 1 a")
    assert talk.do("HPEXPIRE h 60 LT FIELDS 1 a") == ints(0)
    assert talk.do("HPEXPIRE h 60 GT FIELDS 1 a") == ints(1)
    assert talk.do("HPEXPIRE h 40 LT FIELDS 1 a") == ints(1)


@pytest.mark.parametrize("request_", ["HEXPIRE h 0", f"HPEXPIREAT h {NOW_MS}", "HEXPIREAT h 1"])
def test_a_time_that_has_come_removes_the_field(talk: Conversation, request_: str) -> None:
    assert talk.do(f"{request_} FIELDS 3 a x b") == ints(2, -2, 2)
    assert talk.events() == ["hdel h"]
    assert talk.propagated() == ["MULTI", "HDEL h a", "HDEL h b", "EXEC"]
    assert talk.do(f"{request_} FIELDS 1 c") == ints(2)
    assert talk.events() == ["hdel h", "del h"]
    assert talk.do("EXISTS h") == b":0\r\n"


def test_what_was_accepted_before_is_repeated_though_the_time_has_come(
    talk: Conversation,
) -> None:
    client = replaying_client(talk.server)
    run = talk.server.dispatcher.execute
    run(client, Request([b"HPEXPIREAT", b"h", b"5", b"FIELDS", b"1", b"a"]))
    run(client, Request([b"HGET", b"h", b"a"]))
    assert client.output == [ints(1), b"$1\r\n1\r\n"]
    assert talk.do("HGET h a") == NIL


def test_setting_a_field_takes_its_time_away(talk: Conversation) -> None:
    talk.all("HEXPIRE h 10 FIELDS 2 a b", "HSET h a 9", "HMSET h b 9")
    assert talk.do("HTTL h FIELDS 2 a b") == ints(-1, -1)
    assert not talk.server.instance.databases[0].field_expires


MISSING = b"-ERR Mandatory argument FIELDS is missing or not at the right position\r\n"
NUM_FIELDS = b"-ERR Parameter `numFields` should be greater than 0\r\n"
FIELD_COUNT = b"-ERR Number of fields must be a positive integer\r\n"
MISMATCH = b"-ERR The `numfields` parameter must match the number of arguments\r\n"
NEGATIVE = b"-ERR invalid expire time, must be >= 0\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("HEXPIRE h x FIELDS 1 a", NOT_AN_INTEGER),
        ("HEXPIRE h -1 FIELDS 1 a", NEGATIVE),
        ("HEXPIRE h 10 NX XX FIELDS 1 a", MISSING),
        ("HEXPIRE h 10 1 a b", MISSING),
        ("HEXPIRE h 10 FIELDS 0 a", NUM_FIELDS),
        ("HEXPIRE h 10 FIELDS x a", NUM_FIELDS),
        ("HEXPIRE h 10 FIELDS 2 a", MISMATCH),
        ("HEXPIRE h 10 FIELDS 1 a b", MISMATCH),
        ("HEXPIRE no 10 FIELDS 1 a b", MISMATCH),
        ("HEXPIRE h 99999999999999 FIELDS 1 a", b"hexpire"),
        (f"HPEXPIREAT h {MAX_TIME_MS + 1} FIELDS 1 a", b"hpexpireat"),
        (f"HPEXPIRE h {MAX_TIME_MS} FIELDS 1 a", b"hpexpire"),
        ("HTTL h FIELD 1 a", MISSING),
        ("HTTL h FIELDS 0 a", FIELD_COUNT),
        ("HPERSIST h FIELDS 2 a", MISMATCH),
        ("HPERSIST no FIELDS -1 a", FIELD_COUNT),
    ],
)
def test_wrong_requests_change_nothing(talk: Conversation, request_: str, error: bytes) -> None:
    if not error.startswith(b"-"):
        error = b"-ERR invalid expire time in '%b' command\r\n" % error
    assert talk.do(request_) == error
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("HTTL h FIELDS 1 a") == ints(-1)


def test_the_greatest_time_is_taken(talk: Conversation) -> None:
    assert talk.do(f"HPEXPIREAT h {MAX_TIME_MS} FIELDS 1 a") == ints(1)
    assert talk.do("HPEXPIRETIME h FIELDS 1 a") == ints(MAX_TIME_MS)


# -- asking and taking away ----------------------------------------------------------------------


def test_seconds_are_rounded_up(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 1001 FIELDS 1 a")
    assert talk.do("HTTL h FIELDS 3 a b x") == ints(2, -1, -2)
    assert talk.do("HPTTL h FIELDS 1 a") == ints(1001)
    assert talk.do("HEXPIRETIME h FIELDS 1 a") == ints(NOW_MS // 1000 + 2)
    assert talk.do("HTTL no FIELDS 1 a") == ints(-2)


def test_hpersist(talk: Conversation) -> None:
    talk.all("HEXPIRE h 10 FIELDS 1 a")
    assert talk.do("HPERSIST h FIELDS 4 a b x a") == ints(1, -1, -2, -1)
    assert talk.events() == ["hpersist h"]
    assert talk.propagated() == ["HPERSIST h FIELDS 4 a b x a"]
    assert talk.do("HPERSIST h FIELDS 1 a") == ints(-1)
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("HPERSIST no FIELDS 1 a") == ints(-2)


# -- expiring ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("HGET h a", NIL),
        ("HMGET h a b c", b"*3\r\n$-1\r\n$-1\r\n$1\r\n3\r\n"),
        ("HEXISTS h a", b":0\r\n"),
        ("HSTRLEN h a", b":0\r\n"),
        ("HTTL h FIELDS 1 a", ints(-2)),
        ("HSETNX h a 9", b":1\r\n"),
        ("HSET h a 9", b":1\r\n"),
        ("HDEL h a", b":0\r\n"),
        ("HINCRBY h a 5", b":5\r\n"),
        ("HEXPIRE h 5 FIELDS 1 a", ints(-2)),
        ("HGETDEL h FIELDS 1 a", b"*1\r\n$-1\r\n"),
    ],
)
def test_a_field_that_is_named_is_removed_first(
    talk: Conversation, request_: str, reply: bytes
) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 2 a b")
    talk.server.now_ms += 11
    assert talk.do("HLEN h") == b":3\r\n"
    assert talk.do(request_) == reply
    assert talk.events()[0] == "hexpired h"
    assert talk.propagated()[0] in ("HDEL h a", "MULTI")
    assert talk.server.instance.stats.expired_subkeys in (1, 2)


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("HGETALL h", b"*2\r\n$1\r\nc\r\n$1\r\n3\r\n"),
        ("HKEYS h", b"*1\r\n$1\r\nc\r\n"),
        ("HVALS h", b"*1\r\n$1\r\n3\r\n"),
        ("HSCAN h 0", b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\nc\r\n$1\r\n3\r\n"),
        ("HLEN h", b":3\r\n"),
    ],
)
def test_who_reads_all_passes_over_them(talk: Conversation, request_: str, reply: bytes) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 2 a b")
    talk.server.now_ms += 11
    assert talk.do(request_) == reply
    assert (talk.events(), talk.propagated()) == ([], [])


def test_the_last_field_takes_the_key_along(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 3 a b c")
    talk.server.now_ms += 11
    assert talk.do("HMGET h a b c") == b"*3\r\n$-1\r\n$-1\r\n$-1\r\n"
    assert talk.events() == ["hexpired h", "del h"]
    assert talk.do("EXISTS h") == b":0\r\n"


def test_fields_expire_without_a_request(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 2 a b", "HSET g x 1", "HPEXPIRE g 20 FIELDS 1 x")
    assert "subexpiry=2" in talk.do("INFO keyspace").decode()
    talk.server.advance(10)
    assert talk.events() == []
    talk.server.advance(1)
    assert talk.events() == ["hexpired h"]
    assert talk.propagated() == ["HDEL h a", "HDEL h b"]
    talk.server.advance(10)
    assert talk.events() == ["hexpired g", "del g"]
    assert talk.propagated() == ["HDEL g x"]
    assert "subexpiry=0" in talk.do("INFO keyspace").decode()
    assert "expired_subkeys:3" in talk.do("INFO stats").decode()
    assert talk.do("HGETALL h") == b"*2\r\n$1\r\nc\r\n$1\r\n3\r\n"


def test_times_follow_the_value(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 1 a", "RENAME h g", "COPY g k", "MOVE k 1", "SWAPDB 0 1")
    first, second = talk.server.instance.databases[:2]
    assert (list(first.field_expires), list(second.field_expires)) == ([b"k"], [b"g"])
    talk.server.advance(11)
    for db in (first, second):
        (value,) = db.values.values()
        assert isinstance(value, HashValue)
        assert b"a" not in value
    assert talk.server.instance.stats.expired_subkeys == 2
    talk.all("FLUSHALL")
    assert not first.field_expires


def test_a_key_that_goes_takes_its_times_along(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 1 a", "DEL h", "HSET h a 1")
    assert not talk.server.instance.databases[0].field_expires
    talk.all("HPEXPIRE h 10 FIELDS 1 a", "SET h text")
    assert not talk.server.instance.databases[0].field_expires
    talk.server.advance(20)
    assert talk.do("GET h") == b"$4\r\ntext\r\n"


def test_a_replica_hides_them_until_the_primary_removes_them(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 1 a", "REPLICAOF 127.0.0.1 1")
    talk.server.now_ms += 11
    assert talk.do("HMGET h a b") == b"*2\r\n$-1\r\n$1\r\n2\r\n"
    assert talk.do("HKEYS h") == b"*2\r\n$1\r\nb\r\n$1\r\nc\r\n"
    assert talk.do("HLEN h") == b":3\r\n"
    assert expire_fields(talk.server.instance, limit=10) == 0
    assert (talk.events(), talk.propagated()) == ([], [])
    talk.all("REPLICAOF NO ONE")
    assert expire_fields(talk.server.instance, limit=10) == 1


TWO = b"*2\r\n$1\r\n1\r\n$-1\r\n"


@pytest.fixture
def two(talk: Conversation) -> Conversation:
    talk.all("HDEL h c")
    return talk


# -- HGETDEL -------------------------------------------------------------------------------------


def test_fields_are_read_and_removed(two: Conversation) -> None:
    assert two.do("HGETDEL h FIELDS 2 a x") == TWO
    assert (two.events(), two.propagated()) == (["hdel h"], ["HDEL h a x"])
    assert two.do("HGETDEL h FIELDS 2 a x") == b"*2\r\n$-1\r\n$-1\r\n"
    assert (two.events(), two.propagated()) == ([], [])
    assert two.do("HGETDEL h FIELDS 2 b b") == b"*2\r\n$1\r\n2\r\n$-1\r\n"
    assert two.events() == ["hdel h", "del h"]
    assert two.do("HGETDEL h FIELDS 1 b") == b"*1\r\n$-1\r\n"


# -- HGETEX --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "when_ms"),
    [
        ("EX 5", NOW_MS + 5000),
        ("px 5", NOW_MS + 5),
        (f"EXAT {NOW_MS // 1000 + 1}", NOW_MS + 1000),
        (f"PXAT {NOW_MS + 3}", NOW_MS + 3),
    ],
)
def test_fields_are_read_and_get_a_time(two: Conversation, option: str, when_ms: int) -> None:
    assert two.do(f"HGETEX h {option} FIELDS 2 a x") == TWO
    assert two.events() == ["hexpire h"]
    assert two.propagated() == [f"HPEXPIREAT h {when_ms} FIELDS 1 a"]
    assert two.do(f"HGETEX h FIELDS 2 a x {option}") == TWO
    assert two.do("HPEXPIRETIME h FIELDS 2 a b") == ints(when_ms, -1)


def test_fields_are_read_and_lose_their_time(two: Conversation) -> None:
    two.all("HEXPIRE h 5 FIELDS 1 a")
    assert two.do("HGETEX h PERSIST FIELDS 2 a x") == TWO
    assert (two.events(), two.propagated()) == (
        ["hpersist h"],
        ["HPERSIST h FIELDS 1 a"],
    )
    assert two.do("HGETEX h PERSIST FIELDS 2 a x") == TWO
    assert two.do("HGETEX h FIELDS 2 a x") == TWO
    assert (two.events(), two.propagated()) == ([], [])


def test_a_time_that_has_come_removes_what_is_read(two: Conversation) -> None:
    assert two.do("HGETEX h EX 0 FIELDS 3 a b x") == b"*3\r\n$1\r\n1\r\n$1\r\n2\r\n$-1\r\n"
    assert two.events() == ["hdel h", "del h"]
    assert two.propagated() == ["MULTI", "HDEL h a", "HDEL h b", "EXEC"]
    assert two.do("HGETEX h EX 5 FIELDS 1 a") == b"*1\r\n$-1\r\n"


# -- HSETEX --------------------------------------------------------------------------------------


def test_fields_are_set_with_a_time(two: Conversation) -> None:
    assert two.do("HSETEX h EX 5 FIELDS 2 a 9 c 3") == b":1\r\n"
    assert two.events() == ["hset h", "hexpire h"]
    assert two.propagated() == [
        "MULTI",
        "HSET h a 9 c 3",
        f"HPEXPIREAT h {NOW_MS + 5000} FIELDS 2 a c",
        "EXEC",
    ]
    assert two.do("HMGET h a c") == b"*2\r\n$1\r\n9\r\n$1\r\n3\r\n"
    assert two.do("HTTL h FIELDS 3 a b c") == ints(5, -1, 5)
    assert two.do("HSETEX new PX 5 FIELDS 1 a 1") == b":1\r\n"
    assert two.events() == ["new new", "hset new", "hexpire new"]
    two.server.advance(6)
    assert two.do("EXISTS new") == b":0\r\n"


def test_a_time_goes_unless_it_is_kept(two: Conversation) -> None:
    two.all("HEXPIRE h 5 FIELDS 2 a b")
    assert two.do("HSETEX h KEEPTTL FIELDS 1 a 9") == b":1\r\n"
    assert two.do("HSETEX h FIELDS 1 b 9") == b":1\r\n"
    assert two.do("HTTL h FIELDS 2 a b") == ints(5, -1)
    assert two.events() == ["hset h", "hset h"]
    assert two.propagated() == [
        "MULTI",
        "HSET h a 9",
        f"HPEXPIREAT h {NOW_MS + 5000} FIELDS 1 a",
        "EXEC",
        "HSET h b 9",
    ]


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("HSETEX h FNX FIELDS 2 x 1 y 1", 1),
        ("HSETEX h FNX FIELDS 2 x 1 a 1", 0),
        ("HSETEX h fxx FIELDS 2 a 5 b 5", 1),
        ("HSETEX h FXX FIELDS 2 a 5 x 5", 0),
        ("HSETEX no FXX FIELDS 1 a 5", 0),
        ("HSETEX no FNX EX 5 FIELDS 1 a 5", 1),
        ("HSETEX no FIELDS 1 a 5 FNX EX 5", 1),
    ],
)
def test_all_fields_are_set_or_none(two: Conversation, request_: str, reply: int) -> None:
    before = two.do("HGETALL h")
    assert two.do(request_) == b":%d\r\n" % reply
    if not reply:
        assert two.do("HGETALL h") == before
        assert (two.events(), two.propagated()) == ([], [])


def test_a_field_with_a_deadline_in_the_past_is_removed(two: Conversation) -> None:
    assert two.do("HSETEX h PXAT 1 FIELDS 2 a 9 c 9") == b":1\r\n"
    assert two.events() == ["hset h", "hdel h"]
    assert two.propagated() == ["MULTI", "HDEL h a", "HDEL h c", "EXEC"]
    assert two.do("HGETALL h") == b"*2\r\n$1\r\nb\r\n$1\r\n2\r\n"
    assert two.do("HSETEX no PXAT 1 FIELDS 1 a 9") == b":1\r\n"
    assert two.do("EXISTS no") == b":0\r\n"


ARITY = b"-ERR wrong number of arguments for 'hsetex' command\r\n"
CONDITIONS = b"-ERR Only one of FXX or FNX arguments can be specified\r\n"
TIMES = b"-ERR Only one of EX, PX, EXAT, PXAT or %b arguments can be specified\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("HGETDEL h FIELD 1 a", MISSING),
        ("HGETDEL h FIELDS 0 a", FIELD_COUNT),
        ("HGETDEL h FIELDS 2 a", MISMATCH),
        ("HGETEX h EX 5 PX 5 FIELDS 1 a", TIMES % b"PERSIST"),
        ("HGETEX h PERSIST EX 5 FIELDS 1 a", TIMES % b"PERSIST"),
        ("HGETEX h EX x FIELDS 1 a", NOT_AN_INTEGER),
        ("HGETEX h EX -1 FIELDS 1 a", NEGATIVE),
        ("HGETEX h FIELDS 1 a EX", b"-ERR missing expire time\r\n"),
        ("HGETEX h FIELDS 2 a", MISMATCH),
        ("HGETEX h FIELDS 0 a", FIELD_COUNT),
        ("HGETEX h FIELDS 1 a b", MISMATCH),
        ("HGETEX h FOO FIELDS 1 a", b"-ERR unknown argument: FOO\r\n"),
        ("HGETEX h EX 5 PERSI 1 a", b"-ERR unknown argument: PERSI\r\n"),
        ("HGETEX h FIELDS 1 a FIELDS 1 b", b"-ERR FIELDS keyword specified multiple times\r\n"),
        ("HSETEX h FIELDS 2 a 1 b", ARITY),
        ("HSETEX h FIELDS 1 a 1 b", ARITY),
        ("HSETEX h FIELDS 0 a 1", b"-ERR invalid number of fields\r\n"),
        ("HSETEX h FIELDS x a 1", b"-ERR invalid number of fields\r\n"),
        ("HSETEX h FNX FXX FIELDS 1 a 1", CONDITIONS),
        ("HSETEX h EX 5 KEEPTTL FIELDS 1 a 1", TIMES % b"KEEPTTL"),
        ("HSETEX h EX 99999999999999 FIELDS 1 a 1",
         b"-ERR invalid expire time in 'hsetex' command\r\n"),
        ("HSETEX h PERSIST FIELDS 1 a 1", b"-ERR unknown argument: PERSIST\r\n"),
        ("HSETEX h FIELDS 1 a 1 EX", b"-ERR missing expire time\r\n"),
        ("HSETEX h FIELDS 1 a 1 FIELDS 1 a 1", b"-ERR FIELDS keyword specified multiple times\r\n"),
        ("HSETEX h KEEPTTL FNX EX 5", TIMES % b"KEEPTTL"),
        ("HSETEX h EX 5 FNX FNX", CONDITIONS),
    ],
)  # fmt: skip
def test_wrong_requests_change_nothing_to_fields_with_values(
    two: Conversation, request_: str, error: bytes
) -> None:
    before = two.do("HGETALL h")
    assert two.do(request_) == error
    assert (two.events(), two.propagated()) == ([], [])
    assert two.do("HGETALL h") == before
