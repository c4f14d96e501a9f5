"""What a loader of Redis 8.10 refuses in a stream, and what Rillway does about it.

A Redis does not start with such a file, a replica ends that is sent it, and RESTORE answers "Bad
data format". Nothing that Rillway writes has any of it: not its snapshots, DUMP, the base of a
rewrite nor a full synchronisation. Rillway's own loader refuses the same, except for what an older
server writes without being damaged, which is put right.

    refused                                                      threads          here
    nodes
      a key that has not 16 bytes, or is not above the last one  8681, 15198      refused
      a listpack without a first element, or no number there     15295            refused
      no live entry                                              15124, 15808     dropped
      counts, flags, lengths or IDs that do not fit the entries  15124            refused
    the stream
      a length that is not the number of live entries            10579, 15124     refused
      a first ID that is not that of the first entry             15198, proposed  taken from there
      a last ID below an entry
      a greatest deleted ID above the last ID                    15198, proposed  the last ID
      entries-added below the length, or from 2^63 on            15308            refused
    a group
      a name twice                                                                refused
      entries-read above entries-added                           15308, 15488     entries-added
      entries-read from 2^63 on, unless it is 2^64 - 1           15308            refused
      an ID that is pending twice                                                 refused
      a consumer twice                                                            refused
      a consumer's ID that the group does not have               15095            refused
      an ID that two consumers have, or one has twice            15081, 15095     refused
      an ID that no consumer has, unless it was released         14797            refused
      a released ID that is owned, or not pending                14797            refused
    idempotent producers
      limits beyond those of XCFGSET, a name twice or empty,     14615            refused
      a producer with more messages than its limit

The threads are those of github.com/redis/redis.
"""

from __future__ import annotations

from storage.redis_format.primitives import CHECKSUM_BYTES, CorruptSnapshot, Cursor
from storage.snapshot.format import Reading
from storage.snapshot.opcodes import STREAMS
from storage.snapshot.stream_decoder import decode_stream

# What follows the value in a payload: a version and a checksum.
_FOOTER_BYTES = 2 + CHECKSUM_BYTES


def refusal(stream_type: int, body: bytes) -> str | None:
    """Why a loader of Redis 8.10 refuses the body of a stream; None if it does not."""
    cursor = Cursor(body)
    try:
        decode_stream(cursor, stream_type, Reading(0, 0, strict=True))
    except CorruptSnapshot as error:
        return str(error)
    return f"{cursor.left} bytes follow" if cursor.left else None


def payload_refusal(payload: bytes) -> str | None:
    """`refusal` of what DUMP has made; None if that is no stream."""
    return refusal(payload[0], payload[1:-_FOOTER_BYTES]) if payload[0] in STREAMS else None
