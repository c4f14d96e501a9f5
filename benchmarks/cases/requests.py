"""Cases of small requests: PING, SET, GET; collections; scripts. No request changes a size."""

from __future__ import annotations

import hashlib
from functools import partial

from redis.lock import Lock

from benchmarks.comparison import Case, Scale, Setting
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.rates import rate
from benchmarks.servers import Server

NUMBERS = 10_000
FEW = 20
ANY = "member:__rand_int__"
RATE_LIMITER = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
local left_ms = redis.call('PTTL', KEYS[1])
redis.call('GET', KEYS[1])
return {count > tonumber(ARGV[1]) and 1 or 0, left_ms}
"""
SCRIPTS = {"nothing": "return 1", "limiter": RATE_LIMITER, "lock": Lock.LUA_REACQUIRE_SCRIPT}


def _evalsha(name: str, *words: str) -> tuple[str, ...]:
    return ("EVALSHA", hashlib.sha1(SCRIPTS[name].encode()).hexdigest(), *words)


PLAIN: dict[str, tuple[str, ...]] = {
    "ping": ("PING",),
    "set": ("SET", "key:__rand_int__", "value"),
    "get": ("GET", "key:__rand_int__"),
}
OTHERS: dict[str, tuple[str, ...]] = {
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
    "scripts/nothing": _evalsha("nothing", "0"),
    "scripts/rate-limiter": _evalsha("limiter", "1", "limit:__rand_int__", "100", "3600000"),
    "scripts/lock": _evalsha("lock", "1", "lock", "token", "3600000"),
    "scripts/incr": ("INCR", "count:__rand_int__"),  # one of the commands in them, by itself
}
# Requests in each write, and clients.
PLAIN_SETTINGS = [(1, 1), (1, 50), (1, 500), (16, 50), (64, 50), (256, 50)]
OTHER_SETTINGS = [(1, 50), (64, 50)]


def _fill(server: Server, _: Scale) -> None:
    """Add the keys and members that redis-benchmark will request, so that every GET finds one."""
    keys = [f"key:{number:012}" for number in range(NUMBERS)]
    names = [f"member:{number:012}" for number in range(NUMBERS)]
    server.call("MSET", *(word for key in keys for word in (key, "value")))
    server.call("HSET", "hash", *(word for name in names for word in (name, "value")))
    server.call("HSET", "counters", *(word for name in names for word in (name, "0")))
    server.call("RPUSH", "list", *names)
    server.call("SADD", "set", *names)
    server.call("ZADD", "zset", *(word for n, name in enumerate(names) for word in (str(n), name)))
    server.call("HSET", "small hash", *(word for name in names[:FEW] for word in (name, "value")))
    server.call("SADD", "small set", *names[:FEW])
    for script in SCRIPTS.values():
        server.call("SCRIPT", "LOAD", script)
    server.call("SET", "lock", "token", "PX", "3600000")


FILLED = Setting("keys", prepare=_fill)


def _load(argv: tuple[str, ...], clients: int, pipeline: int, _: Scale) -> RedisBenchmark:
    return RedisBenchmark(argv, clients, pipeline, numbers=NUMBERS)


def _case(name: str, argv: tuple[str, ...], pipeline: int, clients: int) -> Case:
    return rate(
        name,
        partial(_load, argv, clients, pipeline),
        setting=FILLED,
        same_replies=argv[0] in ("PING", "SET", "GET"),
    )


CASES: list[Case] = [
    *(
        _case(f"{name}/p{pipeline}-c{clients}", argv, pipeline, clients)
        for name, argv in PLAIN.items()
        for pipeline, clients in PLAIN_SETTINGS
    ),
    *(
        _case(f"{name}-p{pipeline}-c{clients}", argv, pipeline, clients)
        for name, argv in OTHERS.items()
        for pipeline, clients in OTHER_SETTINGS
    ),
]
