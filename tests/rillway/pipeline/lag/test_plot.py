"""Lag over time as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from rillway.pipeline.lag.plot import draw
from rillway.sampler.trend import Recording
from tests.rillway.sampler.test_trend import sample


@pytest.mark.parametrize("count", [0, 1, 5])
def test_whatever_was_sampled_is_drawn(count: int, tmp_path: Path) -> None:
    recording = Recording()
    for seconds in range(count):
        recording.add([sample(seconds, 5, 0, 5), sample(seconds, None, 0, 5, "h")])
    draw(recording, tmp_path / "lag.png", "lag")
    assert (tmp_path / "lag.png").read_bytes().startswith(b"\x89PNG")
