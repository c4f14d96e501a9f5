"""All cases, in the order in which they are measured and shown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cases import (
    durability,
    groups,
    latency,
    memory,
    requests,
    stalls,
    start,
    xadd,
    xrange,
)
from benchmarks.cases.case import Case

FAMILIES = (
    xadd, xrange, groups, requests, durability, memory, start, latency, stalls,
)  # fmt: skip
CASES: list[Case] = [case for family in FAMILIES for case in family.CASES]


class UnknownCase(Exception):
    """No case's name begins with that prefix."""


def chosen(prefixes: Sequence[str], is_quick: bool) -> list[Case]:
    """The cases to measure: those with the given names or prefixes; else all, or the quick ones.

    Raises UnknownCase.
    """
    if not prefixes:
        return [case for case in CASES if case.is_quick or not is_quick]
    names = {name for prefix in prefixes for name in _named(prefix)}
    return [case for case in CASES if case.name in names]


def _named(prefix: str) -> list[str]:
    """The case of exactly this name, or all with this prefix."""
    names = [case.name for case in CASES if case.name.startswith(prefix)]
    if not names:
        raise UnknownCase(prefix)
    return [prefix] if prefix in names else names
