"""Batches: what is read at once into files that one commit names, and by how many tasks.

One task reads parts of streams one after the other, until it has as many entries as a batch may
have. Several tasks cannot wait for each other, so for them the end of a large stream is looked up
before, and the stream is cut; small ones are put together until they are enough for a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from rillway.pipeline.archive.files.parquet_files import ArchivedFile, footer_facts
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.table import ArchiveError
from rillway.pipeline.archive.tasks import NO_LIMIT, Part, PartRead, WriteTask, Written
from rillway.pipeline.ranges.plan import Planner, Range

# A task for fewer entries than that costs more than it saves.
MIN_TASK_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class Batch:
    """What the tasks of a batch have written."""

    written: Sequence[Written]

    @property
    def files(self) -> list[ArchivedFile]:
        return [file for written in self.written for file in written.files]

    @property
    def reads(self) -> dict[str, list[PartRead]]:
        """By stream, in order; of a stream that was reached, all up to the one where it ends."""
        found: dict[str, list[PartRead]] = {}
        reads = (read for written in self.written for read in written.parts)
        for read in sorted(reads, key=lambda read: (read.part.stream, read.part.after)):
            if read.end > read.part.after:
                found.setdefault(read.part.stream, []).append(read)
        return found

    @property
    def rows(self) -> int:
        return sum(read.rows for written in self.written for read in written.parts)

    def check(self, store: Store) -> None:
        """Compare what is on the disk with what the tasks say. Raises ArchiveError."""
        for file in self.files:
            if footer_facts(store, file) != (file.rows, file.first_ms, file.last_ms):
                raise ArchiveError(f"{file.path}: the file is not what was written")
        if sum(file.rows for file in self.files) != self.rows:
            raise ArchiveError(f"{store}: the files have not as many rows as were read")
        for stream, reads in self.reads.items():
            ends = [read.end for read in reads[:-1]]
            if ends != [read.part.after for read in reads[1:]]:
                raise ArchiveError(f"{stream}: what the tasks have read leaves a gap")


def plan_tasks(
    job: WriteTask, parts: Sequence[Part], planner: Planner, parallelism: int
) -> list[WriteTask]:
    """Tasks for the next batch of some streams. `job`: a task without parts."""
    ordered = sorted(parts, key=lambda part: part.stream)
    if parallelism == 1:
        return [replace(job, parts=tuple(ordered))]
    every = max(ceil(job.max_entries / parallelism), MIN_TASK_ENTRIES)
    every = max(min(every, ceil(sum(p.estimate for p in ordered) / parallelism)), MIN_TASK_ENTRIES)
    packs: list[list[Part]] = []
    planned = packed = 0
    for part in ordered:
        if planned and planned + part.estimate > job.max_entries:
            break
        planned += part.estimate
        if part.estimate > every:
            packs += [[one] for one in _cut(part, job, planner, every)]
            packed = NO_LIMIT
        else:
            if not packs or packed + part.estimate > every:
                packs.append([])
                packed = 0
            packs[-1].append(part)
            packed += part.estimate
    free = replace(job, max_entries=NO_LIMIT, max_bytes=NO_LIMIT)
    return [replace(free, parts=tuple(pack)) for pack in packs]


def _cut(part: Part, job: WriteTask, planner: Planner, every: int) -> list[Part]:
    """A part in several, within the limits of a batch; as it is if nothing is there."""
    # To keep a limit of bytes, all is read twice; so only where it may matter.
    whole = Range(part.stream, part.after, part.last)
    size = planner.sample_entry_bytes(whole)
    max_bytes = job.max_bytes if 2 * size * job.max_entries > job.max_bytes else None
    last, counted = planner.end_within(
        part.stream, part.after, part.last, job.max_entries, max_bytes
    )
    if planner.found([Range(part.stream, last, part.last)]) == [None]:
        last = part.last  # the last entries may have been deleted
    slices = planner.slices(Range(part.stream, part.after, last), estimate=counted, every=every)
    if not slices:
        return [part]
    # Where there is nothing between two slices, the one before ends with the next one's beginning.
    afters = [part.after, *(one.first - 1 for one in slices[1:])]
    lasts = [*afters[1:], last]
    parts = [
        replace(part, after=after, last=end, first=one.first, estimate=every, anchor=None)
        for after, end, one in zip(afters, lasts, slices, strict=True)
    ]
    # It begins with the last archived entry, which the others need not.
    return [replace(parts[0], first=part.first, anchor=part.anchor), *parts[1:]]
