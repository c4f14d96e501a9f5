"""Checks what other programs have committed, before anything more is archived or trimmed.

Entries may only be trimmed from memory if the table can be read. So the archiver reads a part of
each file that another program has added since the round before, with the reader that queries use.
Its own commits, which other programs do not imitate, are not looked at: a round without foreign
commits reads at most the last version of the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa

from rillway.pipeline.archive.columns.batches import aligned
from rillway.pipeline.archive.columns.decoding import RowDamaged
from rillway.pipeline.archive.columns.entries import by_stream, entries_of, stray
from rillway.pipeline.archive.erasure.targets import ids_of
from rillway.pipeline.archive.files.merge import ORDER
from rillway.pipeline.archive.files.parquet_files import STREAM, ArchivedFile
from rillway.pipeline.archive.files.rows import bounded_batches, open_file, wrong_keys
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.archive.foreign.absences import removed_by
from rillway.pipeline.archive.foreign.commits import (
    OPERATION,
    REPAIR,
    RESTORE,
    Commit,
    Found,
    commits_since,
    listed,
)
from rillway.pipeline.archive.limits import PERIODS
from rillway.pipeline.archive.repair.findings import OTHER, Finding, file_damage
from rillway.pipeline.archive.table import (
    CHECKED,
    MAX_COMMIT_ATTEMPTS,
    ArchiveError,
    ArchiveTable,
    CommitConflict,
)


class Changes:
    """The changes to a table that other programs make while an archiver uses it."""

    def __init__(self, table: ArchiveTable, *, records: bool = True) -> None:
        """`records`: commit what others have deleted; otherwise nothing is written."""
        self._table, self._records = table, records
        self._checked = -1

    def check_latest(self) -> None:
        """Check also what was committed since the table was read. Raises ArchiveError."""
        if self._table.is_outdated():
            self._table.refresh()
        self.check()

    def check(self) -> None:
        """Check the commits since the last check. Raises ArchiveError for what cannot be read."""
        table = self._table
        if table.version == self._checked:
            return
        found = commits_since(table, {CHECKED: "1"}, self._checked + 1, table.own_versions)
        version = table.version
        if found.commits or not found.is_whole:
            self._check(found)
        self._checked = version
        if self._records:
            self._record([one for one in found.commits if one.removed and one.operation != RESTORE])

    def _record(self, commits: Sequence[Commit]) -> None:
        """Commit which rows others have deleted, so that no later comparison takes them for lost.

        Versions that come meanwhile are not marked as checked.
        """
        table = self._table
        for _ in range(MAX_COMMIT_ATTEMPTS if commits else 0):
            changed, _unknown = removed_by(table, commits)
            new = {name: one for name, one in changed.items() if one != table.record(name)}
            if not new:
                return
            try:
                table.append(table.write_state(new), [], {OPERATION: "deleted"})
                return
            except CommitConflict:
                table.refresh()

    def _check(self, found: Found) -> None:
        table = self._table
        check_properties(table)
        for commit in found.commits:
            check_commit(table.store, commit)
        added = {unquote(one["path"]) for commit in found.commits for one in commit.added}
        self._check_restores([one for one in found.commits if one.operation == RESTORE])
        for file in table.files():
            if file.path in added or not (file.is_own or found.is_whole):
                check_file(table, file)

    def _check_restores(self, restores: Sequence[Commit]) -> None:
        """Refuse a RESTORE that took rows back, until a repair has recorded them."""
        table = self._table
        named = {file.path for file in table.files()}
        taking = [one for one in restores if not named.issuperset(one.removed)]
        if not taking:
            return
        pending = {one.version for one in commits_since(table, {OPERATION: REPAIR}).commits}
        for commit in taking:
            if commit.version in pending:
                raise ArchiveError(
                    f"{_where(table.store, commit)}, took back rows that are archived: RESTORE the "
                    f"version before it, or `rillway archive repair --to {table.store}` records "
                    "what is missing"
                )


def check_changes(table: ArchiveTable) -> list[Finding]:
    """Find what an archiver refuses, and removed rows that no repair has recorded."""
    try:
        Changes(table, records=False).check()
    except ArchiveError as error:
        text = str(error).removeprefix(f"{table.store}: ")
        return [Finding(OTHER, str(table.store), text)]
    commits = [one for one in commits_since(table, {OPERATION: REPAIR}).commits if one.removed]
    if not commits:
        return []
    text = (
        f"versions of other programs removed or changed rows: {listed(commits)}; `rillway archive "
        f"repair --to {table.store}` records what is missing"
    )
    return [Finding(OTHER, str(table.store), text)]


def check_commit(store: Store, commit: Commit) -> None:
    """Refuse a commit that hides rows. Raises ArchiveError."""
    if any(one.get("deletionVector") for one in commit.added):
        raise ArchiveError(
            f"{_where(store, commit)}, has deletion vectors, which readers of an "
            "archive do not have: write the files again there (in Spark: REORG TABLE ... APPLY "
            "(PURGE))"
        )


def _where(store: Store, commit: Commit) -> str:
    return f"{store}: version {commit.version}, a {commit.operation} of another program"


def check_properties(table: ArchiveTable) -> None:
    """Check that columns and properties are those that readers need. Raises ArchiveError."""
    table.check_types()
    if table.period not in PERIODS:
        raise ArchiveError(
            f"{table.store}: another program has set rillway.partitionBy to {table.period!r}: "
            "`rillway archive compact --partition-by day` sets it again"
        )
    known = table.columns.by_name
    for stream, record in table.records.items():
        for layout in record.layouts.values():
            for name in layout.columns:
                if name is not None and name not in known:
                    raise ArchiveError(
                        f"{table.store}: another program has changed the property rillway.columns:"
                        f" rows of {stream} need the column {name}; RESTORE the version before"
                    )
    _ = table.expire_after


def check_file(table: ArchiveTable, file: ArchivedFile) -> None:
    """Read the footer and the first row group of a file as queries do. Raises ArchiveError."""
    if reason := file_damage(table.store, file):
        raise ArchiveError(_sentence(table, file, reason))
    bounds: dict[str, tuple[int, int]] = {}
    with open_file(table.store, file) as parquet:
        for batch in bounded_batches(parquet, range(min(parquet.num_row_groups, 1))):
            if reason := wrong_keys(batch):
                raise ArchiveError(_sentence(table, file, reason))
            rows = pa.Table.from_batches([aligned(batch, table.file_schema)]).sort_by(ORDER)
            for part in (
                part for one in rows.combine_chunks().to_batches() for part in by_stream(one)
            ):
                if reason := stray(table, part):
                    raise ArchiveError(_sentence(table, file, reason))
                try:
                    entries_of(table, part)
                except RowDamaged as error:
                    text = f"{part.column(STREAM)[0]}: {error}"
                    raise ArchiveError(_sentence(table, file, text)) from None
                stream, ids = str(part.column(STREAM)[0]), ids_of(part)
                ids += bounds.get(stream, ())
                bounds[stream] = min(ids), max(ids)
    for stream, (first, last) in bounds.items():
        _check_beside(table, stream, first, last)


def _check_beside(table: ArchiveTable, stream: str, first: int, last: int) -> None:
    """Read a range of which several files have rows: the same row may have other content there.

    Raises ArchiveError.
    """
    rows = table.rows(stream, first=first, last=last)
    for segment in rows.segments:
        if len(rows.named_files(segment)) > 1:
            for _ in rows.segment_batches(segment):
                pass


def _sentence(table: ArchiveTable, file: ArchivedFile, reason: str) -> str:
    writer = "" if file.is_own else ", of another program"
    return (
        f"{table.store}: {file.path}{writer}: {reason}: RESTORE the version before, or "
        f"`rillway archive repair --to {table.store}` says what can be done"
    )
