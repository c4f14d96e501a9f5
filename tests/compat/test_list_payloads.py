"""Lists go to a real Redis and back as DUMP payloads, node by node the same.

With a limit of elements for each node, Redis 7.0 and later ones divide a list into the same nodes,
whatever was done to it; so DUMP gives the same bytes. (With a limit of bytes they differ by the
element at the boundary.)
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from storage.redis_format.primitives import crc64, encode_checksum
from tests.storage.snapshot.values.test_list_format import FORMS
from tests.support.programs.servers import RunningServer
from tests.support.resp import Argument, Command, RespClient, parse

pytestmark = pytest.mark.compat

REDIS_7_0 = b"\x0a\x00"  # the version of its format
FOOTER_BYTES = 10
LENGTH = 150  # of a sequence
ITEMS = ["a", "b", "c", "7", "-300", "", "x" * 70]

Pair = tuple[RespClient, RespClient]


@pytest.fixture
def pair(rillway_server: RunningServer, redis_server: RunningServer) -> Iterator[Pair]:
    with rillway_server.connect() as ours, redis_server.connect() as theirs:
        usual = {"list-max-listpack-size": "-2", "rdbcompression": "yes"}
        for client in (ours, theirs):
            client.send("FLUSHALL")
            client.send("CONFIG", "SET", "rdbcompression", "no")
        yield ours, theirs
        for client in (ours, theirs):
            for name, value in usual.items():
                client.send("CONFIG", "SET", name, value)
            client.send("FLUSHALL")


def sealed(body: bytes) -> bytes:
    return body + REDIS_7_0 + encode_checksum(crc64(body + REDIS_7_0))


def change(chance: random.Random) -> Command:
    """One change of the list l, rarely one that removes much."""
    some: list[Argument] = [chance.choice(ITEMS) for _ in range(chance.randint(1, 4))]
    place, item = chance.randint(-12, 12), chance.choice(ITEMS)
    return chance.choice(
        [
            ["RPUSH", "l", *some],
            ["LPUSH", "l", *some],
            ["LINSERT", "l", chance.choice(["BEFORE", "AFTER"]), item, chance.choice(ITEMS)],
            ["LINSERT", "l", chance.choice(["BEFORE", "AFTER"]), item, chance.choice(ITEMS)],
            ["LSET", "l", place, item],
            ["LREM", "l", chance.choice([1, -1, 2]), item],
            ["LPOP", "l"],
            ["RPOP", "l", chance.randint(0, 3)],
            ["LMOVE", "l", "l", "LEFT", "RIGHT"],
            ["LTRIM", "l", chance.randint(0, 1), -chance.randint(1, 2)],
        ]
    )


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_nodes_end_where_those_of_redis_end(pair: Pair, limit: int, seed: int) -> None:
    chance = random.Random(1000 * limit + seed)
    for client in pair:
        client.send("CONFIG", "SET", "list-max-listpack-size", limit)
    done: list[Command] = []
    for _ in range(LENGTH):
        done.append(change(chance))
        ours, theirs = (client.send(*done[-1]) for client in pair)
        assert ours == theirs, done
        our_dump, their_dump = (parse(client.send("DUMP", "l")).text for client in pair)
        assert our_dump[:-FOOTER_BYTES] == their_dump[:-FOOTER_BYTES], done


@pytest.mark.parametrize(("code", "encoded"), FORMS)
def test_every_form_of_a_list_is_restored(pair: Pair, code: int, encoded: bytes) -> None:
    """What is made by hand for the unit tests is what Redis itself takes."""
    payload = sealed(bytes([code]) + encoded)
    for client in pair:
        assert client.send("RESTORE", "l", 0, payload) == b"+OK\r\n"
    ours, theirs = (client.send("LRANGE", "l", 0, -1) for client in pair)
    assert ours == theirs


def test_large_and_compressed_elements_go_there_and_back(pair: Pair) -> None:
    ours, theirs = pair
    values: list[Argument] = ["x" * 9000, "short", bytes(range(256)) * 50, "12345", "y" * 20_000]
    for first, second in ((ours, theirs), (theirs, ours)):
        for client in pair:
            client.send("CONFIG", "SET", "rdbcompression", "yes")
            client.send("FLUSHALL")
        first.send("RPUSH", "l", *values)
        payload = parse(first.send("DUMP", "l")).text
        assert second.send("RESTORE", "l", 0, payload) == b"+OK\r\n"
        assert second.send("LRANGE", "l", 0, -1) == first.send("LRANGE", "l", 0, -1)
