"""Streams go to a real Redis and back as DUMP payloads, and every question gets the same answer.

Redis makes a stream and dumps it; what is read from that is what XRANGE answers there. It is
written again and restored there in its place, and Redis must then answer as before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from storage.entries.entry_id import MAX_ID, MIN_ID, make_id
from storage.redis_format.primitives import Cursor
from storage.snapshot.format import Reading, SnapshotOptions
from storage.snapshot.payload import dump, restore
from storage.snapshot.stream_decoder import decode_stream
from storage.stream import Stream
from tests.support.consistency import contradictions
from tests.support.programs.servers import RunningServer
from tests.support.resp import Argument, Command, RespClient, parse

pytestmark = pytest.mark.compat

FOOTER_BYTES = 10
NOW_MS = 1_700_000_000_000
Commands = list[Command]

ODD_VALUES = [
    b"", b"0", b"7", b"-7", b"007", b"-0", b"127", b"128", b"4095", b"4096", b"-4096", b"-4097",
    b"32767", b"32768", b"-8388608", b"-8388609", b"2147483647", b"2147483648",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808", b"+1", b" 1",
    b"x" * 63, b"x" * 64, b"y" * 4095, b"y" * 4096, b"\r\n$3\r\n", bytes(range(256)),
]  # fmt: skip


def add(ms: int, *fields: Argument) -> Command:
    return ["XADD", "s", f"{ms}-1", *fields]


def many_small_entries() -> Commands:
    return [["XADD", "s", f"{1000 + 3 * i}-{i % 4}", "f", f"{i:012}"] for i in range(1050)]


def odd_values() -> Commands:
    pairs: list[Argument] = [part for i, value in enumerate(ODD_VALUES) for part in (i, value)]
    swapped: list[Argument] = [part for i, value in enumerate(ODD_VALUES) for part in (value, i)]
    return [["XADD", "s", "*", *pairs], ["XADD", "s", "*", *swapped], ["XADD", "s", "*", *pairs]]


def several_shapes() -> Commands:
    shapes: Commands = [
        ["a", 1],
        ["a", "x", "b", "y"],
        ["b", "y", "a", "x"],
        ["12", "34"],
        ["a", ""],
    ]
    return [["XADD", "s", f"{i + 1}-*", *shapes[i * i % 5]] for i in range(300)]


def deletions() -> Commands:
    gone = [i for i in range(1, 501) if i % 7 < 2 or 205 < i < 290 or i > 495]
    return [
        *(add(i, "f", i, "g", "x" * (i % 90)) for i in range(1, 501)),
        *(["XDEL", "s", f"{i}-1"] for i in gone),
    ]


def trims() -> Commands:
    return [
        *(add(i, "f", i) for i in range(1, 801)),
        ["XTRIM", "s", "MINID", "~", "150"],
        ["XTRIM", "s", "MAXLEN", "555"],
        ["XDEL", "s", *(f"{i}-1" for i in range(300, 330))],
        ["XTRIM", "s", "MINID", "301-0"],
    ]


def wrapping_ids() -> Commands:
    top = 2**64 - 1
    ids = ["5-100", f"5-{top}", "6-0", f"6-{2**63}", f"{2**63}-7", f"{top}-0", f"{top}-{top}"]
    return [["XADD", "s", entry_id, "f", "v"] for entry_id in ids]


def empty_streams() -> Commands:
    return [
        ["XADD", "s", "5-5", "f", "v"],
        ["XDEL", "s", "5-5"],
        ["XSETID", "s", "77-7", "ENTRIESADDED", 1234, "MAXDELETEDID", "66-6"],
        ["XGROUP", "CREATE", "s", "g", "50-0", "ENTRIESREAD", 12],
    ]


def large_values() -> Commands:
    return [
        ["XADD", "s", "1-1", "f", "v"],
        ["XADD", "s", "1-2", "f", "v" * 1_000_000],
        ["XADD", "s", "1-3", "f", random.Random(1).randbytes(1_000_000)],
        *(["XADD", "s", f"2-{i}", "name", "value " * (i % 200)] for i in range(500)),
    ]


def one_large_node() -> Commands:
    """Of more elements, five for an entry, than a listpack's own count can say."""
    return [
        ["CONFIG", "SET", "stream-node-max-entries", 0, "stream-node-max-bytes", 0],
        *(add(i, "f", i) for i in range(1, 14_001)),
        ["XDEL", "s", "77-1"],
    ]


def groups() -> Commands:
    read = ["XREADGROUP", "GROUP", "g"]
    return [
        *(add(i, "f", i) for i in range(1, 301)),
        ["XGROUP", "CREATE", "s", "g", 0],
        ["XGROUP", "CREATE", "s", "at the end", "$"],
        ["XGROUP", "CREATE", "s", "unknown", "17-0"],
        ["XGROUP", "CREATE", "s", "in the middle", "99-1", "ENTRIESREAD", 99],
        [*read, "one", "COUNT", 100, "STREAMS", "s", ">"],
        [*read, "12", "COUNT", 50, "STREAMS", "s", ">"],
        [*read, "", "COUNT", 10, "STREAMS", "s", ">"],
        [*read, "no ack", "COUNT", 10, "NOACK", "STREAMS", "s", ">"],
        ["XGROUP", "CREATECONSUMER", "s", "g", "idle"],
        ["XACK", "s", "g", *(f"{i}-1" for i in range(1, 150, 3))],
        ["XDEL", "s", "5-1", "150-1", "200-1"],
        ["XCLAIM", "s", "g", "12", 0, "8-1", "RETRYCOUNT", 5_000_000_000, "TIME", 12_345],
        ["XCLAIM", "s", "g", "new", 0, "9-1", "11-1", "RETRYCOUNT", 64, "IDLE", 500],
        ["XCLAIM", "s", "g", "new", 0, "299-1", "FORCE", "JUSTID", "RETRYCOUNT", 0],
        ["XREADGROUP", "GROUP", "in the middle", "c", "STREAMS", "s", ">"],
    ]


def drawn(seed: int) -> Commands:
    """Anything in any order, with nodes of any size."""
    rng = random.Random(seed)
    pairs: list[Argument]
    read: list[Argument]
    limits = rng.choice([(3, 4096), (100, 4096), (100, 200), (0, 300), (10, 0)])
    commands: Commands = [
        ["CONFIG", "SET", "stream-node-max-entries", limits[0], "stream-node-max-bytes", limits[1]],
        ["XGROUP", "CREATE", "s", "g", 0, "MKSTREAM"],
    ]
    last = 0
    added = ["0-1"]
    for _ in range(rng.randrange(50, 400)):
        some_id = rng.choice(added)
        consumer = rng.choice(["a", "b", "c"])
        kind = rng.randrange(20)
        if kind < 12:
            last += rng.choice([1, 1, 1, 50, 10**6])
            names = rng.sample([b"f", b"g", b"12", b"long name"], rng.choice([1, 1, 1, 2, 3]))
            pairs = [p for n in names for p in (n, rng.choice(ODD_VALUES))]
            added.append(f"{last}-1")
            commands.append(["XADD", "s", added[-1], *pairs])
        elif kind < 14:
            commands.append(["XDEL", "s", some_id, added[-1]])
        elif kind == 14:
            commands.append(["XTRIM", "s", rng.choice(["MINID", "MAXLEN"]), "~", last // 2])
        elif kind < 17:
            count = rng.randrange(1, 60)
            read = ["XREADGROUP", "GROUP", "g", consumer, "COUNT", count]
            commands.append([*read, "STREAMS", "s", ">"])
        elif kind == 17:
            commands.append(["XACK", "s", "g", *rng.choices(added, k=20)])
        elif kind == 18:
            commands.append(["XAUTOCLAIM", "s", "g", consumer, 0, some_id, "COUNT", 5])
        else:
            commands.append(["XGROUP", "SETID", "s", "g", some_id])
    return commands


MADE = {
    made.__name__: made()
    for made in (
        many_small_entries,
        odd_values,
        several_shapes,
        deletions,
        trims,
        wrapping_ids,
        empty_streams,
        large_values,
        one_large_node,
        groups,
    )
} | {f"drawn {seed}": drawn(seed) for seed in range(25)}


@pytest.fixture
def redis(redis_server: RunningServer) -> Iterator[RespClient]:
    with redis_server.connect() as client:
        client.send("FLUSHALL")
        yield client
        client.send("CONFIG", "SET", "stream-node-max-entries", 100, "stream-node-max-bytes", 4096)
        client.send("FLUSHALL")


def dumped(redis: RespClient, name: str) -> bytes:
    for reply in redis.pipeline(MADE[name]):
        assert not reply.startswith(b"-ERR unknown"), reply
    return parse(redis.send("DUMP", "s")).text


def range_reply(stream: Stream) -> bytes:
    count, chunks = stream.range(MIN_ID, MAX_ID)
    return b"*%d\r\n%b" % (count, b"".join(chunks))


def answers(redis: RespClient) -> list[bytes]:
    """All that Redis says of the stream, but how long ago something was delivered."""
    asked: Commands = [
        ["XRANGE", "s", "-", "+"],
        ["XREVRANGE", "s", "+", "-"],
        ["XPENDING", "s", "g"],
        ["XINFO", "STREAM", "s", "FULL", "COUNT", 0],
    ]
    pending = parse(redis.send("XPENDING", "s", "g", "-", "+", 100_000))
    rows = [entry.items[0].raw() + entry.items[3].raw() for entry in pending.items]
    return [*rows, *redis.pipeline(asked)]


def restore_there(redis: RespClient, stream: Stream, options: SnapshotOptions) -> None:
    payload = dump(stream, options, NOW_MS)
    assert redis.send("RESTORE", "s", 0, payload, "REPLACE") == b"+OK\r\n"


@pytest.mark.parametrize("name", MADE)
def test_a_stream_that_redis_dumped_is_the_same_here(redis: RespClient, name: str) -> None:
    payload = dumped(redis, name)
    stream = restore(payload, NOW_MS)
    assert isinstance(stream, Stream)
    assert contradictions(stream) == []
    assert range_reply(stream) == redis.send("XRANGE", "s", "-", "+")


@pytest.mark.parametrize("compress", [True, pytest.param(False, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", MADE)
def test_redis_restores_what_was_unpacked_here(
    redis: RespClient, name: str, compress: bool
) -> None:
    stream = restore(dumped(redis, name), NOW_MS)
    assert isinstance(stream, Stream)
    *theirs, their_info = answers(redis)
    restore_there(redis, stream, SnapshotOptions(compress=compress, stream_type=21))
    *ours, our_info = answers(redis)
    assert ours == theirs
    assert without_node_counts(our_info) == without_node_counts(their_info)


@pytest.mark.parametrize("name", MADE)
def test_redis_restores_what_was_never_unpacked_here(redis: RespClient, name: str) -> None:
    payload = dumped(redis, name)
    theirs = answers(redis)
    cursor = Cursor(payload, 1, len(payload) - FOOTER_BYTES)
    stream = decode_stream(cursor, payload[0], Reading(NOW_MS, NOW_MS, trusted=True))
    assert (cursor.left, payload[0]) == (0, 21)
    restore_there(redis, stream, SnapshotOptions(stream_type=21))
    assert answers(redis) == theirs
    assert contradictions(stream) == []
    assert range_reply(stream) == redis.send("XRANGE", "s", "-", "+")


@pytest.mark.parametrize("name", MADE)
def test_redis_restores_the_form_of_redis_5(redis: RespClient, name: str) -> None:
    stream = restore(dumped(redis, name), NOW_MS)
    assert isinstance(stream, Stream)
    *theirs, _ = answers(redis)
    restore_there(redis, stream, SnapshotOptions(stream_type=15))
    *ours, _ = answers(redis)  # XINFO shows the counters that this form has no fields for
    assert ours == theirs


def test_redis_gives_released_entries_to_a_consumer_without_a_name(redis: RespClient) -> None:
    stream = restore(dumped(redis, "groups"), NOW_MS)
    assert isinstance(stream, Stream)
    group = stream.groups[b"g"]
    for ms in (12, 3, 30):
        group.release(group.pending[make_id(ms, 1)], 4)
    restore_there(redis, stream, SnapshotOptions(stream_type=19))
    redis.send("XGROUP", "CREATECONSUMER", "s", "g", "z")
    released = parse(redis.send("XPENDING", "s", "g", "-", "+", 100, "")).items
    assert {entry.items[0].text for entry in released} > {b"3-1", b"12-1", b"30-1"}
    long_ms = NOW_MS - 20_000  # 8-1 was claimed as delivered at 12,345
    claimed = parse(redis.send("XAUTOCLAIM", "s", "g", "z", long_ms, "0", "JUSTID"))
    texts = [entry_id.text for entry_id in claimed.items[1].items]
    assert texts == [b"3-1", b"8-1", b"12-1", b"30-1"]


def without_node_counts(reply: bytes) -> bytes:
    """XINFO without the numbers of nodes: empty ones are not written."""
    before, found, after = reply.partition(b"$15\r\nradix-tree-keys\r\n")
    return before + after.partition(b"$17\r\nlast-generated-id\r\n")[2] if found else reply
