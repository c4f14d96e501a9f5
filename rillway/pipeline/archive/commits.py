"""Commits of the archiver: the files of a batch and the new ends of its streams, all or nothing.

A conflict with a writer that has not archived the same streams is retried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rillway.pipeline.archive.columns.layouts import LayoutClash, united
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.foreign.changes import Changes
from rillway.pipeline.archive.identity.epochs import StreamRecord
from rillway.pipeline.archive.lease import Leases
from rillway.pipeline.archive.round_stream import Step
from rillway.pipeline.archive.table import (
    CHECKED,
    MAX_COMMIT_ATTEMPTS,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
)

# In a commit's note.
MAX_NOTES = 100


class Commits:
    """Commits to a table while the leases of its streams are held.

    `reached` is called at each step; `conflicts`: the number of commits that were retried.
    """

    def __init__(
        self,
        table: ArchiveTable,
        leases: Leases,
        reached: Callable[[str], None],
        changes: Changes,
    ) -> None:
        self._table = table
        self._changes = changes
        self._leases = leases
        self._reached = reached
        self.conflicts = 0

    def commit(
        self, steps: Sequence[Step], files: Sequence[ArchivedFile]
    ) -> Mapping[str, Exception]:
        """Commit a batch, unless some streams must be left out: returns their errors.

        Raises ArchiveError.
        """
        by_name = {step.stream.name: step for step in steps}
        note = note_of(steps)
        for _ in range(MAX_COMMIT_ATTEMPTS):
            self._changes.check()
            taken = {name: self._taken(name) for name, s in by_name.items() if self._is_taken(s)}
            if errors := taken or self._leases.check(by_name):
                return errors
            changed = {name: self._merged(name, step.record) for name, step in by_name.items()}
            number = self._table.write_state(changed, files)
            self._reached("stated")
            try:
                self._table.append(number, files, note)
            except CommitConflict:
                self.conflicts += 1
                self._table.refresh()
                if not self._is_named(number, files):
                    continue
            return {}
        raise ArchiveError(
            f"{self._table.store}: gave up after {MAX_COMMIT_ATTEMPTS} attempts to commit: "
            "others committed first each time"
        )

    def _is_named(self, number: int, files: Sequence[ArchivedFile]) -> bool:
        """Return True if a commit that the object store refused was made after all: the client
        repeats a put whose reply was lost, and then conflicts with itself.
        """
        if self._table.state_number == number:
            return True
        return self._table.names_any(files)

    def _is_taken(self, step: Step) -> bool:
        before, now = step.stream.before, self._table.record(step.stream.name)
        return now is not before and (now is None or not now.is_as_archived_in(before))

    def _taken(self, name: str) -> ArchiveError:
        return ArchiveError(
            f"{name}: another archiver has archived it to {self._table.store} meanwhile"
        )

    def _merged(self, name: str, record: StreamRecord) -> StreamRecord:
        """Merge in expiry, layouts and erasures committed meanwhile. Raises ArchiveError."""
        now = self._table.record(name)
        if now is None:
            return record
        try:
            layouts = united(now.layouts, record.layouts)
        except LayoutClash as clash:
            raise ArchiveError(f"{name}: {clash}: run it again") from None
        return replace(
            record,
            expired_before_ms=now.expired_before_ms,
            expired=now.expired,
            absent=now.absent,
            layouts=layouts,
            erasures=now.erasures,
        )


def note_of(steps: Sequence[Step]) -> dict[str, str]:
    """Return the commit's metadata, for people who read the log."""
    notes = [note for step in steps for note in step.stream.policy.notes]
    return {
        "rillway.operation": "archive",
        CHECKED: "1",
        "rillway.streams": str(len(steps)),
        "rillway.entries": str(sum(step.rows for step in steps)),
    } | ({"rillway.notes": "; ".join(notes[:MAX_NOTES])} if notes else {})
