"""The regular upkeep of an archive: all that keeps it small, fast and whole, one after the other.

First each file is looked at: nothing is merged or deleted in an archive that is damaged. Then small
files are merged, rows expire that are older than the table keeps them, and files that nothing names
any more are deleted, as are old states and the beginning of the log, after a new checkpoint. Each
step is a commit of its own or none, so it may end anywhere and be started again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

from rillway.pipeline.archive.files.periods import day_before
from rillway.pipeline.archive.limits import TARGET_BYTES, VACUUM_AFTER_HOURS
from rillway.pipeline.archive.repair.findings import Finding, check_table
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import Upkeep, compact
from rillway.pipeline.archive.upkeep.expiry import expire


@dataclass(slots=True)
class Kept:
    """The outcome. `findings`: if there are any, nothing was done; `expired`, `before`: None where
    the table keeps its rows for ever.
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
) -> Kept:
    """Raises ArchiveError, OSError."""
    findings, _ = check_table(table)
    done = Kept(findings)
    if findings:
        return done
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
