"""Latencies as a picture."""

from __future__ import annotations

from pathlib import Path

from rillway.pipeline.latency.distribution import Tally
from rillway.pipeline.latency.journal import count
from rillway.pipeline.latency.plot import MAX_CONSUMERS, curves, draw
from tests.rillway.pipeline.latency.journals import acknowledgement, as_batch, mixed

PNG = b"\x89PNG\r\n\x1a\n"


def test_groups_and_consumers_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "latency.png"
    draw(count(as_batch(mixed()), "s"), path, "s")
    assert path.read_bytes().startswith(PNG)


def test_a_picture_of_nothing_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "latency.png"
    draw(Tally(), path, "s")
    assert path.read_bytes().startswith(PNG)


def test_consumers_have_curves_if_they_are_a_few() -> None:
    def labels(consumers: int) -> list[str]:
        entries = [acknowledgement(consumer=f"c{number}") for number in range(consumers)]
        return [label for label, _, _ in curves(count(as_batch(entries), "s"))]

    assert labels(1) == ["g"]
    assert labels(2) == ["g", "g/c0", "g/c1"]
    assert labels(MAX_CONSUMERS + 1) == ["g"]
