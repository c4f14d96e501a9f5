"""commands/core/arguments.py: the cursor over a request's words."""

from __future__ import annotations

import pytest

from commands.core.arguments import Arguments, parse_int
from protocol import errors
from protocol.errors import ReplyError
from protocol.request import Request


@pytest.mark.parametrize("text", [b"", b"+1", b"01", b"-0", b" 1", b"1 ", b"1.0", b"9" * 19, b"x"])
def test_a_text_that_is_no_canonical_int64_is_refused(text: bytes) -> None:
    with pytest.raises(ReplyError) as refused:
        parse_int(text)
    assert refused.value.text == errors.NOT_AN_INTEGER


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63)])
def test_every_int64_is_accepted(number: int) -> None:
    assert parse_int(b"%d" % number) == number


def test_bounds_have_the_error_of_the_caller() -> None:
    with pytest.raises(ReplyError) as refused:
        parse_int(b"-1", errors.TIMEOUT_NEGATIVE, minimum=0)
    assert refused.value.text == errors.TIMEOUT_NEGATIVE


def test_keywords_are_found_in_any_case() -> None:
    args = Arguments(Request([b"XADD", b"maxlen", b"5"]), 1)
    assert args.take(b"MAXLEN")
    assert args.next_int() == 5
    assert not args


def test_a_missing_word_is_a_syntax_error() -> None:
    with pytest.raises(ReplyError, match="syntax error"):
        Arguments(Request([b"XTRIM"]), 1).next_int()


def test_words_that_are_left_are_a_syntax_error() -> None:
    args = Arguments(Request([b"XLEN", b"k", b"more"]), 2)
    assert args.remaining == 1
    with pytest.raises(ReplyError, match="syntax error"):
        args.finish()
