"""All cases, in the order in which they are measured and shown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cases import (
    cluster,
    console,
    durability,
    groups,
    latency,
    memory,
    policies,
    requests,
    scraped,
    stalls,
    start,
    tls,
    watching,
    xadd,
    xrange,
)
from benchmarks.cases.programs import cases as programs
from benchmarks.comparison import Case

FAMILIES = (
    durability, xadd, xrange, groups, requests, tls, cluster, memory, start, latency, stalls,
    scraped, watching, console, policies, programs,
)  # fmt: skip
CASES: list[Case] = [case for family in FAMILIES for case in family.CASES]
# What `--quick` measures.
QUICK = {
    *("xadd/small-p1-c50", "xadd/small-p16-c50", "xadd/small-p64-c50", "xadd/1KiB-p64-c50"),
    *("xadd/maxlen-p64-c50", "xadd/mixed-p64-c50"),
    *("xrange/count-10", "xrange/count-1000", "xread/count-100", "fan-out/100-readers"),
    *("group/count-100-consumers-10", "pending/xautoclaim-10k"),
    *("ping/p1-c50", "set/p64-c50", "get/p64-c50", "hashes/hset-p64-c50", "lists/lmove-p64-c50"),
    *("sets/sadd-p64-c50", "sorted-sets/zadd-p64-c50", "scripts/rate-limiter-p64-c50"),
    "durable/xadd-small-p64-c50-everysec",
    *("memory/small-entry", "memory/idle-connection"),
    *("start/first-pong", "latency/seeds", "stall/flushall"),
}


class UnknownCase(Exception):
    """No case's name begins with that prefix."""


def chosen(prefixes: Sequence[str], is_quick: bool) -> list[Case]:
    """The cases to measure: those with the given names or prefixes; else all, or the quick ones.

    Raises UnknownCase.
    """
    if not prefixes:
        return [case for case in CASES if case.name in QUICK or not is_quick]
    names = {name for prefix in prefixes for name in _named(prefix)}
    return [case for case in CASES if case.name in names]


def _named(prefix: str) -> list[str]:
    """The case of exactly this name, or all with this prefix."""
    names = [case.name for case in CASES if case.name.startswith(prefix)]
    if not names:
        raise UnknownCase(prefix)
    return [prefix] if prefix in names else names
