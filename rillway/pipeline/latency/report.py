"""Latencies in words: tables, the histogram in the form of the Redis streams tutorial, CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

from rillway.pipeline.latency.distribution import PERCENTILES, Distribution, Latencies, Tally
from rillway.plurals import count_of
from rillway.text import text_table

EVERYBODY = "(all)"  # of a group; its consumers stand below
NOBODY = "(none)"  # an entry that was given back, and acknowledged nevertheless
MEASURES = {
    "pending": "from the last delivery to the acknowledgement, with the wait in its batch",
    "total": "from the entry's ID to the acknowledgement",
}
# Below the first table. What a handler takes by itself, no server knows.
BATCHES = (
    "Of what XREADGROUP COUNT n delivers at once, the last entry waits for the n - 1 before it:\n"
    "a smaller COUNT makes pending times shorter; with COUNT 1 they are those of the handler alone."
)
POINTS = (*PERCENTILES, "max")


def lines(tally: Tally, stream: str) -> Iterator[str]:
    """All of it: a table for each measure, and a histogram for each group."""
    named = list(_rows(tally))
    if not named:
        yield f"{stream}: no acknowledgements"
        return
    for measure, meaning in MEASURES.items():
        yield f"{measure.capitalize()} time, {meaning}, in ms"
        yield text_table(
            ("group", "consumer", "count", *POINTS),
            [
                (group, consumer, one.count, *getattr(one, measure).percentiles().values())
                for group, consumer, one in named
            ],
        )
        if measure == "pending":
            yield BATCHES
        yield ""
    for group, latencies in tally.groups().items():
        yield f"{stream}/{group}, total time"
        yield from histogram_lines(latencies.total)
        yield ""
    if tally.unreadable:
        yield f"left out: {count_of(tally.unreadable, 'entry')} of the journal, none of a journal's"


def histogram_lines(distribution: Distribution) -> Iterator[str]:
    """`Processed between 0 and 1 ms -> 74.11%`, without classes into which nothing fell."""
    total = distribution.count
    for lower, upper, count in distribution.histogram():
        share = f"{count / total:.2%}"
        if upper is None:
            yield f"Processed in {lower} ms or more -> {share}"
        else:
            yield f"Processed between {lower} and {upper} ms -> {share}"


def short_lines(tally: Tally, stream: str) -> Iterator[str]:
    """A line for each group: for what has come in since the last time."""
    for group, latencies in tally.groups().items():
        parts = [f"{stream}/{group}: {latencies.count:,} acknowledged"]
        for measure in MEASURES:
            distribution: Distribution = getattr(latencies, measure)
            if distribution.count:
                points = distribution.percentiles()
                shown = " ".join(f"{name} {points[name]:,}" for name in ("p50", "p99", "max"))
                parts.append(f"{measure} {shown} ms")
        yield ", ".join(parts)


def write_csv(tally: Tally, file: TextIO) -> None:
    """A line for each group and each consumer; empty where nothing is known."""
    writer = csv.writer(file)
    points = [f"{measure}_{point}_ms" for measure in MEASURES for point in POINTS]
    writer.writerow(["group", "consumer", "count", *points])
    for group, consumer, one in _rows(tally):
        values = [*one.pending.percentiles().values(), *one.total.percentiles().values()]
        writer.writerow([group, consumer, one.count, *values])


def _rows(tally: Tally) -> Iterator[tuple[str, str, Latencies]]:
    """Each group, and its consumers."""
    for group, together in tally.groups().items():
        yield group, EVERYBODY, together
        for consumer, latencies in tally.consumers(group).items():
            yield group, consumer or NOBODY, latencies
