"""Cases of PING, SET and GET: the minimal cost of a request."""

from __future__ import annotations

from functools import partial

from benchmarks.cases.case import Case
from benchmarks.cases.rates import rate
from benchmarks.cases.settings import Scale, Setting
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.servers import Server

COMMANDS = {
    "ping": ("PING",),
    "set": ("SET", "key:__rand_int__", "value"),
    "get": ("GET", "key:__rand_int__"),
}
KEYS = 10_000
# Requests in each write, and clients.
SETTINGS = [(1, 1), (1, 50), (1, 500), (16, 50), (64, 50), (256, 50)]
TARGETS = {("ping", 64, 50): 0.8, ("set", 64, 50): 0.7, ("get", 64, 50): 0.7}
QUICK = {("ping", 1, 50), ("set", 64, 50), ("get", 64, 50)}


def _set_all(server: Server, _: Scale) -> None:
    """Set the keys that redis-benchmark will request, so that every GET finds one."""
    pairs = [(f"key:{number:012}", "value") for number in range(KEYS)]
    server.call("MSET", *(word for pair in pairs for word in pair))


STRINGS = Setting("strings", prepare=_set_all)


def _load(argv: tuple[str, ...], clients: int, pipeline: int, _: Scale) -> RedisBenchmark:
    return RedisBenchmark(argv, clients, pipeline, numbers=KEYS)


CASES: list[Case] = [
    rate(
        f"{command}/p{pipeline}-c{clients}",
        partial(_load, argv, clients, pipeline),
        setting=STRINGS,
        same_replies=True,
        at_least=TARGETS.get((command, pipeline, clients)),
        is_quick=(command, pipeline, clients) in QUICK,
    )
    for command, argv in COMMANDS.items()
    for pipeline, clients in SETTINGS
]
