"""The requests that fill streams, as a server would read them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import hiredis
import pytest

from benchmarks.load.entries import KIB, NUMBERS, SMALL, WIDE, Shape, entry_id, requests


def parsed(batches: Iterable[list[bytes]]) -> list[list[bytes]]:
    """Requests are arrays of bulk strings, as replies may be."""
    reader = hiredis.Reader()
    for batch in batches:
        reader.feed(b"".join(batch))
    found = []
    while (request := reader.gets()) is not False:
        found.append(request)
    return found


@pytest.mark.parametrize(("shape", "value_bytes"), [(SMALL, 12), (KIB, 1024), (WIDE, 12)])
def test_requests_have_the_fields_and_sizes_of_their_shape(shape: Shape, value_bytes: int) -> None:
    found = parsed(requests(b"s", 1203, shape, first=40))
    assert len(found) == 1203
    for number, (command, key, given_id, *fields) in enumerate(found):
        assert (command, key, given_id) == (b"XADD", b"s", entry_id(40 + number))
        assert len(fields) == 2 * shape.fields
        assert {len(value) for value in fields[1::2]} == {value_bytes}


def test_two_numbers_are_an_integer_and_a_decimal() -> None:
    found = parsed(requests(b"s", 500, NUMBERS))
    for _, _, _, first, integer, second, decimal in found:
        assert (first, second) == (b"count", b"price")
        assert integer == b"%d" % int(integer)
        assert 0 <= int(integer) < 10_000
        assert re.fullmatch(rb"\d{1,2}\.\d\d", decimal)
    assert len({tuple(request[4::2]) for request in found}) > 490


def test_the_server_makes_the_ids_if_none_is_given() -> None:
    found = parsed(requests(b"s", 3, first=None))
    assert [request[2] for request in found] == [b"*"] * 3


def test_entries_differ() -> None:
    assert len(set(SMALL.bodies)) > 0.99 * SMALL.pool


def test_ids_have_one_length_and_grow() -> None:
    assert {len(entry_id(number)) for number in (0, 1, 9_999_999)} == {15}
    assert entry_id(1) > entry_id(0)
