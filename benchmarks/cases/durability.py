"""What it costs to keep every write on disk: `appendonly yes`, with each policy."""

from __future__ import annotations

from functools import partial

from benchmarks.cases import groups
from benchmarks.cases.case import Case, Scale
from benchmarks.cases.rates import rate
from benchmarks.load.load import Load
from benchmarks.load.redis_benchmark import RedisBenchmark

POLICIES = ("everysec", "always")
ADDS = ((1, 1), (1, 50), (1, 500), (16, 50), (64, 50), (256, 50))


def _directives(policy: str) -> tuple[str, ...]:
    # A rewrite would begin in the middle of a measurement, for one server and not for the other.
    return (
        *("--appendonly", "yes", "--appendfsync", policy),
        *("--auto-aof-rewrite-percentage", "0"),
    )


def _add(pipeline: int, clients: int, _: Scale) -> Load:
    return RedisBenchmark(("XADD", "s", "*", "f", "__rand_int__"), clients, pipeline)


def _set(_: Scale) -> Load:
    return RedisBenchmark(("SET", "key:__rand_int__", "value"), 50, 16, 10_000)


def _cases(policy: str) -> list[Case]:
    directives = _directives(policy)
    return [
        *(
            rate(
                f"{policy}/xadd-p{pipeline}-c{clients}",
                partial(_add, pipeline, clients),
                directives=directives,
                flush=True,
                is_quick=(policy, pipeline, clients) == ("everysec", 64, 50),
            )
            for pipeline, clients in ADDS
        ),
        rate(f"{policy}/set-p16-c50", _set, directives=directives),
        *(
            rate(
                f"{policy}/group-count-{count}-consumers-10",
                partial(groups.consuming, count, 10),
                prepare=groups.fill_group,
                directives=directives,
                unit="entries/s",
            )
            for count in (10, 100)
        ),
        rate(
            f"{policy}/xautoclaim-10k",
            partial(groups.on_pending, "xautoclaim", "10k"),
            prepare=partial(groups.fill_pending, "10k"),
            directives=directives,
        ),
    ]


CASES: list[Case] = [case for policy in POLICIES for case in _cases(policy)]
