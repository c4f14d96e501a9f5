"""Glob patterns, as KEYS, SCAN MATCH, PSUBSCRIBE, CONFIG GET and others take them.

    *       any bytes, or none          [abc]   one of these
    ?       any one byte                [a-f]   one of this range, whichever end comes first
    \\x      x, whatever it means         [^abc]  one that is none of these

Patterns and texts are bytes, every value included. Every `*` takes its first match and never
backtracks, so that matching costs at most the length of the text times that of the pattern, however
many stars there are. A pattern of usual length becomes a regular expression; a long one is
interpreted instead, because compiling a megabyte takes seconds and comparing it with a key usually
ends at the first byte.

Source: Redis 7.2. What it does with unfinished classes and escapes is kept, and so is that an
empty text matches nothing but the empty pattern. The bytes of a range are unsigned, as in Redis
on machines whose `char` is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from functools import cache, lru_cache

Matcher = Callable[[bytes], object]  # true or false

COMPILED_PATTERN_BYTES = 1024
CACHED_PATTERNS = 512

# An element of a pattern is the set of bytes that it accepts in its place, or _STAR.
_STAR: Set[int] = frozenset({-1})
_EVERY_BYTE: Set[int] = frozenset(range(256))
_STARS = re.compile(rb"\*+")


def matches(pattern: bytes, text: bytes, ignore_case: bool = False) -> bool:
    """Return True if `pattern` matches all of `text`. `ignore_case` is for ASCII letters."""
    return bool(matcher(pattern, ignore_case)(text))


def matcher(pattern: bytes, ignore_case: bool = False) -> Matcher:
    """`matches` for one pattern and many texts."""
    if len(pattern) > COMPILED_PATTERN_BYTES:
        return _walker(pattern, ignore_case)
    return _compile(pattern, ignore_case)


# -- as a regular expression ---------------------------------------------------------------------


@lru_cache(maxsize=CACHED_PATTERNS)
def _compile(pattern: bytes, ignore_case: bool) -> Matcher:
    if not pattern:
        return lambda text: not text
    return re.compile(rb"(?!\Z)" + _expression(pattern, ignore_case), re.DOTALL).fullmatch


def _expression(pattern: bytes, ignore_case: bool) -> bytes:
    runs: list[list[bytes]] = [[]]  # the elements before, between and after the stars
    position = 0
    while position < len(pattern):
        accepted, position = _element(pattern, position, ignore_case)
        if accepted is _STAR:
            runs.append([])
        else:
            runs[-1].append(_one_of(accepted))
    first, *others = (b"".join(run) for run in runs)
    if not others:
        return first
    # Atomic groups: a star that has found its match never backtracks.
    middle = b"".join(b"(?>.*?%b)" % run for run in others[:-1] if run)
    return first + middle + b".*" + others[-1]


def _one_of(accepted: Set[int]) -> bytes:
    if len(accepted) == 256:
        return b"."
    if len(accepted) == 1:
        return re.escape(bytes(accepted))
    if not accepted:
        return b"(?!)"
    # The smaller half: hundreds of `[^x]` would take long to compile otherwise.
    sign, named = (b"", accepted) if len(accepted) <= 128 else (b"^", _EVERY_BYTE - accepted)
    return b"[%b%b]" % (sign, b"".join(b"\\x%02x" % byte for byte in sorted(named)))


# -- by walking ----------------------------------------------------------------------------------


def _walker(pattern: bytes, ignore_case: bool) -> Matcher:
    """`matches` for a non-empty pattern, parsed lazily: each element once, when a text reaches
    it.
    """

    @cache
    def element_at(position: int) -> tuple[Set[int], int]:
        return _element(pattern, position, ignore_case)

    def walk(text: bytes) -> bool:
        place = position = 0  # in the text, in the pattern
        resume: tuple[int, int] | None = None  # continue here when the last star takes a byte more
        while place < len(text):
            accepted, following = element_at(position)
            if accepted is _STAR:
                position = following
                resume = place + 1, position
            elif text[place] in accepted:
                place, position = place + 1, following
            elif resume is None:
                return False
            else:
                place, position = resume
                resume = place + 1, position
        accepted, following = element_at(position)
        if accepted is _STAR:
            position = following
        return text != b"" and position == len(pattern)

    return walk


# -- elements ------------------------------------------------------------------------------------


def _element(pattern: bytes, position: int, ignore_case: bool) -> tuple[Set[int], int]:
    """The element at `position` and where the next one starts; the end accepts nothing."""
    stars = _STARS.match(pattern, position)
    if stars:
        return _STAR, stars.end()
    byte = pattern[position : position + 1]
    position += 1
    if byte == b"?":
        return _EVERY_BYTE, position
    if byte == b"[":
        return _class(pattern, position, ignore_case)
    if byte == b"\\" and position < len(pattern):
        byte = pattern[position : position + 1]
        position += 1
    return _cases(byte) if ignore_case else set(byte), position


def _class(pattern: bytes, position: int, ignore_case: bool) -> tuple[Set[int], int]:
    """The element of the class opened before `position`; an unclosed one reaches to the end.

    An escaped byte keeps its case even when case is ignored.
    """
    negated = pattern[position : position + 1] == b"^"
    position += negated
    named: set[int] = set()
    while position < len(pattern):
        byte = pattern[position : position + 1]
        if byte == b"\\" and position + 1 < len(pattern):
            named.add(pattern[position + 1])
            position += 2
        elif byte == b"]":
            position += 1
            break
        elif pattern[position + 1 : position + 2] == b"-" and position + 2 < len(pattern):
            named |= _range(pattern[position], pattern[position + 2], ignore_case)
            position += 3
        else:
            named |= _cases(byte) if ignore_case else set(byte)
            position += 1
    return (_EVERY_BYTE - named if negated else named), position


def _range(start: int, end: int, ignore_case: bool) -> Set[int]:
    start, end = min(start, end), max(start, end)
    if not ignore_case:
        return set(range(start, end + 1))
    low, high = _lower(start), _lower(end)
    return {byte for byte in _EVERY_BYTE if low <= _lower(byte) <= high}


def _lower(byte: int) -> int:
    return bytes((byte,)).lower()[0]


def _cases(byte: bytes) -> Set[int]:
    """The byte in lower and in upper case."""
    return set(byte.lower() + byte.upper())
