"""The rights that requests need.

Refusals: by itself, in a transaction, in a script, of a blocked client, of SORT.
"""

from __future__ import annotations

import pytest

import commands.catalogue  # noqa: F401  (declares every command)
from commands.acl.checks import channels_of, keys_of, names_patterns
from commands.acl.selectors import ALL_RIGHTS, READ, WRITE
from commands.core.registry import COMMANDS, find
from server.inprocess.server import InProcessClient, InProcessServer

LETTERS = {0: "?", READ: "R", WRITE: "W", ALL_RIGHTS: "RW"}


@pytest.mark.parametrize(
    ("request_text", "needed"),
    [
        ("GET k", "1R"),
        ("EXISTS k l", "1? 2?"),
        ("SET k v", "1W"),
        ("SET k v GET", "1RW"),
        ("SET k v IFEQ w", "1RW"),
        ("DEL k", "1W"),
        ("DELEX k IFEQ v", "1RW"),
        ("GETDEL k", "1RW"),
        ("BITFIELD k GET u8 0", "1R"),
        ("BITFIELD k INCRBY u8 0 1", "1RW"),
        ("RENAME k l", "1RW 2W"),
        ("COPY k l", "1R 2W"),
        ("LMOVE k l LEFT LEFT", "1RW 2W"),
        ("ZUNIONSTORE d 2 k l", "1W 3R 4R"),
        ("SORT k STORE a STORE b", "1R 5W"),
        ("GEORADIUS k 1 1 1 m STORE a STORE b", "1R 9W"),
        ("GEORADIUS k 1 1 1 m STORE a STOREDIST b", "1R 7W 9W"),
        ("MSETEX 2 k v l w EX 9", "2W 4W"),
        ("EVAL s 1 k x", "3RW"),
        ("XREAD STREAMS k l 0 0", "2R 3R"),
        ("XREADGROUP GROUP streams c STREAMS k >", "5R"),
        ("XREADGROUP NOACK GROUP g STREAMS STREAMS k >", "6R"),
        ("XREADGROUP COUNT 1 CLAIM 9 MAXCOUNT 5 GROUP g STREAMS STREAMS k >", "11R"),
        ("XREAD MAXSIZE 5 BLOCK 0 STREAMS k $", "6R"),
        ("XCFGSET k ACK-JOURNAL j", "1W 3W"),
        ("XCFGSET k IDMP-MAXSIZE 5 ack-journal j", "1W 5W"),
        ("SPUBLISH c m", ""),
        ("CONFIG GET x", ""),
    ],
)
def test_key_rights_follow_from_the_declaration(request_text: str, needed: str) -> None:
    words = request_text.encode().split()
    command = find(words, COMMANDS)
    assert command is not None
    found = [f"{position}{LETTERS[rights]}" for position, rights in keys_of(command, words)]
    assert " ".join(found) == needed


@pytest.mark.parametrize(
    ("request_text", "positions"),
    [("PUBLISH c m", [1]), ("SUBSCRIBE a b", [1, 2]), ("UNSUBSCRIBE a", []), ("GET a", [])],
)
def test_channels_are_those_published_or_subscribed_to(
    request_text: str, positions: list[int]
) -> None:
    words = request_text.encode().split()
    command = find(words, COMMANDS)
    assert command is not None
    assert list(channels_of(command, words)) == positions
    assert not names_patterns(command)


KEY = b"-NOPERM No permissions to access a key\r\n"
CHANNEL = b"-NOPERM No permissions to access a channel\r\n"
CHANGED = (
    b"-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC"
    b" call. This command is no longer allowed for the following reason: "
)


def denied(name: str) -> bytes:
    return f"-NOPERM User ann has no permissions to run the '{name}' command\r\n".encode()


def test_one_selector_must_allow_all_of_a_request(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "~a", "+get", "(~b +set)")
    assert ann.execute("GET", "a") == b"$-1\r\n"
    assert ann.execute("SET", "b", 1) == b"+OK\r\n"
    assert ann.execute("GET", "b") == ann.execute("SET", "a", 1) == KEY
    assert ann.execute("PING") == denied("ping")
    assert ann.execute("CONFIG", "GET", "x") == denied("config|get")


def test_of_several_refusals_the_most_telling_is_reported(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "~a", "+mget", "(~a ~b +mget)", "(-@all)")
    client.execute("ACL", "LOG", "RESET")
    assert ann.execute("MGET", "a", "b", "c") == KEY
    assert b"$6\r\nobject\r\n$1\r\nc\r\n" in client.execute("ACL", "LOG")


def test_channels_are_checked_and_unsubscribing_is_not(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+@pubsub", "&n*")
    assert ann.execute("PUBLISH", "news", "x") == b":0\r\n"
    assert ann.execute("PUBLISH", "old", "x") == CHANNEL
    assert ann.execute("PSUBSCRIBE", "n") == CHANNEL
    assert ann.execute("UNSUBSCRIBE", "old").startswith(b"*3\r\n")
    assert ann.execute("PSUBSCRIBE", "n*").startswith(b"*3\r\n")


def test_who_logs_in_needs_no_right_for_that(client: InProcessClient, ann: InProcessClient) -> None:
    assert ann.execute("HELLO", 2).startswith(b"*14")
    assert ann.execute("AUTH", "default", "x") == b"+OK\r\n"
    assert ann.execute("PING") == b"+PONG\r\n"
    assert ann.execute("AUTH", "ann", "p") == b"+OK\r\n"
    assert ann.execute("PING") == denied("ping")
    assert ann.execute("RESET") == b"+RESET\r\n"
    assert ann.execute("PING") == b"+PONG\r\n"


# -- transactions --------------------------------------------------------------------------------


def test_a_refusal_while_queueing_aborts_the_transaction(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+multi", "+exec", "+get", "~a")
    ann.execute("MULTI")
    assert ann.execute("GET", "a") == b"+QUEUED\r\n"
    assert ann.execute("GET", "b") == KEY
    assert ann.execute("EXEC").startswith(b"-EXECABORT")


def test_exec_checks_each_request_again(client: InProcessClient, ann: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "ann", "+@all", "~*", "&*")
    ann.execute("MULTI")
    for request in (("SET", "a", 1), ("GET", "b"), ("PUBLISH", "c", "m"), ("ECHO", "x")):
        assert ann.execute(*request) == b"+QUEUED\r\n"
    client.execute("ACL", "SETUSER", "ann", "-set", "resetkeys", "resetchannels")
    assert ann.execute("EXEC") == (
        b"*4\r\n"
        + (CHANGED + b"no permission to execute the command or subcommand\r\n")
        + (CHANGED + b"no permission to touch the specified keys\r\n")
        + (CHANGED + b"no permission to access one of the channels used as arguments\r\n")
        + b"$1\r\nx\r\n"
    )


# -- scripts -------------------------------------------------------------------------------------


def test_each_call_of_a_script_is_checked(client: InProcessClient, ann: InProcessClient) -> None:
    client.execute("ACL", "SETUSER", "ann", "+eval", "+get", "~a")
    assert ann.execute("EVAL", "return redis.call('get', 'a')", 0) == b"$-1\r\n"
    reply = ann.execute("EVAL", "return redis.call('get', 'b')", 0)
    assert reply.startswith(b"-ERR ACL failure in script: No permissions to access a key script: ")
    assert ann.execute("EVAL", "return redis.pcall('set', 'a', 1)", 0) == (
        b"-ERR ACL failure in script: User ann has no permissions to run the 'set' command\r\n"
    )
    assert ann.execute("EVAL", "return 1", 1, "b") == KEY


@pytest.mark.parametrize(
    ("words", "reply"), [("'get', 'a'", b":1\r\n"), ("'get', 'b'", b"$-1\r\n")]
)
def test_a_script_may_ask_what_its_caller_may(
    client: InProcessClient, ann: InProcessClient, words: str, reply: bytes
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+eval", "+get", "~a")
    assert ann.execute("EVAL", f"return redis.acl_check_cmd({words})", 0) == reply
    assert client.server.instance.stats.acl_access_denied_key == 0


# -- blocked clients -----------------------------------------------------------------------------


def test_a_blocked_client_that_has_lost_its_right_gets_nothing(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+blpop", "~l")
    assert ann.execute("BLPOP", "l", 0) == b""
    client.execute("ACL", "SETUSER", "ann", "-blpop")
    assert client.execute("RPUSH", "l", "v") == b":1\r\n"
    assert ann.received() == denied("blpop")
    assert client.execute("LLEN", "l") == b":1\r\n"


def test_readers_that_share_an_answer_are_checked_each(
    server: InProcessServer, client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+xread", "~s")
    client.execute("XADD", "s", "1-1", "f", "v")
    free = server.connect()
    request = ("XREAD", "BLOCK", 0, "STREAMS", "s", "1-1")
    assert free.execute(*request) == ann.execute(*request) == b""
    client.execute("ACL", "SETUSER", "ann", "resetkeys")
    client.execute("XADD", "s", "2-1", "f", "v")
    assert free.received().startswith(b"*1\r\n")
    assert ann.received() == KEY


# -- SORT ----------------------------------------------------------------------------------------


def test_sort_by_other_keys_needs_a_selector_that_reads_all(
    client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+sort", "~a")
    assert ann.execute("SORT", "a", "BY", "nosort") == b"*0\r\n"
    for option in ("BY", "GET"):
        assert ann.execute("SORT", "a", option, "x*") == (
            f"-ERR {option} option of SORT denied due to insufficient ACL permissions.\r\n".encode()
        )
    client.execute("ACL", "SETUSER", "ann", "%R~*")
    assert ann.execute("SORT", "a", "BY", "x*", "GET", "y*") == b"*0\r\n"


# -- counters ------------------------------------------------------------------------------------


def test_refusals_are_counted_by_their_reason(
    server: InProcessServer, client: InProcessClient, ann: InProcessClient
) -> None:
    client.execute("ACL", "SETUSER", "ann", "+get", "+publish")
    for request in (("PING",), ("GET", "k"), ("PUBLISH", "c", "m"), ("PUBLISH", "c", "m")):
        ann.execute(*request)
    stats = server.instance.stats
    assert (stats.acl_access_denied_cmd, stats.acl_access_denied_key) == (1, 1)
    assert stats.acl_access_denied_channel == 2
