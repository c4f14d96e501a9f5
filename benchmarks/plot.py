"""The picture: each case's ratio with its spread, on a logarithmic axis, and the targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Measure, Result, Spread

AHEAD, BEHIND, TARGET = "#2a7f62", "#b5523b", "#333333"
ROW_INCHES = 0.22
WIDTH_INCHES = 9.0


def draw(results: Sequence[Result], path: Path, title: str) -> bool:
    """Write a PNG; False if matplotlib is not installed or there is no ratio to show."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    shown = [(result, ratio) for result in results if (ratio := result.ratio)]
    if not shown:
        return False
    figure = Figure(figsize=(WIDTH_INCHES, 1.5 + ROW_INCHES * len(shown)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for line, (result, ratio) in enumerate(shown):
        colour = AHEAD if is_ahead(result, ratio) else BEHIND
        axes.plot([ratio.low, ratio.high], [line, line], color=colour, linewidth=2, alpha=0.5)
        axes.plot([ratio.median], [line], "o", color=colour, markersize=4)
        for target in result.row.targets:
            if target.measure is Measure.RATIO:
                axes.plot([target.bound], [line], "|", color=TARGET, markersize=9)
    axes.axvline(1.0, color="#999999", linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(shown)), [label(result) for result, _ in shown], fontsize=7)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.grid(axis="x", which="both", alpha=0.2)
    axes.set_xlabel(
        "Rillway / Redis: median and spread of the pairs (green: ahead); | is the target"
    )
    axes.set_title(title, fontsize=9)
    figure.savefig(path, dpi=130)
    return True


def label(result: Result) -> str:
    """The case, and a mark where less is better."""
    return result.row.name + (" (less is better)" if result.row.lower_is_better else "")


def is_ahead(result: Result, ratio: Spread) -> bool:
    """Whether Rillway is at least as good as Redis."""
    return ratio.median <= 1 if result.row.lower_is_better else ratio.median >= 1
