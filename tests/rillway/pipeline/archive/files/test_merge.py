"""Several sorted files as one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.archive.files import merge, parquet_files
from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import write_files
from rillway.pipeline.archive.files.store import store_of
from tests.rillway.pipeline.archive.files.test_parquet_files import batch_of

# Stream, epoch, ms, seq.
Row = tuple[str, int, int, int]
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "ä"]), st.integers(1, 2), st.integers(1, 9), st.just(0)),
    max_size=30,
)


@given(files=st.lists(ROWS, min_size=1, max_size=4))
def test_rows_come_in_one_order(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[Row]]
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_files, "ROW_GROUP_ROWS", 4)
        patch.setattr(merge, "READ_ROWS", 3)
        written = [
            file
            for rows in files
            for file in write_files(
                folder,
                [batch_of(f"{ms}-{n}", stream=s, epoch=e) for s, e, ms, n in sorted(rows)],
            )
        ]
        found = [
            (row["stream"], row["epoch"], row["ms"], int(row["seq"]))
            for batch in merged(store_of(folder), written)
            for row in batch.to_pylist()
        ]
    assert found == sorted(row for rows in files for row in rows)


def test_nothing_of_no_files(tmp_path: Path) -> None:
    assert list(merged(store_of(tmp_path), [])) == []
