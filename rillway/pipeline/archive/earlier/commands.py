"""`rillway archive backfill`: adds columns to older rows, or entries of a backup."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rillway.pipeline.archive.columns.commands import backfill_columns
from rillway.pipeline.archive.earlier.adding import (
    Added,
    Origin,
    ServerOrigin,
    TableOrigin,
    add_earlier,
)
from rillway.pipeline.archive.earlier.snapshot import served
from rillway.pipeline.archive.files.store import URI
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.wire.ids import format_id
from rillway.plurals import count_of


def backfill_main(options: argparse.Namespace) -> int:
    """Backfill columns or entries. Returns the exit status. Raises ArchiveError, OSError."""
    table = ArchiveTable.open(options.to, options.storage_options)
    if options.columns:
        return backfill_columns(table)
    with opened(options.origin, table, options) as origin:
        there = set(origin.streams())
        streams = options.stream or sorted(there.intersection(table.streams()))
        if unknown := sorted(set(streams) - there):
            raise ArchiveError(f"{options.origin}: has no stream {', '.join(unknown)}")
        if not streams:
            raise ArchiveError(f"{options.origin}: has no stream that {table.store} has")
        with Progress("adding") as progress:
            done = add_earlier(
                table,
                origin,
                streams,
                skips_archived=options.skip_archived,
                advanced=progress.advance,
            )
    for stream, added in done.items():
        print(sentence(stream, added))
    return 0


@contextmanager
def opened(place: str, table: ArchiveTable, options: argparse.Namespace) -> Iterator[Origin]:
    """Open a backup: an RDB if it is a file, otherwise an archive. Raises ArchiveError."""
    if URI.match(place) is None and Path(place).is_file():
        with served(Path(place), _database(table)) as connection:
            yield ServerOrigin(connection)
    else:
        of_store = options.storage_options if URI.match(place) else None
        yield TableOrigin(ArchiveTable.open(place, of_store))


def _database(table: ArchiveTable) -> int:
    """Return the database from which the streams were archived. Raises ArchiveError."""
    sources = [record.state.source for record in table.records.values()]
    found = {source.database for source in sources if source is not None}
    if len(found) > 1:
        raise ArchiveError(
            f"{table.store}: has streams of several databases, so none can be chosen"
        )
    return found.pop() if found else 0


def sentence(stream: str, added: Added) -> str:
    """Return what was added to a stream, in one line."""
    if not added.rows:
        return f"{stream}: no entries before {format_id(added.before)}"
    return (
        f"{stream}: {count_of(added.rows, 'entry')} added, {format_id(added.first)} to "
        f"{format_id(added.last)}, before {format_id(added.before)}"
    )
