"""KEEPREF, DELREF, ACKED: what a deletion does with groups' references (Redis 8.2).

    [KEEPREF | DELREF | ACKED]              XADD, XTRIM
    [KEEPREF | DELREF | ACKED] IDS n id...  XDELEX, XACKDEL

KEEPREF leaves the entry pending in its groups, DELREF removes it from every PEL, and ACKED deletes
only entries that every group was given and has acknowledged.
"""

from __future__ import annotations

from commands.core.arguments import parse_int
from commands.streams.ids import parse_all
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.entries.entry_id import EntryID
from storage.groups.references import References

POLICIES = {
    b"KEEPREF": References.KEEP,
    b"DELREF": References.DELETE,
    b"ACKED": References.ACKED,
}

# What XDELEX and XACKDEL answer for each ID.
NOT_FOUND = -1
DELETED = 1
STILL_REFERENCED = 2


def parse_deletion(argv: Request, position: int) -> tuple[References, list[EntryID]]:
    """The options of XDELEX and XACKDEL, in either order; the last IDS wins. Raises ReplyError."""
    references: References | None = None
    texts: list[bytes] | None = None
    while position < len(argv):
        word = argv[position].upper()
        if word in POLICIES and references is None:
            references = POLICIES[word]
            position += 1
        elif word == b"IDS" and position + 1 < len(argv):
            number = parse_int(argv[position + 1], errors.IDS_NOT_POSITIVE, 1)
            position += 2
            texts = argv[position : position + number]
            if len(texts) < number:
                raise ReplyError(errors.IDS_NUMBER_MISMATCH)
            position += number
        else:
            raise ReplyError(errors.SYNTAX)
    if texts is None:
        raise ReplyError(errors.IDS_REQUIRED)
    return references or References.KEEP, parse_all(texts)


def result_array(results: list[int]) -> bytes:
    """One result for each ID, as a reply."""
    return replies.array([replies.integer(result) for result in results])
