"""Plots the ratios: how many times as good Rillway is as Redis, a panel for each family of cases.

Right means better for Rillway everywhere: if less is better, the ratio is inverted. The axis is
logarithmic, the same in all panels, and ends at `FARTHEST`; values beyond are drawn as an arrow at
its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import FARTHEST, Measure, Result, Spread
from benchmarks.report import TITLES, sections

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AHEAD, BEHIND, TARGET = "#2a7f62", "#b5523b", "#333333"
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)

# In inches. A panel is as high as its rows and one for its title.
COLUMNS = 3
COLUMN_WIDTH = 5.4
LABEL_WIDTH = 2.1
ROW_HEIGHT = 0.155
PANEL_GAP = 0.62
HEAD_HEIGHT = 0.9
MARGIN = 0.25


def draw(results: Mapping[str, Result], path: Path, title: str) -> bool:
    """Write a PNG; False if matplotlib is not installed or there is no ratio to show."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    panels = {
        section: shown
        for section, found in sections(results).items()
        if (shown := [(result, good) for result in found if (good := result.goodness)])
    }
    if not panels:
        return False
    columns = in_columns({section: panel_height(len(rows)) for section, rows in panels.items()})
    height = HEAD_HEIGHT + MARGIN + max(sum(column.values()) for column in columns)
    width = COLUMN_WIDTH * len(columns) + MARGIN
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    figure.text(MARGIN / width, 1 - 0.35 / height, title, fontsize=14, weight="bold")
    legend = (
        "How many times as good Rillway is: median and spread of the pairs. Right of 1, green:"
        " Rillway is ahead. The dark stroke is the target."
    )
    figure.text(MARGIN / width, 1 - 0.62 / height, legend, fontsize=9)
    for number, column in enumerate(columns):
        top = height - HEAD_HEIGHT
        left = (number * COLUMN_WIDTH + LABEL_WIDTH) / width
        for section, inches in column.items():
            rows = len(panels[section]) * ROW_HEIGHT
            place = (
                left,
                (top - rows) / height,
                (COLUMN_WIDTH - LABEL_WIDTH) / width,
                rows / height,
            )
            _panel(figure.add_axes(place), TITLES.get(section, section), panels[section])
            top -= inches
    figure.savefig(path, dpi=110)
    return True


def panel_height(rows: int) -> float:
    """Inches that a panel takes in its column."""
    return rows * ROW_HEIGHT + PANEL_GAP


def in_columns(heights: Mapping[str, float]) -> list[dict[str, float]]:
    """The panels in their order, in columns that are about as high as each other."""
    share = sum(heights.values()) / COLUMNS
    columns: list[dict[str, float]] = [{}]
    for section, height in heights.items():
        is_over = sum(columns[-1].values()) + height / 2 > share
        if columns[-1] and is_over and len(columns) < COLUMNS:
            columns.append({})
        columns[-1][section] = height
    return columns


def _panel(axes: Axes, title: str, rows: Sequence[tuple[Result, Spread]]) -> None:
    for line, (result, good) in enumerate(rows):
        colour = AHEAD if good.median >= 1 else BEHIND
        ends = [_within(good.low), _within(good.high)]
        axes.plot(ends, [line, line], color=colour, linewidth=2, alpha=0.5)
        marker = {1: ">", 0: "o", -1: "<"}[_beyond(good.median)]
        axes.plot([_within(good.median)], [line], marker, color=colour, markersize=4)
        for target in result.row.targets:
            if target.measure is Measure.RATIO:
                bound = 1 / target.bound if result.row.lower_is_better else target.bound
                axes.plot([_within(bound)], [line], "|", color=TARGET, markersize=8, mew=2)
    axes.axvline(1.0, color="#777777", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(1 / FARTHEST, FARTHEST)
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS], fontsize=6)
    axes.set_xticks([], minor=True)
    axes.tick_params(length=2, pad=2)
    labels = [result.row.name.partition("/")[2] for result, _ in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x", alpha=0.25)
    axes.set_title(title, fontsize=9, loc="left", weight="bold", pad=3)


def _within(value: float) -> float:
    return min(max(value, 1 / FARTHEST), FARTHEST)


def _beyond(value: float) -> int:
    """1 if a value is beyond the right end of the axis, -1 beyond the left, else 0."""
    return (value > FARTHEST) - (value < 1 / FARTHEST)
