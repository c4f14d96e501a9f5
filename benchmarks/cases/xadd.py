"""Cases of XADD: small and 1 KiB entries, with and without a cap, and mixed ones."""

from __future__ import annotations

from functools import partial

from benchmarks.cases.case import Case
from benchmarks.cases.rates import rate
from benchmarks.contenders import Scale
from benchmarks.load.entries import KIB, MIXED, SMALL
from benchmarks.load.load import Load
from benchmarks.load.pipelines import Pipelining
from benchmarks.load.redis_benchmark import RedisBenchmark

PIPELINES = (1, 16, 64, 256)
CLIENTS = (1, 50, 500)
CAP = "100000"
STREAMS = 100

VARIANTS = ("small", "1KiB", "maxlen")
# The requests of redis-benchmark; their numbers differ in each request.
ARGUMENTS = {
    "small": ("XADD", "s", "*", "f", "__rand_int__"),
    "maxlen": ("XADD", "s", "MAXLEN", "~", CAP, "*", "f", "__rand_int__"),
    # Less simple producers, measured for two pipeline lengths only.
    "three-fields": ("XADD", "s", "*", "sensor", "__rand_int__", "temp", "21.5", "state", "ok"),
    "hundred-streams": ("XADD", "s__rand_int__", "*", "f", "v"),
    "own-fields": ("XADD", "s", "*", "__rand_int__", "__rand_int__"),
}
OTHERS = ("three-fields", "hundred-streams", "own-fields")
# Sent by a faster load than redis-benchmark, which would be the limit for Redis.
PACKED = {"1KiB": KIB, "packed": SMALL, "mixed": MIXED}
TARGETS = {
    ("small", 64, 50): 1.45,
    ("small", 1, 50): 0.97,
    ("small", 1, 1): 0.85,
    ("1KiB", 64, 50): 0.9,
    ("hundred-streams", 64, 50): 0.9,
    ("mixed", 16, 50): 1.0,
    ("mixed", 64, 50): 1.0,
}
QUICK = {
    *(("small", pipeline, 50) for pipeline in (1, 16, 64)),
    *(("1KiB", 64, 50), ("maxlen", 64, 50), ("mixed", 64, 50)),
}


def load(variant: str, clients: int, pipeline: int, _: Scale) -> Load:
    """XADD in one of the variants."""
    if variant in PACKED:
        return Pipelining(PACKED[variant], clients, pipeline)
    numbers = STREAMS if variant == "hundred-streams" else 1_000_000
    return RedisBenchmark(ARGUMENTS[variant], clients, pipeline, numbers)


def _case(variant: str, pipeline: int, clients: int) -> Case:
    return rate(
        f"xadd/{variant}-p{pipeline}-c{clients}",
        partial(load, variant, clients, pipeline),
        flush=True,
        at_least=TARGETS.get((variant, pipeline, clients)),
        is_quick=(variant, pipeline, clients) in QUICK,
    )


CASES: list[Case] = [
    *(
        _case(variant, pipe, clients)
        for variant in VARIANTS
        for pipe in PIPELINES
        for clients in CLIENTS
    ),
    *(_case("packed", pipe, 50) for pipe in PIPELINES[1:]),
    *(_case("mixed", pipe, 50) for pipe in (1, 16, 64)),
    *(_case(variant, pipe, 50) for variant in OTHERS for pipe in (1, 64)),
]
