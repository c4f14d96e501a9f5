"""Where rows come from, and how far among them a task has come."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rillway.pipeline.arrow.origins import Mark, Origins, parse_mark
from rillway.pipeline.wire.ids import make_id


def origins(*rows: str) -> Origins:
    """`a 5-1` is the entry 5-1 of the stream a."""
    streams, ids = zip(*(row.split(" ") for row in rows), strict=True)
    return Origins.read(pa.array(streams), pa.array(ids))


def test_a_mark_is_text() -> None:
    mark = Mark("an odd:näme", make_id(5, 1), 2)
    assert parse_mark(*str(mark).split(" ")) == mark


def test_the_mark_is_the_last_row_and_counts_the_rows_of_its_entry() -> None:
    mark = origins("a 1-0", "a 2-0", "a 2-0").mark_after(None)
    assert mark == Mark("a", make_id(2), 2)
    assert origins("a 2-0").mark_after(mark) == Mark("a", make_id(2), 3)
    assert origins("a 2-0", "b 1-0").mark_after(mark) == Mark("b", make_id(1), 1)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["a 1-0", "a 2-0", "a 3-0"], (2, 1)),
        (["a 2-0", "a 2-0"], (1, 1)),
        (["a 1-5"], (1, 0)),
        (["a 3-0", "a 4-0"], (0, 0)),
        (["a 1-0", "b 1-0"], (1, 0)),
        (["0 9-0", "a 2-1"], (1, 0)),
    ],
)
def test_what_comes_before_the_mark_is_written(rows: list[str], expected: tuple[int, int]) -> None:
    assert origins(*rows).written(Mark("a", make_id(2), 1)) == expected


def test_rows_ascend_by_stream_and_id() -> None:
    assert origins("a 9-0", "a 10-0", "a 10-0", "b 1-18446744073709551615").ascend_from(None)
    assert not origins("a 1-2", "a 1-1").ascend_from(None)
    assert not origins("b 1-0", "a 2-0").ascend_from(None)
    assert origins("a 1-0").ascend_from(Mark("a", make_id(1), 1))
    assert not origins("a 1-0").ascend_from(Mark("a", make_id(1, 1), 1))


@pytest.mark.parametrize("text", ["x", "1", "1-x", "-5", None])
def test_what_is_no_id_is_refused(text: str | None) -> None:
    with pytest.raises(ValueError, match=r"which entry|parse|bounds|Index"):
        Origins.read(pa.array(["a"]), pa.array([text], pa.string()))
