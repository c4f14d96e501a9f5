"""How words become rules."""

from __future__ import annotations

import pytest

from commands.acl.rules import UnmatchedParenthesis, has_blanks, joined, rules_within


def test_the_words_of_a_selector_are_one_rule() -> None:
    assert joined([b"on", b"(~a", b"+get)", b"~b"]) == [b"on", b"(~a +get)", b"~b"]
    assert joined([b"(", b")", b"(+get)"]) == [b"( )", b"(+get)"]


@pytest.mark.parametrize("words", [[b"("], [b"on", b"(~a", b"~b"], [b"(~a)x"]])
def test_a_selector_that_stays_open_is_an_error(words: list[bytes]) -> None:
    with pytest.raises(UnmatchedParenthesis):
        joined(words)


def test_a_selector_is_split_at_blanks_and_quotes() -> None:
    assert rules_within(b"( ~a \t'+get' )") == [b"~a", b"+get"]
    assert rules_within(b'("~a)') == []  # as in Redis


@pytest.mark.parametrize("word", [b"a b", b"a\n", b"\0", b"\x0b"])
def test_white_space_and_nul_are_found(word: bytes) -> None:
    assert has_blanks(word) and not has_blanks(b"a-b\xff")
