"""Cases of collections: small requests on large ones, and reading small ones completely."""

from __future__ import annotations

from functools import partial

from benchmarks.cases.case import Case
from benchmarks.cases.rates import rate
from benchmarks.cases.settings import Scale, Setting
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.servers import Server

MEMBERS = 10_000
FEW = 20
ANY = "member:__rand_int__"

# No request changes the size of the collection.
COMMANDS = {
    "hashes/hset": ("HSET", "hash", ANY, "value"),
    "hashes/hget": ("HGET", "hash", ANY),
    "hashes/hincrby": ("HINCRBY", "counters", ANY, "1"),
    "hashes/hgetall-20": ("HGETALL", "small hash"),
    "lists/lmove": ("LMOVE", "list", "list", "LEFT", "RIGHT"),
    "lists/lindex": ("LINDEX", "list", "5000"),
    "lists/lrange-100": ("LRANGE", "list", "0", "99"),
    "sets/sadd": ("SADD", "set", ANY),
    "sets/sismember": ("SISMEMBER", "set", ANY),
    "sets/smembers-20": ("SMEMBERS", "small set"),
    "sorted-sets/zadd": ("ZADD", "zset", "__rand_int__", ANY),
    "sorted-sets/zscore": ("ZSCORE", "zset", ANY),
    "sorted-sets/zrange-10": ("ZRANGE", "zset", "100", "109"),
    "sorted-sets/zrangebyscore-10": ("ZRANGEBYSCORE", "zset", "100", "109"),
}
# Requests in each write, and clients.
SETTINGS = [(1, 50), (64, 50)]
QUICK = {"hashes/hset", "lists/lmove", "sets/sadd", "sorted-sets/zadd"}


def _fill(server: Server, _: Scale) -> None:
    """Add the members that redis-benchmark will request."""
    names = [f"member:{number:012}" for number in range(MEMBERS)]
    server.call("HSET", "hash", *(word for name in names for word in (name, "value")))
    server.call("HSET", "counters", *(word for name in names for word in (name, "0")))
    server.call("RPUSH", "list", *names)
    server.call("SADD", "set", *names)
    server.call("ZADD", "zset", *(word for n, name in enumerate(names) for word in (str(n), name)))
    server.call("HSET", "small hash", *(word for name in names[:FEW] for word in (name, "value")))
    server.call("SADD", "small set", *names[:FEW])


COLLECTIONS = Setting("collections", prepare=_fill)


def _load(argv: tuple[str, ...], clients: int, pipeline: int, _: Scale) -> RedisBenchmark:
    return RedisBenchmark(argv, clients, pipeline, numbers=MEMBERS)


CASES: list[Case] = [
    rate(
        f"{command}-p{pipeline}-c{clients}",
        partial(_load, argv, clients, pipeline),
        setting=COLLECTIONS,
        is_quick=command in QUICK and pipeline == 64,
    )
    for command, argv in COMMANDS.items()
    for pipeline, clients in SETTINGS
]
