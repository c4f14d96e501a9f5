"""XSPLIT: partitions a range of IDs for parallel readers. Rillway's own command.

    XSPLIT key start end EVERY number [COUNT count]

The reply has an array for each part: the first ID, the last ID and the number of entries, which is
`number` for all but the last part. Reading each part with XRANGE gives every entry once. COUNT
limits the total of entries; one that is not positive returns no parts.

Redis has no such command: a client that needs the ID of the n-th entry must read all entries before
it. XSPLIT reads no entry, and splits a range of a million within milliseconds.
"""

from __future__ import annotations

from commands.core.arguments import INT64_MAX, Arguments
from commands.core.client import Client
from commands.core.registry import READONLY, command, one_key
from commands.streams.ids import parse_range_end, parse_range_start
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.entries.entry_id import format_id


@command("XSPLIT", arity=-6, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def xsplit(client: Client, argv: Request) -> bytes:
    """Array of [first ID, last ID, number of entries]; empty for a missing key."""
    start, end = parse_range_start(argv[2]), parse_range_end(argv[3])
    every, count = _parse_sizes(argv)
    stream = client.lookup_stream(argv[1])
    if stream is None:
        return replies.EMPTY_ARRAY
    limit = stream.length if count is None else max(count, 0)
    parts = [
        replies.array(
            [
                replies.bulk(format_id(run.first_id)),
                replies.bulk(format_id(run.last_id)),
                replies.integer(run.length),
            ]
        )
        for run in stream.split(start, end, every, limit)
    ]
    return replies.array(parts)


def _parse_sizes(argv: Request) -> tuple[int, int | None]:
    """EVERY and COUNT, in any order; EVERY is required and positive."""
    every: int | None = None
    count: int | None = None
    arguments = Arguments(argv, 4)
    while arguments:
        if arguments.take(b"EVERY"):
            every = arguments.next_int(minimum=1, maximum=INT64_MAX)
        elif arguments.take(b"COUNT"):
            count = arguments.next_int()
        else:
            arguments.finish()
    if every is None:
        raise ReplyError(errors.SYNTAX)
    return every, count
