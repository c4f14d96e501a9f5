"""commands/strings/conditions.py: what a string is compared with.

commands/strings/conditions.py: EX, PX, EXAT, PXAT, KEEPTTL, PERSIST.

DIGEST, DELEX.
"""

from __future__ import annotations

import pytest

from commands.core.arguments import Arguments
from commands.strings.conditions import Lifetime, digest, parse_condition
from protocol.errors import ReplyError
from protocol.request import Request
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


NOW_MS = 1_700_000_000_000


def parse(*words: bytes) -> Lifetime:
    lifetime, arguments = Lifetime(), Arguments(Request(list(words)), 0)
    while arguments:
        assert lifetime.take(arguments.next_keyword(), arguments, b"KEEPTTL")
    return lifetime


@pytest.mark.parametrize(
    ("words", "deadline_ms"),
    [
        ((b"EX", b"10"), NOW_MS + 10_000),
        ((b"px", b"10"), NOW_MS + 10),
        ((b"EXAT", b"10"), 10_000),
        ((b"PXAT", b"10"), 10),
        ((b"KEEPTTL",), None),
        ((), None),
        ((b"EX", b"10", b"ex", b"20"), NOW_MS + 20_000),
    ],
)
def test_a_deadline_is_unix_time_in_ms(words: tuple[bytes, ...], deadline_ms: int | None) -> None:
    assert parse(*words).deadline_ms(b"set", NOW_MS) == deadline_ms


@pytest.mark.parametrize(
    "words", [(b"EX", b"1", b"PX", b"1"), (b"KEEPTTL", b"EX", b"1"), (b"EX",), (b"PXAT",)]
)
def test_two_options_contradict_each_other_and_none_goes_without_an_amount(
    words: tuple[bytes, ...],
) -> None:
    with pytest.raises(ReplyError, match="syntax error"):
        parse(*words)


def test_other_words_are_left_alone() -> None:
    arguments = Arguments(Request([b"PERSIST"]), 1)
    assert not Lifetime().take(b"PERSIST", arguments, b"KEEPTTL")
    assert Lifetime().take(b"PERSIST", arguments, b"PERSIST")
