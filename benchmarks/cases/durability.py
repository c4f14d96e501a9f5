"""Cases of durability: the cost of `appendonly yes`, with each policy of `appendfsync`.

One server is used for both policies, one after the other, and filled before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.cases import groups, xadd, xrange
from benchmarks.cases.rates import rate
from benchmarks.comparison import EMPTY, Case, Scale, Setting
from benchmarks.load.load import Load
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.servers import Server

POLICIES = ("everysec", "always")
ADDS = (
    *(("small", 1, 1), ("small", 1, 50), ("small", 1, 500)),
    *(("small", 16, 50), ("small", 64, 50), ("small", 256, 50)),
    *(("1KiB", 1, 50), ("1KiB", 64, 50), ("maxlen", 1, 50), ("maxlen", 64, 50)),
)
# A rewrite would begin in the middle of a measurement, for one server and not for the other.
APPEND_ONLY = ("--appendonly", "yes", "--auto-aof-rewrite-percentage", "0")


def _kept(setting: Setting) -> Setting:
    """Return the setting with an append-only file."""
    return Setting(f"{setting.name}, kept", APPEND_ONLY, setting.prepare)


KEPT = _kept(EMPTY)


def _set(_: Scale) -> Load:
    return RedisBenchmark(("SET", "key:__rand_int__", "value"), 50, 16, 10_000)


def _use_policy(policy: str, server: Server) -> None:
    server.call("CONFIG", "SET", "appendfsync", policy)


def _cases(setting: Setting, name: str, load: Any, **options: Any) -> Iterator[Case]:
    """One case under each policy."""
    for policy in POLICIES:
        before = partial(_use_policy, policy)
        yield rate(f"{policy}/{name}", load, setting=setting, before=before, **options)


def _all() -> Iterator[Case]:
    for variant, pipeline, clients in ADDS:
        name = f"xadd-{variant}-p{pipeline}-c{clients}"
        yield from _cases(KEPT, name, partial(xadd.load, variant, clients, pipeline), flush=True)
    yield from _cases(KEPT, "set-p16-c50", _set, flush=True)
    fan_out = partial(xrange.fan_out, 100, xrange.BATCH)
    yield from _cases(KEPT, "fan-out-100-readers", fan_out, flush=True, unit="entries/s")
    # One case is enough to show that reads cost the same as without a file.
    read = partial(xrange.read, "xrange", 100)
    yield from _cases(_kept(xrange.STREAM), "xrange-count-100", read, same_replies=True)
    for count in groups.COUNTS:
        load = partial(groups.consuming, count, 10)
        name = f"group-count-{count}-consumers-10"
        yield from _cases(_kept(groups.GROUP), name, load, unit="entries/s")
    for size, setting in groups.PENDING.items():
        load = partial(groups.on_pending, "xautoclaim", size)
        yield from _cases(_kept(setting), f"xautoclaim-{size}", load)


CASES: list[Case] = list(_all())
