"""Lag over time as a picture: what a group was not given yet, and what is pending in it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from rillway.pipeline.cli.plots import drawn_figure, mark_times_and_counts
from rillway.sampler.trend import Recording

PANELS = {"lag": "not delivered yet, entries", "pending": "not acknowledged yet, entries"}


def draw(recording: Recording, path: Path, title: str) -> None:
    """Write a PNG file. Raises PlotUnavailable, OSError."""
    with drawn_figure(path, title, columns=len(PANELS)) as panels:
        for panel, (name, label) in zip(panels, PANELS.items(), strict=True):
            for (stream, group), series in sorted(recording.series.items()):
                known = [one for one in series.samples if getattr(one, name) is not None]
                times = [datetime.fromtimestamp(one.time_ms / 1000) for one in known]
                numbers = [getattr(one, name) for one in known]
                panel.plot(times, numbers, marker=".", label=f"{stream}/{group}")
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)
            panel.grid(visible=True, alpha=0.3)
            if panel.lines:
                mark_times_and_counts(panel)
                panel.legend(fontsize="small")
