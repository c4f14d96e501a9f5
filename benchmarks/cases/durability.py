"""Cases of durability: the cost of `appendonly yes`, with each policy of `appendfsync`.

One server is used for both policies, one after the other, and filled before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.cases import groups, xadd, xrange
from benchmarks.cases.case import Case
from benchmarks.cases.rates import rate
from benchmarks.contenders import Scale, Setting
from benchmarks.load.load import Load
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.servers import Server

POLICIES = ("everysec", "always")
ADDS = (
    *(("small", 1, 1), ("small", 1, 50), ("small", 1, 500)),
    *(("small", 16, 50), ("small", 64, 50), ("small", 256, 50)),
    *(("1KiB", 1, 50), ("1KiB", 64, 50), ("maxlen", 1, 50), ("maxlen", 64, 50)),
)
QUICK = "everysec/xadd-small-p64-c50"


def _kept(setting: Setting) -> Setting:
    """Return the setting with an append-only file."""
    # A rewrite would begin in the middle of a measurement, for one server and not for the other.
    directives = ("--appendonly", "yes", "--auto-aof-rewrite-percentage", "0")
    return Setting(f"{setting.name}, kept", (*setting.directives, *directives), setting.prepare)


EMPTY = _kept(Setting("empty"))
STREAM = _kept(xrange.STREAM)
GROUP = _kept(groups.GROUP)
PENDING = {size: _kept(setting) for size, setting in groups.PENDING.items()}


def _set(_: Scale) -> Load:
    return RedisBenchmark(("SET", "key:__rand_int__", "value"), 50, 16, 10_000)


def _use_policy(policy: str, server: Server) -> None:
    server.call("CONFIG", "SET", "appendfsync", policy)


def _cases(setting: Setting, name: str, load: Any, **settings: Any) -> Iterator[Case]:
    """One case under each policy."""
    for policy in POLICIES:
        yield rate(
            f"{policy}/{name}",
            load,
            setting=setting,
            before=partial(_use_policy, policy),
            is_quick=f"{policy}/{name}" == QUICK,
            **settings,
        )


def _adds() -> Iterator[Case]:
    for variant, pipeline, clients in ADDS:
        name = f"xadd-{variant}-p{pipeline}-c{clients}"
        load = partial(xadd.load, variant, clients, pipeline)
        yield from _cases(EMPTY, name, load, flush=True)
    yield from _cases(EMPTY, "set-p16-c50", _set, flush=True)
    fan_out = partial(xrange.fan_out, 100, xrange.BATCH)
    yield from _cases(EMPTY, "fan-out-100-readers", fan_out, flush=True, unit="entries/s")


def _reads() -> Iterator[Case]:
    """One case is enough to show that reads cost the same as without a file."""
    load = partial(xrange.read, "xrange", 100)
    yield from _cases(STREAM, "xrange-count-100", load, same_replies=True)


def _groups() -> Iterator[Case]:
    for count in groups.COUNTS:
        load = partial(groups.consuming, count, 10)
        yield from _cases(GROUP, f"group-count-{count}-consumers-10", load, unit="entries/s")


def _claims() -> Iterator[Case]:
    for size, setting in PENDING.items():
        for command in ("xautoclaim", "xreadgroup-claim"):
            load = partial(groups.on_pending, command, size)
            yield from _cases(setting, f"{command}-{size}", load, since=groups.since(command))


CASES: list[Case] = [*_adds(), *_reads(), *_groups(), *_claims()]
