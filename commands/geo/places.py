"""GEOADD, GEOPOS, GEODIST, GEOHASH: places of a sorted set, one by one.

A place is a member whose score is its geohash. GEOADD is propagated as the ZADD that it amounts to.
"""

from __future__ import annotations

from commands.core.arguments import Arguments, parse_double
from commands.core.client import Client
from commands.core.registry import DENYOOM, READONLY, WRITE, command, one_key
from commands.geo.geohash import Place, decode, distance_m, encode, text_of
from commands.sorted_sets.zadd import zadd
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.sets import SortedSetValue

UNITS_M = {b"M": 1.0, b"KM": 1000.0, b"FT": 0.3048, b"MI": 1609.34}

_READS = one_key(b"RO", b"ACCESS")


def parse_place(longitude: bytes, latitude: bytes) -> Place:
    """A place that the map has. Raises ReplyError."""
    place = Place(parse_double(longitude), parse_double(latitude))
    if not place.is_on_map:
        raise errors.invalid_place(*place)
    return place


def parse_unit(word: bytes) -> float:
    """Return the number of meters in a unit. Raises ReplyError."""
    try:
        return UNITS_M[word.upper()]
    except KeyError:
        raise ReplyError(errors.UNSUPPORTED_UNIT) from None


def place_of(value: SortedSetValue, member: bytes) -> Place | None:
    """Where a member is, None if it is not there."""
    score = value.score(member)
    return None if score is None else decode(score)


def distance_reply(distance: float) -> bytes:
    """A distance, in any unit: a bulk string in RESP3, too."""
    return replies.bulk(b"%.4f" % distance)


def place_reply(place: Place, resp: int) -> bytes:
    """An array of longitude and latitude."""
    return replies.array(
        [replies.double(place.longitude, resp), replies.double(place.latitude, resp)]
    )


@command("GEOADD", arity=-5, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"UPDATE"))
def geoadd(client: Client, argv: Request) -> bytes:
    """Integer: how many were added, with CH also those that moved. Source: Redis 7.2."""
    arguments = Arguments(argv, 2)
    while arguments.peek() in (b"NX", b"XX", b"CH"):
        arguments.next()
    options = {word.upper() for word in argv[2 : arguments.position]}
    count, rest = divmod(arguments.remaining, 3)
    if rest or not count or {b"NX", b"XX"} <= options:
        raise ReplyError(errors.SYNTAX)
    words = [b"ZADD", *argv[1 : arguments.position]]
    for _ in range(count):
        place = parse_place(arguments.next(), arguments.next())
        words += (b"%d" % encode(place), arguments.next())
    dirty = client.instance.dirty
    reply = zadd(client, Request(words))
    assert type(reply) is bytes
    if client.instance.dirty != dirty:
        client.propagate(*words)
    return reply


@command("GEOPOS", arity=-2, flags=READONLY, keys=_READS)
def geopos(client: Client, argv: Request) -> bytes:
    """Array of arrays of longitude and latitude, null for a place that is not there.

    Source: Redis 7.2.
    """
    value = client.lookup_typed(argv[1], SortedSetValue)
    places = [None if value is None else place_of(value, member) for member in argv[2:]]
    nothing, resp = replies.NIL_ARRAY[client.resp], client.resp
    return replies.array(
        [nothing if place is None else place_reply(place, resp) for place in places]
    )


@command("GEOHASH", arity=-2, flags=READONLY, keys=_READS)
def geohash(client: Client, argv: Request) -> bytes:
    """Array of bulk strings, null for a place that is not there. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SortedSetValue)
    places = [None if value is None else place_of(value, member) for member in argv[2:]]
    texts = [None if place is None else text_of(place) for place in places]
    return replies.array([replies.bulk_or_nil(text, client.resp) for text in texts])


@command("GEODIST", arity=-4, flags=READONLY, keys=_READS)
def geodist(client: Client, argv: Request) -> bytes:
    """Bulk string with four decimals; null if one of the places is not there. Source: Redis 7.2."""
    if len(argv) > 5:
        raise ReplyError(errors.SYNTAX)
    unit_m = parse_unit(argv[4]) if len(argv) == 5 else 1.0
    value = client.lookup_typed(argv[1], SortedSetValue)
    first = None if value is None else place_of(value, argv[2])
    second = None if value is None else place_of(value, argv[3])
    if first is None or second is None:
        return replies.NIL[client.resp]
    return distance_reply(distance_m(first, second) / unit_m)
