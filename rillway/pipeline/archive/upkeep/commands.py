"""`rillway archive compact`, `expire` and `upkeep`. None of them needs the server.

The regular upkeep runs all steps that keep an archive small, fast and sound, one after the other.
First it checks each file: nothing is merged or deleted in a damaged archive. Then it merges small
files, removes rows older than the table keeps, and deletes unused files, old states and the
beginning of the log, after a new checkpoint. Each step is one commit or none, so the upkeep may be
stopped at any time and run again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime

from rillway.pipeline.archive.files.periods import day_before
from rillway.pipeline.archive.foreign.changes import Changes
from rillway.pipeline.archive.limits import TARGET_BYTES, VACUUM_AFTER_HOURS
from rillway.pipeline.archive.repair.findings import OTHER, Finding, check_table
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import Upkeep, compact
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.cli.progress import Progress
from rillway.plurals import count_of


def compact_main(options: argparse.Namespace) -> int:
    """Merge small files. Returns the exit status, as the other jobs do."""
    table = ArchiveTable.open(options.to, options.storage_options)
    if options.partition_by is not None:
        table.set_period(options.partition_by)
    _check_others(table)
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
    """Remove old rows."""
    table = ArchiveTable.open(options.to, options.storage_options)
    before = options.before
    if before is None:
        before = day_before(datetime.now(UTC), options.older_than)
    _check_others(table)
    done = expire(table, options.stream, before, vacuum_after_hours=_hours(options))
    print(expired(done, before) + _vacuumed(done.vacuumed))
    known = set(table.streams()) if options.stream else set()
    unknown = [stream for stream in options.stream or () if stream not in known]
    for stream in unknown:
        print(f"rillway archive: {stream}: is not in {table.store}", file=sys.stderr)
    return 1 if unknown else 0


def upkeep_main(options: argparse.Namespace) -> int:
    """Run the regular upkeep, unless the archive is damaged."""
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
            f"rillway archive: {table.store}: damaged, so nothing was changed: `rillway archive "
            f"repair --to {table.store}` repairs what it can",
            file=sys.stderr,
        )
        return 1
    print(compacted(table, done.compacted))
    if done.expired is not None:
        print(expired(done.expired, done.before))
    print(f"version {table.version} has a checkpoint" + _vacuumed(done.vacuumed))
    return interruption.exit_status


def _check_others(table: ArchiveTable) -> None:
    """Check what other programs did, and record what they deleted: later, the log may not have it.

    Raises ArchiveError for what an archiver refuses.
    """
    Changes(table).check()


def compacted(table: ArchiveTable, done: Upkeep) -> str:
    """Return a summary of a compaction in one line."""
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
    """Return a summary of an expiry in one line."""
    if not done.rows:
        return f"nothing to remove: no file is wholly from before {before}"
    return (
        f"{count_of(done.rows, 'row')} from before {before} removed, "
        f"{count_of(done.files_before, 'file')}, {count_of(done.bytes_before, 'byte')}"
    )


def _vacuumed(number: int) -> str:
    return f"; {count_of(number, 'file')} deleted that were no longer in use" if number else ""


def _hours(options: argparse.Namespace) -> int:
    seconds: float = options.vacuum_after
    return round(seconds / 3600)


@dataclass(slots=True)
class UpkeepDone:
    """The outcome of the regular upkeep.

    `findings`: if there are any, nothing was done; `expired`, `before`: None if the table keeps
    rows for ever.
    """

    findings: list[Finding]
    compacted: Upkeep | None = None
    expired: Upkeep | None = None
    before: date | None = None
    vacuumed: int = 0


def keep_up(
    table: ArchiveTable,
    now: datetime,
    *,
    target_bytes: int = TARGET_BYTES,
    vacuum_after_hours: int = VACUUM_AFTER_HOURS,
    advanced: Callable[[int], None] = lambda rows: None,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> UpkeepDone:
    """Run the regular upkeep. Raises ArchiveError, OSError."""
    findings = [one for one in check_table(table)[0] if one.kind != OTHER]
    done = UpkeepDone(findings)
    if findings:
        return done
    _check_others(table)
    done.compacted = compact(
        table,
        target_bytes=target_bytes,
        vacuum_after_hours=None,
        advanced=advanced,
        is_interrupted=is_interrupted,
    )
    if table.expire_after is not None and not is_interrupted():
        done.before = day_before(now, table.expire_after)
        done.expired = expire(table, None, done.before, vacuum_after_hours=None)
    if not is_interrupted():
        done.vacuumed = table.vacuum(vacuum_after_hours)
    return done
