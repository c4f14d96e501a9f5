"""Pending entries and groups as columns."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql.types import StructType

from rillway.pipeline.arrow.group_tables import (
    GROUPS_SCHEMA,
    PENDING_SCHEMA,
    groups_batch,
    groups_spark_schema,
    pending_batch,
    pending_spark_schema,
)
from rillway.pipeline.arrow.schema import to_arrow
from rillway.pipeline.wire.ids import MAX_ID, make_id
from rillway.pipeline.wire.pending import PendingEntry, PendingSlice
from rillway.sampler import ConsumerFigures
from rillway.sampler.trend import GroupSample

NOW_MS = 1_700_000_000_000
NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC)


@pytest.mark.parametrize(
    ("spark", "arrow"),
    [(pending_spark_schema(), PENDING_SCHEMA), (groups_spark_schema(), GROUPS_SCHEMA)],
)
def test_arrow_and_spark_have_exactly_the_same_columns(spark: StructType, arrow: object) -> None:
    assert to_arrow(spark) == arrow


def test_a_pending_entry_is_a_row() -> None:
    entries = [
        PendingEntry(make_id(NOW_MS - 5000, 3), b"c", 1000, 2),
        PendingEntry(make_id(NOW_MS), b"", None, 2**63 - 1),
        PendingEntry(MAX_ID, b"\xff", 0, 1),
    ]
    rows = pending_batch(PendingSlice("s", "g"), entries, NOW_MS).to_pylist()
    assert rows[0] == {
        "stream": "s",
        "group": "g",
        "consumer": "c",
        "id": f"{NOW_MS - 5000}-3",
        "idle_ms": 1000,
        "deliveries": 2,
        "delivered_at": datetime.fromtimestamp(NOW_MS / 1000 - 1, UTC),
        "age_ms": 5000,
    }
    given_back = [rows[1][name] for name in ("consumer", "idle_ms", "delivered_at")]
    assert given_back == [None, None, None]
    assert rows[1]["deliveries"] == 2**63 - 1
    assert (rows[2]["consumer"], rows[2]["age_ms"]) == ("\\xff", None)


def test_a_group_is_a_row() -> None:
    consumer = ConsumerFigures(b"c", 3, 5, None)
    sample = GroupSample("s", "g", NOW_MS, None, 3, None, "1-0", 9, 10, "9-0", None, (consumer,))
    [row] = groups_batch([sample]).to_pylist()
    assert row == {
        "stream": "s",
        "group": "g",
        "time": NOW,
        "lag": None,
        "pending": 3,
        "entries_read": None,
        "last_delivered_id": "1-0",
        "stream_length": 9,
        "stream_entries_added": 10,
        "stream_last_id": "9-0",
        "consumers": [{"name": "c", "pending": 3, "idle_ms": 5, "inactive_ms": None}],
    }


def test_nothing_is_a_batch_without_rows() -> None:
    assert groups_batch([]).schema == GROUPS_SCHEMA
    assert pending_batch(PendingSlice("s", "g"), [], NOW_MS).schema == PENDING_SCHEMA
