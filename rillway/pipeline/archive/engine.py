"""Runs the tasks that write the archive's files: on Spark or in this process.

Both run the same function on the same parts of streams. A task reads entries from the server and
writes them to a Parquet file; they never pass through the JVM or the driver, which only receive
descriptions of the files. Files are written to their final paths and never moved.
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


# Errors that concern streams: running the task again would not help.
CHANGES = (EntryUnreadable, PartLost, ServerChanged)


class EngineFailed(Exception):
    """A task failed; the text is its error in one line."""


class Engine(Protocol):
    """Runs tasks. `parallelism`: the number of tasks that a batch is divided into."""

    parallelism: int

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        """Run tasks and return what they have written. Raises CHANGES, EngineFailed."""
        ...


class LocalEngine:
    """Runs tasks in this process, one after the other."""

    parallelism = 1

    def write(self, tasks: Sequence[WriteTask]) -> list[Written]:
        """Run tasks; see Engine.write. Raises ConnectionLost and ServerError as well."""
        return [run_task(task) for task in tasks]


def try_task(task: WriteTask) -> Written | Exception:
    """Run a task and return CHANGES instead of raising them, so that Spark does not retry it."""
    try:
        return run_task(task)
    except CHANGES as loss:
        return loss


class SparkEngine:
    """Runs a Spark job for each batch, on the session's cluster. `attempt`: runs one task."""

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
