"""`rillway cluster` in processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.programs.servers import SERVED

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs `rillway cluster JOB --dir ...`; what it has started is stopped after the test."""

    def run(job: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "rillway", "cluster", job, "--dir", str(tmp_path / "c")]
        return subprocess.run(
            [*argv, *words], cwd=SERVED, check=False, capture_output=True, text=True, timeout=120
        )

    yield run
    if (tmp_path / "c/cluster.json").exists():
        run("stop")
