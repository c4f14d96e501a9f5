"""commands/sorted_sets/scores.py: members and scores as replies.

commands/sorted_sets/scores.py: the ends of ranges.

ZSCORE, ZMSCORE, ZRANK, ZREVRANK, ZCARD, ZCOUNT, ZLEXCOUNT.

ZADD and ZINCRBY.
"""

from __future__ import annotations

from math import inf

import pytest

from commands.core.long_reply import LongReply
from commands.sorted_sets.scores import (
    MANY_MEMBERS,
    limited,
    members_reply,
    parse_lex_bounds,
    parse_score_bounds,
    rank_span,
    score_or_nil,
)
from protocol.errors import ReplyError
from storage.types.records import make_record
from storage.types.sets import LexBounds, ScoreBounds
from tests.commands.keys.conversation import SYNTAX_ERROR, WRONG_TYPE, Conversation

RECORDS = [make_record(1.0, b"a"), make_record(2.5, b"b")]


def test_shapes() -> None:
    assert members_reply(RECORDS, 3) == members_reply(RECORDS, 2) == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
    assert members_reply(RECORDS, 2, with_scores=True) == (
        b"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$3\r\n2.5\r\n"
    )
    assert members_reply(RECORDS, 3, with_scores=True) == (
        b"*2\r\n*2\r\n$1\r\na\r\n,1\r\n*2\r\n$1\r\nb\r\n,2.5\r\n"
    )
    assert members_reply([], 3, with_scores=True) == b"*0\r\n"
    assert score_or_nil(None, 2) == b"$-1\r\n"
    assert score_or_nil(RECORDS[0], 3) == b",1\r\n"


def test_many_members_come_in_pieces() -> None:
    count = MANY_MEMBERS + 1
    records = [make_record(float(number), b"m") for number in range(count)]
    for resp, items in ((2, 2 * count), (3, count)):
        reply = members_reply(records.copy(), resp, with_scores=True)
        assert isinstance(reply, LongReply)
        joined = reply.join()
        assert joined.startswith(b"*%d\r\n" % items)
        assert joined.count(b"$1\r\nm\r\n") == count


def test_scores() -> None:
    assert parse_score_bounds(b"(1", b"+inf") == ScoreBounds(1.0, inf, True, False)
    assert parse_score_bounds(b"(", b"") == ScoreBounds(0.0, 0.0, True, False)
    for low, high in ((b"x", b"1"), (b"1", b"((1"), (b"nan", b"1"), (b"1 ", b"1")):
        with pytest.raises(ReplyError, match="not a float"):
            parse_score_bounds(low, high)


def test_members() -> None:
    assert parse_lex_bounds(b"-", b"[b") == LexBounds(None, b"b")
    assert parse_lex_bounds(b"(a", b"+") == LexBounds(b"a", None, excludes_low=True)
    assert parse_lex_bounds(b"[", b"(b") == LexBounds(b"", b"b", excludes_high=True)
    for low, high in ((b"a", b"+"), (b"", b"+"), (b"-", b"++"), (b"-", b"-a")):
        with pytest.raises(ReplyError, match="not valid string range item"):
            parse_lex_bounds(low, high)


@pytest.mark.parametrize(
    ("low", "high", "is_empty"),
    [
        (b"+", b"-", True),
        (b"+", b"+", True),
        (b"-", b"-", True),
        (b"-", b"+", False),
        (b"[b", b"[a", True),
        (b"[a", b"[a", False),
        (b"(a", b"[a", True),
    ],
)
def test_nothing_is_within_some_bounds(low: bytes, high: bytes, is_empty: bool) -> None:
    assert parse_lex_bounds(low, high).is_empty is is_empty


@pytest.mark.parametrize(
    ("start", "end", "span"),
    [
        (0, -1, (0, 5)),
        (1, 2, (1, 3)),
        (-2, -1, (3, 5)),
        (-99, 1, (0, 2)),
        (3, 99, (3, 5)),
        (2, 1, (0, 0)),
        (5, 9, (0, 0)),
        (0, -6, (0, 0)),
    ],
)
def test_ranks(start: int, end: int, span: tuple[int, int]) -> None:
    assert rank_span(start, end, 5) == span


@pytest.mark.parametrize(
    ("offset", "count", "reverse", "span"),
    [
        (0, -1, False, (2, 7)),
        (1, 2, False, (3, 5)),
        (1, 2, True, (4, 6)),
        (1, -5, True, (2, 6)),
        (4, 9, False, (6, 7)),
        (5, 1, False, (0, 0)),
        (-1, 3, False, (0, 0)),
        (0, 0, False, (2, 2)),
    ],
)
def test_limits(offset: int, count: int, reverse: bool, span: tuple[int, int]) -> None:
    assert limited(2, 7, offset, count, reverse) == span


NOT_A_FLOAT = b"-ERR value is not a valid float\r\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("1 a 2", SYNTAX_ERROR),
        ("NX XX", SYNTAX_ERROR),
        ("FOO 1 a", SYNTAX_ERROR),
        ("NX XX 1 a", b"-ERR XX and NX options at the same time are not compatible\r\n"),
        ("NX GT 1 a", b"-ERR GT, LT, and/or NX options at the same time are not compatible\r\n"),
        ("LT GT x a", b"-ERR GT, LT, and/or NX options at the same time are not compatible\r\n"),
        ("INCR 1 a 2 b", b"-ERR INCR option supports a single increment-element pair\r\n"),
        ("1 a x b", NOT_A_FLOAT),
        ("nan a", NOT_A_FLOAT),
        ("1e400 a", NOT_A_FLOAT),
    ],
)
def test_what_is_refused_changes_nothing(talk: Conversation, words: str, error: bytes) -> None:
    assert talk.do(f"ZADD zset {words}") == error
    assert talk.events() == talk.propagated() == []
    assert talk.do("EXISTS zset") == b":0\r\n"
    talk.all("SET zset x")
    assert talk.do(f"ZADD zset {words}") == error
    assert talk.do("ZADD zset 1 a") == WRONG_TYPE
