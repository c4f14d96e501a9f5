"""Glob patterns, as KEYS, SCAN MATCH, PSUBSCRIBE, CONFIG GET and others take them.

    *       any bytes, or none          [abc]   one of these
    ?       any one byte                [a-f]   one of this range, whichever end comes first
    \\x      x, whatever it means         [^abc]  one that is none of these

Patterns and texts are bytes, every value included. A pattern is interpreted as it stands, without
preparation: its memory is its bytes, and a long one costs nothing beyond the point that the text
reaches. Every `*` takes its first match and never backtracks, so that matching costs at most the
length of the text times that of the pattern, however many stars there are.

Source: Redis 7.2. What it does with unfinished classes and escapes is kept, and so is that an
empty text matches nothing but the empty pattern. The bytes of a range are unsigned, as in Redis
on machines whose `char` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import cython

# What `literal_of` reads of a pattern, and returns at most.
SEARCHED_BYTES = 1024
LITERAL_BYTES = 64
_STAR = 42
_ANY = 63
_OPEN = 91
_CLOSE = 93
_NOT = 94
_DASH = 45
_ESCAPE = 92
# Whatever is no literal: an escape, a class, stars and question marks.
_SPECIAL = re.compile(rb"\\.?|\[\^?(?:\\.|[^\]]-.|[^\]])*\]?|[*?]+", re.DOTALL)


def matches(pattern: bytes, text: bytes, ignore_case: bool = False) -> bool:
    """Return True if `pattern` matches all of `text`. `ignore_case` is for ASCII letters."""
    p: cython.p_const_uchar = pattern
    t: cython.p_const_uchar = text
    end: cython.Py_ssize_t = len(pattern)
    length: cython.Py_ssize_t = len(text)
    at: cython.Py_ssize_t = 0  # in the pattern
    place: cython.Py_ssize_t = 0  # in the text
    star: cython.Py_ssize_t = -1  # after the last star
    resume: cython.Py_ssize_t = 0  # continue here when that star takes a byte more
    following: cython.Py_ssize_t
    while place < length:
        if at < end and p[at] == _STAR:
            star = at = at + 1
            place = resume = _next(p, at, end, t, place, length, ignore_case)
            continue
        following = _after(p, at, end, t[place], ignore_case)
        if following >= 0:
            at, place = following, place + 1
        elif star < 0:
            return False
        else:
            resume = _next(p, star, end, t, resume + 1, length, ignore_case)
            at, place = star, resume
    while at < end and p[at] == _STAR:
        at += 1
    return at == end and (length > 0 or end == 0)


def matching(patterns: Iterable[bytes], text: bytes) -> list[bytes]:
    """The patterns that match `text`."""
    return [pattern for pattern in patterns if matches(pattern, text)]


def literal_of(pattern: bytes) -> bytes:
    """Bytes that each text contains which the pattern matches: the longest that it names."""
    return max(_SPECIAL.split(pattern[:SEARCHED_BYTES]), key=len)[:LITERAL_BYTES]


def _next(
    p: cython.p_const_uchar,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    t: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    length: cython.Py_ssize_t,
    ignore_case: cython.bint,
) -> cython.Py_ssize_t:
    """The first place in the text, from `place` on, that the element at `at` may accept."""
    if at == end or ignore_case:
        return place
    named: cython.int = p[at]
    if named not in (_STAR, _ANY, _OPEN, _ESCAPE):
        while place < length and t[place] != named:
            place += 1
    return place


def _after(
    p: cython.p_const_uchar,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    byte: cython.int,
    ignore_case: cython.bint,
) -> cython.Py_ssize_t:
    """The place after the element at `at`, no star, if it accepts `byte`; otherwise -1."""
    if at == end:
        return -1
    named: cython.int = p[at]
    at += 1
    if named == _ANY:
        return at
    if named == _OPEN:
        return _after_class(p, at, end, byte, ignore_case)
    if named == _ESCAPE and at < end:
        named = p[at]
        at += 1
    if named == byte or (ignore_case and _lower(named) == _lower(byte)):
        return at
    return -1


def _after_class(
    p: cython.p_const_uchar,
    at: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    byte: cython.int,
    ignore_case: cython.bint,
) -> cython.Py_ssize_t:
    """The place after the class opened before `at` if it accepts `byte`; otherwise -1.

    An unclosed class reaches to the end. An escaped byte keeps its case even when case is ignored.
    """
    is_negated: cython.bint = at < end and p[at] == _NOT
    is_named: cython.bint = False
    lower: cython.int = _lower(byte) if ignore_case else byte
    named: cython.int
    at += is_negated
    while at < end:
        named = p[at]
        if named == _ESCAPE and at + 1 < end:
            is_named = is_named or p[at + 1] == byte
            at += 2
        elif named == _CLOSE:
            at += 1
            break
        elif at + 2 < end and p[at + 1] == _DASH:
            is_named = is_named or _is_between(named, p[at + 2], lower, ignore_case)
            at += 3
        else:
            is_named = is_named or (_lower(named) if ignore_case else named) == lower
            at += 1
    return -1 if is_named == is_negated else at


def _is_between(
    start: cython.int, end: cython.int, byte: cython.int, ignore_case: cython.bint
) -> cython.bint:
    """Return True if a byte, in lower case if case is ignored, is in a range."""
    if start > end:
        start, end = end, start
    if ignore_case:
        start, end = _lower(start), _lower(end)
    return start <= byte <= end


def _lower(byte: cython.int) -> cython.int:
    """An ASCII letter in lower case; any other byte as it is."""
    return byte + 32 if 65 <= byte <= 90 else byte
