"""Where the archive's files are written: by Spark's tasks, or in this process.

Both run the same function on the same parts of streams. Entries go from the server to a Parquet
file within one task; they never pass through the JVM or the driver, which only hear what was
written. That file is in its place from the beginning, in the folder or the object store of the
archive; nothing is moved later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from rillway.pipeline.archive.columns.batches import EntryUnreadable
from rillway.pipeline.archive.tasks import (
    PartLost,
    ServerChanged,
    WriteTask,
    Written,
    run_task,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# What a task says of its streams: to try it again would change nothing.
CHANGES = (EntryUnreadable, PartLost, ServerChanged)


class EngineFailed(Exception):
    """A task failed; the text is the task's own, in one line."""


class Engine(Protocol):
    """Runs tasks. `parallelism`: into how many a batch is to be cut."""

    parallelism: int

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        """What the tasks have written. Raises CHANGES and EngineFailed."""
        ...


class LocalEngine:
    """One task after the other, here."""

    parallelism = 1

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        """Raises ConnectionLost and ServerError besides."""
        return [run_task(task) for task in tasks]


def try_task(task: WriteTask) -> Written | Exception:
    """A loss is an answer: Spark would try it again, and it stays one."""
    try:
        return run_task(task)
    except CHANGES as loss:
        return loss


class SparkEngine:
    """A Spark job for each batch, on whatever cluster the session has. `attempt` runs a task."""

    def __init__(
        self,
        spark: SparkSession,
        attempt: Callable[[WriteTask], Written | Exception] = try_task,
    ) -> None:
        self._context = spark.sparkContext
        self._attempt = attempt
        self.parallelism = max(self._context.defaultParallelism, 1)

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        from rillway.pipeline.spark.spark_session import root_cause

        sent = [replace(task, store=task.store.with_environment()) for task in tasks]
        try:
            tried = self._context.parallelize(sent, max(len(sent), 1)).map(self._attempt)
            outcomes = tried.collect()
        except (Py4JError, PySparkException) as error:
            raise EngineFailed(root_cause(error)) from None
        written: list[Written] = []
        for outcome in outcomes:
            if not isinstance(outcome, Written):
                raise outcome
            written.append(outcome)
        return written
