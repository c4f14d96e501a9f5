"""Cases of durability: each load in memory only, with a file synced each second, and with one that
is synced before each reply; each without replicas, and with three that take the stream.

A server is filled once for the three policies, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.cases import groups
from benchmarks.comparison import EMPTY, Case, Scale, Setting
from benchmarks.load.entries import KIB, MIXED, SMALL, Shape
from benchmarks.load.load import Load
from benchmarks.load.packed import PackedEntries, PackedRequests, PackedTransactions
from benchmarks.load.replicas import attach
from benchmarks.rates import rate
from benchmarks.servers import Server

POLICIES = ("memory", "everysec", "always")
REPLICAS = (0, 3)
# A rewrite would begin in the middle of a measurement, for one server and not for the other.
APPEND_ONLY = ("--appendonly", "yes", "--auto-aof-rewrite-percentage", "0")
SWITCHED = ("--auto-aof-rewrite-percentage", "0", "--repl-diskless-sync-delay", "0")
SWITCH_SECONDS = 60.0


@dataclass(frozen=True)
class Kind:
    """A load: what it is made of, and the data that it needs."""

    name: str
    load: Callable[[Scale], Load]
    setting: Setting = EMPTY
    options: tuple[tuple[str, Any], ...] = (("flush", True),)


def _entries(shape: Shape, clients: int, pipeline: int) -> Callable[[Scale], Load]:
    return lambda _: PackedEntries(shape, clients, pipeline)


def _set(_: Scale) -> Load:
    requests = [("SET", b"key:%06d" % (number * 7919 % 10_000), "value") for number in range(1000)]
    return PackedRequests(requests, 50, pipeline=16)


def _transactions(_: Scale) -> Load:
    return PackedTransactions(SMALL, 50, 10)


ENTRIES = (("unit", "entries/s"),)
KINDS = (
    Kind("xadd-small-p1-c1", _entries(SMALL, 1, 1)),
    Kind("xadd-small-p1-c50", _entries(SMALL, 50, 1)),
    Kind("xadd-small-p64-c50", _entries(SMALL, 50, 64)),
    Kind("xadd-mixed-p16-c50", _entries(MIXED, 50, 16)),
    Kind("xadd-1KiB-p64-c50", _entries(KIB, 50, 64)),
    Kind("multi-of-10-c50", _transactions),
    Kind("set-p16-c50", _set),
    *(
        Kind(
            f"group-count-{count}-consumers-10",
            partial(groups.consuming, count, 10),
            groups.GROUP,
            ENTRIES,
        )
        for count in groups.COUNTS
    ),
    *(
        Kind(f"xautoclaim-{size}", partial(groups.on_pending, "xautoclaim", size), setting, ())
        for size, setting in groups.PENDING.items()
    ),
)


def _with_replicas(setting: Setting, count: int) -> Setting:
    """The setting with replicas, which are attached once its data is there."""

    def prepare(server: Server, scale: Scale) -> None:
        if setting.prepare:
            setting.prepare(server, scale)
        attach(count, server)

    name = f"{setting.name}, {count} replicas"
    return Setting(name, SWITCHED, prepare if count else setting.prepare)


SETTINGS = {
    (kind.setting.name, count): _with_replicas(kind.setting, count)
    for kind in KINDS
    for count in REPLICAS
}


def _use_policy(policy: str, server: Server) -> None:
    """Switch the append-only file, and wait until it is complete."""
    if policy == "memory":
        server.call("CONFIG", "SET", "appendonly", "no")
        return
    server.call("CONFIG", "SET", "appendfsync", policy, "appendonly", "yes")
    server.wait_until(partial(_is_complete, server), SWITCH_SECONDS)


def _is_complete(server: Server) -> bool:
    state = server.info("persistence")
    return state["aof_enabled"] == "1" and state["aof_rewrite_in_progress"] == "0"


def _all() -> Iterator[Case]:
    for count in REPLICAS:
        for kind in KINDS:
            for policy in POLICIES:
                yield rate(
                    f"durable/{kind.name}-{policy}" + (f"-{count}-replicas" if count else ""),
                    kind.load,
                    setting=SETTINGS[kind.setting.name, count],
                    before=partial(_use_policy, policy),
                    **dict(kind.options),
                )


CASES: list[Case] = list(_all())
