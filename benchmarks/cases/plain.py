"""PING, SET and GET: what a request costs that does next to nothing."""

from __future__ import annotations

from functools import partial

from benchmarks.cases.case import Case, Scale
from benchmarks.cases.rates import rate
from benchmarks.load.redis_benchmark import RedisBenchmark

COMMANDS = {
    "ping": ("PING",),
    "set": ("SET", "key:__rand_int__", "value"),
    "get": ("GET", "key:__rand_int__"),
}
KEYS = 10_000
# Requests in each write, and clients.
SETTINGS = [(1, 1), (1, 50), (1, 500), (16, 50), (64, 50), (256, 50)]
QUICK = {("ping", 1, 50), ("set", 64, 50), ("get", 64, 50)}


def _load(argv: tuple[str, ...], clients: int, pipeline: int, _: Scale) -> RedisBenchmark:
    return RedisBenchmark(argv, clients, pipeline, numbers=KEYS)


CASES: list[Case] = [
    rate(
        f"{command}/p{pipeline}-c{clients}",
        partial(_load, argv, clients, pipeline),
        is_quick=(command, pipeline, clients) in QUICK,
    )
    for command, argv in COMMANDS.items()
    for pipeline, clients in SETTINGS
]
