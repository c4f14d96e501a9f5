"""Long replies beside a real Redis, with writers between their pieces.

Redis runs a command as a whole, and the writers after it. Here the command's reply is made in
pieces of a few items, and each writer acts between two of them: the replies and the data must be
the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.geo import places
from commands.hashes import fields
from commands.keys import sort
from commands.lists import elements
from commands.sets import members
from commands.sorted_sets import scores
from server.inprocess.server import InProcessClient
from tests.doubles.slicing_server import SlicingServer
from tests.support.examples import compared
from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient, parse

pytestmark = pytest.mark.compat

NUMBERS = range(40)
DATA = [
    ["SADD", "a", *NUMBERS, "x"],
    ["SADD", "b", *range(20, 60), "x"],
    ["ZADD", "z", *(word for number in NUMBERS for word in (number % 7, f"m{number}"))],
    ["ZADD", "y", *(word for number in NUMBERS for word in (1.5, f"m{2 * number}"))],
    ["RPUSH", "l", *(number * 17 % 41 for number in NUMBERS)],
    ["RPUSH", "words", *(f"w{number * 7919 % 1009}" for number in NUMBERS)],
    ["HSET", "h", *(word for number in NUMBERS for word in (f"f{number}", number))],
    # Each is at a distance of its own, north-east and south-west of the center in turn.
    [
        "GEOADD",
        "g",
        *(
            word
            for number in NUMBERS
            for word in ((-1) ** number * number / 50, (-1) ** number * number / 70, f"p{number}")
        ),
    ],
]
KEYS = ["a", "b", "z", "y", "l", "words", "h", "g", "d"]

AROUND = "FROMLONLAT 0 0 BYRADIUS 80 km"
READS = [
    "SMEMBERS a", "SUNION a b", "SINTER a b", "SDIFF a b", "SUNION a a", "HGETALL h",
    "ZRANGE z 0 -1 WITHSCORES", "ZUNION 2 z y WITHSCORES", "ZINTER 2 z y", "ZDIFF 2 z y",
    "ZUNION 3 z y a WEIGHTS 2 1 0.5 AGGREGATE MAX WITHSCORES", "ZRANGEBYSCORE z 1 5",
    "LRANGE l 0 -1", "SORT l", "SORT l DESC LIMIT 3 20", "SORT words ALPHA", "SORT a DESC ALPHA",
    "SORT l BY nothing", "SORT_RO words ALPHA DESC",
    f"GEOSEARCH g {AROUND}", f"GEOSEARCH g {AROUND} ASC WITHDIST WITHCOORD WITHHASH",
    f"GEOSEARCH g {AROUND} DESC COUNT 20", f"GEOSEARCH g {AROUND} COUNT 9 ANY",
    "GEOSEARCH g FROMMEMBER p3 BYBOX 90 50 km ASC", "GEORADIUS_RO g 0 0 70 km DESC WITHDIST",
    # What is stored is of one moment, too.
    "SUNIONSTORE d a b", "SINTERSTORE a a b", "SDIFFSTORE d a b", "SINTERCARD 2 a b LIMIT 7",
    "ZUNIONSTORE z 2 z y", "ZINTERSTORE d 2 z y", "ZRANGESTORE d z 3 30", "ZRANGESTORE d z 0 -1",
    "SORT words ALPHA STORE words", "SORT l STORE d", "ZREMRANGEBYRANK z 2 -3",
    f"GEOSEARCHSTORE d g {AROUND}", f"GEOSEARCHSTORE d g {AROUND} COUNT 7 STOREDIST",
    f"GEOSEARCHSTORE g g {AROUND} ASC",
]  # fmt: skip
WRITES = [
    "SADD a new 7", "SREM a 3 x", "SREM b x 25", "DEL a", "SMOVE b a 58", "SUNIONSTORE a b",
    "ZADD z 3 m3 99 late", "ZREM z m0 m11", "ZREMRANGEBYRANK z 0 -5", "ZPOPMIN y 3",
    "ZINCRBY z 100 m1", "RENAME z y", "COPY y z REPLACE", "RPUSH l 5 late", "LPOP l 9",
    "LSET words 3 w0", "LTRIM words 5 9", "LREM l 0 17", "SORT words ALPHA DESC STORE words",
    "HSET h f1 late new x", "HDEL h f2 f30", "GEOADD g 0.3 0.3 late", "ZREM g p4 p5 p20", "DEL g",
    "UNLINK l", "EXPIRE h 0", "EXPIRE words 100", "FLUSHALL", "FLUSHDB ASYNC", "SWAPDB 0 1",
]  # fmt: skip
UNORDERED = {"SMEMBERS", "SUNION", "SINTER", "SDIFF", "HGETALL"}


@pytest.fixture(scope="module")
def theirs(redis_server: RunningServer) -> Iterator[RespClient]:
    with redis_server.connect() as client:
        yield client
        client.send("FLUSHALL")


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module, most in (
            (members, "MANY_MEMBERS"),
            (scores, "MANY_MEMBERS"),
            (fields, "MANY_FIELDS"),
            (elements, "MANY_ITEMS"),
            (sort, "MANY_ITEMS"),
            (places, "FEW_PLACES"),
        ):
            patch.setattr(module, most, 3)
        for module, step in (
            (members, "MEMBERS_PER_PIECE"),
            (scores, "MEMBERS_PER_PIECE"),
            (fields, "FIELDS_PER_PIECE"),
            (sort, "ITEMS_PER_PIECE"),
            (places, "PLACES_AT_ONCE"),
            (places, "DETAILED_PER_PIECE"),
        ):
            patch.setattr(module, step, 2)
        yield


def comparable(request: str, reply: bytes) -> object:
    """A reply, or the items of one in no promised order."""
    if request.split()[0] not in UNORDERED:
        return reply
    items = [item.raw() for item in parse(reply).items]
    if request.startswith("HGETALL"):
        return sorted(zip(items[::2], items[1::2], strict=True))
    return sorted(items)


def content(client: RespClient | InProcessClient) -> list[object]:
    """All data, each key's in the order that its type has."""
    found: list[object] = []
    send = client.send if isinstance(client, RespClient) else client.execute
    for key in KEYS:
        kind = send("TYPE", key)
        found.append(kind)
        if kind == b"+set\r\n":
            found.append(comparable("SMEMBERS", send("SMEMBERS", key)))
        elif kind == b"+zset\r\n":
            found.append(send("ZRANGE", key, 0, -1, "WITHSCORES"))
        elif kind == b"+list\r\n":
            found.append(send("LRANGE", key, "0", "-1"))
        elif kind == b"+hash\r\n":
            found.append(comparable("HGETALL", send("HGETALL", key)))
    return found


@settings(max_examples=compared(1000))
@given(st.sampled_from(READS), st.lists(st.sampled_from(WRITES), max_size=6), st.integers(1, 8))
def test_a_reply_in_pieces_is_that_of_the_moment_of_its_command(
    theirs: RespClient, read: str, writes: list[str], pieces: int
) -> None:
    server = SlicingServer()
    reader, writer = server.connect(), server.connect()
    theirs.send("FLUSHALL")
    for request in DATA:
        assert theirs.send(*request) == writer.execute(*map(str, request))
    expected = theirs.send(*read.split())
    received = reader.execute(*read.split())
    for write in writes:
        for _ in range(pieces):
            if server.turns:
                server.turn()
        assert theirs.send(*write.split()) == writer.execute(*write.split())
    server.finish()
    received += reader.received()
    assert comparable(read, received) == comparable(read, expected)
    server.dispatcher.send_in_pieces = None
    assert content(writer) == content(theirs)
