"""ZSCAN: iteration over the members of a sorted set, a few with each call."""

from __future__ import annotations

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.registry import READONLY, command, one_key
from commands.keys.pattern import matcher
from commands.keys.scan import parse_cursor, parse_scan_options
from commands.sorted_sets.pairs import encoded
from protocol import replies
from protocol.request import Request
from storage.types.records import Record, member_of
from storage.types.sets import SortedSetValue


@command("ZSCAN", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def zscan(client: Client, argv: Request) -> bytes:
    """Array of two: the next cursor, 0 at the end, and an array of members and scores, both bulk
    strings in RESP3, too. Source: Redis 7.2."""
    cursor = parse_cursor(argv[2])
    value = client.lookup_typed(argv[1], SortedSetValue)
    records: list[Record] = []
    following = 0
    if value is not None:
        # Without the key the options are not parsed, as in Redis.
        options = parse_scan_options(Arguments(argv, 3))
        following, records = value.scan(cursor, options.count)
        if options.pattern != b"*":
            fits = matcher(options.pattern)
            records = [record for record in records if fits(member_of(record))]
    items = encoded(records, 2, True, replies.array_header(2 * len(records)))
    return replies.array([replies.bulk(b"%d" % following), items])
