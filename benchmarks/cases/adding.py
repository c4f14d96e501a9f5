"""XADD: small entries and 1 KiB ones, with and without a cap, and some that are less alike."""

from __future__ import annotations

from functools import partial

from benchmarks.cases.case import Case, Scale
from benchmarks.cases.rates import rate
from benchmarks.load.redis_benchmark import RedisBenchmark

PIPELINES = (1, 16, 64, 256)
CLIENTS = (1, 50, 500)
DIGITS = 12
CAP = "100000"

SMALL = ("XADD", "s", "*", "f", "__rand_int__")
VARIANTS = {
    "small": SMALL,
    "1KiB": ("XADD", "s", "*", "f", "__rand_int__" + "x" * (1024 - DIGITS)),
    "maxlen": ("XADD", "s", "MAXLEN", "~", CAP, "*", "f", "__rand_int__"),
}
# Measured for two pipelines only: what a producer may do that is not the simplest thing.
OTHERS = {
    "three-fields": ("XADD", "s", "*", "sensor", "__rand_int__", "temp", "21.5", "state", "ok"),
    "hundred-streams": ("XADD", "s__rand_int__", "*", "f", "v"),
    "own-fields": ("XADD", "s", "*", "__rand_int__", "__rand_int__"),
}
STREAMS = 100
TARGETS = {("small", 64, 50): 1.0, ("small", 1, 50): 0.9}
QUICK = {*TARGETS, ("1KiB", 64, 50), ("maxlen", 64, 50), ("small", 16, 50)}


def _load(variant: str, clients: int, pipeline: int, _: Scale) -> RedisBenchmark:
    argv = (VARIANTS | OTHERS)[variant]
    numbers = STREAMS if variant == "hundred-streams" else 1_000_000
    return RedisBenchmark(argv, clients, pipeline, numbers)


def _case(variant: str, pipeline: int, clients: int) -> Case:
    return rate(
        f"xadd/{variant}-p{pipeline}-c{clients}",
        partial(_load, variant, clients, pipeline),
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
    *(_case(variant, pipe, 50) for variant in OTHERS for pipe in (1, 64)),
]
