"""commands/strings/lifetime.py: EX, PX, EXAT, PXAT, KEEPTTL, PERSIST."""

from __future__ import annotations

import pytest

from commands.core.arguments import Arguments
from commands.strings.lifetime import Lifetime, parse_deadline
from protocol.errors import ReplyError
from protocol.request import Request

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


@pytest.mark.parametrize("amount", [b"0", b"-1", b"9223372036854775807", b"9223372036854776"])
def test_a_deadline_must_lie_ahead_and_have_64_bits(amount: bytes) -> None:
    with pytest.raises(ReplyError, match="invalid expire time in 'setex' command"):
        parse_deadline(amount, 1000, NOW_MS, b"setex")


def test_an_amount_must_be_an_integer() -> None:
    with pytest.raises(ReplyError, match="not an integer"):
        parse_deadline(b"1.5", 1000, NOW_MS, b"setex")
