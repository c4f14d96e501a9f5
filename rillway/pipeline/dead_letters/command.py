"""`rillway dead-letters`: entries that were delivered too often move to another stream.

Standard output has one line for each group at the end of each round (with --dry-run, a table);
progress, and what is lost, goes to standard error. Exits with 0 when it is done, or has ended in
--every as it was told; 1 if it cannot go on, 2 for a bad argument, 128 + N if signal N came before
all was done. It may be started again at any time, whatever ended it. Needs no Spark.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence

from rillway.command_line.arguments import add_url, duration, from_zero, interval
from rillway.command_line.parser import Parser
from rillway.pipeline.cli.interruption import Interrupted, Interruption
from rillway.pipeline.cli.progress import Progress
from rillway.pipeline.cli.text_table import text_table
from rillway.pipeline.client.cluster import connect
from rillway.pipeline.client.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.client.ids import format_id
from rillway.pipeline.client.pending import group_names
from rillway.pipeline.dead_letters.mover import DeadLetter, MoveFailed, Mover, Report, Rules
from rillway.pipeline.dead_letters.redrive import redrive
from rillway.pipeline.ranges.discovery import StreamMissing, check_there

EXPECTED_ERRORS = (ConnectionLost, MoveFailed, ServerError, StreamMissing)
SHOWN_IDS = 10


def main(arguments: list[str]) -> int:
    """Move dead letters once, or every so often. Returns the exit status."""
    options = parse_options(arguments)
    try:
        with Interruption() as interruption:
            return run(options, interruption)
    except EXPECTED_ERRORS as error:
        print(f"rillway dead-letters: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("rillway dead-letters: interrupted; what was moved stays", file=sys.stderr)
        return 130


def run(options: argparse.Namespace, interruption: Interruption) -> int:
    if options.every is None:
        return run_round(options, interruption)
    while not interruption.requested:
        began = time.monotonic()
        try:
            run_round(options, interruption)
        except EXPECTED_ERRORS as error:
            again = f"next try in {options.every:g} s"
            print(f"rillway dead-letters: {error}; {again}", file=sys.stderr)
        interruption.wait(max(options.every - (time.monotonic() - began), 0))
    return 0


def run_round(options: argparse.Namespace, interruption: Interruption) -> int:
    """Each group once. Raises ServerError, ConnectionLost, MoveFailed."""
    rules = Rules(options.more_than, round(options.idle * 1000))
    with connect(options.url) as servers:
        if servers.slot(options.stream) != servers.slot(options.to):
            raise MoveFailed(
                f"in a cluster, {options.stream} and {options.to} must be in one slot: "
                f"only what is in braces counts, as in {{orders}} and {{orders}}:dead"
            )
        connection = servers.of(options.stream)
        check_there(connection, options.stream, remedy="")
        if options.back:
            return send_back(connection, options, interruption)
        groups = options.group or group_names(connection, options.stream)
        if not groups:
            print(f"{options.stream}: no groups")
        mover = Mover(
            connection, options.stream, options.to, rules, drops_missing=options.drop_missing
        )
        for group in groups:
            if interruption.requested:
                return interruption.exit_status
            if options.dry_run:
                show_group(mover, options.stream, group)
            elif not move_group(mover, Report(options.stream, group), options.to, interruption):
                return interruption.exit_status
    return 0


def send_back(
    connection: Connection, options: argparse.Namespace, interruption: Interruption
) -> int:
    sent = 0
    with Progress(f"sending {options.to} back") as progress:
        try:
            with contextlib.suppress(Interrupted):
                for entries in redrive(connection, options.to, options.stream, options.group or ()):
                    sent += entries
                    progress.advance(entries)
                    interruption.check()
        finally:
            print(f"{options.stream}: {sent:,} moved back from {options.to}", flush=True)
    return interruption.exit_status if interruption.requested else 0


def move_group(mover: Mover, report: Report, to: str, interruption: Interruption) -> bool:
    """Move the dead letters of a group and print a summary; return False if interrupted."""
    is_complete = True
    with Progress(f"moving {report.stream}/{report.group}") as progress:
        try:
            with contextlib.suppress(Interrupted):
                is_complete = False
                for entries in mover.move(report.group, report):
                    progress.advance(entries)
                    interruption.check()
                is_complete = True
        finally:
            if report.missing:
                progress.note(loss(report))
            print(summary(report, to), flush=True)
    return is_complete


def summary(report: Report, to: str) -> str:
    """Return a summary of a report in one line."""
    parts = [f"{report.moved:,} moved to {to}"]
    if report.missing:
        parts.append(f"{len(report.missing):,} lost")
    if report.dropped:
        parts.append(f"{report.dropped:,} of them acknowledged")
    if report.taken_back:
        parts.append(f"{report.taken_back:,} acknowledged by a consumer just then, and not moved")
    return f"{report.stream}/{report.group}: " + "; ".join(parts)


def loss(report: Report) -> str:
    """Which entries no longer exist."""
    shown = ", ".join(map(format_id, report.missing[:SHOWN_IDS]))
    more = (
        f" and {len(report.missing) - SHOWN_IDS:,} more" if len(report.missing) > SHOWN_IDS else ""
    )
    what = f"{report.stream}/{report.group}: lost, deleted or trimmed while pending: {shown}{more}"
    if report.dropped:
        return what
    return f"{what} (they stay pending; --drop-missing acknowledges them)"


def show_group(mover: Mover, stream: str, group: str) -> None:
    """--dry-run."""
    letters = [letter for found in mover.find(group) for letter in found]
    print(f"{stream}/{group}: {len(letters):,} would be moved")
    if letters:
        print(text_table(("id", "consumer", "deliveries", "idle ms", ""), rows(letters)))


def rows(letters: Sequence[DeadLetter]) -> list[tuple[object, ...]]:
    return [
        (
            format_id(letter.entry.id),
            letter.entry.consumer.decode(errors="backslashreplace"),
            letter.entry.deliveries,
            letter.entry.idle_ms,
            "lost" if letter.fields is None else "",
        )
        for letter in letters
    ]


def make_parser() -> Parser:
    parser = Parser(
        "dead-letters",
        "Move entries that were delivered too often to another stream, with their "
        "history, and acknowledge them in the same transaction.",
    )
    parser.add_argument("--stream", required=True, help="the key of the stream")
    parser.add_argument(
        "--group", action="append", help="a group; may be given again (default: all groups)"
    )
    parser.add_argument(
        "--more-than",
        type=from_zero,
        metavar="K",
        help="entries that were delivered more than K times",
    )
    parser.add_argument(
        "--idle",
        type=duration,
        default=0.0,
        metavar="TIME",
        help="and were last delivered at least this long ago, such as 10m (default: any time)",
    )
    parser.add_argument("--to", required=True, metavar="STREAM", help="where they go")
    parser.add_argument(
        "--back",
        action="store_true",
        help="the other way: send the dead letters in --to that came from --stream back to it",
    )
    parser.add_argument(
        "--drop-missing",
        action="store_true",
        help="acknowledge entries that were deleted or trimmed while they were pending",
    )
    parser.add_argument("--dry-run", action="store_true", help="show them, and move nothing")
    parser.add_argument(
        "--every", type=interval, metavar="TIME", help="again and again, such as 5m (default: once)"
    )
    add_url(parser)
    return parser


def parse_options(arguments: list[str]) -> argparse.Namespace:
    """Exits with status 2 if they are wrong."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.to == options.stream:
        parser.error("--to is the stream itself")
    if options.back == (options.more_than is not None):
        parser.error("one of --more-than and --back is needed")
    if options.back and (options.dry_run or options.drop_missing or options.idle):
        parser.error("--idle, --dry-run and --drop-missing do not go with --back")
    return options
