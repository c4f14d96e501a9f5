"""`rillway dead-letters`: moves entries that were delivered too often to another stream.

Standard output has one line for each group at the end of each round (with --dry-run, a table); with
--every, once a minute while nothing is moved. Progress and losses go to standard error. Exits with
0 when it is done, or a signal ended --every; 1 if it cannot continue, 2 for a bad argument, 128 + N
if signal N arrived before everything was done. It may be started again at any time, whatever ended
it. Needs no Spark.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rillway.client.partitions import MOST_PARTITIONS, Partitions
from rillway.command_line.output import name_target
from rillway.pipeline.cli.interruption import Interrupted, Interruption
from rillway.pipeline.cli.progress import OncePerMinute, Progress
from rillway.pipeline.dead_letters.arguments import parse_options
from rillway.pipeline.dead_letters.mover import DeadLetter, MoveFailed, Mover, MoveReport, Rules
from rillway.pipeline.dead_letters.redrive import redrive
from rillway.pipeline.ranges.discovery import StreamMissing, check_kinds, check_there, kinds_of
from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError
from rillway.pipeline.wire.ids import format_id
from rillway.pipeline.wire.pending import group_names
from rillway.plurals import count_of
from rillway.text import text_table

EXPECTED_ERRORS = (ConnectionLost, MoveFailed, ServerError, StreamMissing)
SHOWN_IDS = 10
# The least number of partitions to check: some of a few may have had no entry yet.
FEWEST_CHECKED = 16


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
    if not options.dry_run:
        name_target("dead-letters", options.url)
    said = OncePerMinute()
    if options.every is None:
        return run_round(options, interruption, said)
    while not interruption.requested:
        began = time.monotonic()
        try:
            run_round(options, interruption, said)
        except EXPECTED_ERRORS as error:
            text = f"rillway dead-letters: {error}; next try in {options.every:g} s"
            if said.allows(text):
                print(text, file=sys.stderr)
        interruption.wait(max(options.every - (time.monotonic() - began), 0))
    return 0


def run_round(options: argparse.Namespace, interruption: Interruption, said: OncePerMinute) -> int:
    """Process each group of each partition. Raises ServerError, ConnectionLost, MoveFailed."""
    total = 0
    with connect(options.url) as servers:
        routes = routes_there(servers, options, said)
        if options.partitions is not None and not options.back:
            check_groups(servers, routes, options.group or ())
        for route in routes:
            done = run_route(servers, route, options, interruption, said)
            if done is None:
                return interruption.exit_status
            total += done
    if options.partitions is not None:
        where = count_of(options.partitions, "partition")
        show(f"{options.stream}: {total:,} {done_by(options)}, in {where}", said, is_news=total > 0)
    return 0


def show(text: str, said: OncePerMinute, *, is_news: bool) -> None:
    """Print a line, once a minute if nothing has happened."""
    if is_news or said.allows(text):
        print(text, flush=True)


def done_by(options: argparse.Namespace) -> str:
    if options.back:
        return "moved back"
    return "would be moved" if options.dry_run else "moved"


@dataclass(frozen=True, slots=True)
class Route:
    """A stream, or a partition of one, and the stream of its dead letters."""

    stream: str
    to: str
    is_partition: bool = False  # those without dead letters are not mentioned


def routes_there(
    servers: Connection, options: argparse.Namespace, said: OncePerMinute
) -> list[Route]:
    """Return the stream, or the existing partitions. Raises StreamMissing, MoveFailed."""
    if options.partitions is None:
        check_there(servers, options.stream, remedy="")
        if servers.slot(options.stream) != servers.slot(options.to):
            raise MoveFailed(
                f"in a cluster, {options.stream} and {options.to} must be in one slot: "
                f"only what is in braces counts, as in {{orders}} and {{orders}}:dead"
            )
        return [Route(options.stream, options.to)]
    names = Partitions(options.stream, options.partitions)
    kinds = kinds_of(servers, names.streams)
    there = [name for name in names.streams if kinds[name] != "none"] or names.streams[:1]
    check_kinds(servers, {name: kinds[name] for name in there}, remedy="")
    if (text := left_out(servers, names)) and said.allows(text):
        print(f"rillway dead-letters: note: {text}", file=sys.stderr)
    partitions = enumerate(names.streams)
    return [Route(name, names.dead_letters(p), True) for p, name in partitions if name in there]


def left_out(servers: Connection, names: Partitions) -> str:
    """Return a sentence about existing partitions beyond the given number; empty if none.

    Checks up to twice that number, and further while it finds some, instead of all 16,384. Raises
    ServerError.
    """
    there: list[str] = []
    looked_at, number = names.partitions, max(2 * names.partitions, FEWEST_CHECKED)
    while looked_at < MOST_PARTITIONS:
        others = [names.stream(p) for p in range(looked_at, min(number, MOST_PARTITIONS))]
        found = [name for name, kind in kinds_of(servers, others).items() if kind == "stream"]
        if not found:
            break
        there += found
        looked_at, number = number, 2 * number
    if not there:
        return ""
    what = there[0] if len(there) == 1 else f"{there[0]} to {there[-1]}"
    return f"--partitions {names.partitions} leaves out {what}"


def check_groups(servers: Connection, routes: Sequence[Route], groups: Sequence[str]) -> None:
    """Check that each group exists in at least one partition. Raises MoveFailed."""
    missing = set(groups)
    for route in routes:
        if not missing:
            return
        missing.difference_update(group_names(servers.of(route.stream), route.stream))
    if missing:
        raise MoveFailed(f"no partition has the group {', '.join(sorted(missing))}")


def run_route(
    servers: Connection,
    route: Route,
    options: argparse.Namespace,
    interruption: Interruption,
    said: OncePerMinute,
) -> int | None:
    """Return how many entries were, or would be, moved; None if a signal arrived before the end."""
    connection = servers.of(route.stream)
    if options.back:
        return send_back(connection, route, options.group or (), interruption, said)
    groups = options.group or group_names(connection, route.stream)
    if route.is_partition:  # a partition lacks a group until its first consumer reads there
        groups = [name for name in group_names(connection, route.stream) if name in groups]
    elif not groups:
        show(f"{route.stream}: no groups", said, is_news=False)
    rules = Rules(options.more_than, round(options.idle * 1000))
    mover = Mover(connection, route.stream, route.to, rules, drops_missing=options.drop_missing)
    total = 0
    for group in groups:
        if interruption.requested:
            return None
        if options.dry_run:
            total += show_group(mover, route, group, said)
            continue
        report = MoveReport(route.stream, group)
        if not move_group(mover, report, route, interruption, said):
            return None
        total += report.moved
    return total


def send_back(
    connection: Connection,
    route: Route,
    groups: Sequence[str],
    interruption: Interruption,
    said: OncePerMinute,
) -> int | None:
    sent = 0
    with Progress(f"sending {route.to} back") as progress:
        try:
            with contextlib.suppress(Interrupted):
                for entries in redrive(connection, route.to, route.stream, groups):
                    sent += entries
                    progress.advance(entries)
                    interruption.check()
        finally:
            if sent or not route.is_partition:
                text = f"{route.stream}: {sent:,} moved back from {route.to}"
                show(text, said, is_news=sent > 0)
    return None if interruption.requested else sent


def move_group(
    mover: Mover, report: MoveReport, route: Route, interruption: Interruption, said: OncePerMinute
) -> bool:
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
            if report.missing and said.allows(loss(report)):
                progress.note(loss(report))
            if report != MoveReport(report.stream, report.group) or not route.is_partition:
                has_changed = report.moved or report.dropped or report.taken_back
                show(summary(report, route.to), said, is_news=bool(has_changed))
    return is_complete


def summary(report: MoveReport, to: str) -> str:
    """Return a summary of a report in one line."""
    parts = [f"{report.moved:,} moved to {to}"]
    if report.missing:
        parts.append(f"{len(report.missing):,} lost")
    if report.dropped:
        parts.append(f"{report.dropped:,} of them acknowledged")
    if report.taken_back:
        parts.append(f"{report.taken_back:,} acknowledged by a consumer just then, and not moved")
    return f"{report.stream}/{report.group}: " + "; ".join(parts)


def loss(report: MoveReport) -> str:
    """Return a sentence about entries that no longer exist."""
    shown = ", ".join(map(format_id, report.missing[:SHOWN_IDS]))
    more = (
        f" and {len(report.missing) - SHOWN_IDS:,} more" if len(report.missing) > SHOWN_IDS else ""
    )
    what = f"{report.stream}/{report.group}: lost, deleted or trimmed while pending: {shown}{more}"
    if report.dropped:
        return what
    return f"{what} (they stay pending; --drop-missing acknowledges them)"


def show_group(mover: Mover, route: Route, group: str, said: OncePerMinute) -> int:
    """Print the dead letters of a group, for --dry-run. Returns their number."""
    letters = [letter for found in mover.find(group) for letter in found]
    if letters or not route.is_partition:
        show(
            f"{route.stream}/{group}: {len(letters):,} would be moved", said, is_news=bool(letters)
        )
    if letters:
        print(text_table(("id", "consumer", "deliveries", "idle ms", ""), rows(letters)))
    return len(letters)


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
