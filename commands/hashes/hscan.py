"""HSCAN and HRANDFIELD: iteration over a hash's fields, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from commands.core.arguments import INT64_MAX, INT64_MIN, Arguments, parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply, is_long, items_per_piece
from commands.core.registry import READONLY, command, one_key
from commands.hashes.fields import MANY_FIELDS, time_for
from commands.keys.scan import matching, parse_cursor, parse_member_scan_options
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.hashes import HashValue
from storage.types.records import field_of, pair_bulks

PICKS_PER_PIECE = 1000

# Up to this share of the fields are picked one by one; for more of them all are shuffled.
FEW_SHARE = 1 / 3


@command("HSCAN", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def hscan(client: Client, argv: Request) -> bytes:
    """Array of two: the next cursor, 0 at the end, and an array. Source: Redis 7.4."""
    cursor = parse_cursor(argv[2])
    value = client.lookup_typed(argv[1], HashValue)
    if value is None:
        return replies.array([replies.bulk(b"0"), replies.EMPTY_ARRAY])
    options = parse_member_scan_options(Arguments(argv, 3), takes_novalues=True)
    cursor, records = value.scan(cursor, options.count)
    names = list(map(field_of, records))
    if value.expires is not None and (now_ms := time_for(client)) is not None:
        names = [name for name in names if not value.is_expired(name, now_ms)]
    found = list(matching(names, options.pattern))
    if options.novalues:
        fields = replies.bulk_array(found)
    else:
        records = [record for name in found if (record := value.record(name)) is not None]
        fields = pair_bulks(replies.array_header(2 * len(records)), records)
    return replies.array([replies.bulk(b"%d" % cursor), fields])


@command("HRANDFIELD", arity=-2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def hrandfield(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string or null; with a count an array. Source: Redis 7.0."""
    if len(argv) == 2:
        value = _without_expired(client, argv[1])
        if value is None:
            return replies.NIL[client.resp]
        return replies.bulk(field_of(value.pick(client.instance.host.random_below)))
    count, with_values = _parse_hrandfield(argv)
    value = _without_expired(client, argv[1])
    if value is None or not count:
        return replies.EMPTY_ARRAY
    picks: Iterator[bytes]
    expected = -count if count < 0 else min(count, len(value))
    below, resp = client.instance.host.random_below, client.resp
    item_bytes = value.memory_bytes() // len(value)
    if is_long(expected, item_bytes, MANY_FIELDS):
        # The fields may change before all pieces are made.
        records = value.records()
        if count < 0:
            picks = (records[below(len(records))] for _ in range(expected))
        else:
            picks = _shuffled(records, expected, below)
        return LongReply(_in_pieces(picks, expected, item_bytes, with_values, resp))
    if count < 0:
        picks = (value.pick(below) for _ in range(expected))
    else:
        picks = _different(value, expected, below)
    return b"".join(_in_pieces(picks, expected, item_bytes, with_values, resp))


def _parse_hrandfield(argv: Request) -> tuple[int, bool]:
    """The count, and whether the values are wanted, too."""
    count = parse_int(argv[2])
    if count == INT64_MIN:
        raise errors.out_of_range_between(-INT64_MAX, INT64_MAX)
    if len(argv) == 3:
        return count, False
    if len(argv) > 4 or argv[3].upper() != b"WITHVALUES":
        raise ReplyError(errors.SYNTAX)
    if abs(count) > INT64_MAX // 2:
        raise ReplyError(errors.OUT_OF_RANGE)
    return count, True


def _without_expired(client: Client, key: bytes) -> HashValue | None:
    """The hash, without fields that have expired: a copy of it if it has such."""
    value = client.lookup_typed(key, HashValue)
    now_ms = time_for(client)
    if value is None or now_ms is None:
        return value
    deadline_ms = value.first_deadline_ms()
    if deadline_ms is None or now_ms <= deadline_ms:
        return value
    twin = value.copy()
    for name in twin.due(now_ms, len(twin)):
        twin.delete(name)
    return twin if len(twin) else None


def _different(value: HashValue, count: int, below: Callable[[int], int]) -> Iterator[bytes]:
    """`count` of the records, none of them twice; all of them come in their order."""
    size = len(value)
    if count == size:
        return iter(value.records())
    if count > size * FEW_SHARE:
        return _shuffled(value.records(), count, below)
    chosen: dict[bytes, None] = {}
    while len(chosen) < count:
        chosen[value.pick(below)] = None
    return iter(chosen)


def _shuffled(records: list[bytes], count: int, below: Callable[[int], int]) -> Iterator[bytes]:
    """The first `count` of the records in a random order."""
    for place in range(count):
        other = place + below(len(records) - place)
        records[place], records[other] = records[other], records[place]
        yield records[place]


def _in_pieces(
    picks: Iterator[bytes], expected: int, item_bytes: int, with_values: bool, resp: int
) -> Iterator[bytes]:
    """The reply: fields, or fields with values; RESP3 has an array for each pair."""
    yield replies.array_header(2 * expected if with_values and resp == 2 else expected)
    prefix = b"*2\r\n" if with_values and resp == 3 else b""
    left, per_piece = expected, items_per_piece(item_bytes, PICKS_PER_PIECE)
    while left:
        count = min(left, per_piece)
        left -= count
        records = [next(picks) for _ in range(count)]
        if not with_values:
            yield replies.bulks(list(map(field_of, records)))
        elif prefix:
            yield b"".join([pair_bulks(prefix, [record]) for record in records])
        else:
            yield pair_bulks(b"", records)
