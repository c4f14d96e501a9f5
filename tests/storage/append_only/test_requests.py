"""storage/append_only/requests.py.

A hash as requests that rebuild it.

Requests of Rillway's own, in a form that every Redis takes.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import replies
from storage.append_only.requests import (
    PAIRS_PER_REQUEST,
    UnknownCarrier,
    encode_request,
    encode_requests,
    rebuild_hash,
    select_request,
    timestamp_annotation,
    unwrap,
    wrap,
)
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.hashes import HashValue


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


LIMITS = EncodingLimits()


def test_fields_come_64_at_a_time() -> None:
    value = HashValue()
    for number in range(PAIRS_PER_REQUEST + 1):
        value.set(b"f%d" % number, b"v", LIMITS)
    first, second = rebuild_hash(b"k", value, 0)
    assert first[:4] == [b"HMSET", b"k", b"f0", b"v"]
    assert len(first) == 2 + 2 * PAIRS_PER_REQUEST
    assert second == [b"HMSET", b"k", b"f64", b"v"]


def test_fields_with_times_come_one_by_one() -> None:
    value = HashValue()
    value.update([b"a", b"1", b"b", b"2"], LIMITS)
    value.expire_at(b"b", 5000)
    assert list(rebuild_hash(b"k", value, 0)) == [
        [b"HMSET", b"k", b"b", b"2"],
        [b"HPEXPIREAT", b"k", b"5000", b"FIELDS", b"1", b"b"],
        [b"HMSET", b"k", b"a", b"1"],
    ]


REQUEST = [b"XCFGSET", b"a\r\n\0key", b"ACK-JOURNAL", b""]


def test_a_request_comes_back_as_it_was() -> None:
    echo = wrap(REQUEST)
    assert echo[0] == b"ECHO" and len(echo) == 2
    assert unwrap(echo) == REQUEST
    assert unwrap([b"echo", echo[1]]) == REQUEST


def test_the_form_is_what_files_hold() -> None:
    assert wrap([b"A", b"bc"])[1] == b"rillway\x001*2\r\n$1\r\nA\r\n$2\r\nbc\r\n"


@pytest.mark.parametrize("argv", [[b"ECHO"], [b"ECHO", b"rillway"], [b"ECHO", b""]])
def test_an_echo_without_the_mark_is_no_carrier(argv: list[bytes]) -> None:
    assert unwrap(argv) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "a form that is unknown"),
        (b"2*1\r\n$1\r\nA\r\n", "a form that is unknown"),
        (b"12*1\r\n$1\r\nA\r\n", "a form that is unknown"),
        (b"1*2\r\n$1\r\nA\r\n", "is damaged"),
        (b"1*1\r\n$1\r\nA\r\n*1\r\n$1\r\nA\r\n", "is damaged"),
        (b"1*x", "is damaged"),
    ],
)
def test_a_carrier_that_cannot_be_read_is_never_passed_over(content: bytes, reason: str) -> None:
    with pytest.raises(UnknownCarrier, match=reason):
        unwrap([b"ECHO", b"rillway\0" + content])
