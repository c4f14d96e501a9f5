"""commands/strings/conditions.py: what a string is compared with."""

from __future__ import annotations

import pytest

from commands.strings.conditions import digest, parse_condition
from protocol.errors import ReplyError
from storage.types.value import StringValue

# XXH3 of 64 bits as its authors' xxhsum -H3 prints it.
EMPTY = b"2d06800538d394c2"


def test_a_digest_is_xxh3() -> None:
    assert digest(b"") == EMPTY
    assert digest(bytearray(b"a")) == digest(b"a") != EMPTY
    assert len(digest(b"a")) == 16


@pytest.mark.parametrize(
    ("word", "operand", "same", "other", "missing"),
    [
        (b"IFEQ", b"", True, False, False),
        (b"IFNE", b"", False, True, True),
        (b"IFDEQ", EMPTY, True, False, False),
        (b"IFDNE", EMPTY.upper(), False, True, True),
    ],
)
def test_a_condition_holds_or_not(
    word: bytes, operand: bytes, same: bool, other: bool, missing: bool
) -> None:
    condition = parse_condition(word, operand)
    assert condition.holds(StringValue(b"")) is same
    assert condition.holds(StringValue(b"x")) is other
    assert condition.holds(None) is missing


@pytest.mark.parametrize("operand", [b"", b"2d06800538d394c", b"2d06800538d394c2a", b"x" * 16])
def test_what_is_no_digest_is_refused(operand: bytes) -> None:
    with pytest.raises(ReplyError, match="exactly 16 hexadecimal characters"):
        parse_condition(b"IFDEQ", operand)
    assert parse_condition(b"IFEQ", operand).operand == operand
