"""Latencies as a picture: how large a part took no longer than a time, for groups and consumers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rillway.pipeline.cli.plots import drawn_figure
from rillway.pipeline.latency.distribution import Distribution, Latencies, Tally
from rillway.pipeline.latency.report import MEASURES

# More consumers could not be distinguished.
MAX_CONSUMERS = 10
# Where 0 is drawn: the axis is logarithmic, and times are whole milliseconds.
ZERO_MS = 0.5


def draw(tally: Tally, path: Path, title: str) -> None:
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


def curves(tally: Tally) -> list[tuple[str, str, Latencies]]:
    """(label, style of the line, latencies) of each group, and of its consumers if they are few."""
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
        # From 0 % at the left, so that a single time is seen, too.
        panel.plot([times[0], *times], [0.0, *shares], style, label=label, drawstyle="steps-post")
