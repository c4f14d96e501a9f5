"""`rillway archive --schema`, `--infer` and `rillway archive backfill --columns`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rillway.pipeline.archive.columns.backfill import backfill
from rillway.pipeline.archive.columns.inference import Samples, proposal
from rillway.pipeline.archive.columns.requests import Request, from_file, from_options
from rillway.pipeline.archive.columns.schema import BadColumns
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.ranges.discovery import (
    StreamMissing,
    check_there,
    find_streams,
    none_fits,
)
from rillway.pipeline.wire.cluster import connect
from rillway.plurals import count_of


def columns_request(options: argparse.Namespace) -> Request | None:
    """Return the requested columns; None without --schema and --schema-file. Raises BadColumns."""
    is_case_sensitive = options.case_sensitive
    if options.schema_file is not None:
        return from_file(options.schema_file, is_case_sensitive=is_case_sensitive)
    if options.schema:
        return from_options(options.schema, is_case_sensitive=is_case_sensitive)
    return None


def infer_main(options: argparse.Namespace) -> int:
    """Print a proposed schema for the streams, and write it. Returns the exit status.

    Raises BadColumns, OSError, StreamMissing.
    """
    file: Path | None = options.schema_file
    if file is not None and file.exists():
        raise BadColumns(f"{file}: exists already; --infer writes a new file")
    samples = Samples()
    with connect(options.url) as connection:
        streams = find_streams(connection, tuple(options.stream), options.pattern)
        if not streams:
            raise StreamMissing(none_fits(options.url, options.pattern))
        for stream in streams:
            check_there(connection, stream)
            words = ("XREVRANGE", stream, "+", "-", "COUNT", options.infer)
            entries = reversed(connection.of(stream).call(*words))
            schema_of = stream if stream in options.stream else options.pattern
            samples.add(schema_of, (entry[1] for entry in entries))
    if not any(samples.fields.values()):
        raise BadColumns(f"{', '.join(streams)}: no entries to propose a schema by")
    text = proposal(samples)
    if file is not None:
        file.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


def backfill_columns(table: ArchiveTable) -> int:
    """Give older rows the present columns. Returns the exit status."""
    with Interruption() as interruption, Progress("backfilling", unit="row") as progress:
        done = backfill(
            table,
            advanced=progress.advance,
            is_interrupted=lambda: interruption.requested,
        )
    print(f"{count_of(done.files, 'file')} written again; {count_of(done.rows, 'row')}")
    return interruption.exit_status
