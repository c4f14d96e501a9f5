"""Hashes beside a real Redis: the order of compact ones, conversions, and payloads there and back.

The random sequences compare content; here it is the order in which a listpack has its fields, which
clients see, and where the encoding changes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.support.programs.servers import RunningServer
from tests.support.resp import Argument, RespClient, parse

pytestmark = pytest.mark.compat

Pair = tuple[RespClient, RespClient]

FOOTER_BYTES = 10  # the version of the format, and a checksum
USUAL: dict[str, Argument] = {
    "hash-max-listpack-entries": 512,
    "hash-max-listpack-value": 64,
    "rdb-stream-type": "auto",
}


@pytest.fixture
def pair(rillway_server: RunningServer, redis_server: RunningServer) -> Iterator[Pair]:
    with rillway_server.connect() as ours, redis_server.connect() as theirs:
        for client in (ours, theirs):
            client.send("FLUSHALL")
        ours.send("CONFIG", "SET", "rdb-stream-type", "19")
        yield ours, theirs
        for client in (ours, theirs):
            for name, value in USUAL.items():
                client.send("CONFIG", "SET", name, value)
            client.send("FLUSHALL")


def both(pair: Pair, *argv: Argument) -> bytes:
    """The reply of both servers, which is the same."""
    ours, theirs = (client.send(*argv) for client in pair)
    assert ours == theirs, argv
    return ours


@pytest.mark.parametrize("seed", range(5))
def test_a_compact_hash_has_its_fields_in_the_same_order(pair: Pair, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        name = f"f{chance.randint(0, 30)}"
        change: list[Argument] = chance.choice(
            [
                ["HSET", "h", name, chance.randint(-5, 300), f"g{chance.randint(0, 9)}", "x"],
                ["HDEL", "h", name],
                ["HINCRBY", "h", f"n{chance.randint(0, 5)}", 70_000],
                ["HSETNX", "h", name, ""],
            ]
        )
        both(pair, *change)
        for command in ("HGETALL", "HKEYS", "HVALS"):
            both(pair, command, "h")
        both(pair, "HSCAN", "h", 0)
        both(pair, "HRANDFIELD", "h", 100, "WITHVALUES")


@pytest.mark.parametrize(
    "requests",
    [
        [("HSET", "h", "a", 1, "b", 2), ("HSET", "h", "c", 3), ("HDEL", "h", "c")],
        [("HSET", "h", "a", "1234"), ("HSET", "h", "a", "12345"), ("HSET", "h", "a", "1")],
        [("HSETNX", "h", "12345", "")],
        [("HINCRBY", "h", "a", 1234), ("HINCRBY", "h", "a", 10_000)],
        [("HINCRBYFLOAT", "h", "a", "1.25"), ("HINCRBYFLOAT", "h", "a", "0.001")],
        [("HMSET", "h", "a", 1), ("HSETNX", "h", "b", 1), ("HINCRBY", "h", "c", 1)],
        [
            ("HSET", "h", "a", 1),
            ("COPY", "h", "g"),
            ("RENAME", "g", "h"),
            ("HSET", "h", "b", 12345),
        ],
    ],
)
def test_the_encoding_changes_where_that_of_redis_does(
    pair: Pair, requests: list[tuple[Argument, ...]]
) -> None:
    both(pair, "CONFIG", "SET", "hash-max-listpack-entries", 2)
    both(pair, "CONFIG", "SET", "hash-max-ziplist-value", 4)
    for request in requests:
        both(pair, *request)
        both(pair, "OBJECT", "ENCODING", "h")


@pytest.mark.parametrize("fields", [1, 5, 512, 513])
def test_a_payload_is_the_same_but_for_its_compression(pair: Pair, fields: int) -> None:
    """Of a compact hash; a table's fields have no promised order."""

    for client in pair:
        client.send("CONFIG", "SET", "rdbcompression", "no")
    both(pair, "HSET", "h", *range(-fields, fields))
    payloads = [parse(client.send("DUMP", "h")).text for client in pair]
    assert len(payloads[0]) == len(payloads[1])
    if fields <= 512:
        assert payloads[0][:-FOOTER_BYTES] == payloads[1][:-FOOTER_BYTES]
    for client, payload in zip(pair, reversed(payloads), strict=True):
        assert client.send("RESTORE", "copy", 0, payload) == b"+OK\r\n"
        client.send("CONFIG", "SET", "rdbcompression", "yes")
    assert both(pair, "HLEN", "copy") == b":%d\r\n" % fields
    both(pair, "OBJECT", "ENCODING", "copy")
    both(pair, "HMGET", "copy", *range(-fields, fields))
