"""commands/keys/pattern.py: globs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.keys.pattern import literal_of, matches

PATTERNS = st.lists(st.sampled_from(b"abAZ*?[]^-\\\n\xff"), min_size=1).map(bytes)
TEXTS = st.lists(st.sampled_from(b"abAZ]^-\\*\n\xff")).map(bytes)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (b"abc", b"abc", True),
        (b"abc", b"abcd", False),
        (b"abc", b"ab", False),
        (b"a?c", b"abc", True),
        (b"a?c", b"ac", False),
        (b"?", b"\n", True),
        (b"*", b"anything\x00\xff\n", True),
        (b"a*", b"a", True),
        (b"*a", b"ba", True),
        (b"*a", b"ab", False),
        (b"a**b", b"ab", True),
        (b"*b*d*", b"abcde", True),
        (b"*d*b*", b"abcde", False),
        (b"*ab", b"aab", True),
        (b"user:*:name", b"user:17:name", True),
        (b"user:*:name", b"user::names", False),
        (b"(a|b)+.$", b"(a|b)+.$", True),
        (b"a.c", b"abc", False),
    ],
)
def test_stars_and_question_marks(pattern: bytes, text: bytes, expected: bool) -> None:
    assert matches(pattern, text) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (b"[abc]", b"b", True),
        (b"[abc]", b"d", False),
        (b"[a-c]", b"b", True),
        (b"[c-a]", b"b", True),
        (b"[^a-c]", b"b", False),
        (b"[^a-c]", b"d", True),
        (b"[^]", b"x", True),
        (b"[]", b"x", False),
        (b"[a^]", b"^", True),
        (b"[-a]", b"-", True),
        (b"[\\]]", b"]", True),
        (b"[\\a-c]", b"-", True),
        (b"[\x80-\xff]", b"\xc3", True),
    ],
)
def test_classes(pattern: bytes, text: bytes, expected: bool) -> None:
    assert matches(pattern, text) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (b"[abc", b"c", True),
        (b"[", b"[", False),
        (b"[^", b"x", True),
        (b"[a-]", b"_", True),  # a range from `]` to `a`, in a class that never ends
        (b"a\\", b"a\\", True),
        (b"\\*", b"*", True),
        (b"\\*", b"x", False),
        (b"\\\\", b"\\", True),
    ],
)
def test_unfinished_classes_and_escapes_mean_what_they_mean_to_redis(
    pattern: bytes, text: bytes, expected: bool
) -> None:
    assert matches(pattern, text) is expected


def test_an_empty_text_matches_only_the_empty_pattern() -> None:
    assert matches(b"", b"")
    assert not matches(b"", b"a")
    assert not matches(b"*", b"")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (b"MAX*", b"maxmemory", True),
        (b"max*", b"MAXMEMORY", True),
        (b"[A-C]x", b"bX", True),
        (b"[xyz]", b"Y", True),
        (b"[\\Y]", b"y", False),  # an escaped byte keeps its case
        (b"\\Y", b"y", True),
        (b"\xc3", b"\xe3", False),  # only ASCII letters have two cases
    ],
)
def test_case_can_be_ignored(pattern: bytes, text: bytes, expected: bool) -> None:
    assert matches(pattern, text, ignore_case=True) is expected


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (b"news.*", b"news."),
        (b"*:orders:*:eu", b":orders:"),
        (b"a[xyz]bcd?e", b"bcd"),
        (b"\\[abc]", b"abc]"),
        (b"[a-]b]cd*", b"cd"),  # a range from `a` to `]`
        (b"x[^abc", b"x"),
        (b"*", b""),
        (b"x" * 5000, b"x" * 64),
    ],
)
def test_a_literal_is_the_longest_part_without_special_bytes(
    pattern: bytes, literal: bytes
) -> None:
    assert literal_of(pattern) == literal


@given(PATTERNS, TEXTS)
def test_whatever_a_pattern_matches_contains_its_literal(pattern: bytes, text: bytes) -> None:
    assert literal_of(pattern) in text or not matches(pattern, text)


def _expression(pattern: bytes) -> bytes:
    """A pattern of stars, question marks, whole classes and other bytes, as a regular expression.

    Atomic groups: a star that has found its match never backtracks.
    """
    first, *others = re.split(rb"\*+", pattern)
    first, *others = (
        b"".join(
            b"." if part == b"?" else part if part[:1] == b"[" else re.escape(part)
            for part in re.findall(rb"\[.*?\]|.", run, re.DOTALL)
        )
        for run in (first, *others)
    )
    if not others:
        return first
    middle = b"".join(b"(?>.*?%b)" % run for run in others[:-1] if run)
    return first + middle + b".*" + others[-1]


PARTS = st.sampled_from([b"a", b"b", b"*", b"?", b"[ab]", b"[^a]", b"[a-b]", b"\n", b"\xff"])


@given(st.lists(PARTS, min_size=1).map(b"".join), st.lists(PARTS, min_size=1).map(b"".join))
def test_a_pattern_means_the_same_as_a_regular_expression(pattern: bytes, text: bytes) -> None:
    expected = re.fullmatch(_expression(pattern), text, re.DOTALL)
    assert matches(pattern, text) is (expected is not None)


def test_many_stars_cost_no_more_than_text_times_pattern() -> None:
    text = b"a" * 20_000
    assert not matches(b"a*" * 300 + b"b", text)
    assert not matches(b"*a" * 300 + b"b", text)


def test_a_huge_pattern_is_read_no_further_than_the_text_leads() -> None:
    for piece in (b"x", b"*x", b"[a-z]", b"["):
        assert not matches(piece * (1 << 20), b"key:1")
