"""Cases of XADD: small and 1 KiB entries, with and without a cap, and mixed ones."""

from __future__ import annotations

from functools import partial

from benchmarks.comparison import Case, Scale
from benchmarks.load.entries import KIB, MIXED
from benchmarks.load.load import Load
from benchmarks.load.packed import PackedEntries
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.rates import rate

PIPELINES = (1, 16, 64, 256)
CLIENTS = (1, 50, 500)
# The requests of redis-benchmark; their numbers differ in each request.
ARGUMENTS = {
    "small": ("XADD", "s", "*", "f", "__rand_int__"),
    "maxlen": ("XADD", "s", "MAXLEN", "~", "100000", "*", "f", "__rand_int__"),
    "hundred-streams": ("XADD", "s__rand_int__", "*", "f", "v"),
    "own-fields": ("XADD", "s", "*", "__rand_int__", "__rand_int__"),
}
# Sent by a faster load than redis-benchmark, which would be the limit for Redis.
PACKED = {"1KiB": KIB, "mixed": MIXED}


def load(variant: str, clients: int, pipeline: int, _: Scale) -> Load:
    """XADD in one of the variants."""
    if variant in PACKED:
        return PackedEntries(PACKED[variant], clients, pipeline)
    numbers = 100 if variant == "hundred-streams" else 1_000_000
    return RedisBenchmark(ARGUMENTS[variant], clients, pipeline, numbers)


def _case(variant: str, pipeline: int, clients: int) -> Case:
    name = f"xadd/{variant}-p{pipeline}-c{clients}"
    return rate(name, partial(load, variant, clients, pipeline), flush=True)


CASES: list[Case] = [
    *(
        _case(variant, pipe, clients)
        for variant in ("small", "1KiB", "maxlen")
        for pipe in PIPELINES
        for clients in CLIENTS
    ),
    *(_case("mixed", pipe, 50) for pipe in (1, 16, 64)),
    *(_case(variant, 64, 50) for variant in ("hundred-streams", "own-fields")),
]
