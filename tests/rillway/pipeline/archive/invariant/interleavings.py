"""Two archivers of one stream, both without a lease, in each order in which their steps can come.

    python -m tests.rillway.pipeline.archive.invariant.interleavings [--seconds 3600]

goes through all orders, the ones with few changes from one archiver to the other first, until one
fails or the time is over. Whatever the order: each entry is archived once, in its place, none is
trimmed that is not, and what is left in the stream in the end is the last one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import combinations, groupby, pairwise
from pathlib import Path

from rillway.pipeline.archive.archiver import ArchiverSettings
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.invariant.steps import EXPECTED_ENDS, Steps, without_leases
from tests.rillway.pipeline.archive.scene import (
    STEPS,
    STREAM,
    add,
    add_many,
    archive,
    archived_ids,
    live_ids,
)
from tests.support.programs.servers import start_redis

# With the last one, after which an archiver has ended.
NUMBER = len(STEPS) + 1
FIRST, LATER = 5, 3


class Broken(AssertionError):
    """Something is lost, doubled, or not in its place."""


def orders(changes: int) -> Iterator[str]:
    """All orders of the steps of A and B that begin with A, as texts like `AABBB...A`.

    `changes`: how often the turn passes from one to the other: twice in that one. Orders that
    begin with B are the same, as the two archivers are alike.
    """
    length, cuts = 2 * NUMBER, range(1, 2 * NUMBER)
    for chosen in combinations(cuts, changes):
        bounds = [0, *chosen, length]
        sizes = [end - begin for begin, end in pairwise(bounds)]
        if sum(sizes[::2]) == NUMBER:
            yield "".join("AB"[place % 2] * size for place, size in enumerate(sizes))


def play(url: str, order: str) -> None:
    """Raises Broken."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rillway-orders-"))
        link = stack.enter_context(Connection(url))
        stack.enter_context(without_leases())
        link.call("FLUSHALL")
        table = ArchiveTable.open_or_create(Path(folder) / "archive")
        add_many(link, FIRST)
        archive(link, table)
        add_many(link, LATER, first_ms=FIRST + 1)
        two = {name: Steps(table.root, ArchiverSettings(url), [STREAM]) for name in "AB"}
        for name in order + NUMBER * NUMBER * "AB":
            if not two[name].is_done:
                two[name].step()
        for steps in two.values():
            steps.stop()
            for error in (steps.error, *steps.failures.values()):
                if error is not None and not isinstance(error, EXPECTED_ENDS):
                    raise Broken(f"{order}: {type(error).__name__}: {error}") from error
        add(link, "100-0")
        archive(link, table)
        check(order, link, table)


def check(order: str, link: Connection, table: ArchiveTable) -> None:
    table.refresh()
    state = table.state(STREAM)
    expected = [f"{ms}-0" for ms in range(1, FIRST + LATER + 1)] + ["100-0"]
    found = archived_ids(table), live_ids(link), None if state is None else len(state.epochs)
    if found != (expected, ["100-0"], 1):
        raise Broken(f"{order}: archived, live and epochs are {found}")


def changes_of(order: str) -> int:
    """How often the other archiver goes on."""
    return sum(1 for _ in groupby(order)) - 1


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.rillway.pipeline.archive.invariant.interleavings"
    )
    parser.add_argument("--seconds", type=float, default=3600.0)
    options = parser.parse_args()
    played, began = 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rillway-orders-") as folder:
        server = start_redis(Path(folder))
        try:
            for order in (order for changes in range(1, 2 * NUMBER) for order in orders(changes)):
                if time.monotonic() - began > options.seconds:
                    break
                play(f"redis://127.0.0.1:{server.port}", order)
                played += 1
        except Broken as broken:
            print(broken)
            return 1
        finally:
            server.stop()
    print(f"{played:,} orders in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
