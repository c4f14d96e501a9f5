"""Batches: the entries that one commit adds, and their division among tasks.

The size of a batch is determined while it is read: there is no counting pass. A single task reads
parts of streams in sequence until the batch is full. Parallel tasks cannot wait for each other, so
large streams are cut by estimates, and each task has its own limit. If a part was not read to its
end, the parts after it are dropped. If there were fewer entries than estimated, another wave of
tasks follows in the same batch, with better estimates. A task reads streams of one cluster node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from rillway.pipeline.archive.engine import Engine
from rillway.pipeline.archive.files.parquet_files import ArchivedFile, footer_facts
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.table import ArchiveError
from rillway.pipeline.archive.tasks import NO_LIMIT, Part, PartRead, WriteTask, Written
from rillway.pipeline.ranges.plan import Planner, Range

# A task for fewer entries costs more than it saves.
MIN_TASK_ENTRIES = 10_000
# A batch that is less full than this share gets another wave of tasks, up to a limit.
FULL_SHARE, MAX_WAVES = 0.5, 10
# Plans aim below the limit, as entries beyond it are dropped; a task may read TASK_SLACK times its
# estimate.
AIMED_SHARE, TASK_SLACK = 0.9, 2


@dataclass(frozen=True, slots=True)
class Batch:
    """The output of the tasks of a batch."""

    written: Sequence[Written]

    @property
    def files(self) -> list[ArchivedFile]:
        return [file for written in self.written for file in written.files]

    @property
    def reads(self) -> dict[str, list[PartRead]]:
        """The reads of each stream that has any, in the order of IDs."""
        found: dict[str, list[PartRead]] = {}
        reads = (read for written in self.written for read in written.parts)
        for read in sorted(reads, key=lambda read: (read.part.stream, read.part.after)):
            if read.end > read.part.after:
                found.setdefault(read.part.stream, []).append(read)
        return found

    @property
    def changed(self) -> set[str]:
        """The streams whose last archived entry no longer exists."""
        reads = (read for written in self.written for read in written.parts)
        return {read.part.stream for read in reads if read.is_changed}

    @property
    def bytes(self) -> int:
        """The size of the entries as the server sent them."""
        return sum(written.bytes for written in self.written)

    @property
    def rows(self) -> int:
        return sum(read.rows for written in self.written for read in written.parts)

    def check(self, store: Store) -> None:
        """Compare the files with what the tasks report. Raises ArchiveError."""
        for file in self.files:
            if footer_facts(store, file) != (file.rows, file.first_ms, file.last_ms):
                raise ArchiveError(f"{file.path}: the file is not what was written")
        if sum(file.rows for file in self.files) != self.rows:
            raise ArchiveError(f"{store}: the files lack rows that were read")
        for stream, reads in self.reads.items():
            ends = [read.end for read in reads[:-1]]
            if ends != [read.part.after for read in reads[1:]]:
                raise ArchiveError(f"{stream}: what the tasks have read leaves a gap")


def write_batch(
    engine: Engine,
    job: WriteTask,
    parts: Sequence[Part],
    planner: Planner,
    planned: Callable[[], None],
) -> Batch:
    """Write parts of streams to files until the batch is full or everything is read.

    `job`: a task without parts, with the limits of the batch; `planned`: called before tasks run.
    Raises what Engine.write raises, after removing the files.
    """
    batch, room = Batch([]), job
    try:
        for _ in range(MAX_WAVES):
            tasks = plan_tasks(room, parts, planner, engine.parallelism)
            planned()
            wave = Batch(list(_within(room, engine.write(tasks))))
            batch = Batch([*batch.written, *wave.written])
            room = replace(
                job, max_entries=job.max_entries - batch.rows, max_bytes=job.max_bytes - batch.bytes
            )
            parts = list(_left(parts, wave))
            is_full = (
                batch.rows >= job.max_entries * FULL_SHARE
                or batch.bytes >= job.max_bytes * FULL_SHARE
            )
            if not parts or is_full:
                break
    except BaseException:
        _remove(job.store, batch.written)
        raise
    return batch


def _within(job: WriteTask, written: Sequence[Written]) -> Iterator[Written]:
    """Yield the output of tasks that fits the limits and leaves no gap; remove the rest."""
    rows = size = 0
    ended: set[str] = set()
    is_full = False
    for one in written:
        rows, size = rows + sum(read.rows for read in one.parts), size + one.bytes
        # Each task keeps the limits, except for a single entry that is larger.
        is_full |= bool(rows > job.max_entries or size > job.max_bytes) and one is not written[0]
        if is_full or not ended.isdisjoint(read.part.stream for read in one.parts):
            _remove(job.store, [one])
            continue
        ended |= {read.part.stream for read in one.parts if read.end < read.part.last}
        yield one


def _remove(store: Store, written: Iterable[Written]) -> None:
    for file in (file for one in written for file in one.files):
        store.remove(file.path)


def _left(parts: Sequence[Part], wave: Batch) -> Iterator[Part]:
    """Yield what the tasks have not read, with new estimates."""
    reads, changed = wave.reads, wave.changed
    for part in parts:
        if part.stream in changed:
            continue
        found = reads.get(part.stream)
        if found is None:
            yield part
        elif (end := found[-1].end) < part.last:
            rows = sum(read.rows for read in found)
            anchors = [read.anchors[0] for read in found if read.anchors]
            anchor = anchors[-1] if anchors else part.anchor
            # Assumes the density of the entries that were read.
            span = max(end - max(part.first, part.after), 1)
            estimate = max(rows * (part.last - end) // span, 1) if rows else part.estimate
            first = part.first if anchor is None else anchor.id
            yield replace(part, after=end, first=first, estimate=estimate, anchor=anchor)


def plan_tasks(
    job: WriteTask, parts: Sequence[Part], planner: Planner, parallelism: int
) -> list[WriteTask]:
    """Divide parts among tasks. `job`: a task without parts, with the limits of all together."""
    ordered = sorted(parts, key=lambda part: part.stream)
    if parallelism == 1:
        return [replace(job, parts=tuple(ordered))]
    places = {part.stream: planner.place(part.stream) for part in ordered}
    ordered.sort(key=lambda part: str(places[part.stream]))
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
            is_elsewhere = packs and places[packs[-1][0].stream] != places[part.stream]
            if not packs or is_elsewhere or packed + part.estimate > every:
                packs.append([])
                packed = 0
            packs[-1].append(part)
            packed += part.estimate
    limited = replace(
        job,
        max_entries=min(TASK_SLACK * every, job.max_entries),
        max_bytes=min(TASK_SLACK * ceil(job.max_bytes / len(packs)), job.max_bytes),
    )
    return [replace(limited, parts=tuple(pack)) for pack in packs]


def _cut(part: Part, job: WriteTask, planner: Planner, every: int) -> list[Part]:
    """Cut a part into several, as far as the batch has room; return it whole if it is empty."""
    whole = Range(part.stream, part.after, part.last)
    room = job.max_entries if planner.counts else int(job.max_entries * AIMED_SHARE)
    size = planner.sample_entry_bytes(whole)
    if size * room > job.max_bytes:
        room = max(int(job.max_bytes * AIMED_SHARE) // size, 1)
    last = planner.reach(whole, estimate=part.estimate, entries=room)
    if last < part.last and planner.found([Range(part.stream, last, part.last)]) == [None]:
        last = part.last  # the last entries may have been deleted
    wanted = Range(part.stream, part.after, last)
    slices = planner.slices(wanted, estimate=min(part.estimate, room), every=every)
    if not slices:
        return [part]
    # A part ends where the next one begins.
    afters = [part.after, *(one.first - 1 for one in slices[1:])]
    lasts = [*afters[1:], last]
    parts = [
        replace(part, after=after, last=end, first=one.first, estimate=every, anchor=None)
        for after, end, one in zip(afters, lasts, slices, strict=True)
    ]
    # Only the first part begins with the last archived entry.
    return [replace(parts[0], first=part.first, anchor=part.anchor), *parts[1:]]
