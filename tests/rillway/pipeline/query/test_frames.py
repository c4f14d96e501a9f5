"""The conditions by which Spark reads the archive's files; jvm/ has the frames."""

from __future__ import annotations

import pytest

from rillway.pipeline.query.frames import sql_between
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, parse_id


@pytest.mark.parametrize(
    ("first", "last", "inside", "outside"),
    [
        ("5-2", "7-3", ["5-2", "5-9", "6-0", "7-0", "7-3"], ["5-1", "4-9", "7-4", "8-0"]),
        ("5-2", "5-3", ["5-2", "5-3"], ["5-1", "5-4", "6-0"]),
    ],
)
def test_the_condition_in_sql_is_exact(
    first: str, last: str, inside: list[str], outside: list[str]
) -> None:
    condition = sql_between(parse_id(first), parse_id(last))
    python = condition.replace("AND", "and").replace("OR", "or").replace("BD", "")

    def holds(entry_id: str) -> bool:
        ms, seq = map(int, entry_id.split("-"))
        return bool(eval(python, {}, {"ms": ms, "seq": seq}))

    assert all(map(holds, inside))
    assert not any(map(holds, outside))


def test_the_condition_of_everything_has_numbers_that_spark_knows() -> None:
    assert "ms <= 9223372036854775807" in sql_between(MIN_ID, MAX_ID)
