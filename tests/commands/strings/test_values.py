"""SET, SETNX, SETEX, PSETEX, GETSET, MSET, MSETNX."""

from __future__ import annotations

import pytest

from commands.strings import values
from server.inprocess.server import InProcessServer
from tests.commands.keys.conversation import (
    NIL,
    NOT_AN_INTEGER,
    NOW_MS,
    OK,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)

# -- SET -----------------------------------------------------------------------------------------


def test_set_replaces_whatever_there_is_and_its_deadline(talk: Conversation) -> None:
    talk.all("XADD k 1-1 f v", "EXPIRE k 100")
    assert talk.do("SET k v") == OK
    assert talk.events() == ["set k"]
    assert talk.propagated() == ["SET k v"]
    assert talk.do("GET k") == b"$1\r\nv\r\n"
    assert talk.do("TTL k") == b":-1\r\n"


def test_a_new_key_is_announced_first(talk: Conversation) -> None:
    assert talk.do("SET k v EX 10") == OK
    assert talk.events() == ["new k", "set k", "expire k"]


def test_an_expired_key_goes_before_the_new_one_comes(talk: Conversation) -> None:
    talk.all("SET k v PX 10")
    talk.server.now_ms += 11
    assert talk.do("SET k w") == OK
    assert talk.events() == ["expired k", "new k", "set k"]
    assert talk.propagated() == ["MULTI", "DEL k", "SET k w", "EXEC"]


@pytest.mark.parametrize(
    ("option", "deadline_ms"),
    [
        ("EX 10", NOW_MS + 10_000),
        ("px 10", NOW_MS + 10),
        (f"EXAT {NOW_MS // 1000 + 10}", NOW_MS + 10_000),
        (f"PXAT {NOW_MS + 10}", NOW_MS + 10),
    ],
)
def test_a_deadline_is_kept_and_propagated_as_unix_time(
    talk: Conversation, option: str, deadline_ms: int
) -> None:
    assert talk.do(f"SET k v {option}") == OK
    assert talk.propagated() == [f"SET k v PXAT {deadline_ms}"]
    assert talk.do("PEXPIRETIME k") == b":%d\r\n" % deadline_ms


def test_a_deadline_in_the_past_lets_the_key_expire_when_it_is_looked_for(
    talk: Conversation,
) -> None:
    assert talk.do("SET k v PXAT 1") == OK
    assert talk.do("DBSIZE") == b":1\r\n"
    assert talk.do("GET k") == NIL


def test_keepttl_leaves_the_deadline(talk: Conversation) -> None:
    talk.all("SET k v EX 100")
    assert talk.do("SET k w KEEPTTL") == OK
    assert talk.propagated() == ["SET k w KEEPTTL"]
    assert talk.do("TTL k") == b":100\r\n"


@pytest.mark.parametrize(("condition", "sets_new", "sets_old"), [("NX", 1, 0), ("xx", 0, 1)])
def test_a_condition_that_does_not_hold_changes_nothing(
    talk: Conversation, condition: str, sets_new: int, sets_old: int
) -> None:
    talk.all("SET old 1")
    assert talk.do(f"SET new 2 {condition}") == (OK if sets_new else NIL)
    assert talk.propagated() == (["SET new 2"] if sets_new else [])
    assert talk.do(f"SET old 2 {condition}") == (OK if sets_old else NIL)
    assert talk.do("GET old") == (b"$1\r\n2\r\n" if sets_old else b"$1\r\n1\r\n")


def test_get_answers_with_what_was_there_whether_it_sets_or_not(talk: Conversation) -> None:
    assert talk.do("SET k 1 GET") == NIL
    assert talk.do("SET k 2 get NX") == b"$1\r\n1\r\n"
    assert talk.do("GET k") == b"$1\r\n1\r\n"
    assert talk.do("SET k 2 XX GET") == b"$1\r\n1\r\n"
    assert talk.propagated() == ["SET k 1", "SET k 2"]
    assert talk.do("SET none 1 XX GET") == NIL
    assert talk.do("EXISTS none") == b":0\r\n"


def test_get_refuses_a_stream_and_leaves_it(talk: Conversation) -> None:
    talk.all("XADD s 1-1 f v")
    assert talk.do("SET s v GET") == WRONG_TYPE
    assert talk.do("SET s v NX GET") == WRONG_TYPE
    assert talk.do("XLEN s") == b":1\r\n"


def test_null_has_its_own_form_in_resp3(talk: Conversation) -> None:
    talk.do("HELLO 3")
    assert talk.do("SET k v XX") == b"_\r\n"
    assert talk.do("SET k v GET") == b"_\r\n"
    assert talk.do("GETSET none v") == b"_\r\n"


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        ("NX XX", SYNTAX_ERROR),
        ("EX 1 PX 1", SYNTAX_ERROR),
        ("EX 1 KEEPTTL", SYNTAX_ERROR),
        ("EX", SYNTAX_ERROR),
        ("PERSIST", SYNTAX_ERROR),
        ("FOO", SYNTAX_ERROR),
        ("EX x", NOT_AN_INTEGER),
        ("GET EX 0", b"-ERR invalid expire time in 'set' command\r\n"),
    ],
)
def test_bad_options_set_nothing(talk: Conversation, options: str, reply: bytes) -> None:
    assert talk.do(f"SET k v {options}") == reply
    assert talk.do("EXISTS k") == b":0\r\n"


def test_a_stream_that_is_overwritten_wakes_who_reads_through_a_group(talk: Conversation) -> None:
    talk.all("XGROUP CREATE s g $ MKSTREAM")
    reader = talk.other()
    reader.do("XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
    talk.all("SET s v")
    assert reader.received() == WRONG_TYPE


# -- the others ----------------------------------------------------------------------------------


def test_setnx_sets_only_what_is_not_there(talk: Conversation) -> None:
    assert talk.do("SETNX k 1") == b":1\r\n"
    assert talk.do("SETNX k 2") == b":0\r\n"
    assert talk.propagated() == ["SETNX k 1"]
    assert talk.do("GET k") == b"$1\r\n1\r\n"


@pytest.mark.parametrize(("command", "unit_ms"), [("SETEX", 1000), ("PSETEX", 1)])
def test_setex_sets_with_a_deadline(talk: Conversation, command: str, unit_ms: int) -> None:
    assert talk.do(f"{command} k 10 v") == OK
    assert talk.events() == ["new k", "set k", "expire k"]
    assert talk.propagated() == [f"SET k v PXAT {NOW_MS + 10 * unit_ms}"]
    error = f"-ERR invalid expire time in '{command.lower()}' command\r\n"
    assert talk.do(f"{command} k 0 v") == error.encode()


def test_getset_answers_with_what_was_there(talk: Conversation) -> None:
    assert talk.do("GETSET k 1") == NIL
    talk.all("EXPIRE k 100", "APPEND k 0")
    assert talk.do("GETSET k 2") == b"$2\r\n10\r\n"
    assert talk.propagated() == ["SET k 2"]
    assert talk.do("TTL k") == b":-1\r\n"
    talk.all("XADD s 1-1 f v")
    assert talk.do("GETSET s v") == WRONG_TYPE


def test_mset_sets_every_pair_in_order(talk: Conversation) -> None:
    assert talk.do("MSET a 1 b 2 a 3") == OK
    assert talk.events() == ["new a", "set a", "new b", "set b", "set a"]
    assert talk.propagated() == ["MSET a 1 b 2 a 3"]
    assert talk.do("MGET a b") == b"*2\r\n$1\r\n3\r\n$1\r\n2\r\n"


@pytest.mark.parametrize(
    "before",
    ["PING", "SET k5 old PX 10", "SET k5 old EX 10", "XADD k5 1-1 f v", "WATCH k5",
     "CONFIG SET notify-keyspace-events KEA"],
)  # fmt: skip
@pytest.mark.parametrize("last", ["k99 new", "k0 again"])
def test_very_many_keys_are_set_as_a_few_are(
    before: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New keys are inserted in one batch if no event is published."""
    words = " ".join(f"k{n} v{n}" for n in range(20))
    outcomes = []
    for few_keys in (values.FEW_KEYS, 1000):
        monkeypatch.setattr(values, "FEW_KEYS", few_keys)
        server = InProcessServer()
        client, other = server.connect(), server.connect()
        client.execute(*before.split())
        server.now_ms += 20
        outcome = [other.execute("MSET", *words.split(), *last.split())]
        outcome += [client.execute("MULTI"), client.execute("EXEC")]
        looks = ("KEYS *", "GET k0", "GET k5", "TTL k5", "GET k99", "SCAN 0 COUNT 100")
        outcome += [client.execute(*look.split()) for look in looks]
        outcomes.append((outcome, server.propagated, server.instance.dirty))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][2] >= 21


def test_msetnx_sets_all_or_none(talk: Conversation) -> None:
    assert talk.do("MSETNX a 1 a 2") == b":1\r\n"
    assert talk.do("GET a") == b"$1\r\n2\r\n"
    assert talk.do("MSETNX b 1 a 2") == b":0\r\n"
    assert talk.do("EXISTS b") == b":0\r\n"


@pytest.mark.parametrize("command", ["mset", "msetnx"])
def test_a_key_without_a_value_is_refused(talk: Conversation, command: str) -> None:
    error = f"-ERR wrong number of arguments for '{command}' command\r\n"
    assert talk.do(f"{command} a 1 b") == error.encode()
    assert talk.do("EXISTS a") == b":0\r\n"


# -- conditions on the string ----------------------------------------------------------------------

DIGEST_OF_A = "e6c632b61e964e1f"


@pytest.mark.parametrize(
    ("words", "is_set"),
    [
        ("k b IFEQ a", True),
        ("k b IFEQ x", False),
        ("k b ifne x", True),
        ("k b IFNE a", False),
        (f"k b IFDEQ {DIGEST_OF_A}", True),
        (f"k b IFDNE {DIGEST_OF_A}", False),
        ("k b IFEQ x IFEQ a", True),
        ("missing b IFEQ a", False),
        ("missing b IFNE a", True),
    ],
)
def test_a_key_is_set_if_its_string_meets_the_condition(
    talk: Conversation, words: str, is_set: bool
) -> None:
    talk.all("SET k a")
    assert talk.do(f"SET {words}") == (OK if is_set else NIL)
    key = words.split()[0]
    assert talk.propagated() == ([f"SET {key} b"] if is_set else [])


def test_a_condition_and_get_go_together(talk: Conversation) -> None:
    talk.all("SET k a")
    assert talk.do("SET k b IFEQ x GET") == b"$1\r\na\r\n"
    assert talk.do("SET k b IFEQ a GET EX 10") == b"$1\r\na\r\n"
    assert talk.do("TTL k") == b":10\r\n"
    assert talk.do("SET missing b IFEQ a GET") == NIL


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("k b NX IFEQ a", SYNTAX_ERROR),
        ("k b IFEQ a XX", SYNTAX_ERROR),
        ("k b IFEQ a IFNE c", SYNTAX_ERROR),
        ("k b IFEQ", SYNTAX_ERROR),
        ("k b IFDEQ a", b"-ERR must be exactly 16 hexadecimal characters\r\n"),
        ("list b IFNE a", WRONG_TYPE),
    ],
)
def test_conditions_that_cannot_be_are_refused(
    talk: Conversation, words: str, reply: bytes
) -> None:
    talk.all("SET k a", "RPUSH list a")
    assert talk.do(f"SET {words}") == reply
    assert talk.do("GET k") == b"$1\r\na\r\n"


# -- MSETEX ----------------------------------------------------------------------------------------


def test_several_keys_get_one_deadline(talk: Conversation) -> None:
    assert talk.do("MSETEX 2 a 1 b 2 EX 10") == b":1\r\n"
    assert talk.propagated() == [
        "MULTI",
        f"SET a 1 PXAT {NOW_MS + 10_000}",
        f"SET b 2 PXAT {NOW_MS + 10_000}",
        "EXEC",
    ]
    assert talk.do("PTTL b") == b":10000\r\n"
    assert talk.do("MSETEX 1 a 3 KEEPTTL") == b":1\r\n"
    assert talk.propagated() == ["SET a 3 KEEPTTL"]
    assert talk.do("PTTL a") == b":10000\r\n"
    assert talk.do("MSETEX 1 a 4") == b":1\r\n"
    assert talk.do("PTTL a") == b":-1\r\n"


def test_all_or_none_of_the_keys_must_exist(talk: Conversation) -> None:
    talk.all("SET a old")
    for options in ("NX", "XX", "px 10 nx"):
        assert talk.do(f"MSETEX 2 a 1 b 2 {options}") == b":0\r\n"
    assert talk.propagated() == []
    assert talk.do("MSETEX 1 a 1 XX PX 10") == b":1\r\n"
    assert talk.do("MSETEX 2 b 1 c 2 NX") == b":1\r\n"
    assert talk.propagated() == [f"SET a 1 PXAT {NOW_MS + 10}", "MSET b 1 c 2"]


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("0 a 1", b"-ERR invalid numkeys value\r\n"),
        ("x a 1", b"-ERR invalid numkeys value\r\n"),
        ("2147483648 a 1", b"-ERR invalid numkeys value\r\n"),
        ("2147483647 a 1", b"-ERR wrong number of key-value pairs\r\n"),
        ("2 a 1 b", b"-ERR wrong number of key-value pairs\r\n"),
        ("1 a 1 FOO", SYNTAX_ERROR),
        ("1 a 1 NX XX", SYNTAX_ERROR),
        ("1 a 1 EX 1 PX 1", SYNTAX_ERROR),
        ("1 a 1 EX 0", b"-ERR invalid expire time in 'msetex' command\r\n"),
        ("1 a", b"-ERR wrong number of arguments for 'msetex' command\r\n"),
    ],
)
def test_bad_msetex_requests_set_nothing(talk: Conversation, words: str, reply: bytes) -> None:
    assert talk.do(f"MSETEX {words}") == reply
    assert talk.do("EXISTS a") == b":0\r\n"


def test_the_keys_of_msetex_are_every_other_word(talk: Conversation) -> None:
    reply = talk.do("COMMAND GETKEYS MSETEX 2 a 1 b 2 NX")
    assert reply == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
