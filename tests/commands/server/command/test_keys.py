"""COMMAND GETKEYS and GETKEYSANDFLAGS. The replies are those of redis-server 7.0.15, but for the
keys of XREAD and XREADGROUP, which Redis 8.10 finds by parsing the request."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode


@pytest.fixture
def client() -> InProcessClient:
    return InProcessServer().connect()


@pytest.mark.parametrize(
    ("request_text", "keys"),
    [
        ("GET a", [b"a"]),
        ("mset a 1 b 2", [b"a", b"b"]),
        ("RENAME a b", [b"a", b"b"]),
        ("XREAD COUNT 1 STREAMS a b 0 0", [b"a", b"b"]),
        ("XREADGROUP GROUP g STREAMS COUNT 1 STREAMS k >", [b"k"]),
        ("xreadgroup COUNT 1 CLAIM 5 NOACK GROUP STREAMS STREAMS streams k >", [b"k"]),
        ("XREAD MAXCOUNT 5 MAXSIZE 5 BLOCK 0 STREAMS STREAMS 0", [b"STREAMS"]),
        ("XREADGROUP GROUP streams c STREAMS k1 k2 > >", [b"k1", b"k2"]),
        ("xgroup CREATE k g $", [b"k"]),
        # Requests that XREAD refuses; the specification has an answer all the same.
        ("XREAD streams a b c", [b"a"]),
        ("XREAD STREAMS a b c d e", [b"a", b"b"]),
        ("XREADGROUP GROUP g c STREAMS a b c", [b"a"]),
        ("XREAD FOO STREAMS a b", [b"a"]),
    ],
)
def test_the_keys_of_a_request_are_returned(
    client: InProcessClient, request_text: str, keys: list[bytes]
) -> None:
    assert decode(client.execute("COMMAND", "GETKEYS", *request_text.split())) == keys


@pytest.mark.parametrize(
    ("request_text", "error"),
    [
        ("nope", b"-ERR Invalid command specified\r\n"),
        ("xgroup nope k", b"-ERR Invalid command specified\r\n"),
        ("PING", b"-ERR The command has no key arguments\r\n"),
        ("config get x", b"-ERR The command has no key arguments\r\n"),
        ("SPUBLISH channel message", b"-ERR The command has no key arguments\r\n"),
        ("GET a b", b"-ERR Invalid number of arguments specified for command\r\n"),
        ("XREAD COUNT 1 STREAMS a", b"-ERR Invalid arguments specified for command\r\n"),
        ("XREAD a b c", b"-ERR Invalid arguments specified for command\r\n"),
    ],
)
def test_a_request_without_keys_is_refused(
    client: InProcessClient, request_text: str, error: bytes
) -> None:
    assert client.execute("COMMAND", "GETKEYS", *request_text.split()) == error
    assert client.execute("COMMAND", "GETKEYSANDFLAGS", *request_text.split()) == error


def test_each_key_is_returned_with_its_flags(client: InProcessClient) -> None:
    reply = client.execute("COMMAND", "GETKEYSANDFLAGS", "RENAME", "a", "b")
    assert decode(reply) == [
        [b"a", [b"RW", b"access", b"delete"]],
        [b"b", [b"OW", b"update"]],
    ]


def test_that_a_specification_is_incomplete_is_no_flag_of_a_key(client: InProcessClient) -> None:
    target = ("h", 1, "", 0, 1, "KEYS", "a")
    reply = client.execute("COMMAND", "GETKEYSANDFLAGS", "MIGRATE", *target)
    assert decode(reply) == [[b"a", [b"RW", b"access", b"delete"]]]


def test_set_reads_its_key_only_with_get(client: InProcessClient) -> None:
    client.execute("HELLO", "3")
    plain = client.execute("COMMAND", "GETKEYSANDFLAGS", "SET", "k", "GET")
    assert plain == b"*1\r\n*2\r\n$1\r\nk\r\n~2\r\n+OW\r\n+update\r\n"
    with_get = client.execute("COMMAND", "GETKEYSANDFLAGS", "SET", "k", "v", "get")
    assert with_get == b"*1\r\n*2\r\n$1\r\nk\r\n~3\r\n+RW\r\n+access\r\n+update\r\n"


def test_the_target_of_a_search_is_the_one_after_the_last_option(client: InProcessClient) -> None:
    options = ("STORE", "a", "COUNT", 1, "STORE", "b")
    reply = client.execute("COMMAND", "GETKEYSANDFLAGS", "GEORADIUS", "k", 1, 1, 1, "m", *options)
    assert decode(reply) == [[b"k", [b"RO", b"access"]], [b"b", [b"OW", b"update"]]]


@pytest.mark.parametrize(
    ("request_text", "flags"),
    [
        ("SET k v IFEQ x", {b"RW", b"access", b"update"}),
        ("BITFIELD k GET u8 0", {b"RO", b"access"}),
        ("BITFIELD k GET u8 0 SET u8 0 1", {b"RW", b"access", b"update"}),
        ("DELEX k", {b"RM", b"delete"}),
        ("DELEX k IFEQ v", {b"RW", b"access", b"delete"}),
    ],
)
def test_options_decide_what_a_key_is_used_for(
    client: InProcessClient, request_text: str, flags: set[bytes]
) -> None:
    reply = client.execute("COMMAND", "GETKEYSANDFLAGS", *request_text.split())
    ((key, found),) = decode(reply)
    assert (key, set(found)) == (b"k", flags)
