"""storage/append_only/requests.py."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol import replies
from storage.append_only.requests import (
    encode_request,
    encode_requests,
    select_request,
    timestamp_annotation,
)


def test_a_request_is_an_array_of_bulk_strings() -> None:
    assert encode_request([b"DEL", b"k"]) == b"*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n"


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=30))
def test_every_count_of_words_is_encoded_alike(argv: list[bytes]) -> None:
    assert encode_request(argv) == replies.command(argv)


def test_requests_follow_each_other_without_anything_between() -> None:
    unit = [[b"MULTI"], [b"DEL", b"k"], [b"EXEC"]]
    assert encode_requests(unit) == b"".join(map(replies.command, unit))


def test_select_names_the_database() -> None:
    assert select_request(12) == b"*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n"


def test_an_annotation_is_a_line_that_a_loader_skips() -> None:
    assert timestamp_annotation(1_700_000_000) == b"#TS:1700000000\r\n"
