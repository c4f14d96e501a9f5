"""Shares a batch among tasks: large streams are cut, small ones share a task.

A task reads a list of slices, ordered by stream and ID. The ends of a batch record where the tasks
begin (offsets.py), so a batch that is planned again has the same tasks; a task whose entries were
all removed remains, and is empty. Exactly-once writes rely on that: they identify a task by its
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from rillway.pipeline.ranges.loss import LossPolicy, check_count
from rillway.pipeline.ranges.offsets import Offset
from rillway.pipeline.ranges.plan import Planner, Range, Slice, backlog
from rillway.pipeline.wire.facts import StreamFacts

Task: TypeAlias = tuple[Slice, ...]

# The cost of one more slice in a task, in entries: a round trip.
SLICE_COST = 100


def share(
    planner: Planner,
    start: Offset,
    end: Offset,
    facts: Mapping[str, StreamFacts],
    *,
    every: int,
    minimum: int,
) -> Offset:
    """Return `end` with cuts that share its batch among tasks of about `every` entries.

    `start` has all streams of `end`. `minimum`: the least number of tasks for each stream, if it
    has that many entries.
    """
    shared: Offset = {name: position.alone() for name, position in end.items()}
    ranges = _ranges(start, end)
    estimates = _estimates(planner, ranges, start, end, facts)
    room = 0
    for place, name in enumerate(sorted(ranges)):
        estimate = estimates[name]
        cuts = planner.cuts(ranges[name], estimate=estimate, every=every, minimum=minimum)
        cost = SLICE_COST + (0 if cuts else estimate)
        opens = minimum > 1 or bool(cuts) or cost > room
        room = (0 if cuts else every - cost) if opens else room - cost
        # The first one always opens a task.
        shared[name] = replace(shared[name], cuts=cuts, opens=opens and place > 0)
    return shared


def tasks(
    planner: Planner,
    start: Offset,
    end: Offset,
    facts: Mapping[str, StreamFacts],
    policy: LossPolicy,
) -> list[Task]:
    """Return the present slices by task. The start and the end were checked before.

    Raises DataLost if fewer entries are there than were added.
    """
    ranges = _ranges(start, end)
    parts: list[list[Range]] = []
    for name in sorted(ranges):
        first, *others = ranges[name].split(end[name].cuts)
        if end[name].opens or not parts:
            parts.append([])
        parts[-1].append(first)
        parts += [[other] for other in others]
    found = iter(planner.found([part for task in parts for part in task]))
    planned = [tuple(each for _ in task if (each := next(found))) for task in parts]
    if planner.counts:
        counted = dict.fromkeys(ranges, 0)
        for each in (each for task in planned for each in task):
            counted[each.stream] += each.entries or 0
        for name, entries in counted.items():
            check_count(policy, name, start[name], end[name], entries, facts[name])
    return planned


def _ranges(start: Offset, end: Offset) -> dict[str, Range]:
    """Return the ranges of the streams that have something to read, by name."""
    return {
        name: Range(name, start[name].id, last.id)
        for name, last in end.items()
        if last.id > start[name].id
    }


def _estimates(
    planner: Planner,
    ranges: Mapping[str, Range],
    start: Offset,
    end: Offset,
    facts: Mapping[str, StreamFacts],
) -> dict[str, int]:
    """Return the approximate number of entries in each range."""
    found: dict[str, int] = {}
    for name in ranges:
        first, last = start[name], end[name]
        if first.n is not None and last.n is not None:
            found[name] = last.n - first.n
        else:
            after_start = backlog(first.id, first.n, facts[name])
            found[name] = after_start - backlog(last.id, last.n, facts[name])
    unknown = [name for name in ranges if start[name].n is None]
    if unknown and (counted := planner.count([ranges[name] for name in unknown])) is not None:
        found |= dict(zip(unknown, counted, strict=True))
    return found
