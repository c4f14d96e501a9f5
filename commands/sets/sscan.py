"""SSCAN: iteration over the members of a set, a few with each call."""

from __future__ import annotations

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.registry import READONLY, command, one_key
from commands.keys.scan import matching, parse_cursor, parse_scan_options
from protocol import replies
from protocol.request import Request
from storage.types.sets import SetValue


@command("SSCAN", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def sscan(client: Client, argv: Request) -> bytes:
    """Array of two: the next cursor, 0 at the end, and an array of members. Source: Redis 7.2."""
    cursor = parse_cursor(argv[2])
    value = client.lookup_typed(argv[1], SetValue)
    members: list[bytes] = []
    following = 0
    if value is not None:
        # Without the key the options are not parsed, as in Redis.
        options = parse_scan_options(Arguments(argv, 3))
        following, seen = value.scan(cursor, options.count)
        members = list(matching(seen, options.pattern))
    return replies.array([replies.bulk(b"%d" % following), replies.bulk_array(members)])
