"""`rillway archive compact`, `expire` and `upkeep`. None of them needs the server."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from rillway.pipeline.archive.files.periods import day_before
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import Upkeep, compact
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.archive.upkeep.regular import keep_up
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.cli.progress import Progress
from rillway.plurals import count_of


def compact_main(options: argparse.Namespace) -> int:
    """Merge small files. Returns the exit status, as the others do."""
    table = ArchiveTable.open(options.to, options.storage_options)
    if options.partition_by is not None:
        table.set_period(options.partition_by)
    with Interruption() as interruption, Progress("compacting", unit="row") as progress:
        done = compact(
            table,
            target_bytes=options.target_size,
            vacuum_after_hours=_hours(options),
            advanced=progress.advance,
            is_interrupted=lambda: interruption.requested,
        )
    print(compacted(table, done) + _vacuumed(done.vacuumed))
    return interruption.exit_status


def expire_main(options: argparse.Namespace) -> int:
    """Remove old days."""
    table = ArchiveTable.open(options.to, options.storage_options)
    before = options.before
    if before is None:
        before = day_before(datetime.now(UTC), options.older_than)
    done = expire(table, options.stream, before, vacuum_after_hours=_hours(options))
    print(expired(done, before) + _vacuumed(done.vacuumed))
    known = set(table.streams()) if options.stream else set()
    unknown = [stream for stream in options.stream or () if stream not in known]
    for stream in unknown:
        print(f"rillway archive: {stream}: is not in {table.store}", file=sys.stderr)
    return 1 if unknown else 0


def upkeep_main(options: argparse.Namespace) -> int:
    """All of it, if nothing is damaged."""
    table = ArchiveTable.open(options.to, options.storage_options)
    if options.expire_after is not None:
        table.set_expire_after(options.expire_after or None)
    with Interruption() as interruption, Progress("compacting", unit="row") as progress:
        done = keep_up(
            table,
            datetime.now(UTC),
            target_bytes=options.target_size,
            vacuum_after_hours=_hours(options),
            advanced=progress.advance,
            is_interrupted=lambda: interruption.requested,
        )
    for finding in done.findings:
        print(finding, file=sys.stderr)
    if done.compacted is None:
        print(
            f"rillway archive: {table.store}: damaged, and left as it is: `rillway archive repair "
            f"--to {table.store}` puts right what it can",
            file=sys.stderr,
        )
        return 1
    print(compacted(table, done.compacted))
    if done.expired is not None:
        print(expired(done.expired, done.before))
    print(f"version {table.version} has a checkpoint" + _vacuumed(done.vacuumed))
    return interruption.exit_status


def compacted(table: ArchiveTable, done: Upkeep) -> str:
    """What a compaction did, in a line."""
    if not done.files_before:
        files = table.files()
        size = sum(file.size_bytes for file in files)
        return f"nothing to merge: {count_of(len(files), 'file')}, {count_of(size, 'byte')}"
    return (
        f"{count_of(done.files_before, 'file')} became {done.files_after:,}; "
        f"{count_of(done.rows, 'row')}, {count_of(done.bytes_before, 'byte')} became "
        f"{done.bytes_after:,}"
    )


def expired(done: Upkeep, before: object) -> str:
    """What an expiry did, in a line."""
    if not done.rows:
        return f"nothing to remove: no file is wholly from before {before}"
    return (
        f"{count_of(done.rows, 'row')} from before {before} removed, "
        f"{count_of(done.files_before, 'file')}, {count_of(done.bytes_before, 'byte')}"
    )


def _vacuumed(number: int) -> str:
    return f"; {count_of(number, 'file')} deleted that nothing names any more" if number else ""


def _hours(options: argparse.Namespace) -> int:
    seconds: float = options.vacuum_after
    return round(seconds / 3600)
