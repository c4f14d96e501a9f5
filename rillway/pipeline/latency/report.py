"""Reports of latencies: tables, plots, CSV, and the histogram of the Redis streams tutorial."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from rillway.pipeline.cli.plots import drawn_figure
from rillway.pipeline.latency.distribution import (
    PERCENTILES,
    Distribution,
    Latencies,
    LatencyCounts,
)
from rillway.plurals import count_of
from rillway.text import text_table

EVERYBODY = "(all)"  # all consumers of a group; each follows below
NOBODY = "(none)"  # an entry that was given back, and acknowledged nevertheless
MEASURES = {
    "pending": "from the last delivery to the acknowledgement, with the wait in its batch",
    "total": "from the entry's ID to the acknowledgement",
}
# Below the first table: servers do not know the time of a handler alone.
BATCHES = (
    "Of what XREADGROUP COUNT n delivers at once, the last entry waits for the n - 1 before it:\n"
    "a smaller COUNT makes pending times shorter; with COUNT 1 they are those of the handler alone."
)
POINTS = (*PERCENTILES, "max")


def lines(tally: LatencyCounts, stream: str) -> Iterator[str]:
    """Yield the whole report: a table for each measure, and a histogram for each group."""
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
        yield f"left out: {count_of(tally.unreadable, 'entry')} in another format than a journal's"


def histogram_lines(distribution: Distribution) -> Iterator[str]:
    """Yield `Processed between 0 and 1 ms -> 74.11%`, without empty classes."""
    total = distribution.count
    for lower, upper, count in distribution.histogram():
        share = f"{count / total:.2%}"
        if upper is None:
            yield f"Processed in {lower} ms or more -> {share}"
        else:
            yield f"Processed between {lower} and {upper} ms -> {share}"


def short_lines(tally: LatencyCounts, stream: str) -> Iterator[str]:
    """Yield a line for each group, for the acknowledgements since the last report."""
    for group, latencies in tally.groups().items():
        parts = [f"{stream}/{group}: {latencies.count:,} acknowledged"]
        for measure in MEASURES:
            distribution: Distribution = getattr(latencies, measure)
            if distribution.count:
                points = distribution.percentiles()
                shown = " ".join(f"{name} {points[name]:,}" for name in ("p50", "p99", "max"))
                parts.append(f"{measure} {shown} ms")
        yield ", ".join(parts)


def write_csv(tally: LatencyCounts, file: TextIO) -> None:
    """Write a line for each group and consumer; unknown values are empty."""
    writer = csv.writer(file)
    points = [f"{measure}_{point}_ms" for measure in MEASURES for point in POINTS]
    writer.writerow(["group", "consumer", "count", *points])
    for group, consumer, one in _rows(tally):
        values = [*one.pending.percentiles().values(), *one.total.percentiles().values()]
        writer.writerow([group, consumer, one.count, *values])


def _rows(tally: LatencyCounts) -> Iterator[tuple[str, str, Latencies]]:
    """Yield each group, then its consumers."""
    for group, together in tally.groups().items():
        yield group, EVERYBODY, together
        for consumer, latencies in tally.consumers(group).items():
            yield group, consumer or NOBODY, latencies


# More consumers could not be distinguished.
MAX_CONSUMERS = 10
# The place of 0 on the logarithmic axis; times are whole milliseconds.
ZERO_MS = 0.5


def draw(tally: LatencyCounts, path: Path, title: str) -> None:
    """Write a PNG file. Raises PlotUnavailable, OSError."""
    with drawn_figure(path, title, columns=len(MEASURES)) as panels:
        for panel, (measure, meaning) in zip(panels, MEASURES.items(), strict=True):
            for label, style, latencies in curves(tally):
                _curve(panel, label, style, getattr(latencies, measure))
            panel.set_xscale("log")
            panel.xaxis.set_major_formatter("{x:g}")
            panel.set_ylim(0, 102)
            panel.set_xlabel(f"{measure} time, ms ({meaning})", fontsize="small")
            panel.set_ylabel("acknowledged within, %")
            panel.grid(visible=True, which="major", alpha=0.3)
            if panel.lines:
                panel.legend(loc="lower right", fontsize="small")


def curves(tally: LatencyCounts) -> list[tuple[str, str, Latencies]]:
    """Return (label, line style, latencies) of each group, and of its consumers if they are few."""
    found = []
    for group, together in tally.groups().items():
        found.append((group, "-", together))
        consumers = tally.consumers(group)
        if 1 < len(consumers) <= MAX_CONSUMERS:
            found += [(f"{group}/{name}", ":", one) for name, one in consumers.items()]
    return found


def _curve(panel: Any, label: str, style: str, distribution: Distribution) -> None:
    points = list(distribution.cumulative())
    if points:
        times = [max(ms, ZERO_MS) for ms, _ in points]
        shares = [100 * up_to_here / distribution.count for _, up_to_here in points]
        # From 0 % at the left, so that a single time is visible.
        panel.plot([times[0], *times], [0.0, *shares], style, label=label, drawstyle="steps-post")
