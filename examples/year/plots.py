"""Plots of the year: rate, lag and size, one picture each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from examples.year.year import PROMPT, SLOW, Sample
from rillway.pipeline.archive.files.periods import MS_PER_DAY

MEGABYTE = 1_000_000

Fill: TypeAlias = Callable[[Any, Sequence[datetime], Sequence[Sample]], None]


def draw(samples: Sequence[Sample], folder: Path) -> list[Path]:
    """Write the pictures; their paths."""
    import matplotlib

    matplotlib.use("Agg")  # a file, never a window
    from matplotlib import pyplot

    days = [datetime.fromtimestamp(sample.day * MS_PER_DAY / 1000, UTC) for sample in samples]
    paths = []
    for name, panels in PICTURES.items():
        figure, axes = pyplot.subplots(
            len(panels), figsize=(10, 1 + 3.5 * len(panels)), sharex=True, squeeze=False
        )
        for panel, (title, fill) in zip(axes[:, 0], panels.items(), strict=True):
            fill(panel, days, samples)
            panel.set_title(title)
            panel.grid(alpha=0.3)
            panel.set_ylim(bottom=0)
        figure.autofmt_xdate()
        figure.tight_layout()
        paths.append(folder / f"archive-{name}.png")
        figure.savefig(paths[-1], dpi=120)
        pyplot.close(figure)
    return paths


def _rate(axes: Any, days: Sequence[datetime], samples: Sequence[Sample]) -> None:
    axes.plot(days, [sample.archive_rate for sample in samples])
    axes.set_ylabel("entries a second")


def _lag(axes: Any, days: Sequence[datetime], samples: Sequence[Sample]) -> None:
    for group in (PROMPT, SLOW):
        axes.plot(days, [sample.lags[group] for sample in samples], label=f"{group}, not read")
    axes.plot(days, [sample.pending for sample in samples], label="pending")
    axes.set_ylabel("entries")
    axes.legend()


def _memory(axes: Any, days: Sequence[datetime], samples: Sequence[Sample]) -> None:
    axes.plot(days, [sample.in_memory for sample in samples])
    axes.set_ylabel("entries")


def _archive(axes: Any, days: Sequence[datetime], samples: Sequence[Sample]) -> None:
    axes.plot(days, [sample.archive_bytes / MEGABYTE for sample in samples])
    axes.set_ylabel("MB")


PICTURES: dict[str, dict[str, Fill]] = {
    "rate": {"Archived by the night's batch, entries a second": _rate},
    "lag": {"Entries that the groups have not read or not acknowledged": _lag},
    "size": {"Entries in memory": _memory, "Size of the archive": _archive},
}
