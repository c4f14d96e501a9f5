"""Rows of any order become sorted runs, of which all but the last are on disk."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import chain

import pyarrow as pa
import pytest

from rillway.pipeline.archive.files.sorting import Repeats, RowsDiffer, sorted_runs


def batch(*rows: tuple[int, int, str]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(
        dict(zip(("ms", "seq", "id"), map(list, columns), strict=True))
    )


def test_each_run_is_sorted_and_all_rows_are_in_one() -> None:
    rows = [(n * 7 % 20, n % 3, str(n)) for n in range(20)]
    with ExitStack() as stack:
        batches = [batch(*rows[begin : begin + 4]) for begin in range(0, 20, 4)]
        runs = [list(run) for run in sorted_runs(batches, ["ms", "seq"], stack, 200)]
    assert len(runs) > 1
    found = [[row["ms"] for part in run for row in part.to_pylist()] for run in runs]
    assert all(run == sorted(run) for run in found)
    assert sorted(chain.from_iterable(found)) == sorted(ms for ms, _, _ in rows)


def test_without_rows_there_is_no_run() -> None:
    with ExitStack() as stack:
        assert sorted_runs([batch((1, 1, "a")).slice(1)], ["ms"], stack) == []


def test_repeated_rows_are_removed_within_batches_and_between_them() -> None:
    repeats = Repeats(["ms", "seq"])
    found = repeats.removed(
        [batch((1, 0, "1"), (1, 0, "1"), (1, 1, "2")), batch((1, 1, "2")), batch((2, 0, "3"))]
    )
    assert [row["id"] for part in found for row in part.to_pylist()] == ["1", "2", "3"]
    assert repeats.rows == 2


def test_a_value_that_is_no_number_is_the_same_again() -> None:
    rows = pa.RecordBatch.from_pydict({"ms": [1, 1], "id": ["1", "1"], "x": [float("nan")] * 2})
    assert [len(part) for part in Repeats(["ms"]).removed([rows])] == [1]


def test_a_repeated_key_with_other_content_is_an_error() -> None:
    rows = [
        one.append_column("stream", pa.array(["s"]))
        for one in (batch((1, 0, "1")), batch((1, 0, "other")))
    ]
    with pytest.raises(RowsDiffer, match="other of s"):
        list(Repeats(["ms", "seq"]).removed(rows))
