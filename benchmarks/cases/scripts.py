"""Cases of scripts: EVALSHA of an empty one, of a rate limiter, and of redis-py's Lock."""

from __future__ import annotations

import hashlib
from functools import partial

from redis.lock import Lock

from benchmarks.cases.case import Case
from benchmarks.cases.rates import rate
from benchmarks.cases.settings import Scale, Setting
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.servers import Server

NOTHING = "return 1"
RATE_LIMITER = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
local left_ms = redis.call('PTTL', KEYS[1])
redis.call('GET', KEYS[1])
return {count > tonumber(ARGV[1]) and 1 or 0, left_ms}
"""
SCRIPTS = (NOTHING, RATE_LIMITER, Lock.LUA_REACQUIRE_SCRIPT)


def _evalsha(script: str, *words: str) -> tuple[str, ...]:
    return ("EVALSHA", hashlib.sha1(script.encode()).hexdigest(), *words)


COMMANDS = {
    "scripts/nothing": _evalsha(NOTHING, "0"),
    "scripts/rate-limiter": _evalsha(RATE_LIMITER, "1", "limit:__rand_int__", "100", "3600000"),
    "scripts/lock": _evalsha(Lock.LUA_REACQUIRE_SCRIPT, "1", "lock", "token", "3600000"),
    # One of the commands in them, by itself.
    "scripts/incr": ("INCR", "count:__rand_int__"),
}
# Requests in each write, and clients.
SETTINGS = [(1, 50), (64, 50)]
USERS = 10_000


def _prepare(server: Server, _: Scale) -> None:
    for script in SCRIPTS:
        server.call("SCRIPT", "LOAD", script)
    server.call("SET", "lock", "token", "PX", "3600000")


CACHED = Setting("scripts", prepare=_prepare)


def _load(argv: tuple[str, ...], clients: int, pipeline: int, _: Scale) -> RedisBenchmark:
    return RedisBenchmark(argv, clients, pipeline, numbers=USERS)


CASES: list[Case] = [
    rate(
        f"{command}-p{pipeline}-c{clients}",
        partial(_load, argv, clients, pipeline),
        setting=CACHED,
        is_quick=command == "scripts/rate-limiter",
    )
    for command, argv in COMMANDS.items()
    for pipeline, clients in SETTINGS
]
