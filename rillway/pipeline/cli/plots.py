"""Plots as PNG files, without a screen. matplotlib is imported when something is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INCHES_WIDE, INCHES_HIGH = 11.0, 4.5
EXTRA_MISSING = "plots need matplotlib: pip install 'rillway[plot]'"


class PlotUnavailable(Exception):
    """matplotlib is missing; the text says what to install."""


@contextmanager
def drawn_figure(path: Path, title: str, columns: int, rows: int = 1) -> Iterator[Any]:
    """Yield the panels, a list of matplotlib's Axes; the file is written at the end.

    Raises PlotUnavailable, OSError.
    """
    figure = make_figure(rows)
    figure.suptitle(title)
    yield [panel for line in figure.subplots(rows, columns, squeeze=False) for panel in line]
    figure.savefig(path, format="png", dpi=120)


def make_figure(rows: int = 1) -> Figure:
    try:
        # Without pyplot, which needs a screen and keeps every figure.
        from matplotlib.figure import Figure
    except ImportError:
        raise PlotUnavailable(EXTRA_MISSING) from None
    return Figure(figsize=(INCHES_WIDE, INCHES_HIGH * rows), layout="constrained")


def mark_times_and_counts(panel: Any) -> None:
    """Label the x axis with clock times, the y axis with whole numbers."""
    from matplotlib import dates
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    untyped: Any = dates
    panel.xaxis.set_major_locator(untyped.AutoDateLocator(minticks=2, maxticks=6))
    panel.xaxis.set_major_formatter(untyped.DateFormatter("%H:%M:%S"))
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
