"""`rillway archive verify` and `rillway archive repair`.

Verify prints a line for each finding and exits with 1 if there is one. Repair prints what it did;
what is still damaged goes to standard error, and the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rillway.pipeline.archive.earlier.adding import Origin, ServerOrigin
from rillway.pipeline.archive.earlier.commands import opened
from rillway.pipeline.archive.files.opening import open_delta, place_of
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.files.store import LogDamaged, Store
from rillway.pipeline.archive.foreign.changes import check_changes
from rillway.pipeline.archive.repair.findings import (
    ERASURE,
    LIVE,
    OTHER,
    Finding,
    check_erasures,
    check_log,
    check_table,
    file_finding,
)
from rillway.pipeline.archive.repair.repairs import repair
from rillway.pipeline.archive.repair.rows import RowsCheck, check_live
from rillway.pipeline.archive.table import (
    ArchiveError,
    ArchiveTable,
    first_line,
)
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.wire.cluster import connect
from rillway.plurals import count_of


def verify_main(options: argparse.Namespace) -> int:
    """Check the archive. Returns the exit status."""
    store = place_of(options.to, options.storage_options)
    try:
        findings, facts = _verified(store, options)
    except OSError as error:
        raise ArchiveError(f"{store}: {first_line(error)}") from None
    for finding in findings:
        print(json.dumps(asdict(finding)) if options.json else finding)
    if options.json:
        print(json.dumps({**facts, "findings": len(findings)}))
    else:
        print(_summary(store, findings, facts))
    return 1 if findings else 0


def _verified(store: Store, options: argparse.Namespace) -> tuple[list[Finding], dict[str, Any]]:
    """Return the findings, and facts about the table if it can be opened.

    Raises ArchiveError, OSError, ServerError, ConnectionLost.
    """
    try:
        delta = open_delta(store)
    except LogDamaged as error:
        if findings := check_log(store, error.reason):
            return findings, {}
        raise
    table = ArchiveTable(store, delta)
    findings, sound = check_table(table)
    findings += check_erasures(store)
    files = table.files()
    facts = {
        "version": table.version,
        "files": len(files),
        "rows": sum(file.rows for file in files),
        "bytes": sum(file.size_bytes for file in files),
    }
    knows_streams = not any(finding.kind == "state" for finding in findings)
    if knows_streams:
        findings += check_changes(table)
    if options.deep and knows_streams:
        findings += _rows_checked(table, sound)
    # With damaged files, entries that are missing from the rows would be reported twice.
    if options.url is not None and all(one.kind in (ERASURE, OTHER) for one in findings):
        with connect(options.url) as connection:
            findings += check_live(connection, table)
    return findings, facts


def _rows_checked(table: ArchiveTable, files: list[ArchivedFile]) -> list[Finding]:
    with Progress("verifying", sum(file.rows for file in files), unit="row") as progress:
        is_whole = len(files) == len(table.files())
        check = RowsCheck(table, advanced=progress.advance, is_whole=is_whole)
        check.run(files)
    return check.findings


def _summary(store: Store, findings: list[Finding], facts: dict[str, Any]) -> str:
    what = "the log cannot be read"
    if facts:
        what = (
            f"version {facts['version']}, {count_of(facts['files'], 'file')}, "
            f"{count_of(facts['rows'], 'row')}, {count_of(facts['bytes'], 'byte')}"
        )
    if not findings:
        return f"{what}: nothing is wrong"
    what = f"{what}: {count_of(len(findings), 'finding')}"
    if all(finding.kind in (ERASURE, LIVE) for finding in findings):  # no file is damaged
        return what
    return (
        f"{what}; `rillway archive repair --to {store}` repairs what it can (with --deep also what "
        "only --deep finds)"
    )


def repair_main(options: argparse.Namespace) -> int:
    """Repair the archive. Returns the exit status."""
    store = place_of(options.to, options.storage_options)
    with _origin(store, options) as origin:
        outcome = repair(
            store,
            drops_files=options.drop_files,
            goes_back=options.go_back,
            reads_rows=options.deep,
            origin=origin,
        )
    for text in outcome.done:
        print(text)
    for text in outcome.left:
        print(f"rillway archive: {text}", file=sys.stderr)
    if not outcome.done and not outcome.left:
        print(f"{store}: nothing to repair")
    return 1 if outcome.left else 0


@contextmanager
def _origin(store: Store, options: argparse.Namespace) -> Iterator[Origin | None]:
    """Open the source of entries that the archive has lost, if there is one."""
    if options.url is not None:
        with connect(options.url) as connection:
            yield ServerOrigin(connection)
    elif options.origin is not None:
        with opened(options.origin, ArchiveTable.open(store), options) as origin:
            yield origin
    else:
        yield None


def warn_of_damage(table: ArchiveTable, damaged: dict[ArchivedFile, str]) -> None:
    """Print the damaged files that `archive status` found."""
    for file, reason in damaged.items():
        print(f"rillway archive: {file_finding(file, reason)}", file=sys.stderr)
    if damaged:
        print(
            f"rillway archive: missing or damaged: {len(damaged):,} of "
            f"{count_of(len(table.files()), 'file')} of the table; `rillway archive repair "
            f"--to {table.store}` says what can be done",
            file=sys.stderr,
        )
