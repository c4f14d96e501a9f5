"""`rillway replay`: writes archived entries to a stream, at their original pace or another.

It may be started again at any time with the same arguments: it continues where it stopped, and does
nothing when all entries are written. Exits with 0; 1 if it cannot continue, 2 for a bad argument,
128 + N if signal N arrived before all were written.
"""

from __future__ import annotations

import argparse
import sys

from rillway.command_line.output import name_target
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.arrow.encoder import UnwritableRow
from rillway.pipeline.cli.interruption import Interruption
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.replay.arguments import parse_options
from rillway.pipeline.replay.ledger import ReplayRefused
from rillway.pipeline.replay.replayer import AtOnce, Hooks, Pace, Rate, Replayer, Speed
from rillway.pipeline.wire.connection import ConnectionLost, ServerError
from rillway.pipeline.wire.ids import MIN_ID, format_id, in_unit

EXPECTED_ERRORS = (
    ArchiveError,
    ConnectionLost,
    OSError,
    ReplayRefused,
    ServerError,
    UnwritableRow,
)


def main(arguments: list[str]) -> int:
    """Run `rillway replay`. Returns the exit status."""
    options = parse_options(arguments)
    try:
        return run(options)
    except EXPECTED_ERRORS as error:
        print(f"rillway replay: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(options: argparse.Namespace) -> int:
    """Replay the rest, and print a summary. Returns the exit status."""
    table = ArchiveTable.open(options.from_archive, options.storage_options)
    if table.end(options.stream) is None:
        raise ArchiveError(f"{options.from_archive}: {options.stream} is not archived there")
    name_target("replay", options.url)
    what = f"replaying {options.stream} into {options.into}"
    with Interruption() as interruption, Progress(what) as progress:
        replayer = Replayer(
            options.url,
            table,
            options.stream,
            options.into,
            keeps_ids=options.keep_ids,
            marks_origin=options.origin,
            appends=options.append,
            epochs=options.epochs,
            pace=pace_of(options),
            hooks=Hooks(progress.set_total, progress.advance, interruption.wait),
        )
        unit = table.unit(options.stream)
        try:
            first, last = in_unit(options.first, unit), in_unit(options.last, unit)
        except ValueError as error:
            raise ReplayRefused(f"{options.stream}: {error}") from None
        done = replayer.run(first, last)
        parts = [progress.summary() if done.rows else "nothing was left to replay"]
    if done.before:
        parts.append(f"{done.before:,} had been replayed before")
    if done.last_id != MIN_ID:
        parts.append(f"replayed up to {format_id(done.last_id)}")
    if not done.is_complete:
        parts.append("interrupted: start it again to continue")
    print(f"{options.into}: " + "; ".join(parts))
    return 0 if done.is_complete else interruption.exit_status


def pace_of(options: argparse.Namespace) -> Pace:
    if options.speed is not None:
        return Speed(options.speed)
    return AtOnce() if options.rate is None else Rate(options.rate)
