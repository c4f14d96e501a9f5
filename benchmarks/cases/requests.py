"""Cases of small requests: PING, SET, GET; collections; scripts. No request changes a size.

The cases of `kinds/` are the requests that most programs are made of, on keys of ten members or
less, with the processor time of each. A request that adds is followed by one that removes.
"""

from __future__ import annotations

import hashlib
from functools import partial

from redis.lock import Lock

from benchmarks.comparison import Case, Scale, Setting
from benchmarks.load.packed import PackedRequests
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.rates import rate
from benchmarks.servers import Server, pack

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
KIND_KEYS = 8_000
KIND_CLIENTS, KIND_PIPELINE = 50, 16
TEN = range(10)
FIVE_CALLS = """
redis.call('SET', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], 'field:1', ARGV[1])
redis.call('HGET', KEYS[2], 'field:2')
redis.call('ZADD', KEYS[3], 5, 'member:5')
return redis.call('EXISTS', KEYS[1])
"""
LIBRARY = (
    f"#!lua name=kinds\nredis.register_function('five', function(KEYS, ARGV) {FIVE_CALLS} end)"
)
FIVE_CALLS_SHA = hashlib.sha1(FIVE_CALLS.encode()).hexdigest()
ON_THREE = ("3", "key:{}", "hash:{}", "zset:{}", "value")
# What is sent of each key in turn; {} becomes its number. Rillway's least share of Redis's rate.
KINDS: dict[str, tuple[float, tuple[tuple[str, ...], ...]]] = {
    "set": (1.0, (("SET", "key:{}", "value"),)),
    "get": (1.0, (("GET", "key:{}"),)),
    "incr": (0.9, (("INCR", "count:{}"),)),
    "hset": (0.9, (("HSET", "hash:{}", "field:1", "value"),)),
    "hget": (0.9, (("HGET", "hash:{}", "field:1"),)),
    "hgetall-10": (0.9, (("HGETALL", "hash:{}"),)),
    "lpush-rpop": (0.9, (("LPUSH", "list:{}", "item:0"), ("RPOP", "list:{}"))),
    "lmove": (0.9, (("LMOVE", "list:{}", "list:{}", "LEFT", "RIGHT"),)),
    "sadd": (0.9, (("SADD", "set:{}", "member:1"),)),
    "sadd-spop": (0.9, (("SADD", "new set:{}", "member:1"), ("SPOP", "new set:{}"))),
    "zadd": (0.9, (("ZADD", "zset:{}", "5", "member:5"), ("ZADD", "zset:{}", "6", "member:5"))),
    "zadd-zpopmin": (0.9, (("ZADD", "zset:{}", "-1", "first"), ("ZPOPMIN", "zset:{}"))),
    "zrange-10": (0.9, (("ZRANGE", "zset:{}", "0", "9"),)),
    "zrangebyscore-limit": (
        0.9,
        (("ZRANGEBYSCORE", "zset:{}", "0", "+inf", "LIMIT", "0", "1"),),
    ),
    "expire": (0.9, (("EXPIRE", "volatile:{}", "100000"),)),
    "ttl": (0.9, (("TTL", "key:{}"),)),
    "exists": (0.9, (("EXISTS", "key:{}"),)),
    "set-del": (0.9, (("SET", "new key:{}", "value"), ("DEL", "new key:{}"))),
    "evalsha-5": (0.8, (("EVALSHA", FIVE_CALLS_SHA, *ON_THREE),)),
    "fcall-5": (0.8, (("FCALL", "five", *ON_THREE),)),
}
# Those that are measured without a pipeline, too.
ALSO_ALONE = {"evalsha-5": 0.9, "fcall-5": 0.9}
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


def _fill_kinds(server: Server, _: Scale) -> None:
    """Add the keys of `kinds/`, each type with ten members."""
    for n in range(KIND_KEYS):
        server.pipeline(
            [
                pack("MSET", f"key:{n}", "value", f"volatile:{n}", "value", f"count:{n}", 10**9),
                pack("HSET", f"hash:{n}", *(w for m in TEN for w in (f"field:{m}", "value"))),
                pack("RPUSH", f"list:{n}", *(f"item:{m}" for m in TEN)),
                pack("SADD", f"set:{n}", *(f"member:{m}" for m in TEN)),
                pack("ZADD", f"zset:{n}", *(w for m in TEN for w in (m, f"member:{m}"))),
            ]
        )
    server.call("SCRIPT", "LOAD", FIVE_CALLS)
    server.call("FUNCTION", "LOAD", LIBRARY)


def kind(name: str, pipeline: int, _: Scale) -> PackedRequests:
    """The load of a kind of request: a key of its own for each."""
    requests = KINDS[name][1]
    argvs = [
        [word.format(number) for word in words] for number in range(KIND_KEYS) for words in requests
    ]
    return PackedRequests(argvs, KIND_CLIENTS, pipeline=pipeline)


KIND_KEYS_ARE_THERE = Setting("kinds of keys", prepare=_fill_kinds)
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


def _kind_case(name: str, pipeline: int, least: float) -> Case:
    return rate(
        f"kinds/{name}-p{pipeline}-c{KIND_CLIENTS}",
        partial(kind, name, pipeline),
        setting=KIND_KEYS_ARE_THERE,
        same_replies=True,
        least=least,
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
    *(_kind_case(name, KIND_PIPELINE, least) for name, (least, _) in KINDS.items()),
    *(_kind_case(name, 1, least) for name, least in ALSO_ALONE.items()),
]
