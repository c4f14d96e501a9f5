"""Requests of Rillway's own, in a form that every Redis takes."""

from __future__ import annotations

import pytest

from storage.append_only.carriers import UnknownCarrier, unwrap, wrap

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
