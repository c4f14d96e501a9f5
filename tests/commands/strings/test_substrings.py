"""STRLEN, GETRANGE, SUBSTR, APPEND, SETRANGE.

LCS.
"""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from commands.strings.substrings import find_matches, make_rows
from tests.commands.keys.conversation import WRONG_TYPE, Conversation

TOO_LONG = b"-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n"


def test_strlen_counts_bytes(talk: Conversation) -> None:
    talk.client.execute("SET", "k", b"\xc3\xa4\x00")
    assert talk.do("STRLEN k") == b":3\r\n"
    assert talk.do("STRLEN none") == b":0\r\n"
    talk.all("XADD s 1-1 f v")
    assert talk.do("STRLEN s") == WRONG_TYPE


def test_a_string_is_no_longer_than_a_request_may_be() -> None:
    talk = Conversation(**{"proto-max-bulk-len": "1mb"})
    limit = 1 << 20
    assert talk.do(f"SETRANGE k {limit - 1} x") == b":%d\r\n" % limit
    assert talk.do("APPEND k x") == TOO_LONG
    assert talk.do(f"SETRANGE k {limit} x") == TOO_LONG
    assert talk.do("APPEND k ''") == b":%d\r\n" % limit


def test_strings_that_are_too_long_together_are_refused(talk: Conversation) -> None:
    talk.all("CONFIG SET proto-max-bulk-len 1mb", f"MSET a {'x' * 511} b {'y' * 511}")
    assert talk.do("LCS a b LEN") == b":0\r\n"
    talk.all("APPEND a x")
    assert talk.do("LCS a b LEN") == (
        b"-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len\r\n"
    )


def table_length(first: bytes, second: bytes) -> int:
    """The textbook's way."""
    row = [0] * (len(second) + 1)
    for one in first:
        previous = 0
        for place, other in enumerate(second, 1):
            above = row[place]
            row[place] = previous + 1 if one == other else max(above, row[place - 1])
            previous = above
    return row[-1]


@given(st.text("ab\x00", max_size=30), st.text("abc", max_size=30))
def test_it_is_common_and_as_long_as_can_be(first_text: str, second_text: str) -> None:
    first, second = first_text.encode(), second_text.encode()
    matches = list(find_matches(first, second, make_rows(first, second)))
    for match in matches:
        assert (
            first[match.first : match.first + match.length]
            == second[match.second : match.second + match.length]
        )
    for later, earlier in pairwise(matches):
        assert earlier.first + earlier.length <= later.first
        assert earlier.second + earlier.length <= later.second
    assert sum(match.length for match in matches) == table_length(first, second)
