"""Logs what a batch has to read and what its tasks have read.

Spark accepts no metrics from a Python source except the ends of the streams, and a task returns
only rows to the driver. So each writes its line where it runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from rillway.pipeline.ranges.loss import LOG_PREFIX, log
from rillway.pipeline.ranges.offsets import Offset
from rillway.pipeline.ranges.plan import backlog
from rillway.pipeline.ranges.tasks import Task
from rillway.pipeline.wire.facts import StreamFacts
from rillway.plurals import count_of


def log_batch(
    begin: Offset, end: Offset, facts: Mapping[str, StreamFacts], planned: Sequence[Task]
) -> None:
    """Log a batch. `begin` has all streams of `end`; uncounted entries are estimated."""
    streams = [name for name, each in end.items() if each.id > begin[name].id]
    left = {name: backlog(each.id, each.n, facts[name]) for name, each in end.items()}
    entries = sum(
        backlog(begin[name].id, begin[name].n, facts[name]) - left[name] for name in streams
    )
    counts = [part.entries for task in planned for part in task]
    if None not in counts:
        entries = sum(count or 0 for count in counts)
    log.warning(
        "%sbatch: %s of %s in %s; %s left",
        LOG_PREFIX,
        count_of(entries, "entry"),
        count_of(len(streams), "stream"),
        count_of(len(planned), "task"),
        f"{sum(left.values()):,}",
    )


@dataclass(slots=True)
class TaskAccount:
    """Counts what one attempt of a task has read.

    `repeats`: pages that were requested again, in smaller parts or from another node.
    """

    partition: int = 0
    attempt: int = 0
    rows: int = 0
    received_bytes: int = 0
    repeats: int = 0
    began: float = field(default_factory=time.monotonic)

    def counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches; log the line after the last one, or when the task is ended."""
        try:
            for batch in batches:
                self.rows += len(batch)
                yield batch
        finally:
            self._log(time.monotonic() - self.began)

    def _log(self, seconds: float) -> None:
        log.warning(
            "%stask %d, attempt %d: %s, %s received in %.2f s, %s again",
            LOG_PREFIX,
            self.partition,
            self.attempt,
            count_of(self.rows, "row"),
            count_of(self.received_bytes, "byte"),
            seconds,
            count_of(self.repeats, "page"),
        )
