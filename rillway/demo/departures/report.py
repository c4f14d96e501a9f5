"""The demo's report: tables and the latency histogram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from textwrap import indent

from rillway.demo.departures.audit import Check
from rillway.demo.departures.tally import LATENCY_BOUNDS_MS, Counters
from rillway.text import text_table


def indented(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return indent(text_table(headings, rows), "  ")


def consumer_table(tallies: Mapping[str, Counters], crashed: Sequence[str]) -> str:
    headings = ("consumer", "delivered", "claimed", "acknowledged", "left behind", "end")
    rows: list[tuple[object, ...]] = [
        (
            name,
            tally.delivered,
            tally.claimed,
            tally.acknowledged,
            tally.unacknowledged,
            "crashed" if name in crashed else "finished",
        )
        for name, tally in tallies.items()
    ]
    totals = [sum(tally.delivered for tally in tallies.values())]
    totals.append(sum(tally.claimed for tally in tallies.values()))
    totals.append(sum(tally.acknowledged for tally in tallies.values()))
    rows.append(("all", *totals, totals[0] + totals[1] - totals[2], ""))
    return indented(headings, rows)


def carrier_table(expected: Mapping[str, int], counted: Mapping[str, int]) -> str:
    rows = [
        (carrier, expected.get(carrier, 0), counted.get(carrier, 0))
        for carrier in sorted(expected.keys() | counted.keys())
    ]
    rows.append(("all", sum(expected.values()), sum(counted.values())))
    marked = [(*row, "" if row[1] == row[2] else "DIFFERS") for row in rows]
    return indented(("carrier", "in the data set", "acknowledged", ""), marked)


def latency_lines(tallies: Mapping[str, Counters]) -> Iterator[str]:
    """The histogram as in Redis's tutorial on streams; empty classes are left out."""
    counts = [
        sum(column) for column in zip(*(t.latencies() for t in tallies.values()), strict=True)
    ]
    total = sum(counts)
    if total == 0:
        return
    for (lower, upper), count in zip(pairwise((0, *LATENCY_BOUNDS_MS)), counts, strict=False):
        if count:
            yield f"Processed between {lower} and {upper} ms -> {count / total:.2%}"
    if counts[-1]:
        yield f"Processed in {LATENCY_BOUNDS_MS[-1]} ms or more -> {counts[-1] / total:.2%}"


def check_lines(checks: Sequence[Check]) -> Iterator[str]:
    """A line for each check: the value found, and the expected one if they differ."""
    for check in checks:
        if check.passed:
            shown = f": {check.found:,}" if type(check.found) is int else ""
            yield f"  ok      {check.claim}{shown}"
        else:
            yield f"  FAILED  {check.claim}: expected {check.expected}, found {check.found}"
