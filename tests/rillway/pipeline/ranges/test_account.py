"""Lines of the log about batches and tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rillway.pipeline.ranges.account import TaskAccount, log_batch
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.ranges.plan import Slice
from rillway.pipeline.wire.facts import StreamFacts
from rillway.pipeline.wire.ids import make_id


def facts(entries: int) -> StreamFacts:
    return StreamFacts(entries, make_id(1), make_id(entries), entries_added=entries)


def test_a_batch_counts_or_estimates(caplog: pytest.LogCaptureFixture) -> None:
    begin = {"a": Position(make_id(10), 10), "b": Position(make_id(5), 5)}
    end = {"a": Position(make_id(1010), 1010), "b": begin["b"]}
    seen = {"a": facts(1500), "b": facts(6)}
    log_batch(begin, end, seen, [(Slice("a", make_id(11), make_id(1010)),)])
    log_batch(begin, end, seen, [(Slice("a", make_id(11), make_id(1010), 990),), ()])
    assert [record.getMessage() for record in caplog.records] == [
        "rillway: batch: 1,000 entries of 1 stream in 1 task; 491 left",
        "rillway: batch: 990 entries of 1 stream in 2 tasks; 491 left",
    ]


def test_a_task_that_is_ended_early_has_its_line(caplog: pytest.LogCaptureFixture) -> None:
    account = TaskAccount(3, 1, repeats=2)
    batch = pa.record_batch({"n": [1, 2]})
    batches = account.counted(iter([batch, batch]))
    next(batches)
    del batches
    assert caplog.records[0].getMessage().startswith("rillway: task 3, attempt 1: 2 rows, 0 bytes")
    assert caplog.records[0].getMessage().endswith("2 pages again")
