"""`rillway cluster` in processes."""

from __future__ import annotations

import os
import subprocess
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from rillway.cluster.command import main

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs `rillway cluster JOB --dir ...`; what it has started is stopped after the test."""

    def run(job: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [job, "--dir", str(tmp_path / "c"), *words]
        printed, errors = tmp_path / "printed", tmp_path / "errors"
        child = os.fork()  # a new Python would import everything again for each job
        if not child:
            status = 1
            try:
                with (
                    printed.open("w") as out,
                    errors.open("w") as err,
                    redirect_stdout(out),
                    redirect_stderr(err),
                ):
                    try:
                        status = main(argv)
                    except SystemExit as end:
                        status = int(end.code or 0)
                    except Exception:
                        traceback.print_exc()
            finally:
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        status = os.waitstatus_to_exitcode(ended)
        return subprocess.CompletedProcess(argv, status, printed.read_text(), errors.read_text())

    yield run
    if (tmp_path / "c/cluster.json").exists():
        run("stop")
