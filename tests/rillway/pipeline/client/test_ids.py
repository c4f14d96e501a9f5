"""IDs of entries as one int."""

from __future__ import annotations

import pytest

from rillway.pipeline.client.ids import MAX_ID, MIN_ID, format_id, make_id, ms_of, parse_id


def test_an_id_is_read_and_written() -> None:
    assert parse_id("5-2") == parse_id(b"5-2") == make_id(5, 2)
    assert parse_id("5") == make_id(5)
    assert format_id(make_id(5, 2)) == "5-2"
    assert ms_of(make_id(5, 2)) == 5
    assert (format_id(MIN_ID), format_id(MAX_ID)) == (
        "0-0",
        "18446744073709551615-18446744073709551615",
    )


def test_the_next_id_is_one_more() -> None:
    assert format_id(parse_id("5-18446744073709551615") + 1) == "6-0"


@pytest.mark.parametrize("text", ["", "-", "x", "5-", "5-x", "-5", "1-2-3", "18446744073709551616"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no ID of an entry"):
        parse_id(text)
