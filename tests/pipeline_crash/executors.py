"""Spark's executors, and how they are killed: by a task of theirs at a step, or from outside."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rillway.pipeline.archive.engine import try_task
from rillway.pipeline.archive.files.parquet_files import FilesWriter
from rillway.pipeline.archive.tasks import WriteTask, Written

WORKERS = 3
MASTER = f"local-cluster[{WORKERS},1,768]"
EXECUTOR_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    # All of them, before the first task is given to one.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
}
EXECUTOR = "CoarseGrainedExecutorBackend"
READING, WRITING, WRITTEN = "reading", "writing", "written"
STEPS = (READING, WRITING, WRITTEN)
"""Of a task: entries have come and no file is begun; one is begun; all are in their place, and
nobody knows of them.
"""


@dataclass(frozen=True, slots=True)
class DeadlyTask:
    """Runs a task in the archive's place: the first one that comes to `step` kills its executor.

    `mark`: a file that says that it has happened, in a folder of this machine.
    """

    step: str
    mark: Path

    def __call__(self, task: WriteTask) -> Written | Exception:
        with self._prepared():
            return try_task(task)

    @contextmanager
    def _prepared(self) -> Iterator[None]:
        """Workers are used again: nothing stays as it is here."""
        write, finish = FilesWriter.write, FilesWriter.finish

        def deadly_write(writer: FilesWriter, batch: Any) -> None:
            if self.step == READING:
                self._kill()
            write(writer, batch)
            if self.step == WRITING:
                self._kill()

        def deadly_finish(writer: FilesWriter) -> Any:
            files = finish(writer)
            if self.step == WRITTEN:
                self._kill()
            return files

        with (
            patch.object(FilesWriter, "write", deadly_write),
            patch.object(FilesWriter, "finish", deadly_finish),
        ):
            yield

    def _kill(self) -> None:
        with suppress(FileExistsError):
            self.mark.touch(exist_ok=False)
            # This is a child of a daemon, which is one of the executor.
            executor = parents()[os.getppid()]
            assert EXECUTOR in Path(f"/proc/{executor}/cmdline").read_text()
            os.kill(executor, signal.SIGKILL)
            os._exit(1)


def executors_of(driver: int) -> list[int]:
    """The executors of a driver on this machine, by its process."""
    parent_of = parents()

    def descends(pid: int) -> bool:
        while pid > 1 and pid != driver:
            pid = parent_of.get(pid, 0)
        return pid == driver

    return [pid for pid, words in _processes() if EXECUTOR in words and descends(pid)]


def kill_executor(driver: int) -> bool:
    """Kill one, if there is one."""
    for pid in executors_of(driver)[:1]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            return True
    return False


def parents() -> dict[int, int]:
    """Of all processes."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    lines = [line.split() for line in listed.stdout.splitlines()]
    return {int(pid): int(parent) for pid, parent in lines}


def _processes() -> list[tuple[int, str]]:
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True
    )
    lines = [line.split(None, 1) for line in listed.stdout.splitlines()]
    return [(int(line[0]), line[1]) for line in lines if len(line) == 2]
