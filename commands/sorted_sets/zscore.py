"""ZSCORE, ZMSCORE, ZRANK, ZREVRANK, ZCARD, ZCOUNT, ZLEXCOUNT: scores, ranks and counts."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import FAST, READONLY, command, one_key
from commands.sorted_sets.bounds import parse_lex_bounds, parse_score_bounds
from commands.sorted_sets.pairs import score_or_nil
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.sets import SortedSetValue, Span


@command("ZSCORE", arity=3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zscore(client: Client, argv: Request) -> bytes:
    """The score, or null. Source: Redis 7.2."""
    value: SortedSetValue | None = client.lookup_typed(argv.word(1), SortedSetValue)
    argv.mark_quick(0)
    return score_or_nil(None if value is None else value.find(argv.word(2)), client.resp)


@command("ZMSCORE", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zmscore(client: Client, argv: Request) -> bytes:
    """Array of scores, null for a member that is not there. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SortedSetValue)
    records = [None if value is None else value.find(member) for member in argv[2:]]
    return replies.array([score_or_nil(record, client.resp) for record in records])


@command("ZRANK", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zrank(client: Client, argv: Request) -> bytes:
    """Integer, or null; with WITHSCORE an array of it and the score. Source: Redis 7.2."""
    return _rank(client, argv, reverse=False)


@command("ZREVRANK", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zrevrank(client: Client, argv: Request) -> bytes:
    """Integer: the rank from the top, or null; with WITHSCORE an array of it and the score."""
    return _rank(client, argv, reverse=True)


def _rank(client: Client, argv: Request, *, reverse: bool) -> bytes:
    key, member = argv[1:3]
    if len(argv) > 4:
        raise errors.wrong_arity(argv[0].lower())
    with_score = len(argv) == 4
    if with_score and argv[3].upper() != b"WITHSCORE":
        raise ReplyError(errors.SYNTAX)
    value = client.lookup_typed(key, SortedSetValue)
    rank = None if value is None else value.rank(member)
    if value is None or rank is None:
        return (replies.NIL_ARRAY if with_score else replies.NIL)[client.resp]
    if reverse:
        rank = len(value) - 1 - rank
    if not with_score:
        return replies.integer(rank)
    return replies.array([replies.integer(rank), score_or_nil(value.find(member), client.resp)])


@command("ZCARD", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def zcard(client: Client, argv: Request) -> bytes:
    """Integer; 0 without the key. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SortedSetValue)
    return replies.integer(0 if value is None else len(value))


@command("ZCOUNT", arity=4, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zcount(client: Client, argv: Request) -> bytes:
    """Integer. Source: Redis 7.2."""
    bounds = parse_score_bounds(argv[2], argv[3])
    value = client.lookup_typed(argv[1], SortedSetValue)
    return _length((0, 0) if value is None else value.span_of_scores(bounds))


@command("ZLEXCOUNT", arity=4, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zlexcount(client: Client, argv: Request) -> bytes:
    """Integer. Source: Redis 7.2."""
    bounds = parse_lex_bounds(argv[2], argv[3])
    value = client.lookup_typed(argv[1], SortedSetValue)
    return _length((0, 0) if value is None else value.span_of_members(bounds))


def _length(span: Span) -> bytes:
    start, end = span
    return replies.integer(end - start)
