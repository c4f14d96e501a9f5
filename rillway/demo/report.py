"""The demo's output: progress while it runs; tables and the latency histogram at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from rillway.demo.audit import Check
from rillway.demo.tally import LATENCY_BOUNDS_MS, Tally

LINE_EVERY_SECONDS = 2.0
BAR_EVERY_SECONDS = 0.2


class Progress(Protocol):
    """Progress of the demo. `update` may be called often; it draws only from time to time."""

    def update(self, sent: int, acknowledged: int) -> None: ...

    def note(self, text: str) -> None: ...

    def close(self) -> None: ...


class LineProgress:
    """A line every two seconds: for logs, and if rich is not installed."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.next_line = 0.0

    def update(self, sent: int, acknowledged: int) -> None:
        if time.monotonic() >= self.next_line:
            self.next_line = time.monotonic() + LINE_EVERY_SECONDS
            self.note(f"{sent:>9,} sent  {acknowledged:>9,} acknowledged  of {self.total:,}")

    def note(self, text: str) -> None:
        print(text, flush=True)

    def close(self) -> None:
        pass


class BarProgress:
    """Two bars on a terminal, drawn by rich.

    Drawn from `update`, not from a thread of rich's own: one that draws while a pipeline is sent
    would be measured as latency.
    """

    def __init__(self, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self.bars = Bars(
            TextColumn("{task.description:<12}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            auto_refresh=False,
        )
        self.sent = self.bars.add_task("sent", total=total)
        self.acknowledged = self.bars.add_task("acknowledged", total=total)
        self.next_draw = 0.0
        self.bars.start()

    def update(self, sent: int, acknowledged: int) -> None:
        if time.monotonic() >= self.next_draw:
            self.next_draw = time.monotonic() + BAR_EVERY_SECONDS
            self.bars.update(self.sent, completed=sent)
            self.bars.update(self.acknowledged, completed=acknowledged)
            self.bars.refresh()

    def note(self, text: str) -> None:
        self.bars.console.print(text, highlight=False)

    def close(self) -> None:
        self.bars.refresh()
        self.bars.stop()


def make_progress(total: int) -> Progress:
    if sys.stdout.isatty():
        try:
            return BarProgress(total)
        except ImportError:
            pass
    return LineProgress(total)


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell; numbers to the right, with separators."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    numeric = [isinstance(cell, int) for cell in rows[0]]

    def line(texts: Sequence[str]) -> str:
        aligned = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, numeric, strict=True)
        ]
        return "  " + "  ".join(aligned).rstrip()

    rule = line(["-" * width for width in widths])
    return "\n".join([line(headings), rule, *map(line, cells)])


def consumer_table(tallies: Mapping[str, Tally], crashed: Sequence[str]) -> str:
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
    return table(headings, rows)


def carrier_table(expected: Mapping[str, int], counted: Mapping[str, int]) -> str:
    rows = [
        (carrier, expected.get(carrier, 0), counted.get(carrier, 0))
        for carrier in sorted(expected.keys() | counted.keys())
    ]
    rows.append(("all", sum(expected.values()), sum(counted.values())))
    marked = [(*row, "" if row[1] == row[2] else "DIFFERS") for row in rows]
    return table(("carrier", "in the data set", "acknowledged", ""), marked)


def latency_lines(tallies: Mapping[str, Tally]) -> Iterator[str]:
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
