"""A data set with everything that Rillway and Redis 7.0 both know of streams, strings and keys.

Each request is (database, argv). They are run in this order on whichever server it begins with.
"""

from __future__ import annotations

from typing import TypeAlias

from tests.support.resp import Argument

Requests: TypeAlias = list[tuple[int, tuple[Argument, ...]]]

BINARY = bytes(range(256))
FAR_MS = 4_102_444_800_000  # 1 January 2100


def entries(key: str, count: int, *fields: Argument) -> Requests:
    return [(0, ("XADD", key, f"{i}-1", "number", i, *fields)) for i in range(1, count + 1)]


def shapes() -> Requests:
    """Entries of several shapes: same fields, other fields, numbers at their edges, huge ones."""
    numbers: list[int | str] = [0, -1, 127, 128, 4095, -4096, 32767, -32768, 8388607, 2**31 - 1]
    numbers += [-(2**31), 2**63 - 1, -(2**63), 2**63, "007", "1.5", "-0", ""]
    found: Requests = [(0, ("XADD", "shapes", f"1-{i}", "n", n)) for i, n in enumerate(numbers, 1)]
    found += [
        (0, ("XADD", "shapes", "2-0", "a", 1, "b", 2, "c", 3)),
        (0, ("XADD", "shapes", "2-1", "a", 4, "b", 5, "c", 6)),
        (0, ("XADD", "shapes", "2-2", "", "", "", "")),
        (0, ("XADD", "shapes", "3-0", BINARY, BINARY[::-1])),
        (0, ("XADD", "shapes", "4-0", "sixty-three", "x" * 63)),
        (0, ("XADD", "shapes", "4-1", "sixty-four", "x" * 64)),
        (0, ("XADD", "shapes", "4-2", "more", "y" * 4095)),
        (0, ("XADD", "shapes", "4-3", "more", "y" * 4096)),
        (0, ("XADD", "shapes", "5-0", "huge", BINARY * 1000)),
        (0, ("XADD", "shapes", f"{2**64 - 1}-{2**64 - 2}", "last", "of all")),
    ]
    return found


def nodes() -> Requests:
    """Several nodes, deletions within them and of whole ones, trims."""
    return [
        *entries("nodes", 350, "text", "lamp"),
        *((0, ("XDEL", "nodes", f"{i}-1")) for i in range(120, 180, 3)),
        (0, ("XDEL", "nodes", *(f"{i}-1" for i in range(201, 301)))),
        (0, ("XTRIM", "nodes", "MAXLEN", "=", 180)),
        *entries("capped", 250),
        (0, ("XTRIM", "capped", "MAXLEN", "~", 100)),
        (0, ("XTRIM", "capped", "MINID", "=", "160-0")),
        (0, ("XADD", "empty", "7-7", "a", "b")),
        (0, ("XDEL", "empty", "7-7")),
        (0, ("XGROUP", "CREATE", "made", "waiting", "$", "MKSTREAM")),
        (0, ("XADD", "state", "5-0", "a", "b")),
        (0, ("XSETID", "state", "9-9", "ENTRIESADDED", 40, "MAXDELETEDID", "3-3")),
    ]


def groups() -> Requests:
    """Groups at every place, consumers with and without pending entries, entries-read unknown."""
    return [
        *entries("groups", 130, "text", "x" * 30),
        (0, ("XGROUP", "CREATE", "groups", "all", "0")),
        (0, ("XREADGROUP", "GROUP", "all", "alice", "COUNT", 40, "STREAMS", "groups", ">")),
        (0, ("XREADGROUP", "GROUP", "all", "bob", "COUNT", 60, "STREAMS", "groups", ">")),
        (0, ("XACK", "groups", "all", *(f"{i}-1" for i in range(1, 100, 7)))),
        (0, ("XCLAIM", "groups", "all", "carol", 0, "3-1", "50-1", "RETRYCOUNT", 300)),
        (0, ("XCLAIM", "groups", "all", "alice", 0, "51-1", "TIME", 1_600_000_000_000, "JUSTID")),
        (0, ("XGROUP", "CREATECONSUMER", "groups", "all", "idle")),
        (0, ("XGROUP", "CREATE", "groups", "end", "$")),
        (0, ("XGROUP", "CREATE", "groups", "known", "20-1", "ENTRIESREAD", 20)),
        (0, ("XREADGROUP", "GROUP", "known", "dave", "COUNT", 3, "STREAMS", "groups", ">")),
        (0, ("XGROUP", "CREATE", "groups", "unknown", "77-0")),
        (0, ("XGROUP", "CREATE", "groups", BINARY, "100-1")),
        (0, ("XREADGROUP", "GROUP", BINARY, BINARY[::-1], "NOACK", "COUNT", 2, "STREAMS", "groups",
             ">")),
        (0, ("XGROUP", "CREATE", "shapes", "reader", "0")),
        (0, ("XREADGROUP", "GROUP", "reader", "one", "COUNT", 5, "STREAMS", "shapes", ">")),
        (0, ("PEXPIREAT", "groups", FAR_MS)),
    ]  # fmt: skip


def dangling() -> Requests:
    """Pending entries whose entry is deleted: requests cannot say them, snapshots can."""
    return [
        *entries("dangling", 9),
        (0, ("XGROUP", "CREATE", "dangling", "g", "0")),
        (0, ("XREADGROUP", "GROUP", "g", "a", "COUNT", 6, "STREAMS", "dangling", ">")),
        (0, ("XDEL", "dangling", "2-1", "6-1", "8-1")),
    ]


def strings() -> Requests:
    numbers: list[int | str] = [0, 12, -129, 40000, -70000, 2**31, -(2**63), "012", "+1", " 1"]
    return [
        *((0, ("SET", f"number:{i}", number)) for i, number in enumerate(numbers)),
        (0, ("SET", "text", "lamp")),
        (0, ("SET", "compressible", "the same words again " * 5000)),
        (0, ("SET", "random", bytes((i * i * 7 + i // 3) % 251 for i in range(30_000)))),
        (0, ("SET", "nothing", "")),
        (0, ("SET", BINARY, BINARY)),
        (0, ("SET", "later", "gone", "PXAT", FAR_MS)),
        (5, ("SET", "elsewhere", 1)),
        (15, ("XADD", "elsewhere", "1-1", "a", "b")),
        (15, ("PEXPIREAT", "elsewhere", FAR_MS + 1)),
    ]


def lists() -> Requests:
    """Of one node and of many, with elements that are numbers, compressible, and too large."""
    numbers = [0, 12, -129, 40000, -70000, 2**31, -(2**63), 2**63, "012", "+1", "", "x" * 64]
    return [
        (0, ("RPUSH", "list:small", *numbers)),
        *((0, ("RPUSH", "list:long", *range(start, start + 500))) for start in range(0, 5000, 500)),
        (0, ("LSET", "list:long", 2500, "lamp")),
        (0, ("RPUSH", "list:mixed", "a", "b" * 20_000, BINARY, "c" * 5000, "d" * 9000, "e")),
        (0, ("LINSERT", "list:mixed", "BEFORE", "a", "f" * 9000)),
        (0, ("PEXPIREAT", "list:mixed", FAR_MS)),
        (5, ("LPUSH", "list", 1, 2, 3)),
    ]


def sets() -> Requests:
    """In each form that either server has, with members that are numbers, long and binary."""
    numbers = [0, -1, 2**15, 2**31, -(2**63), 2**63 - 1]
    return [
        *((0, ("SADD", f"set:numbers:{i}", *numbers[:i])) for i in range(1, 7)),
        (0, ("SADD", "set:small", "lamp", "", "012", 7, 2**63, BINARY[:60])),
        (0, ("SADD", "set:long", "x" * 65, BINARY, 1)),
        (0, ("SADD", "set:many", *(f"member {i}" for i in range(700)))),
        (0, ("SADD", "set:many numbers", *range(-300, 300))),
        (0, ("PEXPIREAT", "set:small", FAR_MS)),
        (15, ("SADD", "set", 1, 2, 3)),
    ]


def sorted_sets() -> Requests:
    """Small and large ones, with scores of every kind, and places."""
    scores = ["0", "1", "-1", "0.1", "2.5", "-7.25", "1e17", "1e300", "5e-324", "inf", "-inf"]
    return [
        (0, ("ZADD", "zset:scores", *(x for i, n in enumerate(scores) for x in (n, f"m{i}")))),
        (0, ("ZADD", "zset:numbers", 1, 1, 2, -2, 3, 2**63 - 1, 4, "007", 5, "")),
        (0, ("ZADD", "zset:long", "0.3", "x" * 65, "0.1", BINARY, "0.2", 7)),
        (0, ("ZADD", "zset:many", *(x for i in range(500) for x in (str(i / 7), f"member {i}")))),
        (
            0,
            (
                "GEOADD",
                "places",
                "13.361389",
                "38.115556",
                "Palermo",
                "15.087269",
                "37.502669",
                "Catania",
            ),
        ),
        (0, ("PEXPIREAT", "zset:numbers", FAR_MS)),
        (5, ("ZADD", "zset", 1, "a", 1, "b")),
    ]


def hashes() -> Requests:
    """Compact ones and tables; fields and values that are numbers, binary, and long."""
    numbers = [0, 12, -129, 40000, -70000, 2**31, -(2**63), 2**63, "012", "+1", ""]
    return [
        (0, ("HSET", "hash:small", "f", "v", "", "", *(w for n in numbers for w in (f"n{n}", n)))),
        (0, ("HDEL", "hash:small", "f", "n12")),
        (0, ("HSET", "hash:small", "f", "again", "n0", 1)),
        (0, ("HSET", "hash:many", *range(2000))),
        (0, ("HSET", "hash:long", BINARY, BINARY[::-1], "text", "the same words again " * 500)),
        (0, ("PEXPIREAT", "hash:long", FAR_MS)),
        (5, ("HINCRBYFLOAT", "hash", "f", "0.1")),
    ]


def everything() -> Requests:
    return [
        *shapes(),
        *nodes(),
        *groups(),
        *strings(),
        *lists(),
        *sets(),
        *sorted_sets(),
        *hashes(),
    ]


def more() -> Requests:
    """Changes on top of it, which stay requests in an append-only file."""
    return [
        (0, ("XADD", "nodes", "MAXLEN", "~", 100, "1000-1", "a", "b")),
        (0, ("XADD", "nodes", "MAXLEN", "=", 150, "1000-2", "a", "b")),
        (0, ("XREADGROUP", "GROUP", "all", "bob", "COUNT", 9, "STREAMS", "groups", ">")),
        (0, ("XAUTOCLAIM", "groups", "all", "carol", 0, "20-1", "COUNT", 4)),
        (0, ("XGROUP", "SETID", "groups", "end", "90-1", "ENTRIESREAD", 90)),
        (0, ("XGROUP", "DELCONSUMER", "groups", "all", "alice")),
        (0, ("XGROUP", "DESTROY", "groups", "unknown")),
        (0, ("XGROUP", "CREATECONSUMER", "groups", "known", "erin")),
        (0, ("MULTI",)),
        (0, ("SET", "number:0", 1)),
        (0, ("XTRIM", "capped", "MAXLEN", 50)),
        (0, ("EXEC",)),
        (5, ("INCRBY", "elsewhere", 41)),
        (5, ("APPEND", "elsewhere", "x")),
        (15, ("XADD", "elsewhere", "*", "a", "b")),
        (0, ("LPOP", "list:long", 7)),
        (0, ("RPOPLPUSH", "list:long", "list:small")),
        (0, ("LMPOP", 2, "nothing here", "list:mixed", "RIGHT", "COUNT", 2)),
        (5, ("BLMOVE", "list", "list", "LEFT", "RIGHT", 1)),
        (0, ("SPOP", "set:many", 20)),
        (0, ("SREM", "set:small", "lamp")),
        (0, ("SMOVE", "set:small", "set:made", 7)),
        (0, ("SUNIONSTORE", "set:union", "set:numbers:3", "set:small")),
        (0, ("ZINCRBY", "zset:scores", "0.1", "m3")),
        (0, ("ZPOPMAX", "zset:many", 3)),
        (0, ("ZUNIONSTORE", "zset:union", 2, "zset:many", "zset:scores", "WEIGHTS", "0.5", 2)),
        (0, ("ZRANGESTORE", "zset:range", "zset:many", 10, 40)),
        (0, ("ZMPOP", 2, "nothing here", "zset:long", "MIN")),
        (5, ("BZPOPMIN", "zset", 1)),
        (0, ("GEOADD", "places", "12.5", "37.9", "Trapani")),
        (0, ("HSET", "hash:small", "f", "once more", "new", 1)),
        (0, ("HDEL", "hash:many", *range(100, 200))),
        (0, ("HINCRBYFLOAT", "hash:small", "n0", "1.25")),
        (5, ("HDEL", "hash", "f")),
        (0, ("DEL", "text")),
        (0, ("PERSIST", "later")),
    ]
